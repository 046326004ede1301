"""XML: the text of its elements and attributes in reading order; the names down to a place are its heading."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.parsers import expat

from autocontext.datatypes import Document
from autocontext.loaders import text as plain
from autocontext.loaders.build import Builder
from autocontext.loaders.encoding import decode
from autocontext.loaders.outline import one_line

IS_TEXT = True
SUFFIXES = (
    ".xml",
    ".rss",
    ".atom",
    ".svg",
    ".gpx",
    ".kml",
    ".opml",
    ".dbk",
    ".tei",
    ".xsd",
    ".xsl",
    ".xslt",
    ".plist",
    ".fb2",
)

_DRAWN = frozenset(
    ("svg", "path", "rect", "circle", "line", "polyline", "polygon", "g", "use", "defs", "style", "script")
)
_DECLARED = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w:.-]+)""")
_DEEPEST = 8
_WIDEST = 300


def load(name: str, data: bytes, encoding: str | None = None) -> Document:
    """Read the text; a file that is not well formed is taken as it is written, and it is told.

    Entities that the file declares are expanded by expat, which stops those that grow without measure; nothing outside
    of the file is ever fetched.
    """
    found = _DECLARED.match(data[:300])
    decoded = decode(name, data, encoding, found.group(1).decode("ascii") if found else None)
    reader = _Reader(Builder(name))
    parser = expat.ParserCreate("utf-8")  # whatever it declares: it is decoded by now
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    try:
        parser.Parse(decoded.text.strip().encode("utf-8", "replace"), True)
    except expat.ExpatError:
        document = plain.load(name, data, encoding, found.group(1).decode("ascii") if found else None)
        return replace(document, notes=("Not well-formed XML: taken as it is written.", *document.notes))
    return reader.build.document(data, decoded.notes, decoded.encoding)


class _Reader:
    """Takes the parser's events; an element that holds text between its elements is one paragraph."""

    def __init__(self, build: Builder) -> None:
        self.build = build
        self._names: list[str] = []
        self._words: list[str] = []
        self._paragraph = 0  # depth of the element whose mixed content is being collected; 0 for none

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if self._words and "".join(self._words).strip() and not self._paragraph:
            self._paragraph = len(self._names)  # text came before this element: it is a word or a line in it
        if not self._paragraph:
            self._flush()
        self._names.append(name)
        told = [] if name in _DRAWN else [
            f"{key.rpartition(':')[2]}: {value}" for key, value in attributes.items()
            if not key.startswith("xmlns") and value.strip()
        ]  # fmt: skip
        if told and not self._paragraph:
            self._add(f"{name} ({'; '.join(told)})")

    def text(self, text: str) -> None:
        self._words.append(text)

    def end(self, _tag: str) -> None:
        if not self._paragraph or len(self._names) <= self._paragraph:
            self._flush()
            self._paragraph = 0
        self._names.pop()

    def _flush(self) -> None:
        words = " ".join("".join(self._words).split())
        self._words = []
        if words and (not self._names or self._names[-1] not in ("style", "script")):
            name = self._names[-1] if self._names else ""
            self._add(f"{name}: {words}" if name and len(words) <= _WIDEST else words)

    def _add(self, line: str) -> None:
        above = [one_line(name, 60) for name in self._names[:-1][:_DEEPEST]]
        self.build.under(above)
        self.build.add(line)
