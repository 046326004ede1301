"""PDF files, page by page: two extractors in a child process, the better text of each page kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from autocontext.datatypes import Document
from autocontext.errors import LoadError, LoadStoppedError
from autocontext.loaders.base import Reading, clean_text, content_hash, unsafe_note
from autocontext.loaders.pdf import client
from autocontext.loaders.pdf.compare import UNREADABLE
from autocontext.loaders.pdf.ocr import EXTRA_MEMORY
from autocontext.loaders.pdf.text import join_broken_words, leave_out_repeated

SUFFIXES = (".pdf",)
_TRIES = 4
_DAMAGED = "it is damaged or not a PDF; open it in a viewer and save it again"


def load(name: str, data: bytes, reading: Reading | None = None) -> Document:
    """Extract the text of every page; a page that ends within a sentence is joined to the next by a plain line end.

    What was typed into form fields and notes follows the text of its page. Headers and footers that repeat are left out
    but for their first copy, and words broken at a line end are made whole.

    Raises
    ------
    LoadError
        If the file is damaged, needs a password, holds no text, or cannot be read within the limits.
    """
    if not data:
        raise LoadError(name, "the file is empty")
    reading = reading or Reading()
    found = _read(name, data, reading)
    texts = [page["text"] or "" for page in found.in_order()]
    repeated = leave_out_repeated(texts)
    pieces: list[str] = []
    starts: list[int] = []
    offset = unsafe = 0
    for page, whole in zip(found.in_order(), join_broken_words(repeated.pages), strict=True):
        text, count = clean_text("\n\n".join(filter(None, [whole, "\n".join(page["beside"])])))
        text, unsafe = text.strip(), unsafe + count
        if pieces:
            joint = "\n" if text[:1].islower() else "\n\n"
            pieces.append(joint)
            offset += len(joint)
        starts.append(offset)
        pieces.append(text)
        offset += len(text)
    if not "".join(pieces).strip():
        raise LoadError(name, found.why_no_text(reading))
    notes = found.notes(reading)
    if repeated.count:
        examples = ", ".join(f'"{line[:40]}"' for line in repeated.examples)
        notes.append(f"Repeated headers and footers left out: {repeated.count} lines, such as {examples}.")
    return Document(
        name=name,
        text="".join(pieces),
        content_hash=content_hash(data),
        page_starts=tuple(starts),
        notes=(*notes, *unsafe_note(unsafe)),
    )


@dataclass
class _Found:
    """What the child has told so far."""

    total: int = 0
    wanted: int = 0
    attachments: int = 0
    xfa: bool = False
    pages: dict[int, dict[str, Any]] = field(default_factory=dict)
    unseen: set[int] = field(default_factory=set)
    cut: bool = False
    late: bool = False
    crashed: bool = False
    unasked: bool = False
    ocr_problem: str = ""

    @property
    def complete(self) -> bool:
        return self.cut or (0 < self.wanted <= len(self.pages))

    def in_order(self) -> list[dict[str, Any]]:
        """Return the pages up to the last one that was reached; one that was skipped holds nothing."""
        nothing: dict[str, Any] = {"text": None, "beside": [], "fault": 0.0, "outside": 0}
        return [self.pages.get(number, nothing) for number in range(max(self.pages, default=-1) + 1)]

    def take(self, message: dict[str, Any], max_pages: int) -> None:
        if "pages" in message:
            self.total = max(self.total, message["pages"])
            self.wanted = min(self.total, max_pages)
            self.attachments, self.xfa = message["attachments"], message["xfa"]
        elif "page" in message:
            self.pages[message["page"]] = message
        elif "unseen" in message:
            self.unseen.add(message["unseen"])
        self.ocr_problem = message.get("ocr", self.ocr_problem)
        self.cut |= "cut" in message
        self.unasked |= "unasked" in message

    def why_no_text(self, reading: Reading) -> str:
        """Return the sentence on a file whose pages were read, but gave nothing."""
        if self.crashed:
            return _sentence("crash", reading)
        if all(page["text"] is None for page in self.in_order()):
            return "no page can be read; open it in a viewer and save it again"
        scanned = "no text found (scanned pages?); run it through an OCR program first"
        return f"{scanned}; text recognition is on, but {self.ocr_problem}" if self.ocr_problem else scanned

    def _why_not_all(self, reading: Reading) -> str:
        if len(self.pages) >= self.wanted:
            return f"the limit is {reading.pdf.max_pages:,} pages"
        if self.cut:
            return "the limit is 30 million characters"
        if self.late:
            return f"the limit is {reading.pdf.seconds:g} seconds"
        return "then it crashed the reader"

    def notes(self, reading: Reading) -> list[str]:
        """Return the sentences on what is not as a reader would think."""
        pages = self.in_order()
        of = f"of {len(pages)} pages"
        broken = sum(page["text"] is None for page in pages)
        empty = sum(page["text"] == "" and not page["beside"] for page in pages)
        strange = sum(page["fault"] >= UNREADABLE for page in pages)
        outside = sum(page["outside"] for page in pages)
        recognized = sum(page.get("by") == "ocr" for page in pages)
        notes: list[str] = []
        if len(pages) < self.total:
            notes.append(
                f"Only the first {len(pages):,} of {self.total:,} pages were read: {self._why_not_all(reading)}."
            )
        notes += _counted(broken, f"{broken} {of} could not be read.")
        notes += _counted(empty, f"{empty} {of} hold no text.")
        notes += _counted(recognized, f"The text of {recognized} {of} was recognized from pictures (OCR).")
        notes += _counted(bool(self.ocr_problem), f"Text recognition (OCR) is on, but {self.ocr_problem}.")
        notes += _counted(strange, f"The text of {strange} {of} looks unreadable.")
        notes += _counted(
            self.unasked or (self.late and self.complete), "The time was too short to compare all doubtful pages."
        )
        notes += _counted(outside, f"{outside} characters outside of the visible page left out.")
        notes += _counted(
            len(self.unseen), f"{len(self.unseen)} {of} hold text that cannot be seen (white, or behind a picture)."
        )
        notes += _counted(self.xfa, "It is an XFA form, whose content is not read; print it to a PDF first.")
        notes += _counted(self.attachments, f"Attached files are not read: {self.attachments}.")
        return notes


def _counted(count: int, note: str) -> Sequence[str]:
    return (note,) if count else ()


def _read(name: str, data: bytes, reading: Reading) -> _Found:
    """Let the child read the file; where it dies, once more for the rest, that page left to the other extractor."""
    limits = reading.pdf
    job: dict[str, Any] = {"do": "text", "max_pages": limits.max_pages, "memory": limits.memory_megabytes * 1_000_000}
    job |= {"without_pdfium": False, "ocr": limits.ocr}
    job["memory"] += EXTRA_MEMORY if limits.ocr else 0
    found = _Found()
    ends = time.monotonic() + limits.seconds
    failure = ""
    deadly: list[int] = []
    for _ in range(_TRIES):
        job |= {"done": sorted(found.pages), "deadly": deadly}
        try:
            left = max(1.0, ends - time.monotonic())
            with closing(client.converse(job, data, seconds=left, should_stop=reading.should_stop)) as messages:
                for message in messages:
                    found.take(message, limits.max_pages)
                    failure = message.get("failed", "")
                    if "page" in message:
                        reading.progress(len(found.pages), found.wanted)
        except client.WorkerStoppedError:
            raise LoadStoppedError(name) from None
        except client.WorkerTimeoutError:
            found.late, failure = True, "time"
        except client.WorkerDiedError:
            failure = "crash"
        if found.complete or failure not in ("crash", "memory"):
            break
        found.crashed = True
        missing = [number for number in range(found.wanted) if number not in found.pages and number not in deadly]
        if missing:
            deadly = [*deadly, missing[0]]
        elif not job["without_pdfium"]:
            job["without_pdfium"] = True
        else:
            break
    if not found.pages:
        raise LoadError(name, _sentence(failure, reading))
    return found


def _sentence(failure: str, reading: Reading) -> str:
    limits = reading.pdf
    memory = f"{limits.memory_megabytes} MB of memory"
    return {
        "password": "it needs a password; save a copy without one",
        "protected": "it is protected in a way that cannot be opened here; save a copy without protection",
        "web page": "it is a web page, not a PDF; download the file itself",
        "archive": "it is a ZIP or Office file, not a PDF; give it its right ending",
        "time": f"it could not be read within {limits.seconds:g} seconds; split it, or allow more time",
        "memory": f"reading it takes more than {memory}; split it",
        "crash": f"reading it crashes or takes more than {memory}; save it again or split it",
    }.get(failure, _DAMAGED)
