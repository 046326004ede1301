"""Every kind of file: what is taken over of it, and the place that is shown with it."""

from __future__ import annotations

import json

import pytest

from autocontext import AutoContext, Settings, loaders
from autocontext.errors import KindError, LoadError
from tests import office


def read(name: str, data: bytes | str):
    return loaders.load(name, data.encode() if isinstance(data, str) else data)


def places(document) -> list[tuple[str, str, str]]:
    """Return the words that each section begins with, its headings and its place."""
    return [(document.text[s.start :].split("\n")[0], s.heading, s.place) for s in document.sections]


def failure(name: str, data: bytes) -> str:
    with pytest.raises(LoadError) as caught:
        loaders.load(name, data)
    return caught.value.reason


# --- texts that stay as they are written ---

VERBATIM = {
    "a.md": ("Before.\n\n# Salt\n\nIt melts.\n\n```\n# no heading\n```\n\nSugar\n-----\nSweet.\n",
             [("# Salt", "Salt", ""), ("Sugar", "Salt > Sugar", "")]),
    "front.md": ("---\ntitle: x\n---\n# Salt\n\n- item\n---\n", [("# Salt", "Salt", "")]),
    "a.rst": ("====\nSalt\n====\n\nText.\n\nMelting\n-------\n\nAt 801.\n\n...\n---\n",
              [("====", "Salt", ""), ("Melting", "Salt > Melting", "")]),
    "a.org": ("* TODO Salt :work:\nText.\n** Melting\nAt 801.\n* Water\n",
              [("* TODO Salt :work:", "Salt", ""), ("** Melting", "Salt > Melting", ""), ("* Water", "Water", "")]),
    "a.tex": ("\\section{Salt \\emph{now}}\nText.\n\\subsection*{Melting}\nAt 801.\n",
              [("\\section{Salt \\emph{now}}", "Salt now", ""), ("\\subsection*{Melting}", "Salt now > Melting", "")]),
    "a.py": ("import x\n\n\nclass Salt:\n    def melt(self):\n        return 801\n\n\ndef boil():\n    pass\n",
             [("class Salt:", "Salt", ""), ("    def melt(self):", "Salt > melt", ""), ("def boil():", "boil", "")]),
    "a.ts": ("export default async function melt() {}\nclass Salt {\n}\n",
             [("export default async function melt() {}", "melt", ""), ("class Salt {", "Salt", "")]),
    "a.go": ("func (s *Salt) Melt() int {\n\treturn 801\n}\n", [("func (s *Salt) Melt() int {", "Melt", "")]),
    "a.sql": ("select 1;\nCREATE TABLE IF NOT EXISTS salt (a int);\n",
              [("CREATE TABLE IF NOT EXISTS salt (a int);", "salt", "")]),
    "a.json": ('{"salt": {"melts": [801], "name": "x"}, "water": 1}',
               [('"salt": {"melts": [801], "name": "x"}, "water": 1}', "salt", ""),
                ('"melts": [801], "name": "x"}, "water": 1}', "salt > melts", ""),
                (', "name": "x"}, "water": 1}', "salt", ""), (', "water": 1}', "", "")]),
    "a.yaml": ("salt:\n  melts: 801\n  in:\n    air: yes\nwater:\n  - a\n",
               [("salt:", "salt", ""), ("  in:", "salt > in", ""), ("water:", "water", "")]),
    "a.toml": ("[salt.melting]\nat = 801\n", [("[salt.melting]", "salt > melting", "")]),
    "a.srt": ("1\n00:00:06,500 --> 00:00:09,000\nSalt melts.\n\n2\n01:00:00,000 --> 01:00:02,000\nEnd.\n",
              [("1", "", "at 00:00:06"), ("2", "", "at 01:00:00")]),
    "a.vtt": ("WEBVTT\n\n00:06.500 --> 00:09.000\nSalt melts.\n", [("00:06.500 --> 00:09.000", "", "at 00:06")]),
    "a.log": ("2031-07-29 ERROR salt\n\n", []),
    "Makefile": ("all:\n\tmelt salt\n", []),
    "a.unheard": ("Salt melts.\n", []),
    "b.csv": ("1,2,3\n4,5,6\n", []),
    "c.csv": ("only words\nwithout columns\n", []),
}  # fmt: skip


