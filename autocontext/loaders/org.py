"""Org mode, as it is written, with its headings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autocontext.datatypes import Document
from autocontext.loaders import text as plain
from autocontext.loaders.outline import Heading

IS_TEXT = True
SUFFIXES = (".org",)

_HEADING = re.compile(r"^(\*+)[ \t]+(\S.*)$", re.M)
_TAGS = re.compile(r"[ \t]+:[\w@#%:]+:[ \t]*$")


def load(name: str, data: bytes, encoding: str | None = None) -> Document:
    """Decode the file and find its headings."""
    return plain.with_sections(plain.load(name, data, encoding), _headings)


def _headings(text: str) -> Iterator[Heading]:
    for match in _HEADING.finditer(text):
        title = _TAGS.sub("", match.group(2))
        yield Heading(match.start(), match.end(), len(match.group(1)), re.sub(r"^(?:TODO|DONE)\s+", "", title))
