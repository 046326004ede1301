"""The second extractor: pypdf, for pages and files of which PDFium makes little. Runs in the child process only."""

from __future__ import annotations

import io
import logging
import re
from typing import Any

from autocontext.loaders.pdf.text import LINE_END_HYPHEN, fold_forms

# Entries of a font's character map that lead to NUL: without them pypdf takes the font's encoding, which knows better.
_TO_NUL = re.compile(rb"<[0-9A-Fa-f]+>\s*(?:<[0-9A-Fa-f]+>\s*)?<0000>\s*")
_PASSWORD_FLAG, _HIDDEN_FLAGS = 1 << 13, 2 | 32


class PasswordError(Exception):
    """The file does not open without a password."""


class PypdfPages:
    """The pages of one file through pypdf."""

    def __init__(self, data: bytes) -> None:
        from pypdf import PdfReader
        from pypdf.errors import FileNotDecryptedError

        logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it warns about every small fault of a file
        reader = PdfReader(io.BytesIO(data))
        try:
            self._pages = list(reader.pages)
        except FileNotDecryptedError:
            raise PasswordError from None

    def __len__(self) -> int:
        return len(self._pages)

    def text(self, number: int) -> str:
        """Return the text of a page, counted from 0."""
        page = self._pages[number]
        for font in _fonts(page):
            _forget_nul(font)
        text: str = page.extract_text()
        return fold_forms(text.replace(LINE_END_HYPHEN, "\x01"))

    def written_beside(self, number: int) -> list[str]:
        """Return what was typed into the page's form fields and notes, a line each."""
        lines: list[str] = []
        for reference in self._pages[number].get("/Annots") or ():
            annotation = reference.get_object()
            if int(annotation.get("/F", 0)) & _HIDDEN_FLAGS:
                continue
            subtype = str(annotation.get("/Subtype"))
            if subtype == "/Widget":
                lines += _field(annotation)
            elif subtype not in ("/Popup", "/Link") and (contents := str(annotation.get("/Contents") or "").strip()):
                lines.append(contents if subtype == "/FreeText" else f"Note: {contents}")
        return lines


def _field(widget: Any) -> list[str]:
    values: dict[str, Any] = {}
    names: list[str] = []
    node, depth = widget, 0
    while node is not None and depth < 20:  # what a field does not say, its parent does
        for key in ("/V", "/FT", "/Ff", "/TU"):
            if node.get(key) is not None:
                values.setdefault(key, node[key])
        names += [str(node["/T"])] if node.get("/T") else []
        node, depth = node["/Parent"].get_object() if node.get("/Parent") else None, depth + 1
    value = values.get("/V")
    if values.get("/FT") not in ("/Tx", "/Ch", "/Btn") or int(values.get("/Ff", 0)) & _PASSWORD_FLAG:
        return []
    shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value if value is not None else "").strip()
    shown = shown.removeprefix("/") if values["/FT"] == "/Btn" else shown
    if not shown or shown == "Off":
        return []
    return [f"{values.get('/TU') or '.'.join(reversed(names))}: {shown}"]


def _fonts(page: Any) -> list[Any]:
    resources = page.get("/Resources")
    fonts = resources.get_object().get("/Font") if resources is not None else None
    return [font.get_object() for font in fonts.get_object().values()] if fonts is not None else []


def _forget_nul(font: Any) -> None:
    stream = font.get("/ToUnicode")
    if stream is None or font.get("/Subtype") == "/Type0":  # codes of two bytes have no encoding to fall back on
        return
    stream = stream.get_object()
    if hasattr(stream, "get_data") and _TO_NUL.search(data := stream.get_data()):
        stream.set_data(_TO_NUL.sub(b"", data))
