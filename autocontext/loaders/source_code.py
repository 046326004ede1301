"""Source code, as it is written; the functions and classes that hold a line are its heading."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autocontext.datatypes import Document
from autocontext.loaders import text as plain
from autocontext.loaders.outline import Heading

IS_TEXT = True
SUFFIXES = tuple(
    f".{suffix}"
    for suffix in (
        "py pyi pyw pyx js mjs cjs jsx ts tsx vue svelte java kt kts scala groovy gradle c h cc cpp cxx hpp hh hxx cs "
        "m mm go rs swift rb php pl pm lua r jl dart ex exs erl hs ml fs fsx clj lisp el scm v sv vhd vhdl zig nim "
        "sh bash zsh fish ps1 bat cmd sql graphql proto tf hcl css scss sass less cmake mk f f90 f95 pas asm s vb bas "
        "awk sed tcl d"
    ).split()
)

_WORDS = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([^)\n]*\))?|unsafe|"
    r"override|open|sealed|data|inline|virtual|const|extern|local|partial)[ \t]+)*"
)
_DEFINITION = re.compile(
    rf"^([ \t]*){_WORDS}(?:def|class|function|fn|func|fun|interface|struct|enum|impl|module|trait|protocol|object|"
    r"namespace|record|sub|defmodule|defp)\b[ \t]*\*?[ \t]*"
    r"(?:\([^)\n]{0,100}\)[ \t]*)?(?:<[^>\n]{0,80}>[ \t]*)?([A-Za-z_$](?:[\w$.]|::)*)",
    re.M,
)
_SQL = re.compile(
    r"^([ \t]*)create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+)?(?:table|view|function|procedure|trigger|index)\s+"
    r"(?:if\s+not\s+exists\s+)?([\w.\"`\[\]]+)",
    re.M | re.I,
)


def load(name: str, data: bytes, encoding: str | None = None) -> Document:
    """Decode the file and find its functions and classes; indentation tells what stands in what."""
    declared = re.match(rb"(?:[^\n]*\n)?[ \t]*#[^\n]*?coding[:=][ \t]*([-\w.]+)", data[:500])
    document = plain.load(name, data, encoding, declared.group(1).decode("ascii", "replace") if declared else None)
    return plain.with_sections(document, _sql if name.lower().endswith(".sql") else _definitions)


def _definitions(text: str) -> Iterator[Heading]:
    for match in _DEFINITION.finditer(text):
        yield Heading(match.start(), match.end(), len(match.group(1).expandtabs(4)), match.group(2))


def _sql(text: str) -> Iterator[Heading]:
    for match in _SQL.finditer(text):
        yield Heading(match.start(), match.end(), len(match.group(1)), match.group(2))
