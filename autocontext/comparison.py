"""The same question under different settings, side by side, and what moved between them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from autocontext.datatypes import Chunk, Evidence, Prompt
from autocontext.encoders import shared_encoder
from autocontext.engine import AutoContext
from autocontext.errors import AutoContextError, EncoderError, SettingsError
from autocontext.folders import at_home
from autocontext.indexing import Progress
from autocontext.records import to_plain
from autocontext.settings import BM25Options, ChunkOptions, EncoderOptions, FusionMethod, Settings

MoveKind = Literal["same", "up", "down", "new", "gone", "out"]
_MOST_KEPT = 4
MEANING = "dense"  # the retriever that finds by meaning; the others find by words


class ComparisonStoppedError(AutoContextError):
    """A comparison was stopped before it was complete."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Settings to compare, what they are called, and what they favour."""

    label: str
    settings: Settings
    note: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a question gives under one choice.

    Attributes
    ----------
    prompt
        None where there is a `problem`.
    n_chunks
        Passages that the documents are cut into.
    problem
        Why there is no result, a sentence; or "".
    """

    label: str
    settings: Settings
    prompt: Prompt | None
    n_chunks: int
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a passage stands under one choice.

    Attributes
    ----------
    rank
        In the fused ranking, 1 for the best; None where it was not found at all.
    numbers
        Its numbers in the prompt, ascending: several where the base's passage is cut into smaller ones; none where it
        is not in it.
    """

    rank: int | None = None
    numbers: tuple[int, ...] = ()

    @property
    def number(self) -> int | None:
        """The first of its numbers."""
        return self.numbers[0] if self.numbers else None


@dataclass(frozen=True, slots=True)
class Move:
    """What became of a passage, against the base: by how many places it went up or down in the prompt.

    ``"new"`` and ``"gone"``: it came into the prompt, it left it; ``"out"``: it is in neither.
    """

    kind: MoveKind
    by: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One part of a document that is in at least one prompt; passages of another cut that lie there count as it.

    Attributes
    ----------
    chunk
        The passage that it is shown by: of the base, else of the first choice that has it.
    places
        By the choices' labels; one without a result has none.
    """

    chunk: Chunk
    places: Mapping[str, Place]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A question under several choices.

    Attributes
    ----------
    base
        The label of the outcome that the others are held against.
    rows
        The parts of documents that are in any prompt: those of the base in its order, then the others by their best
        number.
    """

    question: str
    base: str
    outcomes: tuple[Outcome, ...]
    rows: tuple[Row, ...]

    def move(self, row: Row, label: str) -> Move:
        """Return what became of a row under a choice, against the base."""
        before, after = (row.places.get(each, Place()).number for each in (self.base, label))
        if before is None:
            return Move("out" if after is None else "new")
        if after is None:
            return Move("gone")
        return Move("same" if before == after else "up" if after < before else "down", abs(after - before))

    def shared(self, label: str) -> tuple[int, int]:
        """Return how many rows are in both prompts, the base's and this one, and how many are in either."""
        kinds = [self.move(row, label).kind for row in self.rows]
        return sum(kind in ("same", "up", "down") for kind in kinds), sum(kind != "out" for kind in kinds)

    def overlap(self, label: str) -> float:
        """Return the share of the rows of either prompt that both have, 0 to 1 (Jaccard); 1 where both are empty."""
        both, either = self.shared(label)
        return both / either if either else 1.0

    def to_plain(self) -> dict[str, Any]:
        """Return all of it as JSON values; the same question, documents and settings give the same."""
        return {
            "question": self.question,
            "base": self.base,
            "variants": [self._outcome_to_plain(outcome) for outcome in self.outcomes],
            "moved": [self._row_to_plain(row) for row in self.rows],
        }

    def _outcome_to_plain(self, outcome: Outcome) -> dict[str, Any]:
        head = {"label": outcome.label, "settings": to_plain(outcome.settings), "chunks": outcome.n_chunks}
        if outcome.prompt is None:
            return head | {"problem": outcome.problem}
        prompt = outcome.prompt
        return head | {
            "support": prompt.support.level,
            "tokens": prompt.tokens,
            "max_tokens": prompt.max_tokens,
            "overlap": round(self.overlap(outcome.label), 4),
            "passages": [_chunk_to_plain(item.chunk) for item in prompt.evidence],
            "prompt": prompt.text,
        }

    def _row_to_plain(self, row: Row) -> dict[str, Any]:
        places = {
            label: {"numbers": list(place.numbers), "rank": place.rank, "move": self.move(row, label).kind}
            for label, place in row.places.items()
        }
        return _chunk_to_plain(row.chunk) | {"places": places}


