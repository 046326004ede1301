"""PowerPoint presentations, slide by slide: shapes, tables, diagrams and speaker's notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from autocontext.datatypes import Document
from autocontext.loaders.build import Builder
from autocontext.loaders.package import Package, local
from autocontext.loaders.tables import table_text

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

SUFFIXES = (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx")

_FURNITURE = frozenset(("sldNum", "dt", "ftr", "hdr", "sldImg"))


def load(name: str, data: bytes) -> Document:
    """Read the slides in the order in which they are shown; the title of each is its heading.

    Raises
    ------
    LoadError
        If the file is damaged or needs a password.
    """
    package = Package(name, data, "a PowerPoint presentation")
    main = "ppt/presentation.xml"
    related = package.relations(main)
    ids = [slide for slide in package.xml(main).iter() if local(slide) == "sldId"]
    paths = [related[key][1] for slide in ids if (key := _relation_id(slide)) in related]
    build = Builder(name)
    for number, path in enumerate(paths, start=1):
        if path not in package:
            continue
        slide = package.xml(path)
        hidden = " (hidden)" if slide.get("show") == "0" else ""
        build.place(f"slide {number}{hidden}")
        _add_slide(build, slide)
        for kind, part in package.relations(path).values():
            if kind == "diagramData" and part in package:
                build.add("\n".join(filter(None, map(_text, _named(package.xml(part), "p")))))
            elif kind == "notesSlide" and part in package:
                notes = "\n".join(text for shape in _shapes(package.xml(part)) for text in _lines(shape))
                if notes:
                    build.place(f"slide {number}{hidden}, notes", within=True)
                    build.add(notes)
    return build.document(data)


def _add_slide(build: Builder, slide: Element) -> None:
    shapes = list(_shapes(slide))
    titles = [shape for shape in shapes if _placeholder(shape) in ("title", "ctrTitle")]
    for title in titles:
        build.heading(1, " ".join(_lines(title)))
    for shape in shapes:
        if local(shape) == "tbl":
            rows = [[" ".join(_lines(cell)) for cell in _named(row, "tc")] for row in _named(shape, "tr")]
            properties = next(_named(shape, "tblPr"), None)
            named = properties is not None and properties.get("firstRow") == "1" and len(rows[:1] and rows[0]) > 1
            build.add(table_text(rows, named=named))
        elif shape not in titles:
            build.add("\n".join(_lines(shape)))


def _shapes(parent: Element) -> Iterator[Element]:
    """Yield the shapes with text and the tables, in the order in which they lie on the slide."""
    for element in parent:
        kind = local(element)
        if kind in ("sp", "cxnSp"):
            if _placeholder(element) not in _FURNITURE:
                yield element
        elif kind == "tbl":
            yield element
        elif kind != "Fallback":
            yield from _shapes(element)


def _placeholder(shape: Element) -> str | None:
    mark = next(_named(shape, "ph"), None)
    return None if mark is None else mark.get("type", "body")


def _lines(element: Element) -> list[str]:
    return [text for paragraph in _named(element, "p") if (text := _text(paragraph))]


def _text(paragraph: Element) -> str:
    pieces = [
        part.text or "" if local(part) == "t" else "\n" for part in paragraph.iter() if local(part) in ("t", "br")
    ]
    return "".join(pieces).strip()


def _named(element: Element, kind: str) -> Iterator[Element]:
    return (part for part in element.iter() if local(part) == kind)


def _relation_id(slide: Element) -> str:
    return next((value for key, value in slide.attrib.items() if key.endswith("}id")), "")
