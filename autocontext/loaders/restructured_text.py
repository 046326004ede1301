"""reStructuredText, as it is written, with its headings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autocontext.datatypes import Document
from autocontext.loaders import text as plain
from autocontext.loaders.outline import Heading

IS_TEXT = True
SUFFIXES = (".rst", ".rest")

_HEADING = re.compile(
    r"^(?:(?P<over>([!-/:-@\[-`{-~])\2{2,})[ \t]*\n)?(?P<title>[ \t]*\S.*)\n(?P<under>([!-/:-@\[-`{-~])\5{2,})[ \t]*$",
    re.M,
)


def load(name: str, data: bytes, encoding: str | None = None) -> Document:
    """Decode the file and find its headings; the order in which their rules appear gives the levels."""
    return plain.with_sections(plain.load(name, data, encoding), _headings)


def _headings(text: str) -> Iterator[Heading]:
    levels: dict[tuple[str, bool], int] = {}
    for match in _HEADING.finditer(text):
        over, title, under = match["over"], match["title"], match["under"]
        if len(under) < len(title.strip()) or (over and over != under):
            continue
        if not re.search(r"\w", title):
            continue
        level = levels.setdefault((under[0], over is not None), len(levels) + 1)
        yield Heading(match.start(), match.end(), level, title)