def _chunk_to_plain(chunk: Chunk) -> dict[str, Any]:
    return {
        "document": chunk.document,
        "where": chunk.place,
        "start": chunk.start,
        "end": chunk.end,
        "text": chunk.text,
    }


class Variants:
    """The same documents under other settings, kept so that they are cut, embedded and indexed once.

    Settings that need no other index cost nothing and are not kept. Whatever another state of the collection made is
    let go of.

    Parameters
    ----------
    most
        So many indexes are kept, the last used ones.
    """

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._most = most
        self._lock = threading.RLock()  # a comparison that was stopped may still end while the next one begins
        self._kept: OrderedDict[Any, AutoContext] = OrderedDict()
        self._chunks: tuple[Chunk, ...] = ()

    def __len__(self) -> int:
        return len(self._kept)

    def of(
        self, ac: AutoContext, settings: Settings, progress: Callable[[int, int], None] | None = None
    ) -> AutoContext:
        """Return the documents of `ac` as they are now under `settings`, ready to be searched.

        Raises
        ------
        SettingsError
            If the settings name what there is not.
        EncoderError
            If their embedding model cannot be loaded.
        """
        with self._lock:
            return self._of(ac, settings, progress)

    def _of(self, ac: AutoContext, settings: Settings, progress: Callable[[int, int], None] | None) -> AutoContext:
        if self._chunks is not ac.chunks:
            self.clear()
            self._chunks = ac.chunks
        wanted = index_part(settings)
        if wanted == index_part(ac.settings):
            return ac.variant(settings)
        if wanted not in self._kept:
            made = ac.variant(settings)
            made.warm_up(lambda _label, done, total: progress(done, total) if progress is not None else None)
            self._kept[wanted] = made
        self._kept.move_to_end(wanted)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return self._kept[wanted].variant(settings)

    def holds(self, ac: AutoContext, settings: Settings) -> bool:
        """Tell whether nothing has to be cut, embedded or indexed for these settings."""
        wanted = index_part(settings)
        return wanted == index_part(ac.settings) or (self._chunks is ac.chunks and wanted in self._kept)

    def clear(self) -> None:
        """Let go of all of them."""
        self._kept.clear()
        self._chunks = ()


def index_part(settings: Settings) -> tuple[Any, ...]:
    """Return what of the settings the index depends on; alike parts share an index."""
    return (settings.retrievers, settings.chunking, settings.bm25, settings.encoder)


