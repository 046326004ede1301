"""Tables as text (CSV, TSV): each row a line that names its columns; without a row of names as it is written."""

from __future__ import annotations

import csv
import io

from autocontext.datatypes import Document
from autocontext.loaders import text as plain
from autocontext.loaders.base import MAX_TEXT
from autocontext.loaders.build import Builder
from autocontext.loaders.tables import header_row, named_line, plain_line

IS_TEXT = True
SUFFIXES = (".csv", ".tsv", ".tab", ".psv")

_DELIMITERS = ",;\t|"
_SAMPLE = 20_000


def load(name: str, data: bytes, encoding: str | None = None) -> Document:
    """Decode the file and give every row the names of its columns."""
    document = plain.load(name, data, encoding)
    text, first = document.text, 1
    told = text.partition("\n")[0].strip().lower()
    if told.startswith("sep=") and len(told) == 5:  # Excel's own way to say it
        delimiter, text, first = told[4], text.partition("\n")[2], 2
    else:
        delimiter = _delimiter(text[:_SAMPLE])
    rows = _rows(text, delimiter) if delimiter else []
    header = header_row(rows)
    if header is None:
        return document
    build = Builder(name)
    for number, row in enumerate(rows):
        build.place(f"row {first + number}", apart=False)
        if number < header:
            build.add(plain_line(row))
        elif number > header:
            build.add(named_line(rows[header], row))
    return build.document(data, document.notes, document.encoding)


def _rows(text: str, delimiter: str) -> list[list[str]]:
    csv.field_size_limit(MAX_TEXT)
    lines = io.StringIO(text)
    if text.count('"') % 2:  # a stray quote would swallow the rest
        return list(csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE))
    return list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True))


def _delimiter(sample: str) -> str:
    """Return the sign that parts most lines into equally many cells; "" if none does."""
    best, most = "", 0.0
    for delimiter in _DELIMITERS:
        rows = [row for row in _rows(sample, delimiter)[:200] if row]
        widths = [len(row) for row in rows]
        if not widths:
            continue
        usual = max(set(widths), key=widths.count)
        score = (usual > 1) * widths.count(usual) / len(widths) * min(usual, 10)
        if score > most:
            best, most = delimiter, score
    return best
