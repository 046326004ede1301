"""Measure reading PDF files, in pages a second, beside the two extractors on their own.

    python benchmarks/pdf.py                    # 20 files of 50 pages, 5 runs of each, alternating
    python benchmarks/pdf.py --quick            # 5 files, 2 runs

The files are drawn with reportlab: 42 lines, a header and a page number on each page. AutoContext reads in a child
process with limits, judges each page's text, takes repeated headers out and makes broken words whole; plain pypdf and
pypdfium2 run in this process, protected by nothing.
"""

from __future__ import annotations

import io
import textwrap
import time
from collections.abc import Callable

from common import Row, Table, alternate, make_texts, median, parser, report, seconds_of

from autocontext.loaders import load

OURS = "AutoContext"
LINES = 42  # a page


def draw(pages: int, seed: int) -> bytes:
    """Return a PDF of lines of text."""
    from reportlab.pdfgen.canvas import Canvas

    lines = [line for text in make_texts(pages, 36, seed) for line in textwrap.wrap(text, 90)[:LINES]]
    buffer = io.BytesIO()
    canvas = Canvas(buffer, invariant=1)
    for page in range(pages):
        canvas.drawString(72, 800, f"Report number {seed}")
        for number, line in enumerate(lines[page * LINES : (page + 1) * LINES]):
            canvas.drawString(72, 770 - 16 * number, line)
        canvas.drawString(290, 40, str(page + 1))
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def by_autocontext(data: bytes) -> int:
    """Read as a collection does; return the number of characters."""
    return len(load("report.pdf", data).text)


def by_pypdf(data: bytes) -> int:
    """Extract with pypdf."""
    from pypdf import PdfReader

    return sum(len(page.extract_text()) for page in PdfReader(io.BytesIO(data)).pages)


def by_pypdfium2(data: bytes) -> int:
    """Extract with PDFium."""
    import pypdfium2

    document = pypdfium2.PdfDocument(data)
    total = 0
    for page in document:
        text = page.get_textpage()
        total += len(text.get_text_bounded())
        text.close()
        page.close()
    document.close()
    return total


def main() -> None:
    """Read all files with each in turn and print the table."""
    args = parser(__doc__).parse_args()
    started = time.perf_counter()
    n_files, pages, rounds = (5 if args.quick else 20), 50, args.rounds or (2 if args.quick else 5)
    files = [draw(pages, seed) for seed in range(n_files)]
    readers: dict[str, Callable[[bytes], int]] = {
        OURS: by_autocontext,
        "pypdfium2 in process": by_pypdfium2,
        "pypdf in process": by_pypdf,
    }
    characters = {name: sum(map(read, files[:1])) for name, read in readers.items()}  # warm, and all read the same
    calls = {name: lambda r=read: seconds_of(lambda: [r(data) for data in files]) for name, read in readers.items()}
    runs = alternate(calls, rounds)
    seconds = {name: median(values) for name, values in runs.items()}
    total = n_files * pages
    rows: list[Row] = [
        [name, total / took, 1000 * took / total, took / seconds[OURS], characters[name]]
        for name, took in seconds.items()
    ]
    columns = ["", "pages/s", "ms a page", "times AutoContext's time", "characters of the first file"]
    title = f"Reading {n_files} PDF files of {pages} pages, medians of {rounds}"
    report(args, started, [Table(title, columns, rows)], {"pages": total, "runs": runs})


if __name__ == "__main__":
    main()
