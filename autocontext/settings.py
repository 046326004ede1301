"""Every setting with its default; frozen, and the ranges are checked when made."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

from autocontext.errors import SettingsError
from autocontext.naming import label
from autocontext.records import known_fields, to_plain

FusionMethod = Literal["scores", "ranks", "union"]
Backend = Literal["auto", "openvino", "sentence-transformers"]


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise SettingsError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkOptions:
    """How documents are cut.

    Attributes
    ----------
    sentences
        Sentences a chunk, at least 1.
    sentence_tokens
        What a sentence is taken to hold at least, 0 or more: a chunk is closed only when it has ``sentences`` of them
        and ``sentences * sentence_tokens`` tokens, so that lists, code and short lines are not cut to shreds;
        fewer that are left over go to the chunk before.
    overlap
        Sentences that a chunk repeats from the one before, 0 or more and fewer than ``sentences``.
    max_tokens
        Longest chunk in the encoder's tokens, at least 16; the encoder's own limit holds where it is smaller.
    """

    sentences: int = 3
    sentence_tokens: int = 32
    overlap: int = 0
    max_tokens: int = 254

    def __post_init__(self) -> None:
        _require(self.sentences >= 1, f"A passage needs at least 1 sentence, not {self.sentences}.")
        _require(self.sentence_tokens >= 0, f"sentence_tokens must be 0 or more, not {self.sentence_tokens}.")
        _require(
            0 <= self.overlap < self.sentences,
            f"The overlap must be 0 or more and below the {self.sentences} sentences of a passage, not {self.overlap}.",
        )
        _require(self.max_tokens >= 16, f"A passage needs at least 16 tokens, not {self.max_tokens}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class BM25Options:
    """k1: how soon repeating a word stops to count, at least 0. b: how much long chunks are held back, 0 to 1."""

    k1: float = 1.5
    b: float = 0.75

    def __post_init__(self) -> None:
        _require(0 <= self.k1 < math.inf, f"k1 must be 0 or more, not {self.k1}.")
        _require(0 <= self.b <= 1, f"b must lie between 0 and 1, not {self.b}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderOptions:
    """Where the embedding model comes from.

    Attributes
    ----------
    model
        Name on the model hub, without owner for the sentence-transformers ones.
    folder
        A folder that holds the model; None looks in the local model cache, then in the installed package.
    allow_download
        Whether it may be fetched from the hub when it is nowhere on this machine.
    backend
        What computes the vectors, which are the same: ``"openvino"``, ``"sentence-transformers"``, or ``"auto"`` for
        the first where it can, and no GPU is there.
    """

    model: str = "all-MiniLM-L6-v2"
    folder: Path | None = None
    allow_download: bool = True
    backend: Backend = "auto"

    def __post_init__(self) -> None:
        known = get_args(Backend)
        _require(self.backend in known, f"backend is {', '.join(known[:-1])} or {known[-1]}, not {self.backend!r}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfOptions:
    """Limits of one PDF file; it is read in a process of its own.

    Attributes
    ----------
    seconds
        For the whole file, at least 1; the pages that were read by then are kept.
    max_pages
        Pages that are read, at least 1.
    memory_megabytes
        What reading may take, at least 300; not known to Windows and macOS, where the time limit alone holds.
    ocr
        Whether pages without text are recognized from their picture: slow, and needs the package ``rapidocr``.
    """

    seconds: float = 60.0
    max_pages: int = 5_000
    memory_megabytes: int = 900
    ocr: bool = False

    def __post_init__(self) -> None:
        _require(1 <= self.seconds < math.inf, f"A PDF needs at least 1 second, not {self.seconds}.")
        _require(self.max_pages >= 1, f"max_pages must be 1 or more, not {self.max_pages}.")
        _require(self.memory_megabytes >= 300, f"A PDF needs at least 300 MB, not {self.memory_megabytes}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOptions:
    """How much is read; what is over a limit gets a row that says so.

    Attributes
    ----------
    file_megabytes
        Largest file, in millions of bytes.
    files, megabytes
        New and changed files in one batch, and their size in all; the rest is for another round.
    seconds
        Longest time to read one file; the others go on meanwhile.
    originals_megabytes
        PDF files are kept beside their text, for pictures of their pages, as long as they are no larger in all; 0 keeps
        none.
    """

    file_megabytes: float = 50
    files: int = 20_000
    megabytes: float = 1_000
    seconds: float = 120
    originals_megabytes: float = 200

    def __post_init__(self) -> None:
        for name in ("file_megabytes", "files", "megabytes", "seconds"):
            _require(getattr(self, name) > 0, f"{name} must be above 0, not {getattr(self, name)}.")
        _require(self.originals_megabytes >= 0, f"originals_megabytes is negative: {self.originals_megabytes}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of a collection.

    Attributes
    ----------
    retrievers
        Names of the retrievers in use, at least one; see ``autocontext.retrievers.available()``.
    candidates
        How deep each retriever is asked at least, before fusion.
    fusion
        ``"scores"`` (weighted sum of min-max normalised scores), ``"ranks"`` (weighted reciprocal rank fusion) or
        ``"union"`` (the retrievers' lists one after the other, each chunk once).
    weights
        By retriever name, 0 or more; a missing name counts as 1, 0 removes the retriever. The dense one has 0.65: equal
        weights were measured to lose where the question's own words are in the text.
    template
        Name of a prompt template (``"default"``, ``"seed"``, ``"guarded"``), or the text of one; see
        ``autocontext.templates`` for its fields.
    num_results
        Passages in a prompt at most.
    max_tokens
        Token budget of a prompt.
    """

    retrievers: tuple[str, ...] = ("bm25", "dense")
    candidates: int = 300
    fusion: FusionMethod = "scores"
    weights: Mapping[str, float] = field(default_factory=lambda: {"dense": 0.65})
    template: str = "default"
    num_results: int = 5
    max_tokens: int = 3000
    chunking: ChunkOptions = field(default_factory=ChunkOptions)
    bm25: BM25Options = field(default_factory=BM25Options)
    encoder: EncoderOptions = field(default_factory=EncoderOptions)
    pdf: PdfOptions = field(default_factory=PdfOptions)
    limits: LimitOptions = field(default_factory=LimitOptions)

    def __post_init__(self) -> None:
        _require(not isinstance(self.retrievers, str), 'retrievers is a tuple of names, for example ("bm25", "dense").')
        _require(len(self.retrievers) > 0, "At least one retriever is needed.")
        _require(len(set(self.retrievers)) == len(self.retrievers), f"A retriever is named twice: {self.retrievers}.")
        _require(self.candidates >= 1, f"candidates must be 1 or more, not {self.candidates}.")
        _require(self.fusion in ("scores", "ranks", "union"), f"fusion is scores, ranks or union, not {self.fusion!r}.")
        _require(all(w >= 0 for w in self.weights.values()), f"A weight is negative: {dict(self.weights)}.")
        _require(all(w < math.inf for w in self.weights.values()), f"A weight is infinite: {dict(self.weights)}.")
        weighted = [self.weights.get(name, 1.0) for name in self.retrievers]
        _require(any(weighted), "Every retriever has weight 0: nothing could be found.")
        _require(self.num_results >= 1, f"num_results must be 1 or more, not {self.num_results}.")
        _require(self.max_tokens >= 1, f"max_tokens must be 1 or more, not {self.max_tokens}.")