@pytest.mark.parametrize("name", VERBATIM)
def test_a_text_is_the_decoded_file_with_its_sections(name):
    text, sections = VERBATIM[name]
    document = read(name, text)
    assert document.text == text
    assert places(document) == sections
    assert document.notes == ()
    assert document.encoding.name == "utf-8"


def test_letters_that_json_escapes_become_letters_but_not_what_json_needs():
    document = read("a.json", json.dumps({"café": '猫 "\t\x07', "smile": "😀", "path": "\\u00e9"}))
    assert document.text == '{"café": "猫 \\"\\t\\u0007", "smile": "😀", "path": "\\\\u00e9"}'
    assert document.notes == (r"Letters that were escaped (\u00e9) are shown as letters.",)


def test_a_list_of_questions_about_documents_is_no_document():
    line = json.dumps({"id": "1", "question": "When?", "document": "a.txt", "quote": "At 801."})
    with pytest.raises(KindError, match="a list of questions"):
        read("questions.jsonl", line)
    assert read("other.jsonl", '{"question": "When?"}\n').text == '{"question": "When?"}\n'


# --- tables ---


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", "Product,Price,Colour\nPump,12,red\n\"Valve, big\",3,\n"),
        ("a.csv", "sep=;\nProduct;Price;Colour\nPump;12;red\n\"Valve, big\";3;\n"),
        ("a.tsv", "Product\tPrice\tColour\nPump\t12\tred\nValve, big\t3\t\n"),
        ("a.csv", "Product|Price|Colour\r\nPump|12|red\r\nValve, big|3|\r\n"),
    ],
)  # fmt: skip
def test_each_row_of_a_table_names_its_columns(name, data):
    document = read(name, data)
    assert document.text == "Product: Pump; Price: 12; Colour: red\n\nProduct: Valve, big; Price: 3"
    first = 3 if data.startswith("sep=") else 2
    assert [place for _, _, place in places(document)] == [f"row {first}", f"row {first + 1}"]


def test_a_stray_quote_does_not_swallow_the_rows_after_it():
    document = read("a.csv", 'Name,Size\nPipe,"3/4\nPump,12\nValve,5\n')
    assert document.text.split("\n\n")[1:] == ["Name: Pump; Size: 12", "Name: Valve; Size: 5"]


@pytest.mark.parametrize("first", ["Anna,Anna", "Pump,12", "x" * 81 + ",y"])
def test_a_first_row_that_is_no_row_of_names_is_not_taken_for_one(first):
    text = f"{first}\nBert,Bonn\nCarl,Ulm\n"
    assert read("a.csv", text).text == text


@pytest.mark.parametrize("make", [office.workbook, office.shared_workbook])
def test_a_workbook_gives_its_rows_with_sheet_and_row_as_one_reads_them(make):
    document = read("a.xlsx", make())
    assert document.text.split("\n\n") == [
        "Price list of Salt Works",
        "Product: Pump; Price: 12.5; From: 2031-07-29; Share: 25%",
        "Product: Valve; Price: 3; From: 2031-07-30 06:45",
        "Salt melts at 801 degrees.",
    ]
    assert [place for _, _, place in places(document)] == [
        "sheet Prices, row 1", "sheet Prices, row 4", "sheet Prices, row 5", "sheet Notes, row 1",
    ]  # fmt: skip


def test_formulas_that_were_never_computed_are_counted():
    document = read("a.xlsx", office.workbook([["Name", "Sum"], ["Pump", "=1+1"], ["Valve", "=2+2"]]))
    assert document.notes == ("2 formulas without a value; open and save it in Excel to compute them.",)


