"""Jupyter notebooks: the cells as they are written, with what they printed."""

from __future__ import annotations

import json
import re
from typing import Any

from autocontext.datatypes import Document
from autocontext.errors import LoadError
from autocontext.loaders.build import Builder

SUFFIXES = (".ipynb",)

_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S.*?)[ \t#]*$", re.M)
_LONGEST_OUTPUT = 20_000


def load(name: str, data: bytes) -> Document:
    """Read the cells; their numbers are the places, the headings of text cells the headings.

    Raises
    ------
    LoadError
        If it is no notebook.
    """
    try:
        notebook = json.loads(data.decode("utf-8-sig", "replace"))
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
        found = [cell for cell in cells if isinstance(cell, dict)]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
        raise LoadError(name, "it is damaged or not a notebook") from error
    build = Builder(name)
    cut = 0
    for number, cell in enumerate(found, start=1):
        build.place(f"cell {number}", within=True)
        source = _joined(cell.get("source", cell.get("input", "")))
        if cell.get("cell_type") == "markdown":
            _add_markdown(build, source)
        elif cell.get("cell_type") == "heading":
            build.heading(int(cell.get("level", 1)), source)
        else:
            build.add(source)
        for output in cell.get("outputs") or ():
            text = _output(output) if isinstance(output, dict) else ""
            cut += len(text) > _LONGEST_OUTPUT
            build.add(text[:_LONGEST_OUTPUT])
    told = f"{cut} output{'s' if cut > 1 else ''} cut after {_LONGEST_OUTPUT:,} characters."
    return build.document(data, (told,) if cut else ())


def _add_markdown(build: Builder, source: str) -> None:
    last = 0
    for match in _HEADING.finditer(source):
        build.add(source[last : match.start()])
        build.heading(len(match.group(1)), match.group(2))
        last = match.end()
    build.add(source[last:])


def _joined(lines: Any) -> str:
    return "".join(map(str, lines)) if isinstance(lines, list) else str(lines)


def _output(output: dict[str, Any]) -> str:
    """Return what a cell printed; pictures and errors' colours are left out."""
    data = output.get("data")
    shown = data.get("text/plain", "") if isinstance(data, dict) else output.get("text", "")
    if output.get("output_type") in ("error", "pyerr"):
        shown = f"{output.get('ename', '')}: {output.get('evalue', '')}"
    return re.sub("\x1b\\[[0-9;]*m", "", _joined(shown))
