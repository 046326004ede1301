"""OpenDocument texts, tables and presentations (LibreOffice)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from autocontext.datatypes import Document
from autocontext.errors import LoadError
from autocontext.loaders.build import Builder
from autocontext.loaders.package import Package, attribute, local
from autocontext.loaders.tables import header_row, named_line, plain_line, table_text

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

SUFFIXES = (".odt", ".ott", ".ods", ".ots", ".odp", ".otp")

_UNSEEN = frozenset(("tracked-changes", "annotation-end", "sequence-decls", "forms", "ruby-text", "title", "desc"))
_MOST_REPEATED = 1000
_MOST_CELLS = 2_000_000


def load(name: str, data: bytes) -> Document:
    """Read the content; headings, the names of tables with their rows, and slides are the places.

    Raises
    ------
    LoadError
        If the file is damaged or needs a password.
    """
    package = Package(name, data, "an OpenDocument file")
    manifest = "META-INF/manifest.xml"
    if manifest in package and b"encryption-data" in package.read(manifest):
        raise LoadError(name, "it needs a password; save a copy without one")
    body = next((part for part in package.xml("content.xml") if local(part) == "body"), None)
    if body is None:
        raise package.damaged()
    reader = _Reader(Builder(name), name)
    for content in body:
        if local(content) == "spreadsheet":
            for table in content:
                if local(table) == "table":
                    reader.add_sheet(table)
        else:
            reader.add_blocks(content)
    return reader.build.document(data)


class _Reader:
    """Adds the blocks of a file to a text."""

    def __init__(self, build: Builder, name: str) -> None:
        self.build = build
        self._name = name
        self._slides = self._cells = 0
        self._aside: list[Element] = []  # notes, comments and frames that stand within a paragraph

    def add_blocks(self, parent: Element, item: bool = False) -> None:
        """Add headings, paragraphs, lists, tables and slides."""
        for element in parent:
            kind = local(element)
            if kind in ("h", "p"):
                text = self._text(element).strip()
                aside, self._aside = self._aside, []
                level = attribute(element, "outline-level") or "1"
                if kind == "h":
                    self.build.heading(int(level) if level.isdecimal() else 1, text)
                else:
                    self.build.add(f"- {text}" if item and text else text)
                for part in aside:
                    self.add_blocks(part)
            elif kind == "table":
                rows, named = self._rows(element)
                self.build.add(table_text(rows, named=named))
            elif kind == "page":
                self._slides += 1
                self.build.place(f"slide {self._slides}")
                self.add_blocks(element)
            elif kind == "notes":
                if self._slides:
                    self.build.place(f"slide {self._slides}, notes", within=True)
                self.add_blocks(element)
            elif kind not in _UNSEEN:
                self.add_blocks(element, item=kind in ("list-item", "list-header"))

    def add_sheet(self, table: Element) -> None:
        """Add a table of a spreadsheet, a line a row."""
        rows, _ = self._rows(table)
        name = attribute(table, "name") or "?"
        header = header_row(rows)
        for number, row in enumerate(rows):
            self.build.place(f"sheet {name}, row {number + 1}", apart=number == 0)
            if header is None or number < header:
                self.build.add(plain_line(row))
            elif number > header:
                self.build.add(named_line(rows[header], row))

    def _rows(self, table: Element) -> tuple[list[list[str]], bool]:
        """Return the cells (blank rows, too, for counting), and whether the first row is marked as the one of names."""
        rows: list[list[str]] = []
        named = False
        for row, in_header in _table_rows(table):
            cells: list[str] = []
            for cell in row:
                if local(cell) in ("table-cell", "covered-table-cell"):
                    words = " ".join(" ".join(self._words(cell)).split())
                    repeated = _count(cell, "number-columns-repeated")
                    cells += [words] * (min(repeated, _MOST_REPEATED) if words else min(repeated, 50))
            while cells and not cells[-1]:
                cells.pop()
            repeated = _count(row, "number-rows-repeated")
            self._cells += len(cells) * min(repeated, _MOST_REPEATED)
            if self._cells > _MOST_CELLS or len(rows) > _MOST_CELLS:
                raise LoadError(self._name, f"it holds more than {_MOST_CELLS:,} cells; split it")
            named = named or (in_header and not rows)
            rows += [cells] * (min(repeated, _MOST_REPEATED) if cells else min(repeated, 1_100_000))
        while rows and not rows[-1]:
            rows.pop()
        return rows, named

    def _words(self, cell: Element) -> Iterator[str]:
        for part in cell:
            if local(part) in ("p", "h"):
                yield self._text(part)
                self._aside.clear()
            elif local(part) not in _UNSEEN and local(part) != "annotation":
                yield from self._words(part)

    def _text(self, element: Element) -> str:
        pieces = [element.text or ""]
        for part in element:
            kind = local(part)
            if kind == "s":
                pieces.append(" " * min(int(attribute(part, "c") or "1"), 1000))
            elif kind == "tab":
                pieces.append("\t")
            elif kind == "line-break":
                pieces.append("\n")
            elif kind == "note":
                pieces.append(next((f"[{self._text(p)}]" for p in part if local(p) == "note-citation"), ""))
                self._aside += [p for p in part if local(p) == "note-body"]
            elif kind in ("annotation", "frame", "custom-shape", "g"):
                self._aside.append(part)
            elif kind not in _UNSEEN:
                pieces.append(self._text(part))
            pieces.append(part.tail or "")
        return "".join(pieces)


def _table_rows(table: Element, in_header: bool = False) -> Iterator[tuple[Element, bool]]:
    for part in table:
        kind = local(part)
        if kind == "table-row":
            yield part, in_header
        elif kind in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _table_rows(part, in_header or kind == "table-header-rows")


def _count(element: Element, name: str) -> int:
    value = attribute(element, name) or "1"
    return max(int(value), 1) if value.isdecimal() else 1