def test_a_sheet_that_claims_a_million_rows_costs_nothing():
    data = office.replaced(office.workbook(), "xl/worksheets/sheet1.xml", 'r="A1"', 'r="A1" ')
    data = office.replaced(data, "xl/worksheets/sheet1.xml", '<dimension ref="A1:D5"', '<dimension ref="A1:XFD1048576"')
    assert read("a.xlsx", data).text.startswith("Price list of Salt Works")


# --- office files ---


def test_a_word_document_gives_headings_lists_tables_and_its_page_header():
    document = read("a.docx", office.word())
    assert document.text.split("\n\n") == [
        "Boiler", "Safety", "Salt melts at 801 degrees.", "- Close the valve.", "Prices", "Name | Price", "Pump | 12",
        "ACME Works",
    ]  # fmt: skip
    assert places(document) == [
        ("Boiler", "Boiler", ""),
        ("Safety", "Boiler > Safety", ""),
        ("Prices", "Boiler > Safety > Prices", ""),
        ("ACME Works", "", "header or footer"),
    ]


@pytest.mark.parametrize(
    ("run", "text"),
    [
        ("<w:ins><w:r><w:t>Inserted</w:t></w:r></w:ins><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>",
         "Inserted"),
        ("<w:sdt><w:sdtContent><w:r><w:t>Filled in</w:t></w:r></w:sdtContent></w:sdt>", "Filled in"),
        ("<w:hyperlink><w:r><w:t>a link</w:t></w:r></w:hyperlink>", "a link"),
        ("<w:r><w:t>two</w:t><w:br/><w:t>lines</w:t><w:tab/><w:t>tab</w:t></w:r>", "two\nlines\ttab"),
        ("<w:r><w:t>well</w:t><w:noBreakHyphen/><w:t>known</w:t></w:r>", "well-known"),
        ("<w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:t>7</w:t></w:r>", "7"),
        ("<w:r><w:t>seen</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>", "seen"),
        ("<w:r><w:pict><w:txbxContent><w:p><w:r><w:t>in a box</w:t></w:r></w:p></w:txbxContent></w:pict></w:r>",
         "in a box"),
    ],
)  # fmt: skip
def test_what_a_reader_of_a_word_document_sees_is_taken_over(run, text):
    data = office.replaced(office.word(["HERE"]), "word/document.xml", "<w:r><w:t>HERE</w:t></w:r>", run)
    document = read("a.docx", data)
    assert document.text.split("\n\n")[2] == text
    assert document.notes == (("1 piece of hidden text left out.",) if "vanish" in run else ())


def test_slides_give_titles_tables_and_notes_with_their_numbers():
    document = read("a.pptx", office.slides())
    assert document.text.split("\n\n") == [
        "Costs", "Salt melts at 801 degrees.\nValves are cheap.", "Say hello.", "Table", "Product: Pump; Price: 12",
    ]  # fmt: skip
    assert places(document) == [
        ("Costs", "Costs", "slide 1"), ("Say hello.", "Costs", "slide 1, notes"), ("Table", "Table", "slide 2"),
    ]  # fmt: skip


def test_a_chunk_of_slides_never_runs_over_a_slide_and_tells_its_own():
    ac = AutoContext(settings=Settings(retrievers=("bm25",)))
    ac.add("deck.pptx", office.slides())
    assert [(chunk.place, chunk.heading) for chunk in ac.chunks] == [
        ("slide 1", "Costs"), ("slide 1, notes", "Costs"), ("slide 2", "Table"),
    ]  # fmt: skip
    assert "[1] (deck.pptx, slide 2)" in str(ac.get_prompt("What does the pump cost?"))


