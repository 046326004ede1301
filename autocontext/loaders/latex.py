"""LaTeX, as it is written, with its headings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autocontext.datatypes import Document
from autocontext.loaders import text as plain
from autocontext.loaders.outline import Heading

IS_TEXT = True
SUFFIXES = (".tex", ".latex", ".ltx")

_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_HEADING = re.compile(
    r"^[ \t]*\\(part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\*?(?:\[[^\]\n]*\])?"
    r"\{((?:[^{}\n]|\n(?!\s*\n)|\{[^{}\n]*\}){0,300})\}",
    re.M,
)
_COMMAND = re.compile(r"\\(?:[a-zA-Z]+\*?|.)\s*|[{}~]")


def load(name: str, data: bytes, encoding: str | None = None) -> Document:
    r"""Decode the file and find its headings; ``\usepackage[latin1]{inputenc}`` is heeded."""
    declared = re.search(rb"\\usepackage\[(\w+)\]\{inputenc\}", data[:20_000])
    document = plain.load(name, data, encoding, declared.group(1).decode("ascii", "replace") if declared else None)
    return plain.with_sections(document, _headings)


def _headings(text: str) -> Iterator[Heading]:
    for match in _HEADING.finditer(text):
        yield Heading(
            match.start(), match.end(), _LEVELS.index(match.group(1)), _COMMAND.sub(" ", match.group(2)).strip()
        )
