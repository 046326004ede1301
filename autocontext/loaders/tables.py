"""Rows of cells into lines that can be read alone: ``Product: Pump; Price: 12``."""

from __future__ import annotations

import re
from collections.abc import Sequence

Row = Sequence[str]

_NUMBER = re.compile(r"[\s$€£¥%+\-().,:/\d]*\d[\s$€£¥%+\-().,:/\d]*[A-Za-z%°€]{0,3}")
_LOOKED_AT = 20
_LONGEST_NAME = 80


def header_row(rows: Sequence[Row]) -> int | None:
    """Return the number of the row that seems to hold the columns' names; None if there is none.

    It is the first of the widest rows, and its cells are different words, none a number and none found below it.
    """
    widths = [sum(1 for cell in row if cell.strip()) for row in rows[:_LOOKED_AT]]
    widest = max(widths, default=0)
    if widest < 2 or len(rows) < 2:
        return None
    number = next(n for n, width in enumerate(widths) if width >= 2 and width * 5 >= widest * 3)
    names = [cell.strip() for cell in rows[number] if cell.strip()]
    if number == len(rows) - 1 or len({name.casefold() for name in names}) < len(names):
        return None
    if any(len(name) > _LONGEST_NAME or _NUMBER.fullmatch(name) for name in names):
        return None
    below = rows[number + 1 : number + 1 + 5 * _LOOKED_AT]
    repeated = sum(
        1
        for column, name in enumerate(rows[number])
        if name.strip() and any(column < len(row) and row[column].strip() == name.strip() for row in below)
    )
    return number if repeated * 2 < len(names) else None


def named_line(names: Row, row: Row) -> str:
    """Return the filled cells of a row, each after its column's name."""
    cells: list[str] = []
    for column, cell in enumerate(row):
        value = " ".join(cell.split())
        name = " ".join(names[column].split()) if column < len(names) else ""
        if value:
            cells.append(f"{name.rstrip(':')}: {value}" if name else value)
    return "; ".join(cells)


def plain_line(row: Row) -> str:
    """Return the cells of a row with bars between them; the empty ones at its end are left out."""
    cells = [" ".join(cell.split()) for cell in row]
    while cells and not cells[-1]:
        cells.pop()
    return " | ".join(cells).strip()


def table_text(rows: Sequence[Row], *, named: bool) -> str:
    """Return a table within a document as lines; if `named`, its first row holds the columns' names."""
    if named and len(rows) > 1:
        return "\n\n".join(filter(None, (named_line(rows[0], row) for row in rows[1:])))
    return "\n\n".join(filter(None, map(plain_line, rows)))
