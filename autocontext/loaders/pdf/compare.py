"""How readable an extracted text is, and which of two is the better one.

Extractors fail silently: they give other characters, words without blanks, letters in the wrong order. Each such fault
leaves a trace in the text itself, which can be measured without knowing the language.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass

from autocontext.loaders.pdf.text import LINE_END_HYPHEN

# First character of each range, and the script of its letters; what does not matter here is "other".
_RANGES = (
    (0x0000, "latin"), (0x0370, "greek"), (0x0400, "cyrillic"), (0x0530, "armenian"), (0x0590, "hebrew"),
    (0x0600, "arabic"), (0x0700, "other"), (0x0750, "arabic"), (0x0780, "other"), (0x08A0, "arabic"), (0x0900, "indic"),
    (0x0E00, "thai"), (0x0F00, "tibetan"), (0x1000, "myanmar"), (0x10A0, "georgian"), (0x1100, "cjk"),
    (0x1200, "ethiopic"), (0x13A0, "rare"), (0x1780, "khmer"), (0x1800, "rare"), (0x1E00, "latin"), (0x1F00, "greek"),
    (0x2000, "other"), (0x2C60, "latin"), (0x2C80, "rare"), (0x2DE0, "cyrillic"), (0x2E00, "cjk"), (0xA000, "rare"),
    (0xA640, "cyrillic"), (0xA6A0, "rare"), (0xA720, "latin"), (0xA800, "rare"), (0xA8E0, "indic"), (0xA900, "rare"),
    (0xA960, "cjk"), (0xA980, "rare"), (0xAB30, "latin"), (0xAB70, "rare"), (0xABC0, "indic"), (0xAC00, "cjk"),
    (0xE000, "other"), (0xF900, "cjk"), (0xFB00, "latin"), (0xFB13, "armenian"), (0xFB1D, "hebrew"), (0xFB50, "arabic"),
    (0xFE00, "other"), (0xFE70, "arabic"), (0xFF00, "other"), (0xFF21, "latin"), (0xFF5B, "other"), (0xFF66, "cjk"),
    (0x10000, "other"), (0x20000, "cjk"), (0x40000, "other"),
)  # fmt: skip
_FIRSTS = [first for first, _ in _RANGES]
_TOGETHER = {frozenset({"latin", "cjk"}), frozenset({"cjk", "other"})}  # JR東日本
_WORD = re.compile(r"[^\W\d_]+")
_SPACED = {"latin", "greek", "cyrillic", "armenian", "georgian"}  # scripts with blanks between words and long words
_VOWEL = re.compile("[aeiouyäöüåæøœàáâãèéêëìíîïòóôõùúûýıěůąęőű]", re.I)
_HEBREW_ENDS, _HEBREW_MIDDLES = "ךםןףץ", "כמנפצ"  # five letters have a form of their own at the end of a word
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_TURNED_WORD = re.compile("[\u05d0-\u05ea]{2,}|[\u0620-\u064a\u066e-\u06d3\ufb50-\ufdff\ufe70-\ufefc]{2,}")
_MARK_FIRST = re.compile("(?:^|[ \n])[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u093e-\u094d]")
_GLUED, _MARGIN, _SAMPLE = 28, 0.03, 20_000
DOUBTFUL, UNREADABLE = 0.04, 0.4


@dataclass(frozen=True, slots=True)
class Verdict:
    """How much is wrong with a text, 0 (nothing to see) to 1, and with what."""

    fault: float
    reasons: tuple[str, ...]


def judge(text: str, unmapped: float = 0.0) -> Verdict:
    """Judge a page's text by its traces of wrong extraction.

    Parameters
    ----------
    unmapped
        Share of the characters that the extractor had to guess, because their font has no character map.
    """
    sample = text if len(text) <= _SAMPLE else text[: _SAMPLE // 2] + text[-_SAMPLE // 2 :]
    shown = [char for char in sample if not char.isspace()]
    if not shown:
        return Verdict(1.0, ("no text",))
    words = _WORD.findall(sample)
    scripts = Counter(_script(char) for word in words for char in word)
    faults = {
        "characters that are none": _not_characters(shown),
        "scripts mixed within words": _mixed(words, scripts),
        "words without blanks": _glued(words, scripts),
        "blanks within words": _spaced_out(words, scripts),
        "few vowels": _few_vowels(words, scripts),
        "letters in reversed order": reversed_share(sample),
        "marks before their letters": min(0.3, len(_MARK_FIRST.findall(sample)) / len(shown)),
        "no character map": 0.3 * unmapped if unmapped > 0.05 else 0.0,
    }
    reasons = tuple(reason for reason, fault in faults.items() if fault >= DOUBTFUL)
    return Verdict(min(1.0, sum(faults.values())), reasons)


def is_doubtful(text: str, verdict: Verdict) -> bool:
    """Tell whether a second extractor should be asked: there is a fault, or a script whose order is easily lost."""
    return verdict.fault >= DOUBTFUL or bool(_RIGHT_TO_LEFT.search(text)) or any(_is_control(char) for char in text)


def choose(first: tuple[str, Verdict], second: tuple[str, Verdict]) -> int:
    """Return 0 or 1: which of two texts of one page is the better one; the first where they are as good.

    Fewer faults count most; a text that is only a part of the other loses by what it lacks.
    """
    letters = [_letters(text) for text, _ in (first, second)]
    most = max(1, *letters)
    values = [
        1.0 - verdict.fault - 0.5 * (1 - min(1.0, 1.25 * count / most))
        for (_, verdict), count in zip((first, second), letters, strict=True)
    ]
    return int(values[1] > values[0] + _MARGIN)


def reversed_share(text: str) -> float:
    """Return how surely the letters of right-to-left words stand in reversed order: 0 (right) to 0.6.

    Forms that only end a word (Hebrew final letters, Arabic ta marbuta) and the Arabic article that begins it tell.
    """
    if not _RIGHT_TO_LEFT.search(text):
        return 0.0
    right = wrong = 0.0
    for word in _TURNED_WORD.findall(text):
        if word[0] <= "\u05ea":
            right += word[-1] in _HEBREW_ENDS
            wrong += (word[0] in _HEBREW_ENDS) + 0.5 * (word[-1] in _HEBREW_MIDDLES)
        else:
            begins, ends = _joining(word[0]), _joining(word[-1])
            right += (begins == "initial") + (ends == "final") + (word.startswith("ال") and len(word) > 3)
            wrong += (begins == "final") + (ends == "initial") + (word.endswith("لا") and len(word) > 4)
            right += word[-1] in "ةى"
            wrong += word[0] in "ةى"
    return 0.6 * wrong / (right + wrong + 1.0)


def is_reversed(text: str) -> bool:
    """Tell whether the right-to-left words of `text` surely stand in reversed order."""
    return reversed_share(text) > 0.4


def turned(text: str) -> str:
    """Return text that stands as it is seen in the order in which it is read; numbers and Latin words stay."""
    mirror = str.maketrans("()[]{}<>«»", ")(][}{><»«")
    lines = []
    for line in text.split("\n"):
        if _RIGHT_TO_LEFT.search(line):
            turned_line = unicodedata.normalize("NFC", line)[::-1].translate(mirror)
            line = _LEFT_TO_RIGHT.sub(lambda match: match.group()[::-1].translate(mirror), turned_line)
        lines.append(line)
    return "\n".join(lines)


_LEFT_TO_RIGHT = re.compile(
    r"[0-9A-Za-z\u00c0-\u024f](?:[0-9A-Za-z\u00c0-\u024f.,:/%_@+\-' ]*[0-9A-Za-z\u00c0-\u024f%])?"
)


def _script(char: str) -> str:
    return _RANGES[bisect_right(_FIRSTS, ord(char)) - 1][1]


def _is_control(char: str) -> bool:
    below = char < " " and char not in "\t\n\r\x0c" and char != LINE_END_HYPHEN
    return below or char in "\x7f\ufffd\ufffe\uffff" or "\ud800" <= char <= "\udfff"


def _not_characters(shown: list[str]) -> float:
    bad = 0.0
    for char, count in Counter(shown).items():
        if _is_control(char) or (category := unicodedata.category(char)) == "Cn":
            bad += count
        elif category == "Co":  # a font's own signs: mostly bullets
            bad += 0.25 * count
        elif category == "So" and _script(char) == "rare":
            bad += 0.5 * count
    return min(1.0, 3 * bad / len(shown))


def _mixed(words: list[str], scripts: Counter[str]) -> float:
    """Judge words of letters of several scripts, many scripts on a page, and scripts that hardly anybody writes."""
    letters = sum(scripts.values())
    if not letters:
        return 0.0
    mixed = 0
    for word in words:
        if not word.isascii():
            held = Counter(map(_script, word))
            formula = held["greek"] == 1 and len(word) < 5  # μm, Δx
            mixed += len(word) if len(held) > 1 and frozenset(held) not in _TOGETHER and not formula else 0
    many = [script for script, count in scripts.items() if count > 0.02 * letters]
    rare = scripts["rare"] + scripts["other"] * (scripts["other"] > 0.3 * letters)
    return min(1.0, mixed / letters + 0.2 * max(0, len(many) - 3) + 0.5 * rare / letters)


def _glued(words: list[str], scripts: Counter[str]) -> float:
    spaced = sum(scripts[script] for script in _SPACED)
    if spaced < 0.5 * sum(scripts.values()) or spaced < 40:
        return 0.0
    long = sum(len(word) for word in words if len(word) > _GLUED and _script(word[0]) in _SPACED)
    return min(0.6, long / spaced) if long > 0.1 * spaced else 0.0  # German has long words


def _spaced_out(words: list[str], scripts: Counter[str]) -> float:
    spaced = sum(scripts[script] for script in _SPACED)
    if len(words) < 20 or spaced < 0.5 * sum(scripts.values()):
        return 0.0
    single = sum(len(word) == 1 for word in words) / len(words)
    return max(0.0, single - 0.6)


def _few_vowels(words: list[str], scripts: Counter[str]) -> float:
    """Judge Latin text of hardly any (or nearly only) vowels: a font whose letters are all others."""
    latin = [word for word in words if len(word) > 3 and _script(word[0]) == "latin" and not word.isupper()]
    letters = sum(map(len, latin))
    if letters < 150 or letters < 0.5 * sum(scripts.values()):
        return 0.0
    share = sum(len(_VOWEL.findall(word)) for word in latin) / letters
    return 0.5 if share < 0.22 or share > 0.7 else 0.0


def _joining(char: str) -> str:
    """Return "initial", "medial", "final" or "isolated" of an Arabic presentation form; "" for a plain letter."""
    form = unicodedata.decomposition(char)
    return form[1 : form.index(">")] if form.startswith("<") else ""


def _letters(text: str) -> int:
    """Count letters and digits; a line that stands there twice counts once (drawn twice for bold or shadow)."""
    return sum(char.isalnum() for line in set(text.splitlines()) for char in line)
