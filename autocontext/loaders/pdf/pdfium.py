"""The first extractor: PDFium. Fast, and reads nearly all, but it crashes with threads and has no limit on memory.

Runs in the child process only (docs/decisions/006-pdf.md).
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from autocontext.loaders.pdf.text import LINE_END_HYPHEN, fold_forms

MAX_PAGE_CHARACTERS = 2_000_000
_JUNK_BEFORE_HEADER = 1 << 20
_PASSWORD_FIELD = 1 << 13
_HIDDEN_FLAGS = 2 | 32
_CJK = re.compile("[\u3041-\u30fa\u4e00-\u9fff\uac00-\ud7a3]")
# Where TeX's old fonts keep ligatures: without a character map these codes come out as they are.
_TEX_LIGATURES = dict(
    zip("\x0b\x0c\x0d\x0e\x0f\x1b\x1c\x1d\x1e\x1f", ["ff", "fi", "fl", "ffi", "ffl"] * 2, strict=True)
)
_OTHER_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class PageText:
    """What one page gave.

    Attributes
    ----------
    text
        As it is read; a word broken at a line end has `LINE_END_HYPHEN` there.
    unmapped
        Share of the characters whose font has no character map.
    outside
        Characters left out because they lie outside of the visible page.
    """

    text: str
    unmapped: float = 0.0
    outside: int = 0


def open_document(data: bytes) -> Any:
    """Open a file, also one with something before its header; pypdfium2's `PdfiumError` if it cannot be."""
    import pypdfium2

    start = max(0, data.find(b"%PDF-", 0, _JUNK_BEFORE_HEADER))
    document = pypdfium2.PdfDocument(data[start:] if start else data)
    document.init_forms()  # before pages are loaded, or fields have no values
    return document


def page_text(page: Any) -> PageText:
    """Return the text of a page that a reader can reach: what lies outside of the visible page is left out."""
    import pypdfium2.raw as raw

    text_page = page.get_textpage()
    try:
        count = text_page.count_chars()
        if count > MAX_PAGE_CHARACTERS:
            count = MAX_PAGE_CHARACTERS
        whole = text_page.get_text_range(0, count) if count else ""
        shown = text_page.get_text_bounded() if count else ""
        outside = _amount(whole) - _amount(shown)
        handle = text_page.raw
        unmapped = sum(raw.FPDFText_HasUnicodeMapError(handle, i) == 1 for i in range(count)) / max(1, count)
        if outside > 0 or _CJK.search(whole):
            whole = _character_by_character(page, text_page, count, drop_outside=outside > 0)
        elif whole.strip():
            whole = _with_paragraphs(handle, _with_signs(handle, whole))
        return PageText(fold_forms(whole), unmapped, max(0, outside))
    finally:
        text_page.close()


def _amount(text: str) -> int:
    return sum(char.isalnum() for char in text)


@dataclass(frozen=True, slots=True)
class _Placed:
    """A line: its text, where it begins and ends, the size of its first letter, and whether it runs to the right."""

    text: str
    left: float
    right: float
    base: float
    size: float
    upright: bool


def _with_signs(handle: Any, text: str) -> str:
    """Tell hyphens at line ends, and what TeX's old fonts keep under control codes, from signs without a meaning."""
    import pypdfium2.raw as raw

    def sign(match: re.Match[str]) -> str:
        index = raw.FPDFText_GetCharIndexFromTextIndex(handle, match.start())
        if raw.FPDFText_IsHyphen(handle, index) == 1:
            return LINE_END_HYPHEN
        code = raw.FPDFText_GetUnicode(handle, index)
        after_letter = match.start() > 0 and text[match.start() - 1].isalpha()
        return _TEX_LIGATURES.get(chr(code), "\x01") if after_letter else "\x01"

    return _OTHER_CONTROL.sub(sign, text)


