"""Excel workbooks, a line a row that names its columns; sheet and row are the place."""

from __future__ import annotations

import datetime
import io
import re
from typing import Any

from autocontext.datatypes import Document
from autocontext.errors import LoadError
from autocontext.loaders.build import Builder
from autocontext.loaders.package import Package
from autocontext.loaders.tables import header_row, named_line, plain_line

SUFFIXES = (".xlsx", ".xlsm", ".xltx", ".xltm")

_MOST_CELLS = 2_000_000
_MOST_BYTES = 250_000_000
_MOST_TEXTS = 100_000_000
_WITHOUT_VALUE = re.compile(rb"<f[^>]*?(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>")


def load(name: str, data: bytes) -> Document:
    """Read the values of all sheets, as they were last computed.

    Raises
    ------
    LoadError
        If the file is damaged, needs a password or holds too many cells.
    """
    import warnings

    from openpyxl import load_workbook

    package = Package(name, data, "an Excel workbook")
    sheets = [part for part in package if part.startswith("xl/worksheets/")]
    if sum(package.size(part) for part in package if part.startswith("xl/") and part.endswith(".xml")) > _MOST_BYTES:
        raise package.too_large()
    if any(package.size(part) > _MOST_TEXTS for part in package if part.lower() == "xl/sharedstrings.xml"):
        raise package.too_large()
    build = Builder(name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about parts that it does not keep when it writes
            workbook = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            cells = 0
            for sheet in workbook.worksheets:
                sheet.reset_dimensions()  # what the file says of its size may be far from true
                hidden = " (hidden)" if sheet.sheet_state != "visible" else ""
                cells = _add_sheet(build, sheet, f"sheet {sheet.title}{hidden}", cells)
    except LoadError:
        raise
    except Exception as error:  # a damaged workbook breaks openpyxl in many ways
        raise package.damaged() from error
    empty = sum(len(_WITHOUT_VALUE.findall(package.read(part))) for part in sheets if package.size(part) < 60_000_000)
    told = f"{empty} formula{'s' if empty > 1 else ''} without a value; open and save it in Excel to compute them."
    return build.document(data, (told,) if empty else ())


def _add_sheet(build: Builder, sheet: Any, label: str, cells: int) -> int:
    """Add a sheet; returns the cells seen up to its end."""
    rows: list[tuple[int, list[str]]] = []
    for number, row in enumerate(sheet.iter_rows(), start=1):
        cells += len(row)
        if cells > _MOST_CELLS:
            raise LoadError(build.name, f"it holds more than {_MOST_CELLS:,} cells; split it")
        values = [_shown(cell) for cell in row]
        if any(values):
            rows.append((number, values))
    header = header_row([values for _, values in rows])
    for n, (number, values) in enumerate(rows):
        build.place(f"{label}, row {number}", apart=n == 0)
        if header is None or n < header:
            build.add(plain_line(values))
        elif n > header:
            build.add(named_line(rows[header][1], values))
    return cells


def _shown(cell: Any) -> str:
    """Return the value as one would write it: no time of midnight, no endless fractions, per cent as such."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float | int):
        percent = "%" in (cell.number_format or "")
        text = format(value * 100 if percent else value, ".12g")
        return f"{text}%" if percent else text
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ", "minutes")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value)
