"""Settings to try, and which of those that were measured to take."""

from __future__ import annotations

from dataclasses import replace

from autocontext.evaluation import Evaluation, Result
from autocontext.settings import BM25Options, FusionMethod, Settings

_WEIGHTS = (0.25, 0.5, 0.65, 1.0, 1.5)
_METHODS: tuple[FusionMethod, ...] = ("scores", "ranks", "union")
_BM25 = ((1.2, 0.5), (1.5, 0.75), (2.0, 1.0))
_SENTENCES = (1, 2, 3, 5)


def settings_to_try(settings: Settings) -> dict[str, dict[str, Settings]]:
    """Return settings near the present ones, each with one thing changed, by kind of change and name.

    The last kind cuts and embeds the documents again, so it takes longest.
    """
    weights = {f"dense weight {w:g}": replace(settings, weights={**settings.weights, "dense": w}) for w in _WEIGHTS}
    methods = {f"fusion by {method}": replace(settings, fusion=method) for method in _METHODS}
    words = {f"k1 {k1:g}, b {b:g}": replace(settings, bm25=BM25Options(k1=k1, b=b)) for k1, b in _BM25}
    sizes = {
        f"{n} sentence{'s' * (n > 1)} a passage": replace(
            settings, chunking=replace(settings.chunking, sentences=n, overlap=min(settings.chunking.overlap, n - 1))
        )
        for n in _SENTENCES
    }
    both = {"bm25", "dense"} <= set(settings.retrievers)
    kinds = {
        "Weight of the dense retriever": weights if both and settings.fusion != "union" else {},
        "How rankings are put together": methods if len(settings.retrievers) > 1 else {},
        "How words are weighed (BM25)": words if "bm25" in settings.retrievers else {},
        "Length of the passages": sizes,
    }
    others = {kind: {name: one for name, one in tried.items() if one != settings} for kind, tried in kinds.items()}
    return {kind: tried for kind, tried in others.items() if tried}


def best_of(evaluation: Evaluation) -> Result | None:
    """Return the system that wins most questions against the present settings, its losses taken off; None if none does.

    Of two that tie, the one with the higher nDCG@10. Passages of another length are a trade of tokens against ranks,
    which is for the user to decide: such systems are never the best.
    """
    against = [(result, result.comparison) for result in evaluation.results if result.comparison is not None]
    alike = [(result, c) for result, c in against if c.by != "tokens" and c.wins > c.losses]
    ordered = sorted(alike, key=lambda pair: (pair[1].losses - pair[1].wins, -(pair[1].difference.value or 0.0)))
    return ordered[0][0] if ordered else None


def is_clear(result: Result, n_tried: int) -> bool:
    """Tell whether a result is better than chance explains, with so many systems tried at once (Bonferroni, 5 %)."""
    comparison = result.comparison
    return comparison is not None and comparison.wins > comparison.losses and comparison.p_value * n_tried < 0.05
