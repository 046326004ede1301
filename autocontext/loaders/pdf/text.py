"""Pages' texts made one: words joined over line ends, ligatures undone, repeated headers and footers left out.

Pure functions over untrusted text; each takes time in proportion to its length.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

LINE_END_HYPHEN = "\x02"
"""What extractors here put where a word is broken at the end of a line; it never leaves this folder."""

# Forms that only a font needs: ligatures, the long s, Arabic letters as they are drawn.
_FORMS = re.compile(
    "[\u017f\ufb00-\ufb06\ufb13-\ufb17\ufb1f-\ufb4f\ufb50-\ufbb1\ufbd3-\ufd3d\ufd50-\ufdf9\ufe70-\ufefc]+"
)
# An accent that stands before its letter, as TeX draws it: Universit¨at.
_COMBINING = {
    "\u00a8": "\u0308",
    "\u00b4": "\u0301",
    "\u02c6": "\u0302",
    "\u02dc": "\u0303",
    "\u02c7": "\u030c",
    "\u02da": "\u030a",
}
_ACCENT = re.compile(
    "([\u00a8\u00b4\u02c6])([aeiouAEIOU\u0131])|(\u02dc)([anoANO])|(\u02c7)([cdenrstzCDENRSTZ])|(\u02da)([aAuU])"
)
_LEADERS = re.compile(r"(?:\.[ \t]?){5,}|(?:\u2026[ \t]?){2,}|(?:_[ \t]?){5,}")
_BROKEN = re.compile(
    "(?<!\\w)(?P<head>\\w++)(?:\x02[ \t]*\n?|[-\u2010\u00ad][ \t]*\n)[ \t]*(?P<tail>\\w++)|(?P<lone>\x02)"
)
# Second parts of compounds that are hardly ever the second half of one broken word: long-term, well-known.
_SECOND_PARTS = frozenset(
    "term known based level specific driven oriented dependent independent dimensional defined related quality scale "
    "sized speed being purpose".split()
)
_PREFIXES = frozenset("un in re non pre sub over under mis inter cor unre for well-un self-un".split())
_NUMBER = re.compile(r"\d+")
_EDGE = 3  # lines at the top and at the bottom of a page among which headers and footers are
_LONGEST_LINE = 200


@dataclass(frozen=True, slots=True)
class Repeated:
    """Lines left out, because they stand at the edge of most pages."""

    pages: tuple[str, ...]
    count: int
    examples: tuple[str, ...]


def fold_forms(text: str) -> str:
    """Return `text` with ligatures, Arabic presentation forms and accents drawn by themselves as plain letters."""
    text = _FORMS.sub(lambda match: unicodedata.normalize("NFKC", match.group()), text)
    return _ACCENT.sub(_accented, text)


def _accented(match: re.Match[str]) -> str:
    accent, letter = (group for group in match.groups() if group)
    together = unicodedata.normalize("NFC", ("i" if letter == "\u0131" else letter) + _COMBINING[accent])
    return together if len(together) == 1 else match.group()


def tidy_lines(text: str) -> str:
    r"""Return `text` with ``\n`` line ends, no blanks around lines, one blank line in a row, and short dot leaders."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x0c", "\n").replace("\xa0", " ")
    lines = [_LEADERS.sub("\u2026 ", line).strip(" \t") for line in text.split("\n")]
    return re.sub("\n{3,}", "\n\n", "\n".join(lines)).strip("\n ")


def join_broken_words(pages: Sequence[str]) -> list[str]:
    """Return the pages with words that were broken at a line end made whole; over a page break on the first page.

    A lower-case continuation is joined without the hyphen, unless the document itself, or what is known of compounds,
    says that it belongs there ("long-term"); a capital or a digit keeps it ("Anglo-Saxon", "F-13").
    """
    pages = _whole_at_page_ends(pages)
    if not any(_MAY_BE_BROKEN.search(page) for page in pages):
        return list(pages)
    unbroken = [_BROKEN.sub(" ", page).lower() for page in pages]
    words = {word for page in unbroken for word in _WORD.findall(page)}

    def join(match: re.Match[str]) -> str:
        if match["lone"]:
            return "-"
        head, tail = match["head"], match["tail"]
        soft = match.group()[len(head)] == "\u00ad"
        if soft or (tail[0].islower() and head[-1].isalpha() and not is_compound(match, head.lower(), tail)):
            return head + tail
        return f"{head}-{tail}"

    def is_compound(match: re.Match[str], head: str, tail: str) -> bool:
        if f"{head}-{tail}" in words:
            return True
        if head + tail in words:
            return False
        if match.start() > 0 and match.string[match.start() - 1] == "-":  # state-of-the-art
            return tail in ("the", "of", "to", "in", "and", "art", "date")
        if len(head) < 3 or head in _PREFIXES:
            return False
        return tail in _SECOND_PARTS or (len(tail) > 2 and head in words and tail in words)

    return [_BROKEN.sub(join, page).replace("\u00ad", "") if _MAY_BE_BROKEN.search(page) else page for page in pages]


