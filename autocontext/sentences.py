"""Find the sentences of a text, with exact offsets and in linear time.

Rules, not a model: marks that end a sentence in many scripts, abbreviations, initials, ordinals, and lines that stand
for themselves (headings, list items, table rows, short lines). A line that merely wraps does not end a sentence.
"""

from __future__ import annotations

import re

_CLOSERS = "\"'\u201d\u2019\u00bb)\\]\u300d\u300f\uff09\u3011\u300b\u203a*_"
_BREAK = re.compile(
    rf"(?P<paragraph>\n[^\S\n]*\n)|(?P<line>\n)"
    rf"|(?P<wide>[\u3002\uff01\uff1f\uff61\u0964\u0965\u061f\u06d4\u1362\u104b\u17d4]+[{_CLOSERS}]*)"
    rf"|(?P<stop>(?<![.!?\u2026])[.!?\u2026]++[{_CLOSERS}]*+)(?=\s|\Z)"  # possessive: a run of dots is read once
)
# A line that begins like this stands for itself: heading, list item, table row, quote, code fence, rule.
_LINE_OPENER = re.compile(
    r"[^\S\n]*(?:[-*+\u2022\u25aa\u25e6\u2013]\s|\d{1,3}[.)]\s|\(?[a-z]\)\s|#{1,6}\s|[|>]|```|~~~|[-=*_]{3,}[^\S\n]*$)",
    re.M,
)
_HEADING_OR_ROW = re.compile(r"[^\S\n]*(?:#{1,6}\s|\||[-=*_]{3,}[^\S\n]*$)", re.M)
_SHORT_LINE = 45
_LAST_WORD = re.compile(r"[^\s(\[\"'\u201c\u201e\u00ab]*\Z")
_NEXT_CHARACTER = re.compile(r"\s*([^\w\s]*)(\w?)")
# Abbreviations that do not end a sentence (en, de, fr, es, it, nl), without their last dot.
_ABBREVIATIONS = frozenset(
    (
        "dr mr mrs ms prof st jr sr gen col sgt capt rev hon vs etc inc ltd co corp dept est approx tel ext "
        "e.g i.e cf viz al a.m p.m u.s u.k u.n ph.d b.sc m.sc d.c bzw ca evtl ggf usw z.b d.h u.a o.ä s.o "
        "s.u bspw inkl exkl vgl hrsg abb tab kap mio mrd str mme mlle av env p.ex m.a.w bijv sra sig avv "
        "dott ing jan feb mar apr jun jul aug sep sept oct okt nov dec dez"
    ).split()
)
# These do not end one when a number follows: No. 5, Fig. 3, S. 12.
_BEFORE_NUMBER = frozenset(("no nos nr fig figs p pp vol ch sec art ed s bd eq ref ver v abs § n°").split())
# A German ordinal: am 29. Juli, die 3. Fahrt.
_AFTER_ORDINAL = re.compile(r"\s+(?:Jan|Feb|M[äa]r|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Jahrhundert|Jh)")
_BEFORE_ORDINAL = re.compile(r"\b(?:am|der|die|das|dem|den|des|im|zum|zur|vom|beim|jede[rns]?)\s+\d{1,2}\Z", re.I)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return ``(start, end)`` of each sentence, in order, without the blanks around it; nothing else is left out."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _BREAK.finditer(text):
        if match.lastgroup == "stop" and not _stop_ends(text, start, match):
            continue
        if match.lastgroup == "line" and not _line_ends(text, start, match.start()):
            continue
        _append(spans, text, start, match.end())
        start = match.end()
    _append(spans, text, start, len(text))
    return spans


def split_into_sentences(text: str) -> list[str]:
    """Return the sentences of `text`, each exactly as it stands there.

    Examples
    --------
    >>> split_into_sentences("Dr. Low came at 3.30 p.m. on Monday. Nobody knew why!")
    ['Dr. Low came at 3.30 p.m. on Monday.', 'Nobody knew why!']
    >>> split_into_sentences("猫が来た。「早い。」と言った。")
    ['猫が来た。', '「早い。」', 'と言った。']
    """
    return [text[start:end] for start, end in sentence_spans(text)]


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        begin = start + len(piece) - len(piece.lstrip())
        spans.append((begin, begin + len(stripped)))


def _stop_ends(text: str, start: int, match: re.Match[str]) -> bool:
    mark = match.group()
    punctuation, following = _NEXT_CHARACTER.match(text, match.end()).groups()  # type: ignore[union-attr]
    if following.islower() and "\n" not in text[match.end() : match.end() + 2]:
        return False
    if mark != ".":
        return True
    before = text[max(start, match.start() - 24) : match.start()]
    last = _LAST_WORD.search(before)
    word = last.group() if last else ""
    if word.isdigit():
        numbers_a_line = len(word) <= 3 and before.rpartition("\n")[2].strip() == word
        ordinal = len(word) <= 2 and (_AFTER_ORDINAL.match(text, match.end()) or _BEFORE_ORDINAL.search(before))
        return not (numbers_a_line or ordinal)
    low = word.casefold()
    if low in _BEFORE_NUMBER and following.isdigit():
        return False
    initial = len(word) == 1 and word.isalpha() and not punctuation
    return not (initial or low in _ABBREVIATIONS)


def _line_ends(text: str, start: int, newline: int) -> bool:
    """Tell whether the newline at `newline` ends what began at `start`, or only wraps it."""
    if _LINE_OPENER.match(text, newline + 1):
        return True
    line_start = max(start, text.rfind("\n", start, newline) + 1)
    if _HEADING_OR_ROW.match(text, line_start, newline):
        return True
    line = text[line_start:newline].strip()
    width = len(line) if line.isascii() else sum(2 if char > "\u2e7f" else 1 for char in line[: _SHORT_LINE + 1])
    if not line or width >= _SHORT_LINE or line[-1] in ",;-\u2010\u3001\uff0c(":
        return False
    following = _NEXT_CHARACTER.match(text, newline + 1).group(2)  # type: ignore[union-attr]
    return not following.islower()
