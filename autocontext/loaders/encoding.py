"""Bytes into letters: a byte order mark, what the file declares, strict UTF-8, a detector, and at last cp1252."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

from autocontext.datatypes import EncodingSource, TextEncoding
from autocontext.errors import LoadError

NOT_TEXT = "it is not text, whatever its name says"

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Each file of the encoding on the left is one of the right, too, and programs often write the right one.
_WIDER = {
    "ascii": "utf-8",
    "latin-1": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
}
# Signs that stand between letters only where another encoding has a letter in their place.
_SIGN_IN_WORD = re.compile(
    "[^\\W\\d_][\u00a1-\u00a9\u00ab\u00ac\u00ae-\u00b4\u00b6\u00b8\u00b9\u00bb-\u00bf\u00d7\u00f7"
    "\u2018\u201a-\u201e\u2020-\u2022\u2030\u2500-\u25ff][^\\W\\d_]"
)
_CAPITAL_WITHIN = re.compile("[a-z\u00df-\u00f6\u00f8-\u00ff][\u00c0-\u00d6\u00d8-\u00de\u0152\u0160\u0178\u017d]")
_ALPHABETS = frozenset(("LATIN", "GREEK", "CYRILLIC", "HEBREW", "ARABIC", "THAI"))
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_CONTROL_BYTE = re.compile(b"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_EAST_ASIAN = ("CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC", "FULLWIDTH", "KATAKANA-HIRAGANA")
_WORD = re.compile(r"[^\W\d_]+")
_BAD_BYTES = 0.002  # UTF-8 with a few broken bytes stays UTF-8
_SURE = 0.5  # below this the detector's own figure says little
_FEW = 3  # so few letters that are not ASCII tell a detector nothing
_CANDIDATES = 12
_SAMPLE = 200_000
_SHORT_SAMPLE = 4_000


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, how it was decoded, and sentences on what is unusual about that."""

    text: str
    encoding: TextEncoding
    notes: tuple[str, ...] = ()


def decode(name: str, data: bytes, encoding: str | None = None, declared: str | None = None) -> Decoded:
    """Decode the bytes of a text file; one bad byte costs one character.

    Parameters
    ----------
    encoding
        What the user says it is; None to find out.
    declared
        What the file says of itself, if it does; not believed where its bytes cannot be that.

    Raises
    ------
    LoadError
        If the bytes are not text, or `encoding` is unknown.
    """
    if encoding is not None:
        return _as_told(name, data, encoding)
    for mark, marked in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            told = () if marked == "utf-8-sig" else (f"Read as {marked}.",)
            return _decoded(data, marked, "mark", told)
    if declared and (known := _known(declared)) and not known.startswith(("utf-8", "utf-16", "utf-32")):
        lenient = data.decode(known, "replace")
        if lenient.count("\ufffd") <= 1 + len(lenient) * _BAD_BYTES:
            return _decoded(data, known, "declared", (f"Read as {known}, as the file says.",))
    wide = _wide_encoding(data)
    if wide and not _is_binary(data[:_SAMPLE].decode(wide, "replace")):
        return _decoded(data, wide, "guess", (f"Read as {wide} (a guess).",))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return _guessed(name, data)
    if "\x1b" in text or "~{" in text:  # seven-bit encodings look like ASCII
        seven_bit = _detect(data)
        if seven_bit.startswith(("iso2022", "hz")) and _is_east_asian(data, seven_bit):
            return _decoded(data, seven_bit, "guess", (f"Read as {seven_bit} (a guess).",))
    sample = re.sub("\0+", "\0", text[:_SAMPLE])  # a crash leaves blocks of zeros in a log
    if len(_CONTROL.findall(sample)) * 10 > len(sample) + 100:  # more than a stray one or ten
        raise LoadError(name, NOT_TEXT)
    return Decoded(text, TextEncoding("utf-8", "plain"))


def _as_told(name: str, data: bytes, encoding: str) -> Decoded:
    known = _known(encoding)
    if known is None:
        raise LoadError(name, f"there is no encoding {encoding!r}; utf-8, cp1252 and gb18030 are some")
    return _decoded(data, known, "user", (f"Read as {known}, as you said.",))


def _decoded(data: bytes, encoding: str, source: EncodingSource, told: tuple[str, ...]) -> Decoded:
    text = data.decode(encoding, "replace").lstrip("\ufeff")
    bad = text.count("\ufffd")
    kept = data if source in ("guess", "user") else b""
    return Decoded(text, TextEncoding(encoding, source, kept), (*told, *_bad_note(bad)))


