"""What a change of settings will cost, told before it is made."""

from __future__ import annotations

from dataclasses import dataclass, replace

from autocontext.datatypes import Document
from autocontext.engine import AutoContext
from autocontext.settings import Settings
from autocontext.wording import counted

_SAMPLE = 300_000  # characters that are cut to see how many passages there will be
_EDGE = 2_000  # characters at the end of a part, whose passages would go on in the whole document


@dataclass(frozen=True, slots=True)
class Cost:
    """What a change of settings will cost.

    Attributes
    ----------
    documents
        Documents that are cut into passages again.
    passages
        Passages that are embedded at most: texts that were embedded before, in any collection, are not again.
    is_estimate
        Whether `passages` is reckoned from a part of the documents.
    seconds
        What embedding them will take about, at the speed measured so far; None where that is not known.
    for_new_files
        Whether limits are changed that hold for files that are read from now on.
    warning
        What will not work as the settings ask, a sentence: for example that the embedding model is not there; or "".
    """

    documents: int = 0
    passages: int = 0
    is_estimate: bool = False
    seconds: float | None = None
    for_new_files: bool = False
    warning: str = ""

    @property
    def told(self) -> str:
        """The cost in a sentence or two."""
        about = "about " if self.is_estimate else ""
        parts = []
        if self.documents:
            parts.append(f"cuts {counted(self.documents, 'document')} again")
        if self.passages:
            time = f" ({_duration(self.seconds)})" if self.seconds is not None else ""
            parts.append(f"embeds {about}{counted(self.passages, 'passage')} at most{time}")
        sentence = f"This {' and '.join(parts)}." if parts else "This costs nothing: nothing is cut or embedded again."
        later = " New limits hold for files that are read from now on; what is in stays as it was read."
        return sentence + (later if self.for_new_files else "")


def cost_of_change(before: Settings, after: Settings, ac: AutoContext) -> Cost:
    """Return what it costs to go over from one to the other; nothing is downloaded or changed to find out.

    A large collection is judged by a part of its documents, and a long document by its beginning.

    Raises
    ------
    SettingsError
        If the new settings name what there is not.
    """
    limits = (before.pdf, before.limits) != (after.pdf, after.limits)
    is_cut = (before.chunking, before.encoder) != (after.chunking, after.encoder)
    is_embedded = _is_embedded(after)
    is_other_model = _model(before) != _model(after) or not _is_embedded(before)
    probe = replace(after, encoder=replace(after.encoder, allow_download=False))
    if not is_cut and not (is_embedded and is_other_model):
        ac.variant(replace(probe, encoder=before.encoder), names=())  # only to find what cannot be
        return Cost(for_new_files=limits)
    documents = list(ac.documents.values())
    sample = _sample(documents)
    if before.encoder == after.encoder:
        probe = after
    tried = ac.variant(probe, names=())
    known = set() if is_other_model else {(chunk.document, chunk.start, chunk.end) for chunk in ac.chunks}
    fresh = [
        chunk
        for document, end in sample
        for chunk in (tried.cut(document) if is_embedded else ())
        if chunk.end <= end and (chunk.document, chunk.start, chunk.end) not in known
    ]
    whole = sum(len(document.text) for document in documents)
    looked_at = sum(end for _, end in sample)
    scale = whole / (looked_at or 1)
    speed = ac.embedding_speed if before.encoder == after.encoder else None
    return Cost(
        documents=len(documents) if is_cut else 0,
        passages=round(len(fresh) * scale),
        is_estimate=looked_at < whole,
        seconds=sum(len(chunk.text) for chunk in fresh) * scale / speed if speed else None,
        for_new_files=limits,
        warning=_warning(tried, after) if before.encoder != after.encoder else "",
    )


def _is_embedded(settings: Settings) -> bool:
    return "dense" in settings.retrievers and settings.weights.get("dense", 1.0) > 0


def _model(settings: Settings) -> tuple[str, object]:
    """Return what decides on the vectors: what computes them, and whether it may be fetched, changes none."""
    return settings.encoder.model, settings.encoder.folder


def _warning(tried: AutoContext, after: Settings) -> str:
    if not tried.warnings:
        return ""
    if after.encoder.allow_download and after.encoder.folder is None:
        return f"The embedding model {after.encoder.model} is not on this machine: it will be downloaded."
    return " ".join(tried.warnings)


def _sample(documents: list[Document]) -> list[tuple[Document, int]]:
    """Return documents from everywhere in the list, about `_SAMPLE` characters in all, and how far each is looked at.

    Of a long one only the beginning is taken.
    """
    whole = sum(len(document.text) for document in documents)
    some = documents[:: max(1, round(whole / _SAMPLE))]
    share = max(_SAMPLE // (len(some) or 1), 2 * _EDGE)
    return [_beginning(document, share) for document in some]


def _beginning(document: Document, length: int) -> tuple[Document, int]:
    if len(document.text) <= length:
        return document, len(document.text)
    part = replace(
        document,
        text=document.text[:length],
        page_starts=tuple(start for start in document.page_starts if start < length),
        sections=tuple(section for section in document.sections if section.start < length),
    )
    return part, length - _EDGE


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "less than a second"
    if seconds < 90:
        return f"about {counted(round(seconds), 'second')}"
    return f"about {counted(round(seconds / 60), 'minute')}"