def test_open_documents_are_read():
    document = read("a.odt", office.text_document())
    assert document.text.split("\n\n") == [
        "Boiler", "Salt  melts at 801 degrees.[1]", "In air.", "- Close the valve.", "Pump | 12",
    ]  # fmt: skip
    assert places(document) == [("Boiler", "Boiler", "")]
    sheet = read("a.ods", office.sheet_document())
    assert (sheet.text, places(sheet)) == (
        "Product: Salt; Price: 801",
        [("Product: Salt; Price: 801", "", "sheet Prices, row 5")],
    )
    page = "<draw:page><draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame></draw:page>"
    slides = read("a.odp", office.open_document(page.format("Salt.") + page.format("Water."), "presentation"))
    assert places(slides) == [("Salt.", "", "slide 1"), ("Water.", "", "slide 2")]


def test_a_book_is_read_in_its_order_with_chapters_as_places():
    document = read("a.epub", office.book())
    assert document.text == "Before all.\n\nLoomings\n\nSalt\xa0melts at 801 degrees."
    assert places(document) == [("Before all.", "", "part 1"), ("Loomings", "Loomings", "chapter The Whale")]


def test_a_book_with_copy_protection_is_refused_and_one_with_locked_fonts_is_not():
    entry = (
        '<encryption><EncryptedData><CipherData><CipherReference URI="{}"/></CipherData></EncryptedData></encryption>'
    )
    locked = {"META-INF/encryption.xml": entry.format("O/t/preface.xhtml")}
    assert failure("a.epub", office.book(**locked)) == (
        "its chapters are encrypted (copy protection); they cannot be read here"
    )
    fonts = {"META-INF/encryption.xml": entry.format("O/fonts/a.otf")}
    assert read("a.epub", office.book(**fonts)).text.startswith("Before all.")


def test_a_notebook_gives_cells_and_what_they_printed():
    document = read("a.ipynb", office.notebook())
    assert document.text.split("\n\n") == [
        "Salt", "It melts at 801 degrees.", "Code", "print(801)", "801", "<Figure>", "ValueError: too hot",
    ]  # fmt: skip
    assert places(document) == [
        ("Salt", "Salt", "cell 1"), ("Code", "Salt > Code", "cell 1"), ("print(801)", "Salt > Code", "cell 2"),
    ]  # fmt: skip


def test_rich_text_is_read_in_its_code_page():
    assert read("a.rtf", office.RTF).text == "Cafée При salt melts at 801 degrees.\n\nSecond line."


# --- mail and the web ---


def test_a_mail_gives_its_headers_plain_body_and_attachments():
    document = read("a.eml", office.MAIL)
    assert document.text.split("\n\n") == [
        "Subject: Grüße aus Bonn\nFrom: Jürgen Low <j@example.org>\nTo: a@example.org\n"
        "Date: Tue, 29 Jul 2031 10:00:00 +0200",
        "Salz schmilzt bei 801 Grad, die Größe ist egal.",
        "Attachments: nöte.txt, plan.png",
        "Attached words.",
    ]
    assert [(heading, place) for _, heading, place in places(document)] == [
        ("Grüße aus Bonn", "mail of 2031-07-29"), ("Grüße aus Bonn", "mail, nöte.txt"),
    ]  # fmt: skip
    assert document.notes == ()


def test_an_attachment_that_cannot_be_read_is_told():
    data = office.MAIL.replace(b"image/png", b"application/pdf").replace(b"plan.png", b"plan.pdf")
    (note,) = read("a.eml", data).notes
    assert note.startswith("The attachment plan.pdf is not read: it is")


