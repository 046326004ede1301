"""Settings to try, and which of those that were measured to take."""

from __future__ import annotations

from autocontext.comparison import MEANING, Choice, bm25_choices, meaning_of, method_choices, size_choices, weigh
from autocontext.evaluation import Evaluation, Result
from autocontext.settings import Settings

_MEANING = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
_SENTENCES = (1, 2, 3, 5)
_LEAST_STEP = 0.02  # of the share of the meaning: nearer ones are the same


def settings_to_try(settings: Settings) -> dict[str, dict[str, Settings]]:
    """Return settings near the present ones, each with one thing changed, by kind of change and name.

    The last kind cuts and embeds the documents again, so it takes longest.
    """
    both = MEANING in settings.retrievers and len(settings.retrievers) > 1
    weights = [
        Choice(f"meaning {share:.0%}, words {1 - share:.0%}", weigh(settings, share))
        for share in _MEANING
        if both and settings.fusion != "union" and abs(share - meaning_of(settings)) >= _LEAST_STEP
    ]
    methods = method_choices(settings) if len(settings.retrievers) > 1 else ()
    words = bm25_choices(settings) if "bm25" in settings.retrievers else ()
    kinds = {
        "Weight of meaning against words": ("{}", weights),
        "How rankings are put together": ("fusion: {}", methods),
        "How words are weighed (BM25)": ("{}", words),
        "Length of the passages": ("{} a passage", size_choices(settings, _SENTENCES)),
    }
    others = {
        kind: {form.format(choice.label): choice.settings for choice in choices if choice.settings != settings}
        for kind, (form, choices) in kinds.items()
    }
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
