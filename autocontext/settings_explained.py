"""What every setting means, in plain words: for the Settings page, and as comments in a settings file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from autocontext.settings import Settings


@dataclass(frozen=True, slots=True)
class Explained:
    """A setting's short name on pages, and a sentence or two on what it does."""

    label: str
    text: str


EXPLAINED: dict[str, Explained] = {
    "retrievers": Explained(
        "Retrievers",
        "What looks for passages: bm25 by the question's words, dense by their meaning; both together find more. "
        "tfidf is the classic search by words, to compare with.",
    ),
    "candidates": Explained(
        "Candidates",
        "How many passages each retriever hands over before the rankings are put together. More is slower and rarely "
        "better.",
    ),
    "fusion": Explained(
        "Fusion",
        "How the rankings become one. scores: the retrievers' scores are brought to one scale and added. ranks: only "
        "places count (reciprocal rank fusion). union: one list after the other, each passage once.",
    ),
    "template": Explained(
        "Form of the prompt", "The words around question and passages: a name, or a text of your own with fields."
    ),
    "num_results": Explained("Passages at most", "No more passages than this go into a prompt."),
    "max_tokens": Explained(
        "Token budget", "A prompt is never longer. A token is about three quarters of an English word."
    ),
    "weights": Explained(
        "Weights",
        "How much each retriever has to say, against the others; one that is not named counts 1, 0 removes it.",
    ),
    "chunking.sentences": Explained(
        "Sentences a passage",
        "Short passages are exact and lose what stands around them; long ones keep it and fill the prompt sooner.",
    ),
    "chunking.sentence_tokens": Explained(
        "Tokens a sentence counts for",
        "A passage is closed only when it also has so many tokens for each of its sentences: lists and short lines are "
        "not cut to shreds, and fewer that are left over go to the passage before. 0 counts sentences alone.",
    ),
    "chunking.overlap": Explained(
        "Overlap", "Sentences that a passage repeats from the one before; fewer than it has."
    ),
    "chunking.max_tokens": Explained(
        "Longest passage", "In tokens of the embedding model, whose own limit holds where it is smaller."
    ),
    "bm25.k1": Explained(
        "k1", "How much it counts that a passage repeats a word of the question: 0 not at all, 2 a good deal."
    ),
    "bm25.b": Explained(
        "b", "How much long passages are held back because they hold more words anyway: 0 not at all, 1 fully."
    ),
    "encoder.model": Explained(
        "Embedding model",
        "What turns passages into vectors: its name on the model hub, looked for on this machine first.",
    ),
    "encoder.folder": Explained(
        "Folder of the model", "A folder that holds the embedding model; without one it is looked for by its name."
    ),
    "encoder.allow_download": Explained(
        "May be downloaded", "Whether the embedding model may be fetched from the hub if it is nowhere on this machine."
    ),
    "encoder.backend": Explained(
        "Computed by",
        "What computes the vectors, which are the same: openvino is fast on most processors, sentence-transformers "
        "works everywhere and on GPUs, auto takes the better one.",
    ),
    "pdf.seconds": Explained("Seconds a PDF", "Reading one PDF ends then; the pages that were read are kept."),
    "pdf.max_pages": Explained("Pages a PDF", "Pages that are read of one PDF at most."),
    "pdf.memory_megabytes": Explained("Memory for a PDF", "Megabytes that reading one PDF may take (on Linux only)."),
    "pdf.ocr": Explained(
        "Read scanned pages",
        "Recognize text in the picture of pages without text: slow, and needs the package rapidocr.",
    ),
    "limits.file_megabytes": Explained("Largest file", "In megabytes; a larger one gets a row that says so."),
    "limits.files": Explained("Files at once", "New and changed files in one batch; the rest is for another one."),
    "limits.megabytes": Explained("Megabytes at once", "What the files of one batch may have in all."),
    "limits.seconds": Explained("Seconds a file", "Reading one file is given up then; the others go on meanwhile."),
    "limits.originals_megabytes": Explained(
        "Kept PDF files",
        "PDF files are kept for pictures of their pages, up to so many megabytes in all; 0 keeps none.",
    ),
}


def setting_paths() -> Iterator[str]:
    """Yield the name of every setting, as ``"num_results"`` or ``"bm25.k1"``: first those without a group."""
    defaults = Settings()
    groups = [field.name for field in fields(Settings) if is_dataclass(getattr(defaults, field.name))]
    yield from (field.name for field in fields(Settings) if field.name not in groups)
    for group in groups:
        yield from (f"{group}.{field.name}" for field in fields(getattr(defaults, group)))


def setting_of(settings: Settings, path: str) -> Any:
    """Return the value of a setting by its name of `setting_paths`."""
    value: Any = settings
    for name in path.split("."):
        value = getattr(value, name)
    return value


def with_values(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """Return the settings with other values, by their names of `setting_paths`; all are put in at once.

    Raises
    ------
    SettingsError
        If they cannot work together.
    """
    groups: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        group, _, name = path.rpartition(".")
        groups.setdefault(group, {})[name] = value
    changed = groups.pop("", {})
    changed |= {group: replace(getattr(settings, group), **inner) for group, inner in groups.items()}
    return replace(settings, **changed)