def test_each_mail_of_a_box_is_a_place_of_its_own():
    document = read("a.mbox", office.MAIL_BOX)
    assert [(heading, place) for _, heading, place in places(document)] == [
        ("One", "mail 1 of 2031-07-29"), ("Two", "mail 2"),
    ]  # fmt: skip
    assert "\nFrom here on it is fluid." in document.text
    assert document.text.endswith("Subject: Two\nFrom: c@example.org\n\nWater boils.")


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("=?utf-8?Q?Gr=C3?= =?utf-8?Q?=BC=C3=9Fe?=", "Grüße"),
        ("=?koi8-r?B?8NLJ18XU?=", "Привет"),
        ("Grüße", "Grüße"),
        ("=?nonsense?Q?a=62c?= x", "abc x"),
        ("=?utf-8?B?%%%?=", "%%%"),
        ("a =?utf-8?Q?b?= c", "a b c"),
    ],
)
def test_headers_of_mail_are_decoded_whatever_their_form(header, words):
    document = read("a.eml", f"Subject: {header}\nFrom: <\n\nBody.\n")
    assert document.text.split("\n")[0] == f"Subject: {words}"


def test_a_header_in_an_old_encoding_is_decoded():
    data = "Subject: Übermäßige Größe der Häuser\nFrom: x\n\nBody.\n".encode("cp1252")
    assert read("a.eml", data).text.startswith("Subject: Übermäßige Größe der Häuser\n")


def test_a_saved_web_page_is_read_as_a_page():
    document = read("a.mhtml", office.WEB_ARCHIVE)
    assert document.text == "Boiler\n\nSalt melts at 801°."


PAGE = """<!doctype html><html><head><meta charset="iso-8859-1"><title>Boiler manual</title><style>p{}</style>
<script>var secret = "never";</script></head><body><nav><a href=x>Home</a></nav>
<div style="display: none">hidden</div><p hidden>hidden too</p><!-- comment -->
<h1>Boiler</h1><p>It holds 10<sup>6</sup> litres &amp; caf\xe9.<br>Second line</p>
<ul><li>one<li>two</ul>
<table><tr><th>Product<th>Price<tr><td>Pump<td>12<tr><td rowspan=2>Valve<td>3<tr><td>4</table>
<table><tr><td>Name<td>Smith</table>
<pre>def f():
    return  1</pre><img alt="A red valve" src=x>unclosed <i>italic<p>the end</body>"""


def test_a_web_page_gives_what_is_seen_of_it():
    document = read("a.html", PAGE.encode("cp1252"))
    assert document.text.split("\n\n") == [
        "Boiler manual", "Boiler", "It holds 10^6 litres & café.\nSecond line", "- one", "- two",
        "Product: Pump; Price: 12", "Product: Valve; Price: 3", "Product: Valve; Price: 4", "Name | Smith",
        "def f():\n    return  1", "[A red valve]unclosed italic", "the end",
    ]  # fmt: skip
    assert places(document) == [
        ("Boiler manual", "Boiler manual", ""), ("Boiler", "Boiler manual > Boiler", ""),
    ]  # fmt: skip
    assert document.notes == ("Read as cp1252, as the file says.", "2 hidden parts of the page left out.")


def test_a_page_of_menus_alone_keeps_them():
    assert read("a.html", "<nav><a>Salt</a></nav>").text == "Salt"


def test_xml_gives_text_attributes_and_the_way_to_them():
    document = read(
        "a.xml",
        '<?xml version="1.0" encoding="iso-8859-1"?><!DOCTYPE c [<!ENTITY co "ACME">]><c><item id="7"><name>Pump &co; '
        "\xe9</name><about>It holds <b>nine</b> litres.</about></item></c>".encode("latin-1"),
    )
    assert document.text.split("\n\n") == ["item (id: 7)", "name: Pump ACME é", "about: It holds nine litres."]
    assert [heading for _, heading, _ in places(document)] == ["c", "c > item"]


@pytest.mark.parametrize("encoding", ["shift_jis", "utf-16", "windows-1251", "utf-8"])
def test_xml_is_read_in_the_encoding_that_it_declares(encoding):
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n<a><b>Соль 801</b></a>'
    assert read("a.xml", text.encode(encoding)).text == "b: Соль 801"


