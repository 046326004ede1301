"""Makers of small files of every kind that is read, for the tests."""

from __future__ import annotations

import datetime
import io
import json
import zipfile

import docx
import openpyxl
import pptx
import xlsxwriter
from pptx.util import Inches


def zipped(members: dict[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def replaced(data: bytes, part: str, old: str, new: str) -> bytes:
    """Return a package with a text within one of its parts replaced."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert old.encode() in members[part], (part, old)
    return zipped({**members, part: members[part].replace(old.encode(), new.encode())})


def _saved(document) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def word(paragraphs=("Salt melts at 801 degrees.",)) -> bytes:
    document = docx.Document()
    document.add_heading("Boiler", 0)
    document.add_heading("Safety", 1)
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    document.add_paragraph("Close the valve.", style="List Bullet")
    document.add_heading("Prices", 2)
    table = document.add_table(2, 2)
    for cell, text in zip((c for row in table.rows for c in row.cells), ("Name", "Price", "Pump", "12"), strict=True):
        cell.text = text
    document.sections[0].header.paragraphs[0].text = "ACME Works"
    return _saved(document)


def slides() -> bytes:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Costs"
    slide.placeholders[1].text = "Salt melts at 801 degrees.\nValves are cheap."
    slide.notes_slide.notes_text_frame.text = "Say hello."
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Table"
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(3), Inches(1)).table
    for n, text in enumerate(("Product", "Price", "Pump", "12")):
        table.cell(n // 2, n % 2).text = text
    return _saved(deck)


def workbook(rows=None) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Prices"
    for row in rows or (
        ["Price list of Salt Works"],
        [],
        ["Product", "Price", "From", "Share"],
        ["Pump", 12.5, datetime.date(2031, 7, 29), 0.25],
        ["Valve", 3, datetime.datetime(2031, 7, 30, 6, 45), None],
    ):
        sheet.append(row)
    sheet["D4"].number_format = "0.0%"
    book.create_sheet("Notes")["A1"] = "Salt melts at 801 degrees."
    return _saved(book)


def shared_workbook() -> bytes:
    """Return the same workbook as Excel keeps it: its words in a table of their own, dates as numbers with a format."""
    buffer = io.BytesIO()
    book = xlsxwriter.Workbook(buffer, {"in_memory": True})
    sheet = book.add_worksheet("Prices")
    date, time, percent = (book.add_format({"num_format": form}) for form in ("yyyy-mm-dd", "yyyy-mm-dd hh:mm", "0.0%"))
    sheet.write("A1", "Price list of Salt Works")
    sheet.write_row("A3", ["Product", "Price", "From", "Share"])
    sheet.write_rich_string("A4", "Pu", book.add_format({"bold": True}), "mp")
    sheet.write("B4", 12.5)
    sheet.write_datetime("C4", datetime.datetime(2031, 7, 29), date)
    sheet.write("D4", 0.25, percent)
    sheet.write_row("A5", ["Valve", 3])
    sheet.write_datetime("C5", datetime.datetime(2031, 7, 30, 6, 45), time)
    book.add_worksheet("Notes").write("A1", "Salt melts at 801 degrees.")
    book.close()
    return buffer.getvalue()


OFFICE = "urn:oasis:names:tc:opendocument:xmlns:"
SPACES = " ".join(f'xmlns:{n}="{OFFICE}{n}:1.0"' for n in ("office", "text", "table")) + (
    f' xmlns:draw="{OFFICE}drawing:1.0" xmlns:presentation="{OFFICE}presentation:1.0"'
)


def open_document(body: str, kind: str = "text") -> bytes:
    return zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": f"<office:document-content {SPACES}><office:body><office:{kind}>{body}</office:{kind}>"
            "</office:body></office:document-content>",
        }
    )


def text_document() -> bytes:
    return open_document(
        "<text:tracked-changes><text:deletion><text:p>Deleted.</text:p></text:deletion></text:tracked-changes>"
        '<text:h text:outline-level="1">Boiler</text:h><text:p>Salt<text:s text:c="2"/>melts at 801 degrees.'
        "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>In air.</text:p>"
        "</text:note-body></text:note></text:p><text:list><text:list-item><text:p>Close the valve.</text:p>"
        "</text:list-item></text:list><table:table><table:table-row><table:table-cell><text:p>Pump</text:p>"
        "</table:table-cell><table:table-cell><text:p>12</text:p></table:table-cell></table:table-row></table:table>"
    )


def sheet_document() -> bytes:
    def row(*cells: str) -> str:
        return (
            "<table:table-row>"
            + "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in cells)
            + "</table:table-row>"
        )

    return open_document(
        f'<table:table table:name="Prices">{row("Product", "Price")}'
        '<table:table-row table:number-rows-repeated="3"><table:table-cell table:number-columns-repeated="9999"/>'
        f"</table:table-row>{row('Salt', '801')}"
        '<table:table-row table:number-rows-repeated="1048570"><table:table-cell/></table:table-row></table:table>',
        "spreadsheet",
    )


CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="O/book.opf"/></rootfiles></container>'
)


def book(**more: str) -> bytes:
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": CONTAINER,
            "O/book.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
            '<item id="n" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
            '<item id="w" href="t/the%20whale.xhtml" media-type="application/xhtml+xml"/>'
            '<item id="p" href="t/preface.xhtml" media-type="application/xhtml+xml"/></manifest>'
            '<spine><itemref idref="p"/><itemref idref="w"/></spine></package>',
            "O/nav.xhtml": '<!DOCTYPE html><html><body><nav><ol><li><a href="t/the%20whale.xhtml#x">The Whale</a></li>'
            "</ol></nav></body></html>",
            "O/t/the whale.xhtml": "<!DOCTYPE html><html><head><title>x</title></head><body><h1>Loomings</h1>"
            "<p>Salt&nbsp;melts at 801 degrees.</p></body></html>",
            "O/t/preface.xhtml": "<html><body><p>Before all.</p></body></html>",
            **more,
        }
    )


def notebook() -> bytes:
    cells = [
        {"cell_type": "markdown", "source": ["# Salt\n", "It melts at 801 degrees.\n", "## Code\n"]},
        {
            "cell_type": "code",
            "source": "print(801)",
            "outputs": [
                {"output_type": "stream", "text": ["801\n"]},
                {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo", "text/plain": "<Figure>"}},
                {"output_type": "error", "ename": "ValueError", "evalue": "too hot", "traceback": ["\x1b[31mx\x1b[0m"]},
            ],
        },
    ]
    return json.dumps({"cells": cells, "nbformat": 4}).encode()


MAIL = """From: =?iso-8859-1?Q?J=FCrgen_Low?= <j@example.org>
To: a@example.org
Subject: =?utf-8?B?R3LDvMOf?= =?utf-8?B?ZSBhdXM=?= Bonn
Date: Tue, 29 Jul 2031 10:00:00 +0200
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=B

--B
Content-Type: multipart/alternative; boundary=C

--C
Content-Type: text/html

<p>Salt in HTML.</p>
--C
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Salz schmilzt bei 801 Grad, die Gr=F6=DFe ist egal.
--C--
--B
Content-Type: text/plain
Content-Disposition: attachment; filename*=utf-8''n%C3%B6te.txt

Attached words.
--B
Content-Type: image/png
Content-Disposition: attachment; filename="plan.png"
Content-Transfer-Encoding: base64

iVBORw0KGgo=
--B--
""".replace("\n", "\r\n").encode()

MAIL_BOX = b"""From a@b Tue Jul 29 10:00:00 2031
From: a@example.org
Subject: One
Date: Tue, 29 Jul 2031 10:00:00 +0200

Salt melts at 801 degrees.

>From here on it is fluid.

From c@d Wed Jul 30 10:00:00 2031
From: c@example.org
Subject: Two
Content-Type: text/html

<p>Water <b>boils</b>.</p>
"""

WEB_ARCHIVE = b"""From: <Saved by a browser>
Subject: Boiler
MIME-Version: 1.0
Content-Type: multipart/related; type="text/html"; boundary="B"

--B
Content-Type: text/html
Content-Transfer-Encoding: quoted-printable

<html><head><meta charset=3D"utf-8"><title>Boiler</title></head><body><p>Salt melts at 801=C2=B0.</p></body></html>
--B
Content-Type: image/png
Content-Transfer-Encoding: base64

iVBORw0KGgo=
--B--
"""

RTF = (
    rb"{\rtf1\ansi\ansicpg1251{\fonttbl{\f0 Arial;}}{\info{\title Secret}}\f0 Caf\u233?e \'cf\'f0\'e8 "
    rb"\b salt\b0  melts at 801 degrees.\par Second line.\par}"
)
