"""A page of a PDF as a picture with a passage marked; drawn in the child process too."""

from __future__ import annotations

import base64
import ctypes
import io
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from autocontext.errors import LoadError
from autocontext.loaders.pdf import client
from autocontext.settings import PdfOptions

_MARK = (255, 176, 32, 96)  # as in a passage's text, but translucent
_SHORTEST = 8  # letters of a line that are looked for by themselves: fewer are found anywhere
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class PageImage:
    """A drawn page.

    Attributes
    ----------
    png
        The picture's bytes.
    page, pages
        Which page it is, counted from 1, and of how many.
    marks
        Lines that are marked; 0 if the passage was not found on the page (its text may come from a form or a scan).
    """

    png: bytes
    page: int
    pages: int
    marks: int


def page_image(
    name: str,
    data: bytes,
    page: int,
    passage: str = "",
    *,
    width: int = 1_000,
    options: PdfOptions | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> PageImage:
    """Draw a page of a PDF with a passage marked.

    Parameters
    ----------
    name
        The document's name, for the error only.
    page
        Counted from 1.
    passage
        Text as it is in a chunk: what of it stands on this page is marked, whatever its line ends and hyphens.
    width
        Of the picture, in pixels.

    Raises
    ------
    LoadError
        If the page cannot be drawn, or not within the limits of `options`.
    """
    limits = options or PdfOptions()
    job = {"do": "image", "page": page, "passage": passage, "width": width}
    job["memory"] = limits.memory_megabytes * 1_000_000
    try:
        for message in client.converse(job, data, seconds=limits.seconds, should_stop=should_stop):
            if "png" in message:
                png = base64.b64decode(message["png"])
                return PageImage(png, page, int(message["pages"]), int(message["marks"]))
    except client.WorkerTimeoutError:
        raise LoadError(name, f"page {page} could not be drawn within {limits.seconds:g} seconds") from None
    except client.WorkerError:
        pass
    raise LoadError(name, f"page {page} cannot be drawn; open the file in a viewer")


def answers(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Draw the page; runs in the child process."""
    from PIL import ImageDraw

    from autocontext.loaders.pdf.pdfium import open_document

    document = open_document(data)
    page = document[job["page"] - 1]
    width, height = page.get_size()
    scale = min(job["width"] / max(1.0, width), 3_000 / max(1.0, height), 4.0)
    boxes = _boxes(page, job["passage"])
    image = page.render(scale=scale).to_pil().convert("RGB")
    draw = ImageDraw.Draw(image, "RGBA")
    for box in boxes:
        draw.rectangle(_in_pixels(page, box, image.width, image.height), fill=_MARK)
    out = io.BytesIO()
    image.save(out, "png")
    png = base64.b64encode(out.getvalue()).decode("ascii")
    yield {"png": png, "pages": len(document), "marks": len(boxes), "end": True}


def _boxes(page: Any, passage: str) -> list[Box]:
    """Return a box, in the page's units, for each line of the page that holds some of the passage."""
    import pypdfium2.raw as raw

    text_page = page.get_textpage()
    letters: list[str] = []
    places: list[int] = []
    for i in range(text_page.count_chars()):
        folded = _fold(chr(raw.FPDFText_GetUnicode(text_page.raw, i)))
        letters += folded
        places += [i] * len(folded)
    marked: set[int] = set()
    for first, last in _found("".join(letters), passage):
        marked.update(range(places[first], places[last - 1] + 1))
    lines: list[Box] = []
    before = -2
    values = [ctypes.c_double() for _ in range(4)]
    for i in sorted(marked):
        if raw.FPDFText_IsGenerated(text_page.raw, i) == 1 or chr(raw.FPDFText_GetUnicode(text_page.raw, i)).isspace():
            continue
        if not raw.FPDFText_GetLooseCharBox(text_page.raw, i, rect := raw.FS_RECTF()):
            raw.FPDFText_GetCharBox(text_page.raw, i, *map(ctypes.byref, values))
            box = values[0].value, values[2].value, values[1].value, values[3].value
        else:
            box = rect.left, rect.bottom, rect.right, rect.top
        if lines and i - before < 4 and _same_line(lines[-1], box):
            left, bottom, right, top = lines[-1]
            lines[-1] = min(left, box[0]), min(bottom, box[1]), max(right, box[2]), max(top, box[3])
        else:
            lines.append(box)
        before = i
    text_page.close()
    return lines


def _same_line(line: Box, box: Box) -> bool:
    across = min(line[3], box[3]) - max(line[1], box[1]) > 0.4 * (box[3] - box[1])
    column = line[2] - line[0] < 1.5 * (box[2] - box[0])  # vertical writing
    down = column and min(line[2], box[2]) - max(line[0], box[0]) > 0.4 * (box[2] - box[0])
    return across or down


def _fold(char: str) -> str:
    return "".join(part for part in unicodedata.normalize("NFKC", char).casefold() if part.isalnum())


def _found(page: str, passage: str) -> list[tuple[int, int]]:
    """Return where the passage stands in a page's letters: as a whole, else its sentences, else its lines."""
    for separator in (None, r"(?<=[.!?。])\s+", r"\n+"):
        pieces = [passage] if separator is None else re.split(separator, passage)
        spans = []
        for piece in pieces:
            wanted = "".join(map(_fold, piece))
            start = page.find(wanted) if len(wanted) >= (1 if separator is None else _SHORTEST) else -1
            if start >= 0:
                spans.append((start, start + len(wanted)))
        if spans:
            return spans
    return []


def _in_pixels(page: Any, box: Box, width: int, height: int) -> tuple[int, int, int, int]:
    """Return the box in the drawn picture, whatever way the page is turned."""
    import pypdfium2.raw as raw

    xs, ys = [], []
    for x, y in ((box[0], box[1]), (box[2], box[3])):
        at_x, at_y = ctypes.c_int(), ctypes.c_int()
        raw.FPDF_PageToDevice(page.raw, 0, 0, width, height, 0, x, y, at_x, at_y)
        xs.append(at_x.value)
        ys.append(at_y.value)
    return min(xs) - 1, min(ys) - 1, max(xs) + 1, max(ys) + 1
