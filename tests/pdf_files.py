"""PDFs for the tests: drawn ones, and ones written byte by byte with exactly one thing wrong."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence
from functools import cache

from pypdf import PdfReader, PdfWriter
from reportlab.pdfgen.canvas import Canvas

SALT = b"BT /F1 12 Tf 72 720 Td (Salt melts at 801 degrees.) Tj ET"
FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding%s>>"


def drawn(*pages: str) -> bytes:
    """Make a PDF, a page a string with its lines; "" is a page with a picture only."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, invariant=1)
    for page in pages:
        for number, line in enumerate(page.splitlines()):
            canvas.drawString(72, 760 - 14 * number, line)
        if not page:
            canvas.rect(72, 600, 200, 100, fill=1)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def encrypted(data: bytes, **encryption: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.encrypt(**encryption)
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<<%s/Length %d>>\nstream\n%s\nendstream" % (entries, len(data), data)


def of_objects(objects: Sequence[bytes], *, startxref: bool = True) -> bytes:
    """Put objects, numbered from 1, into a file; the first one is the catalog."""
    out = io.BytesIO(b"%PDF-1.7\n")
    out.seek(0, io.SEEK_END)
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    table = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % offset for offset in offsets))
    out.write(b"trailer\n<</Size %d/Root 1 0 R>>\n" % (len(objects) + 1))
    out.write((b"startxref\n%d\n" % table if startxref else b"") + b"%%EOF\n")
    return out.getvalue()


def many_pages(*contents: bytes, resources: bytes = b"", more: Sequence[bytes] = ()) -> bytes:
    """Make a PDF of pages, each given as its content's stream object; `more` are the objects from 4 on."""
    first = 4 + len(more)
    kids = b" ".join(b"%d 0 R" % (first + 2 * n) for n in range(len(contents)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(contents), kids),
        FONT % b"",
        *more,
    ]
    for n, content in enumerate(contents):
        objects += [
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>%s>>/Contents %d 0 R>>"
            % (resources, first + 2 * n + 1),
            content,
        ]
    return of_objects(objects)


def one_page(
    content: bytes = SALT,
    *more: bytes,
    font: bytes = FONT % b"",
    catalog: bytes = b"",
    page: bytes = b"",
    resources: bytes = b"",
    stream_entries: bytes = b"",
    startxref: bool = True,
) -> bytes:
    """Make a PDF of one page; `more` are the objects from 6 on."""
    return of_objects(
        [
            b"<</Type/Catalog/Pages 2 0 R%s>>" % catalog,
            b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 4 0 R>>%s>>/Contents 5 0 R%s>>"
            % (resources, page),
            font,
            stream(content, stream_entries),
            *more,
        ],
        startxref=startxref,
    )


def to_unicode(entries: bytes) -> bytes:
    """Return a font's character map, its entries like ``<2D> <0000>``."""
    head = b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <00> <FF> "
    return stream(
        head + b"endcodespacerange %d beginbfchar %s endbfchar endcmap end end" % (entries.count(b"\n") + 1, entries)
    )


@cache  # two seconds' work
def bomb(megabytes: int) -> bytes:
    """Return a page's content that inflates to so much: the text, and blanks."""
    packer = zlib.compressobj(9)
    packed = packer.compress(SALT + b"\n")
    for _ in range(megabytes):
        packed += packer.compress(b" " * 1_000_000)
    return stream(packed + packer.flush(), b"/Filter/FlateDecode")


def slow(*others: bytes, pages: int = 1_500) -> bytes:
    """Make a PDF that takes minutes: `others`, then many pages that share one big drawing of words."""
    words = b"BT /F1 9 Tf 1 0 0 1 40 760 Tm " + b"(salt) Tj 30 0 Td (melts) Tj -30 -1 Td " * 12_000 + b"ET"
    data = many_pages(*others, *[b"null"] * (pages - 1), stream(zlib.compress(words), b"/Filter/FlateDecode"))
    last = 4 + 2 * (len(others) + pages) - 1
    for n in range(pages - 1):
        number = 4 + 2 * (len(others) + n) + 1
        data = data.replace(b"/Contents %d 0 R>>" % number, b"/Contents %*d 0 R>>" % (len(str(number)), last))
    return data