def _guessed(name: str, data: bytes) -> Decoded:
    """Decode what is not UTF-8, or only nearly."""
    lenient = data.decode("utf-8", "replace")
    bad = lenient.count("\ufffd")
    foreign = sum(1 for char in lenient[:_SAMPLE] if char > "\x7f" and char != "\ufffd")
    if foreign and bad <= 1 + len(lenient) * _BAD_BYTES:
        return Decoded(lenient, TextEncoding("utf-8", "plain"), _bad_note(bad))
    encoding = _detect(data)
    if not encoding or _is_binary(data[:_SAMPLE].decode(encoding, "replace")):
        raise LoadError(name, NOT_TEXT)
    return _decoded(data, encoding, "guess", (f"Read as {encoding} (a guess).",))


def _detect(data: bytes) -> str:
    """Return the encoding that the bytes seem to be in, cp1252 where nothing fits; "" for bytes that are no text."""
    import chardet

    found = chardet.detect(data, compat_names=False)
    name, kind = found["encoding"], str(found.get("mime_type") or "text/")
    if name is None:
        return _utf_16(data) or ("" if not kind.startswith("text/") or b"\0" in data else "cp1252")
    encoding = _known(name) or "cp1252"
    if found["confidence"] >= _SURE:
        return encoding
    sample = data[:_SAMPLE]
    western = sample.decode("cp1252", "replace")
    if _is_plausible(western) and sum(1 for char in western if char > "\x7f") <= _FEW:
        return "cp1252"
    for other in chardet.detect_all(data, compat_names=False)[:_CANDIDATES]:
        candidate = _known(other["encoding"] or "")
        if candidate and _is_plausible(sample.decode(candidate, "replace")):
            return candidate
    return "cp1252" if _is_plausible(western) else encoding


def _wide_encoding(data: bytes) -> str | None:
    """Return the UTF-16 or UTF-32 without a byte order mark that a text with zeros or control bytes seems to be in."""
    sample = data[: _SAMPLE - _SAMPLE % 4]
    if len(sample) < 2 or not _CONTROL_BYTE.search(sample):
        return None
    zeros = [sample[first::4].count(0) for first in range(4)]
    quarter = len(sample) // 4
    if len(sample) % 4 == 0 and min(zeros[2:]) == quarter > zeros[0]:
        return "utf-32-le"
    if len(sample) % 4 == 0 and min(zeros[:2]) == quarter > zeros[3]:
        return "utf-32-be"
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if max(even, odd) * 4 >= len(sample) and min(even, odd) * 20 <= max(even, odd):
        return "utf-16-le" if odd > even else "utf-16-be"
    return _utf_16(sample)


def _utf_16(data: bytes) -> str | None:
    """Return the UTF-16 in which nearly all letters are of one script; bytes taken the wrong way are of many."""
    sample = data[: _SHORT_SAMPLE - len(data) % 2]
    for encoding in ("utf-16-le", "utf-16-be"):
        try:
            text = sample.decode(encoding)
        except UnicodeDecodeError:
            continue
        scripts = Counter(unicodedata.name(char, "?").split()[0] for char in text if not char.isascii())
        scripts["CJK"] = sum(scripts.pop(name, 0) for name in _EAST_ASIAN)
        script, count = scripts.most_common(1)[0]
        if script != "?" and count >= 4 and count * 5 >= scripts.total() * 4 and not _CONTROL.search(text):
            return encoding
    return None


def _known(encoding: str) -> str | None:
    """Return Python's name of a text encoding, in its widest form; None if it is none."""
    try:
        name = codecs.lookup(encoding.strip().strip("\"'")).name
        b"".decode(name)
    except (LookupError, ValueError):
        return None
    return _WIDER.get(name, name)


def _bad_note(count: int) -> tuple[str, ...]:
    return (f"{count} byte{'s' if count > 1 else ''} could not be decoded.",) if count else ()


def _is_plausible(text: str) -> bool:
    """Tell whether a guess makes words: none with a sign or a capital within, few of two alphabets."""
    if "\ufffd" in text or _CONTROL.search(text) or _SIGN_IN_WORD.search(text):
        return False
    foreign = mixed = 0
    for word in _WORD.findall(text):
        if not word.isascii():
            foreign += 1
            alphabets = {unicodedata.name(char, "?").split()[0] for char in word} & _ALPHABETS
            mixed += len(alphabets) > 1 or bool(_CAPITAL_WITHIN.search(word))
    return mixed * 5 <= foreign


def _is_east_asian(data: bytes, encoding: str) -> bool:
    try:
        return sum(1 for char in data.decode(encoding) if char > "\u2fff") >= 3
    except UnicodeDecodeError:
        return False


def _is_binary(text: str) -> bool:
    return (len(_CONTROL.findall(text)) + text.count("\ufffd")) * 50 > len(text) + 50