def _with_paragraphs(handle: Any, text: str) -> str:
    """Put a blank line where lines stand further apart than their neighbours do, or the size of the letters changes.

    A line that is only raised or lowered a little (an exponent, a footnote's number) is put back into its line.
    """
    lines = _placed_lines(handle, text)
    pairs = list(pairwise(lines))
    gaps = [above.base - below.base for above, below in pairs]
    pieces = [line.text for line in lines[:1]]
    for n, (gap, (above, below)) in enumerate(zip(gaps, pairs, strict=True)):
        larger = max(above.size, below.size)
        if not (above.upright and below.upright):
            joint = "\n"
        elif abs(gap) < 0.6 * larger and below.left > above.right - 0.5 * larger:
            joint = " "
        else:
            beside = [other for other in (gaps[n - 1 : n] if n else []) + gaps[n + 1 : n + 2] if other > 0.6 * larger]
            apart = gap > 1.3 * min(beside, default=1.2 * larger)
            resized = larger > 1.15 * min(above.size, below.size) and gap > 0.6 * larger
            joint = "\n\n" if apart or resized else "\n"
        pieces += [joint, below.text]
    return "".join(pieces)


def _placed_lines(handle: Any, text: str) -> list[_Placed]:
    import pypdfium2.raw as raw

    box = [ctypes.c_double() for _ in range(4)]
    edges = [ctypes.byref(edge) for edge in box]
    x, y = ctypes.c_double(), ctypes.c_double()
    origin = ctypes.byref(x), ctypes.byref(y)
    lines: list[_Placed] = []
    begin = 0
    for line in text.split("\n"):
        shown = line.strip()
        first = begin + len(line) - len(line.lstrip())
        begin += len(line) + 1
        if not shown:
            continue
        start = raw.FPDFText_GetCharIndexFromTextIndex(handle, first)
        end = raw.FPDFText_GetCharIndexFromTextIndex(handle, first + len(shown) - 1)
        raw.FPDFText_GetCharBox(handle, start, *edges)
        raw.FPDFText_GetCharOrigin(handle, start, *origin)
        left, base = box[0].value, y.value
        raw.FPDFText_GetCharBox(handle, end, *edges)
        raw.FPDFText_GetCharOrigin(handle, end, *origin)
        size = _letter_height(raw, handle, start)
        upright = abs(y.value - base) < size and (len(shown) < 3 or box[1].value > left)
        lines.append(_Placed(shown, left, box[1].value, base, size, upright))
    return lines


def _letter_height(raw: Any, handle: Any, index: int) -> float:
    """Return the size of a letter as it is drawn: fonts are often of size 1, blown up."""
    matrix = raw.FS_MATRIX()
    size: float = raw.FPDFText_GetFontSize(handle, index)
    return size * abs(matrix.d or matrix.b) if raw.FPDFText_GetMatrix(handle, index, matrix) else size


@dataclass(slots=True)
class _Line:
    """A line under way: its text, and where its first and last characters stand."""

    text: str = ""
    first: tuple[float, float] | None = None
    last: tuple[float, float] = (0.0, 0.0)
    count: int = 0

    @property
    def vertical(self) -> bool:
        if self.first is None or self.count < 3:
            return False
        (x, y), (last_x, last_y) = self.first, self.last
        return y - last_y > 2 * abs(last_x - x)