def settings_to_json(settings: Settings) -> str:
    """Return the settings as they are kept with a collection: what is not at its default."""
    return json.dumps(to_plain(settings))


def settings_from_json(text: str) -> tuple[Settings, tuple[str, ...]]:
    """Return the settings of `settings_to_json`, and a sentence on each that this version cannot take over.

    Such a one has its default.

    Examples
    --------
    >>> settings_from_json('{"num_results": 3, "taste": "sweet"}')[1]
    ('The setting taste was not taken over: it is unknown here or has a value that cannot work.',)
    """
    try:
        known, bad = known_fields(Settings, json.loads(text))
    except (ValueError, RecursionError):  # the text may come from anybody
        known, bad = {}, ["of this collection"]
    settings = Settings()
    for name, value in known.items():
        try:
            settings = replace(settings, **{name: value})
        except (SettingsError, TypeError):
            bad.append(name)
    why = "was not taken over: it is unknown here or has a value that cannot work."
    return settings, tuple(f"The setting {name} {why}" for name in bad)


def saved_settings_to_json(saved: Mapping[str, Settings]) -> str:
    """Return settings by their names as they are kept with a collection."""
    return json.dumps({name: json.loads(settings_to_json(settings)) for name, settings in saved.items()})


def saved_settings_from_json(text: str) -> dict[str, Settings]:
    """Return the settings of `saved_settings_to_json`; what this version cannot take over has its default."""
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return (
        {str(name): settings_from_json(json.dumps(row))[0] for name, row in rows.items()}
        if isinstance(rows, dict)
        else {}
    )


def without_places(text: str) -> str:
    """Return kept named settings without the folders and models of the machine that they were made on.

    The names may be anybody's: each becomes one line that can be shown.
    """
    saved = saved_settings_from_json(text)
    return saved_settings_to_json({label(name): replace(one, encoder=EncoderOptions()) for name, one in saved.items()})
