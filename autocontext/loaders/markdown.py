"""Markdown, as it is written, with its headings."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from autocontext.datatypes import Document
from autocontext.loaders import text as plain
from autocontext.loaders.outline import Heading

IS_TEXT = True
SUFFIXES = (".md", ".markdown", ".mdx", ".qmd", ".rmd")

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]++(\S.*)$|^ {0,3}(\S.*)\n {0,3}(=+|-+)[ \t]*$", re.M)
_FENCE = re.compile(r"^ {0,3}(```|~~~)", re.M)


def load(name: str, data: bytes, encoding: str | None = None) -> Document:
    """Decode the file and find its headings, ``# so`` or underlined."""
    return plain.with_sections(plain.load(name, data, encoding), _headings)


def _headings(text: str) -> Iterator[Heading]:
    fences = [match.start() for match in _FENCE.finditer(text)]
    front_matter = re.match(r"---\n.*?^---[ \t]*$", text, re.M | re.S)
    body = front_matter.end() if front_matter else 0
    for match in _HEADING.finditer(text, body):
        if bisect_right(fences, match.start()) % 2:
            continue  # a comment inside a code block
        marks, title, underlined, rule = match.groups()
        if underlined is not None:
            if underlined.startswith((">", "-", "*", "+", "|", "#")) or "|" in underlined:
                continue  # a quote, a list item or a table above a rule
            yield Heading(match.start(), match.end(), 1 if rule.startswith("=") else 2, underlined)
        else:
            title = title.rstrip()
            yield Heading(match.start(), match.end(), len(marks), title.rstrip("#").rstrip() or title)