def _character_by_character(page: Any, text_page: Any, count: int, *, drop_outside: bool) -> str:
    """Build the text from single characters: those outside of the page left out, vertical columns from the right."""
    import pypdfium2.raw as raw

    handle = text_page.raw
    left, bottom, right, top = page.get_bbox()
    box = [ctypes.c_double() for _ in range(4)]
    lines = [_Line()]
    pending = 0
    for i in range(count):
        code = raw.FPDFText_GetUnicode(handle, i)
        if 0xD800 <= code < 0xDC00:  # the first half of a character beyond 16 bits
            pending = code
            continue
        if 0xDC00 <= code < 0xE000 and pending:
            code = 0x10000 + ((pending - 0xD800) << 10) + (code - 0xDC00)
        pending = 0
        char = chr(code) if code != 2 else "\x01"  # a glyph without meaning, not our sign for a broken word
        if raw.FPDFText_IsHyphen(handle, i) == 1:
            char = LINE_END_HYPHEN
        if char == "\n":
            lines.append(_Line())
            continue
        if raw.FPDFText_IsGenerated(handle, i) != 1 and (char in _TEX_LIGATURES or not char.isspace()):
            if lines[-1].text[-1:].isalpha():
                char = _TEX_LIGATURES.get(char, char)
            raw.FPDFText_GetCharBox(handle, i, *map(ctypes.byref, box))
            x, y = (box[0].value + box[1].value) / 2, (box[2].value + box[3].value) / 2
            if drop_outside and not (left <= x <= right and bottom <= y <= top):
                continue
            line = lines[-1]
            line.first, line.last, line.count = line.first or (x, y), (x, y), line.count + 1
        lines[-1].text += char
    if drop_outside:
        lines = [line for line in lines if line.count or not line.text.strip()]
    return "\n".join(line.text for line in _columns_from_the_right(lines))


def _columns_from_the_right(lines: list[_Line]) -> list[_Line]:
    """Turn each run of vertical lines that goes from left to right: they are read from right to left."""
    vertical = [line for line in lines if line.vertical]
    if len(vertical) < 2 or 2 * sum(line.count for line in vertical) < sum(line.count for line in lines):
        return lines
    runs: list[list[_Line]] = []
    for line in lines:
        if line.first is None or not runs or (runs[-1][-1].first or line.first)[0] > line.first[0]:
            runs.append([])
        runs[-1].append(line)
    return [line for run in runs for line in reversed(run)]


# --- what stands beside the text: form fields, notes, attachments ----------------------------------------------------


def beside_the_pages(document: Any) -> dict[str, Any]:
    """Return how many files are attached, and whether the form is one whose pages are made by the viewer (XFA)."""
    import pypdfium2.raw as raw

    xfa = document.get_formtype() in (raw.FORMTYPE_XFA_FULL, raw.FORMTYPE_XFA_FOREGROUND)
    return {"attachments": document.count_attachments(), "xfa": xfa}


def written_beside(document: Any, page: Any) -> list[str]:
    """Return what was typed into the page's form fields ("field: value") and notes, a line each."""
    import pypdfium2.raw as raw

    lines: list[str] = []
    form = document.formenv.raw if document.formenv is not None else None
    for index in range(min(raw.FPDFPage_GetAnnotCount(page.raw), 5_000)):
        annotation = raw.FPDFPage_GetAnnot(page.raw, index)
        if not annotation:
            continue
        try:
            if not raw.FPDFAnnot_GetFlags(annotation) & _HIDDEN_FLAGS:
                lines += _annotation_lines(raw, form, annotation)
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
    return list(dict.fromkeys(lines))


def _annotation_lines(raw: Any, form: Any, annotation: Any) -> list[str]:
    subtype = raw.FPDFAnnot_GetSubtype(annotation)
    if subtype == raw.FPDF_ANNOT_WIDGET:
        return _field_lines(raw, form, annotation) if form is not None else []
    if subtype in (raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_LINK):
        return []
    contents = _string(lambda buffer, size: raw.FPDFAnnot_GetStringValue(annotation, b"Contents", buffer, size)).strip()
    if not contents:
        return []
    return [contents if subtype == raw.FPDF_ANNOT_FREETEXT else f"Note: {contents}"]