def _whole_at_page_ends(pages: Sequence[str]) -> list[str]:
    """Move the rest of a word that is broken at the end of a page to where it begins."""
    moved = list(pages)
    for n in range(len(moved) - 1):
        rest = _REST.match(moved[n + 1])
        if rest and rest[1][0].islower() and _BROKEN_AT_END.search(moved[n][-40:]):
            moved[n] = f"{moved[n]}\n{rest[1]}"
            moved[n + 1] = moved[n + 1][rest.end() :]
    return moved


_BROKEN_AT_END = re.compile(r"[^\W\d_][-\u2010\u00ad\x02]\Z")
_REST = re.compile(r"([^\W\d_]+[.,;:!?)]*)\s*")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?")
_MAY_BE_BROKEN = re.compile("[\x02\u00ad]|[-\u2010][ \t]*\n")


def leave_out_repeated(pages: Sequence[str]) -> Repeated:
    """Leave out headers and footers: lines at the edge of the pages that are the same but for the page's number.

    The first copy of one that holds words stays, so that it can still be found. A page is never emptied, and a line
    counts only if it is on at least 3 pages and on nearly half of those between the first and the last of them, so
    that left and right pages may differ and what repeats by chance is kept.
    """
    lines = [page.split("\n") for page in pages]
    edges = [_edges(page) for page in lines]
    forms = [
        {n: _forms(page[n].strip(), number) for side in edge for n in side}
        for number, (page, edge) in enumerate(zip(lines, edges, strict=True))
    ]
    on_pages: dict[str, list[int]] = defaultdict(list)
    for number, found in enumerate(forms):
        for form in {form for listed in found.values() for form in listed}:
            on_pages[form].append(number)
    first_copy = {form: found[0] for form, found in on_pages.items() if _is_regular(found)}
    kept: list[str] = []
    examples: dict[str, None] = {}
    count = 0
    for number, whole in enumerate(pages):
        dropped: set[int] = set()
        for side in edges[number]:
            for n in side:  # from the edge inwards, as far as lines repeat
                repeated = [form for form in forms[number][n] if form in first_copy]
                if not repeated:
                    break
                if all(first_copy[form] < number for form in repeated) or not any(map(str.isalpha, repeated[0])):
                    dropped.add(n)
                    examples.setdefault(_NUMBER.sub("#", lines[number][n].strip()))
        rest = [line for n, line in enumerate(lines[number]) if n not in dropped]
        if not dropped or not any(line.strip() for line in rest):
            kept.append(whole)
            continue
        kept.append("\n".join(rest).strip("\n"))
        count += len(dropped)
    return Repeated(tuple(kept), count, tuple(examples)[:3] if count else ())


def _edges(page: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the numbers of the first lines and of the last lines, each from the edge inwards."""
    filled = [n for n, line in enumerate(page) if line.strip()]
    if len(filled) < 2:
        return [], []
    return filled[:_EDGE], filled[: -_EDGE - 1 : -1]


def _is_regular(pages: Sequence[int]) -> bool:
    return len(pages) >= 3 and len(pages) >= 0.45 * (pages[-1] - pages[0] + 1)


def _forms(line: str, page: int) -> list[str]:
    """Return the line as it is, and with each of its numbers (the first four) taken relative to the page's place.

    Without words there must be such a number, and little else: a row of figures is no footer.
    """
    numbers = list(_NUMBER.finditer(line))
    has_words = any(char.isalpha() for char in line)
    if len(line) > _LONGEST_LINE or (not has_words and len(numbers) > 2):
        return []
    forms = [line] if has_words else []
    for match in numbers[:4]:
        if len(match.group()) < 6:
            forms.append(f"{line[: match.start()]}\0{int(match.group()) - page}\0{line[match.end() :]}")
    return forms
