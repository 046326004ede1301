"""Word documents, as a reader sees them: with insertions, text boxes, notes and comments, without deleted text.

python-docx reads a paragraph's own runs only: text in tracked insertions, content controls, text boxes and footnotes
is missing there (docs/decisions/007-formats.md), so the XML is read here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from autocontext.datatypes import Document
from autocontext.loaders.build import Builder
from autocontext.loaders.package import Package, attribute, local
from autocontext.loaders.tables import table_text

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

SUFFIXES = (".docx", ".docm", ".dotx", ".dotm")

_SIGNS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
# Deleted and moved-away text, the code of fields, the second form of what stands there already, reading aids.
_UNSEEN = frozenset(("del", "moveFrom", "instrText", "delText", "Fallback", "rt", "pPr", "sectPr", "tblPr", "tcPr"))


def load(name: str, data: bytes) -> Document:
    """Read the body, then footnotes, endnotes, comments, headers and footers.

    Raises
    ------
    LoadError
        If the file is damaged or needs a password.
    """
    package = Package(name, data, "a Word document")
    main = next((path for kind, path in package.relations("").values() if kind == "officeDocument"), "")
    if main not in package:
        main = "word/document.xml"
    related = package.relations(main)
    styles = next((path for kind, path in related.values() if kind == "styles" and path in package), None)
    reader = _Reader(Builder(name), *(_styles(package.xml(styles)) if styles else ({}, set())))
    build = reader.build
    body = next((part for part in package.xml(main) if local(part) == "body"), None)
    if body is None:
        raise package.damaged()
    reader.add_blocks(body)
    for kind, title in (("footnotes", "footnotes"), ("endnotes", "endnotes"), ("comments", "comments")):
        for found, path in related.values():
            if found == kind and path in package:
                build.place(title)
                for note in package.xml(path):
                    if attribute(note, "type") in (None, "normal"):
                        reader.add_blocks(note)
    edges = dict.fromkeys(
        text
        for kind, path in sorted(related.values())
        if kind in ("header", "footer") and path in package
        for text in reader.texts(package.xml(path))
    )
    build.place("header or footer")
    build.add("\n".join(edges))
    hidden = reader.hidden
    told = f"{hidden} piece{'s' if hidden > 1 else ''} of hidden text left out."
    return build.document(data, (told,) if hidden else ())


class _Reader:
    """Adds paragraphs and tables to a text."""

    def __init__(self, build: Builder, heading_styles: dict[str, int], list_styles: set[str]) -> None:
        self.build = build
        self.hidden = 0
        self._heading_styles = heading_styles
        self._list_styles = list_styles
        self._boxes: list[Element] = []

    def add_blocks(self, parent: Element) -> None:
        """Add the paragraphs and tables of a part of the document."""
        for element in parent:
            kind = local(element)
            if kind == "p":
                self._add_paragraph(element)
            elif kind == "tbl":
                self._add_table(element)
            elif kind not in _UNSEEN:  # content controls, custom XML, tracked changes, alternatives
                self.add_blocks(element)

    def texts(self, parent: Element) -> Iterator[str]:
        """Yield the text of each paragraph within an element, those of text boxes after the one that holds them."""
        for paragraph in parent.iter():
            if local(paragraph) == "p":
                text = self._text(paragraph).strip()
                self._boxes.clear()  # their paragraphs come by themselves
                if text:
                    yield text

    def _add_paragraph(self, paragraph: Element) -> None:
        text = self._text(paragraph)
        boxes, self._boxes = self._boxes, []
        level, is_item = self._form(paragraph)
        if level is not None:
            self.build.heading(level, text)
        else:
            self.build.add(f"- {text.strip()}" if is_item and text.strip() else text)
        for box in boxes:
            self.add_blocks(box)

    def _add_table(self, table: Element) -> None:
        rows: list[list[str]] = []
        named = False
        for row in _within(table, "tr"):
            cells = [" ".join(self.texts(cell)) for cell in _within(row, "tc")]
            if not rows:
                named = any(local(mark) == "tblHeader" for mark in row.iter()) and len(cells) > 1
            rows.append(cells)
        self.build.add(table_text(rows, named=named))

    def _text(self, element: Element) -> str:
        pieces: list[str] = []
        for part in element:
            kind = local(part)
            if kind == "t":
                pieces.append(part.text or "")
            elif kind in _SIGNS:
                pieces.append(_SIGNS[kind])
            elif kind in ("footnoteReference", "endnoteReference"):
                pieces.append(f"[{attribute(part, 'id')}]")
            elif kind == "txbxContent":
                self._boxes.append(part)
            elif kind == "r" and self._is_hidden(part):
                self.hidden += 1
            elif kind not in _UNSEEN:
                pieces.append(self._text(part))
        return "".join(pieces)

    @staticmethod
    def _is_hidden(run: Element) -> bool:
        properties = next((part for part in run if local(part) == "rPr"), None)
        marks = [mark for mark in properties or () if local(mark) == "vanish"]
        return any(attribute(mark, "val") not in ("0", "false", "off") for mark in marks)

    def _form(self, paragraph: Element) -> tuple[int | None, bool]:
        """Return the level of a heading, or None, and whether it is an item of a list."""
        properties = next((part for part in paragraph if local(part) == "pPr"), None)
        level: int | None = None
        is_item = False
        for part in properties if properties is not None else ():
            kind, value = local(part), attribute(part, "val") or ""
            if kind == "pStyle":
                level = self._heading_styles.get(value, level)
                is_item = is_item or value in self._list_styles
            elif kind == "outlineLvl" and value.isdecimal():
                level = int(value) + 1 if int(value) < 9 else None
            elif kind == "numPr":
                is_item = True
        return level, is_item


def _within(parent: Element, kind: str) -> Iterator[Element]:
    """Yield the rows of a table or the cells of a row, also those in content controls, not those of inner tables."""
    for element in parent:
        if local(element) == kind:
            yield element
        elif local(element) in ("sdt", "sdtContent", "ins", "moveTo", "customXml"):
            yield from _within(element, kind)


def _styles(styles: Element) -> tuple[dict[str, int], set[str]]:
    """Return the level of each style of headings, whatever its name in the user's language, and the styles of lists."""
    levels: dict[str, int] = {}
    lists: set[str] = set()
    based: dict[str, str] = {}
    for style in styles:
        key = attribute(style, "styleId")
        if local(style) != "style" or key is None:
            continue
        for part in style.iter():
            kind, value = local(part), attribute(part, "val") or ""
            if kind == "outlineLvl" and value.isdecimal() and int(value) < 9:
                levels[key] = int(value) + 1
            elif kind == "name" and value.lower() == "title":
                levels[key] = 0
            elif kind == "name" and value.lower().startswith("heading ") and value[8:].isdecimal():
                levels.setdefault(key, int(value[8:]))
            elif kind == "basedOn":
                based[key] = value
            elif kind == "numPr":
                lists.add(key)
    for key in based:
        above, steps = key, 0
        while above not in levels and above in based and steps < len(based):
            above, steps = based[above], steps + 1
        if above in levels:
            levels.setdefault(key, levels[above])
    return levels, lists - levels.keys()