def _field_lines(raw: Any, form: Any, annotation: Any) -> list[str]:
    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    flags = raw.FPDFAnnot_GetFormFieldFlags(form, annotation)
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        if not raw.FPDFAnnot_IsChecked(form, annotation):
            return []
        value = _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldExportValue(form, annotation, buffer, size))
    elif kind in (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX):
        if kind == raw.FPDF_FORMFIELD_TEXTFIELD and flags & _PASSWORD_FIELD:
            return []
        value = _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, size))
        chosen = [
            _string(lambda buffer, size, n=n: raw.FPDFAnnot_GetOptionLabel(form, annotation, n, buffer, size))
            for n in range(min(1_000, max(0, raw.FPDFAnnot_GetOptionCount(form, annotation))))
            if raw.FPDFAnnot_IsOptionSelected(form, annotation, n)
        ]
        value = ", ".join(chosen) or value
    else:
        return []
    label = _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldAlternateName(form, annotation, buffer, size))
    name = label or _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldName(form, annotation, buffer, size))
    return [f"{name}: {value.strip()}"] if value.strip() else []


def _string(read: Any) -> str:
    """Call one of PDFium's functions that fill a buffer with UTF-16, first to learn the size."""
    size = read(None, 0)
    if not 2 < size < 4_000_000:
        return ""
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    read(buffer, size)
    return bytes(buffer)[: size - 2].decode("utf-16-le", "replace")


# --- text that nobody sees -------------------------------------------------------------------------------------------


def has_unseen_text(page: Any) -> bool:
    """Tell whether the page holds text that cannot be seen on it: invisible, or white on white."""
    import pypdfium2.raw as raw

    white: list[tuple[float, float, float, float]] = []
    color = [ctypes.c_uint() for _ in range(4)]
    colors = [ctypes.byref(part) for part in color]
    bounds = [ctypes.c_float() for _ in range(4)]
    for item in _text_objects(raw, page.raw, 2):
        if raw.FPDFTextObj_GetTextRenderMode(item) == raw.FPDF_TEXTRENDERMODE_INVISIBLE:
            return True
        if not raw.FPDFPageObj_GetFillColor(item, *colors) or (color[0].value < 246 and color[3].value > 7):
            continue
        pale = min(color[0].value, color[1].value, color[2].value) > 245 or color[3].value < 8
        if pale and raw.FPDFPageObj_GetBounds(item, *map(ctypes.byref, bounds)):
            white.append((bounds[0].value, bounds[1].value, bounds[2].value, bounds[3].value))
    return bool(white) and _any_plain(page, white[:200])


def _text_objects(raw: Any, container: Any, depth: int, *, in_form: bool = False) -> Iterator[Any]:
    count = raw.FPDFFormObj_CountObjects(container) if in_form else raw.FPDFPage_CountObjects(container)
    for index in range(min(count, 20_000)):
        item = (raw.FPDFFormObj_GetObject if in_form else raw.FPDFPage_GetObject)(container, index)
        kind = raw.FPDFPageObj_GetType(item) if item else 0
        if kind == raw.FPDF_PAGEOBJ_TEXT:
            yield item
        elif kind == raw.FPDF_PAGEOBJ_FORM and depth:
            yield from _text_objects(raw, item, depth - 1, in_form=True)


def _any_plain(page: Any, boxes: list[tuple[float, float, float, float]]) -> bool:
    """Tell whether one of the boxes (in the page's units) is of a single colour in the drawn page."""
    width, height = page.get_size()
    scale = min(1.0, 1_500 / max(1.0, width, height))
    bitmap = page.render(scale=scale, grayscale=True)
    try:
        pixels, stride = bytes(bitmap.buffer), bitmap.stride
        left, bottom, _, top = page.get_bbox()
        for x0, y0, x1, y1 in boxes:
            columns = range(*_pixels(x0 - left, x1 - left, scale, bitmap.width))
            rows = range(*_pixels(top - y1, top - y0, scale, bitmap.height))
            seen = [pixels[row * stride + column] for row in rows for column in columns]
            if seen and y1 > bottom and max(seen) - min(seen) < 12:
                return True
        return False
    finally:
        bitmap.close()


def _pixels(first: float, last: float, scale: float, limit: int) -> tuple[int, int]:
    return max(0, min(limit, int(first * scale))), max(0, min(limit, int(last * scale) + 1))