def test_broken_xml_is_taken_as_it_is_and_it_is_told():
    document = read("a.xml", "<a><b>Salt & water</b>")
    assert (document.text, document.notes) == (
        "<a><b>Salt & water</b>",
        ("Not well-formed XML: taken as it is written.",),
    )


# --- what a file really is ---


@pytest.mark.parametrize(
    ("name", "data", "note"),
    [
        ("a.doc", office.RTF, "Read as an RTF document, which it is."),
        ("a.xlsx", office.word(), "Read as a Word document, which it is."),
        ("a.txt", office.word(), "Read as a Word document, which it is."),
        ("report", office.slides(), "Read as a PowerPoint presentation, which it is."),
        ("a.pdf", office.book(), "Read as an EPUB book, which it is."),
        ("a.xls", b"<html><body><p>Salt.</p></body></html>", "Read as a web page, which it is."),
        ("a.docx", b"Only words.", "Read as plain text, which it is."),
        ("a.zip", office.workbook(), "Read as an Excel workbook, which it is."),
    ],
)
def test_a_wrong_suffix_is_found_out_and_told(name, data, note):
    assert read(name, data).notes[0] == note


@pytest.mark.parametrize(
    "text",
    ["BM is a mark.", "BZh is a word.", "ID3 tags.", "dex\nis it.", "MZ is a place.", "GIF89a is a format.", "PAR1 x.",
     "OTTO is a name.", "OggS?", "RIFF is a word.", "%PDF- is how one begins.", "PK means many things.",
     "Rar! it said."],
)  # fmt: skip
def test_a_text_that_only_begins_like_a_binary_is_a_text(text):
    assert read("a.txt", text).text == text
    assert read("noname", text).text == text


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


@pytest.mark.parametrize(
    ("name", "data", "kind", "reason"),
    [
        ("a.png", b"x", KindError, ".png is a picture: such files are not read"),
        ("a.tar.gz", b"x", KindError,
         ".gz is an archive that is not opened (pack it as .zip): such files are not read"),
        ("a.unheard", b"\x89PNG\r\n\x1a\n\0\0", KindError, "it is a PNG picture: such files are not read"),
        ("a.unheard", bytes(range(256)) * 9, KindError, "it is no text, and files of its kind are not read"),
        ("a.txt", b"\x89PNG\r\n\x1a\n\0\0", LoadError, "it is a PNG picture, whatever its name says"),
        ("a.md", b"MZ\x90\0\3\0\0\0" * 40, LoadError, "it is a program, whatever its name says"),
        ("a.txt", office.zipped({"a": "b"}), LoadError, "it is a zip archive, whatever its name says"),
        ("a.docx", office.zipped({"a": "b"}), LoadError,
         "it is damaged or not a Word document; open it in its program and save it again"),
        ("a.doc", OLE, KindError, "it is an old Word file; save it as .docx"),
        ("a.msg", OLE, KindError, "it is an Outlook message; save it as .eml"),
        ("a.docx", OLE + "EncryptedPackage".encode("utf-16-le"), LoadError,
         "it needs a password; save a copy without one"),
        ("a.docx", b"PK\3\4 cut off", LoadError,
         "it is damaged or not a Word document; open it in its program and save it again"),
        ("a.ipynb", b"[1]", LoadError, "it is damaged or not a notebook"),
        ("a.eml", b"\n\nno header", LoadError, "it is damaged or not a mail"),
        ("a.pptx", b"", LoadError, "the file is empty"),
        ("a.html", b"<p> </p>", LoadError, "it holds no text"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_why(name, data, kind, reason):
    with pytest.raises(LoadError) as caught:
        loaders.load(name, data)
    assert (type(caught.value), caught.value.reason) == (kind, reason)


def test_a_locked_open_document_needs_its_password():
    data = office.zipped({"content.xml": b"\x93\1", "META-INF/manifest.xml": "<m:encryption-data/>"})
    assert failure("a.odt", data) == "it needs a password; save a copy without one"
