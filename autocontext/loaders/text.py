"""Plain text and Markdown, in whatever encoding it comes."""

from __future__ import annotations

import codecs
import re

from autocontext.datatypes import Document
from autocontext.errors import LoadError
from autocontext.loaders.base import clean_text, content_hash, unsafe_note

SUFFIXES = (".txt", ".text", ".md", ".markdown")

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Signs of cp1252 that stand between letters only where another encoding has a letter in their place (Polish, Russian).
_SIGN_IN_WORD = re.compile(
    "[^\\W\\d_][\u00a1-\u00a9\u00ab\u00ac\u00ae-\u00b4\u00b6\u00b8\u00b9\u00bb-\u00bf\u00d7\u00f7][^\\W\\d_]"
)
_BAD_BYTES = 0.002  # UTF-8 with a few broken bytes stays UTF-8


def load(name: str, data: bytes) -> Document:
    """Decode a text file.

    Raises
    ------
    LoadError
        If the bytes are not text.
    """
    decoded, notes = _decode(name, data)
    text, unsafe = clean_text(decoded)
    return Document(name=name, text=text, content_hash=content_hash(data), notes=(*notes, *unsafe_note(unsafe)))


def _decode(name: str, data: bytes) -> tuple[str, tuple[str, ...]]:
    """Byte order mark, strict UTF-8, UTF-8 with a few bad bytes, a guess; anything but plain UTF-8 is told."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            text = data.decode(encoding, "replace")
            notes = () if encoding == "utf-8-sig" else (f"Read as {encoding}.",)
            return text, (*notes, *_bad_note(text.count("\ufffd")))
    if wide := _wide_encoding(data):
        text = data.decode(wide, "replace")
        return text, (f"Read as {wide} (a guess).", *_bad_note(text.count("\ufffd")))
    try:
        return data.decode("utf-8"), ()
    except UnicodeDecodeError:
        lenient = data.decode("utf-8", "replace")
    bad = lenient.count("\ufffd")
    if bad <= 1 + len(lenient) * _BAD_BYTES and any(ord(char) > 127 and char != "\ufffd" for char in lenient):
        return lenient, _bad_note(bad)
    if _looks_western(data):
        return data.decode("cp1252"), ("Read as cp1252 (a guess).",)
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    if best is None:
        if b"\0" in data:
            raise LoadError(name, "it is not text, whatever its name says")
        return data.decode("cp1252", "replace"), ("Encoding unknown: read as cp1252.",)
    encoding = {"gb2312": "gb18030", "gbk": "gb18030"}.get(best.encoding, best.encoding)
    return data.decode(encoding, "replace"), (f"Read as {encoding} (a guess).",)


def _wide_encoding(data: bytes) -> str | None:
    """Return the UTF-16 without a byte order mark that a text of mostly Western letters seems to be in."""
    even, odd = data[0::2].count(0), data[1::2].count(0)
    if max(even, odd) * 4 < len(data) or min(even, odd) * 20 > max(even, odd):
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def _bad_note(count: int) -> tuple[str, ...]:
    return (f"{count} byte{'s' if count > 1 else ''} could not be decoded.",) if count else ()


def _looks_western(data: bytes) -> bool:
    """Tell whether cp1252 makes sense of every byte and most are ASCII: a guesser fails on short Western notes."""
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return False
    mostly_ascii = sum(byte > 127 for byte in data) * 3 < len(data)
    return mostly_ascii and not re.search(r"[\0-\x08]", text) and not _SIGN_IN_WORD.search(text)