def compare(
    ac: AutoContext,
    question: str,
    variants: Mapping[str, Settings],
    *,
    base: str | None = None,
    num_results: int | None = None,
    max_tokens: int | None = None,
    kept: Variants | None = None,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Comparison:
    """Ask one question under several settings; the collection itself stays as it is.

    A variant that cannot be searched, because its embedding model is not there for example, says so in its outcome, and
    the others go on.

    Parameters
    ----------
    variants
        Settings by label, in the order to be shown; at least one.
    base
        The label that the others are held against; None: the one with the collection's own settings, else the first.
    num_results, max_tokens
        As in `AutoContext.get_prompt`, for all of them; None as each variant's settings say.
    kept
        Where indexes that were made are kept for the next comparison.
    progress
        Called with the label of a variant, how many of its passages are embedded, and of how many.

    Raises
    ------
    ComparisonStoppedError
        If `should_stop` said so; it is asked between variants and between batches that are embedded.
    """
    if not variants:
        raise SettingsError("There is nothing to compare.")
    own = next((label for label, settings in variants.items() if settings == ac.settings), next(iter(variants)))
    base = own if base is None else base
    kept = Variants() if kept is None else kept
    outcomes: list[Outcome] = []
    found: dict[str, list[Evidence]] = {}
    with suppress(EncoderError):  # told by each variant that needs the model
        ac.warm_up()  # what has been embedded is shared by all
    for label, settings in variants.items():

        def tell(done: int, total: int, label: str = label) -> None:
            if should_stop is not None and should_stop():
                raise ComparisonStoppedError("Stopped.")
            if progress is not None:
                progress(label, done, total)

        tell(0, 0)
        try:
            engine = kept.of(ac, settings, tell)
            if _is_another_search(ac, engine):
                shared_encoder(settings.encoder)  # raises why it is not there
            wanted = settings.num_results if num_results is None else num_results
            prompt = engine.get_prompt(question, wanted, max_tokens)
            found[label] = engine.search(question, max(settings.candidates, wanted))
            outcomes.append(Outcome(label, settings, prompt, len(engine.chunks)))
        except ComparisonStoppedError:
            raise
        except AutoContextError as error:
            outcomes.append(Outcome(label, settings, None, 0, str(error)))
    return Comparison(question, base, tuple(outcomes), _rows(base, outcomes, found))


def _is_another_search(ac: AutoContext, engine: AutoContext) -> bool:
    """Whether words stand in for an embedding model that is not there, where this is not so already."""
    weights = engine.settings.weights
    weighted = [name for name in engine.settings.retrievers if weights.get(name, 1.0) > 0]
    is_missing = MEANING in weighted and MEANING not in engine.retrievers
    is_so_already = bool(ac.warnings) and engine.settings.encoder == ac.settings.encoder and weighted != [MEANING]
    return is_missing and not is_so_already


def _rows(base: str, outcomes: Sequence[Outcome], found: Mapping[str, Sequence[Evidence]]) -> tuple[Row, ...]:
    """Return the parts of documents that are in any prompt, each with its places."""
    prompts = {outcome.label: outcome.prompt for outcome in outcomes if outcome.prompt is not None}
    numbered = {
        label: [(item.chunk, number) for number, item in enumerate(prompt.evidence, start=1)]
        for label, prompt in prompts.items()
    }
    ranked = {label: [(item.chunk, rank) for rank, item in enumerate(found[label], start=1)] for label in prompts}
    shown: list[Chunk] = []
    for label in sorted(numbered, key=lambda label: label != base):  # the base first, the others in their order
        for chunk, _ in numbered[label]:
            if not any(_is_same_part(chunk, other) for other in shown):
                shown.append(chunk)
    rows = [
        Row(
            chunk,
            {
                label: Place(
                    rank=min(_places_of(chunk, ranked[label]), default=None),
                    numbers=tuple(_places_of(chunk, numbered[label])),
                )
                for label in prompts
            },
        )
        for chunk in shown
    ]
    return tuple(sorted(rows, key=lambda row: _order(row, base)))


def _is_same_part(one: Chunk, other: Chunk) -> bool:
    """Whether two passages of a document share at least half of the shorter one."""
    if one.document != other.document:
        return False
    shared = min(one.end, other.end) - max(one.start, other.start)
    return 2 * shared >= min(one.end - one.start, other.end - other.start)


def _places_of(chunk: Chunk, listed: Sequence[tuple[Chunk, int]]) -> list[int]:
    return [place for other, place in listed if _is_same_part(chunk, other)]


def _order(row: Row, base: str) -> tuple[bool, int, str, int]:
    own = row.places.get(base, Place()).number
    best = min(place.number for place in row.places.values() if place.number is not None)
    return own is None, best if own is None else own, row.chunk.document, row.chunk.start


# --- what to compare ----------------------------------------------------------------------------------------------

BM25_PAIRS = (
    (
        1.2,
        0.5,
        "Repeating a word soon stops to count, and length matters little: favours long passages that hold many "
        "different words of the question.",
    ),
    (1.5, 0.75, "The usual middle: repeats count a while, long passages are held back for the most part."),
    (
        2.0,
        1.0,
        "Each repeat counts on, and length is taken off in full: favours short passages that keep to the question's "
        "words.",
    ),
)
SENTENCES = (
    (1, "Exact: little stands around what answers, and the sentence before may be missing."),
    (3, "The usual middle: a thought with its surroundings."),
    (5, "Much stands around what answers; fewer passages fit into a prompt."),
)
METHODS: tuple[tuple[FusionMethod, str, str], ...] = (
    ("scores", "Scores", "Scores on one scale, weighted and added: a clear lead in one retriever counts."),
    ("ranks", "Ranks", "Reciprocal rank fusion: only places count, so both retrievers have to agree."),
    ("union", "Union", "One list after the other, each passage once: the first retriever decides."),
)
_ALONE = {
    "bm25": "By the question's words alone, rare words first.",
    "dense": "By meaning alone, whatever the words.",
    "tfidf": "By words alone, each the more the rarer it is; repeats and length count in full.",
}


def with_present(settings: Settings, choices: Sequence[Choice]) -> tuple[Choice, ...]:
    """Return the choices with the present settings before them, unless they are one of them."""
    if any(choice.settings == settings for choice in choices):
        return tuple(choices)
    return (Choice("As it is now", settings, "The settings that are in use."), *choices)


def bm25_choices(settings: Settings, pairs: Sequence[tuple[float, float]] | None = None) -> tuple[Choice, ...]:
    """Return a choice for each pair of k1 and b (the usual three); those say what they favour."""
    notes = {(k1, b): note for k1, b, note in BM25_PAIRS}
    return tuple(
        Choice(f"k1 {k1:.15g}, b {b:.15g}", replace(settings, bm25=BM25Options(k1=k1, b=b)), notes.get((k1, b), ""))
        for k1, b in (notes if pairs is None else pairs)
    )


def size_choices(settings: Settings, sentences: Sequence[int] | None = None) -> tuple[Choice, ...]:
    """Return a choice for each number of sentences a passage (1, 3, 5); the overlap is smaller where it has to be."""
    notes = dict(SENTENCES)
    return tuple(
        Choice(
            f"{n} sentence{'s' if n != 1 else ''}", replace(settings, chunking=_sized(settings, n)), notes.get(n, "")
        )
        for n in (notes if sentences is None else sentences)
    )


def _sized(settings: Settings, sentences: int) -> ChunkOptions:
    overlap = max(0, min(settings.chunking.overlap, sentences - 1))
    return replace(settings.chunking, sentences=sentences, overlap=overlap)


def method_choices(settings: Settings) -> tuple[Choice, ...]:
    """Return a choice for each way to put rankings together."""
    return tuple(Choice(label, replace(settings, fusion=method), note) for method, label, note in METHODS)


def retriever_choices(settings: Settings, names: Sequence[str]) -> tuple[Choice, ...]:
    """Return a choice for each retriever alone, and all of them together; weights of 0 count as 1."""
    alone = [(name, (name,), _ALONE.get(name, f"What {name} finds, in its own order.")) for name in names]
    together = [("All together", tuple(names), "Every retriever, put together.")] if len(names) > 1 else []
    weights = {name: weight for name, weight in settings.weights.items() if weight > 0}
    return tuple(
        Choice(label, replace(settings, retrievers=used, weights=weights), note)
        for label, used, note in alone + together
    )


def meaning_of(settings: Settings) -> float:
    """Return how much of the weights is the meaning's, 0 (words only) to 1 (meaning only)."""
    weights = {name: settings.weights.get(name, 1.0) for name in settings.retrievers}
    return weights.get(MEANING, 0.0) / sum(weights.values())


def weigh(settings: Settings, meaning: float) -> Settings:
    """Return the settings with so much weight on meaning and the rest on words; both are searched.

    Parameters
    ----------
    meaning
        0 (words only) to 1 (meaning only). An end removes the retrievers of the other. Several retrievers by words
        share theirs as they do now.
    """
    if not 0 <= meaning <= 1:
        raise SettingsError(f"The weight of the meaning lies between 0 and 1, not {meaning}.")
    words = [name for name in settings.retrievers if name != MEANING] or ["bm25"]
    now = [settings.weights.get(name, 1.0) for name in words]
    shares = [weight / sum(now) for weight in now] if sum(now) else [1 / len(words)] * len(words)
    weights = {name: round((1 - meaning) * share, 6) for name, share in zip(words, shares, strict=True)}
    retrievers = settings.retrievers
    if MEANING not in retrievers:
        retrievers = (*retrievers, MEANING)
    if "bm25" in words and "bm25" not in retrievers:
        retrievers = ("bm25", *retrievers)
    return replace(settings, retrievers=retrievers, weights={**settings.weights, **weights, MEANING: round(meaning, 6)})


def model_choices(settings: Settings, models: Sequence[str], *, allow_download: bool = False) -> tuple[Choice, ...]:
    """Return a choice for each embedding model: a name, or a folder that holds one."""
    made = []
    for model in models:
        folder = at_home(model) if model.startswith(("~", ".")) or "\\" in model or Path(model).is_absolute() else None
        options = EncoderOptions(
            model=folder.name if folder is not None else model, folder=folder, allow_download=allow_download
        )
        retrievers = settings.retrievers if MEANING in settings.retrievers else (*settings.retrievers, MEANING)
        made.append(Choice(model, replace(settings, encoder=options, retrievers=retrievers)))
    return tuple(made)
