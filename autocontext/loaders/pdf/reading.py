"""What the child process does with one PDF: its messages, in the order in which they are found out.

First every page through PDFium, which is fast; then the doubtful ones once more through pypdf, the better text of each
page kept; then what is only nice to know. So whatever ends the child early, what was read until then is there.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import Any

from autocontext.loaders.pdf import compare, pdfium
from autocontext.loaders.pdf.pypdf_reader import PasswordError, PypdfPages
from autocontext.loaders.pdf.text import tidy_lines

MAX_CHARACTERS = 30_000_000  # of one file: a book of 5,000 pages has 12 million
Message = dict[str, Any]
Doubtful = dict[int, tuple[str, compare.Verdict, list[str], bool]]
"""By page number: its text, the verdict on it, what is written beside it, and whether PDFium could read it at all."""


def read(data: bytes, job: Message) -> Iterator[Message]:
    """Yield a message a page, and others; the last one has the key "end" or "failed".

    The job's keys: "max_pages"; "seconds"; "ocr"; and of an earlier try that died "done" (pages not to be read again),
    "deadly" (pages that the first extractor asked is not given again), "without_pdfium" (the file is not for it).
    """
    ends = time.monotonic() + 0.8 * job["seconds"]
    document: Any = None
    problem = ""
    if not job["without_pdfium"]:
        try:
            document = pdfium.open_document(data)
        except Exception as error:  # noqa: BLE001 whatever it is, the other extractor is asked
            problem = {4: "password", 5: "protected"}.get(getattr(error, "err_code", 0), _other_kind(data))
    second = _Second(data)
    total = len(document) if document is not None else 0
    if not total:
        total = second.open()
        document = None
        if not total:
            yield {"failed": second.problem if second.problem == "password" else problem or second.problem or "damaged"}
            return
    beside = pdfium.beside_the_pages(document) if document is not None else {"attachments": 0, "xfa": False}
    yield {"pages": total, **beside}
    wanted = min(total, job["max_pages"])
    done = set(job["done"])
    missing = [number for number in range(wanted) if number not in done]
    if document is None:
        yield from _all_by_pypdf(second, missing, job["deadly"])
    else:
        doubtful = yield from _all_by_pdfium(document, missing, job["deadly"])
        yield from _doubtful_by_pypdf(doubtful, second, ends)
        if job["ocr"]:
            from autocontext.loaders.pdf import ocr

            yield from ocr.read_pages(document, [number for number, page in doubtful.items() if not page[0].strip()])
        yield from _unseen(document, wanted, ends)
    yield {"end": True}


def _other_kind(data: bytes) -> str:
    """Return what else the file seems to be: "web page", "archive"; "damaged" if nothing we know."""
    begins = data[:1_000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if begins.startswith((b"<!doctype html", b"<html")):
        return "web page"
    return "archive" if begins.startswith(b"pk\x03\x04") else "damaged"


class _Second:
    """pypdf, opened when it is first needed."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.pages: PypdfPages | None = None
        self.problem = ""

    def open(self) -> int:
        """Return the number of pages; 0 if it cannot read the file."""
        if self.pages is None and not self.problem:
            try:
                self.pages = PypdfPages(self._data)
            except PasswordError:
                self.problem = "password"
            except (Exception, RecursionError):  # noqa: BLE001 a damaged file breaks it in many ways
                self.problem = "damaged"
        return len(self.pages) if self.pages is not None else 0

    def text(self, number: int) -> str | None:
        try:
            return tidy_lines(self.pages.text(number))[: pdfium.MAX_PAGE_CHARACTERS] if self.pages is not None else None
        except (Exception, RecursionError):  # noqa: BLE001 one bad page costs that page
            return None

    def written_beside(self, number: int) -> list[str]:
        try:
            return self.pages.written_beside(number) if self.pages is not None else []
        except (Exception, RecursionError):  # noqa: BLE001
            return []


def _all_by_pypdf(second: _Second, wanted: list[int], deadly: list[int]) -> Iterator[Message]:
    left = MAX_CHARACTERS
    for number in wanted:
        text = second.text(number) if number not in deadly else None
        verdict = compare.judge(text) if text else None
        left -= len(text or "")
        if left < 0:
            yield {"cut": number}
            return
        yield _page(number, text, verdict.fault if verdict else 0.0, second.written_beside(number), "pypdf")


def _all_by_pdfium(document: Any, wanted: list[int], deadly: list[int]) -> Generator[Message, None, Doubtful]:
    """Yield each page, and return the doubtful ones."""
    doubtful: Doubtful = {}
    left = MAX_CHARACTERS
    for number in wanted:
        try:
            found, beside = _by_pdfium(document, number) if number not in deadly else (None, [])
        except Exception:  # noqa: BLE001 one bad page costs that page
            found, beside = None, []
        if found is None:
            yield _page(number, None, 0.0, [], "pdfium")
            doubtful[number] = "", compare.judge(""), [], False
            continue
        text = tidy_lines(found.text)
        left -= len(text)
        if left < 0:
            yield {"cut": number}
            break
        verdict = compare.judge(text, found.unmapped)
        only_outside = not text and found.outside > 0
        if not only_outside and compare.is_doubtful(text, verdict):
            doubtful[number] = text, verdict, beside, True
        yield _page(number, text, verdict.fault if text else 0.0, beside, "pdfium", found.outside)
    return doubtful


def _by_pdfium(document: Any, number: int) -> tuple[pdfium.PageText, list[str]]:
    page = document[number]
    try:
        return pdfium.page_text(page), pdfium.written_beside(document, page)
    finally:
        page.close()


def _doubtful_by_pypdf(doubtful: Doubtful, second: _Second, ends: float) -> Iterator[Message]:
    if not doubtful or not second.open():
        return
    for number, (text, verdict, beside, readable) in doubtful.items():
        if time.monotonic() > ends:
            yield {"unasked": True}
            return
        other = second.text(number) if number < second.open() else None
        if other is None:
            continue
        judged = compare.judge(other)
        if not readable or compare.choose((text, verdict), (other, judged)):
            beside = beside or second.written_beside(number)
            doubtful[number] = other, judged, beside, True
            yield _page(number, other, judged.fault if other else 0.0, beside, "pypdf")


def _unseen(document: Any, wanted: int, ends: float) -> Iterator[Message]:
    for number in range(wanted):
        if time.monotonic() > ends:
            return
        try:
            page = document[number]
            if pdfium.has_unseen_text(page):
                yield {"unseen": number}
            page.close()
        except Exception:  # noqa: BLE001 a page that cannot be drawn has nothing to tell
            continue


def _page(number: int, text: str | None, fault: float, beside: list[str], by: str, outside: int = 0) -> Message:
    text = compare.turned(text) if text and compare.is_reversed(text) else text
    lines = [tidy_lines(line) for line in beside]
    return {"page": number, "text": text, "fault": round(fault, 3), "beside": lines, "by": by, "outside": outside}
