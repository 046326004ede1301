"""What every loader promises: a document or a LoadError, whatever the bytes; soon, and within bounds."""

from __future__ import annotations

import io
import random
import time
import zipfile
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocontext import loaders
from autocontext.chunking import chunk_document
from autocontext.errors import LoadError
from autocontext.settings import ChunkOptions
from tests import office

LIMIT = 20.0  # seconds; far above what is needed, so that a slow machine does not fail


@cache
def good() -> dict[str, bytes]:
    """Return a good file for each suffix."""
    made = {
        ".docx": office.word(), ".pptx": office.slides(), ".xlsx": office.workbook(), ".odt": office.text_document(),
        ".ods": office.sheet_document(), ".epub": office.book(), ".ipynb": office.notebook(), ".eml": office.MAIL,
        ".mbox": office.MAIL_BOX, ".mhtml": office.WEB_ARCHIVE, ".rtf": office.RTF,
        ".html": b"<h1>Salt</h1><table><tr><th>a<th>b<tr><td>1<td>2</table>",
        ".xml": b"<a b='c'>Salt <i>melts</i>.</a>",
        ".csv": b"Product,Price\nPump,12\nSalt,3\n", ".json": b'{"salt": {"melts": "at \\u00e9"}}',
        ".srt": b"1\n00:00:06,500 --> 00:00:09,000\nSalt.\n", ".tex": b"\\section{Salt}\nText.",
    }  # fmt: skip
    others = [suffix for suffix in loaders.suffixes() if suffix not in made and suffix != ".pdf"]
    same = {loader: suffix for suffix, loader in ((s, loaders._loaders()[s]) for s in made)}
    for suffix in others:
        twin = same.get(loaders._loaders()[suffix])
        made[suffix] = made[twin] if twin else b"Salt melts at 801 degrees.\n"
    return made


def loaded(name: str, data: bytes):
    try:
        return loaders.load(name, data)
    except LoadError as error:
        return error.reason


def outcome(name: str, data: bytes):
    """Return the document or the reason; check what holds for both."""
    start = time.perf_counter()
    document = loaded(name, data)
    assert time.perf_counter() - start < LIMIT
    if isinstance(document, str):
        assert document[0].isprintable()
        assert not document.endswith(".")
        return document
    assert document.name == name
    assert document.content_hash == loaders.content_hash(data)
    assert document.text.strip()
    assert loaders.clean_text(document.text) == (document.text, 0)
    starts = [section.start for section in document.sections]
    assert starts == sorted(starts)
    assert all(0 <= start <= len(document.text) for start in starts)
    assert all("\n" not in section.heading + section.place for section in document.sections)
    for chunk in chunk_document(document, ChunkOptions()):
        assert document.text[chunk.start : chunk.end] == chunk.text
    return document


@pytest.mark.parametrize("suffix", sorted(good()))
def test_a_good_file_is_read_twice_alike(suffix):
    first, second = outcome(f"a/b{suffix}", good()[suffix]), outcome(f"a/b{suffix}", good()[suffix])
    assert first == second
    assert not isinstance(first, str)


@pytest.mark.parametrize("suffix", [*sorted(good()), ".pdf", ".unheard", ""])
def test_empty_cut_off_and_damaged_files_cost_a_sentence_at_most(suffix):
    data = good().get(suffix, b"%PDF-1.7\nSalt melts.\n")
    chance = random.Random(801)
    cut = [data[: len(data) * part // 7] for part in range(7)]
    damaged = []
    for _ in range(8):
        broken = bytearray(data)
        for _ in range(1 + len(broken) // 200):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        damaged.append(bytes(broken))
    noise = [
        bytes(range(256)) * 8,
        chance.randbytes(3000),
        b"\0" * 3000,
        b"\xff" * 3000,
        b"PK\3\4" + chance.randbytes(300),
    ]
    for broken in (*cut, *damaged, *noise):
        outcome(f"a{suffix}", broken)
    assert outcome(f"a{suffix}", b"").startswith(("the file is empty", "it holds no text"))


@settings(max_examples=150)
@given(suffix=st.sampled_from([s for s in sorted(loaders.suffixes()) if s != ".pdf"]), data=st.binary(max_size=400))
def test_no_bytes_break_a_loader(suffix, data):
    outcome(f"a{suffix}", data)


READABLE = ("it holds no text", "the file is empty", "it is damaged or not a mail")


@settings(max_examples=150)
@given(
    suffix=st.sampled_from(
        [".md", ".rst", ".org", ".tex", ".json", ".yaml", ".csv", ".html", ".xml", ".eml", ".srt", ".py"]
    ),
    text=st.text(st.sampled_from("ab \n\t#*=-<>&;:,\"'{}[]\\/|.é猫\u0301@"), max_size=200),
)
def test_no_text_breaks_a_loader(suffix, text):
    reason = outcome(f"a{suffix}", text.encode())
    assert not isinstance(reason, str) or reason in READABLE


def part(size: int, text: bytes = b"<w:p><w:r><w:t>x</w:t></w:r></w:p>") -> bytes:
    return b"<w:document xmlns:w='w'><w:body>" + text * (size // len(text)) + b"</w:body></w:document>"


LAUGHS = (
    b"<!DOCTYPE a [<!ENTITY a 'ha'>"
    + b"".join(b"<!ENTITY %c '%s'>" % (98 + n, b"&%c;" % (97 + n) * 20) for n in range(12))
    + b"]>"
)
OUTSIDE = b"<!DOCTYPE a [<!ENTITY a SYSTEM 'file:///etc/hostname'>]>"
DEEP = b"<a>" * 50_000 + b"x" + b"</a>" * 50_000


REPEATED = (
    '<table:table table:name="x"><table:table-row table:number-rows-repeated="1000000">'
    '<table:table-cell table:number-columns-repeated="1000000"><text:p>x</text:p></table:table-cell>'
    "</table:table-row></table:table>"
)


@cache
def bombs() -> dict[str, tuple[str, bytes]]:
    word, sheet = office.word(), office.shared_workbook()
    with zipfile.ZipFile(io.BytesIO(word)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(io.BytesIO(sheet)) as archive:
        cells = {name: archive.read(name) for name in archive.namelist()}
    wide = b"".join(b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (n, n) for n in range(1, 3000))
    tall = b'<row r="1048576"><c r="A1048576"><v>1</v></c></row>'
    rows = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>%s</sheetData></worksheet>'

    def docx(document: bytes) -> bytes:
        return office.zipped({**members, "word/document.xml": document})

    def xlsx(**more: bytes) -> bytes:
        return office.zipped({**cells, **{f"xl/{name}.xml": data for name, data in more.items()}})

    return {
        "docx of 100 MB": ("a.docx", docx(part(100_000_000))),
        "docx of 6 million elements": ("a.docx", docx(part(60_000_000, b"<w:p/>"))),
        "docx with a billion laughs": ("a.docx", docx(LAUGHS + b"<a>&m;</a>")),
        "docx nested": ("a.docx", docx(b"<d><body>" + DEEP + b"</body></d>")),
        "xlsx with a billion laughs": ("a.xlsx", xlsx(sharedStrings=LAUGHS + b"<sst><si><t>&m;</t></si></sst>")),
        "xlsx of 300 MB": ("a.xlsx", xlsx(sharedStrings=b" " * 300_000_000)),
        "xlsx as wide as can be": ("a.xlsx", office.zipped({**cells, "xl/worksheets/sheet1.xml": rows % wide})),
        "xlsx as tall as can be": ("a.xlsx", office.zipped({**cells, "xl/worksheets/sheet1.xml": rows % tall})),
        "ods repeated": (
            "a.ods",
            office.open_document(
                REPEATED * 50,
                "spreadsheet",
            ),
        ),
        "odt of blanks": ("a.odt", office.open_document('<text:p><text:s text:c="999999999"/>x</text:p>' * 100)),
        "xml with a billion laughs": ("a.xml", LAUGHS + b"<a>&m;</a>"),
        "xml that asks for a file": ("a.xml", OUTSIDE + b"<a>&a;x</a>"),
        "xml nested": ("a.xml", DEEP),
        "html nested": ("a.html", b"<div>" * 200_000 + b"x"),
        "html of spans": ("a.html", b"<table>" + b"<tr><td rowspan=65534 colspan=1000>x" * 3000),
        "html unclosed": ("a.html", b"<b><p>x" * 20_000),
        "json nested": ("a.json", b'{"a":[' * 100_000),
        "notebook nested": ("a.ipynb", b'{"cells":' + b"[" * 100_000),
        "yaml of aliases": ("a.yaml", b"a: &a [x,x,x]\n" + b"b: [*a,*a,*a,*a]\n" * 1000),
        "rtf nested": ("a.rtf", b"{\\rtf1 " + b"{" * 200_000 + b"x"),
        "csv of one cell": ("a.csv", b'a,b\n1,"' + b"x" * 5_000_000 + b'"\n2,3\n'),
        "csv of quotes": ("a.csv", b"a,b\n" + b'"' * 1_000_001),
        "mail nested": (
            "a.eml",
            b"Subject: x\n"
            + b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(900)),
        ),
        "mail of headers": ("a.eml", b"Subject: " + b"=?utf-8?Q?a?= " * 50_000 + b"\n\nx"),
        "markdown of rules": ("a.md", b"a\n" + b"=" * 500_000 + b"\n" + b"#" * 500_000),
        "rst of rules": ("a.rst", b"=" * 500_000 + b"\nx\n" + b"=" * 500_000),
        "tex of braces": ("a.tex", b"\\section{" * 50_000),
        "code of words": ("a.py", b"export " * 200_000),
        "text of one line": ("a.txt", b"word " * 400_000),
        "text of blanks": ("a.txt", b" " * 2_000_000 + b"x"),
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(bombs()))
def test_a_bomb_costs_a_sentence_or_is_read_soon(name):
    file, data = bombs()[name]
    result = outcome(file, data)
    if not isinstance(result, str):
        assert len(result.text) <= 20 * max(len(data), 1_000_000)
        assert "ha" * 100 not in result.text


def test_a_declared_file_is_never_fetched():
    assert outcome("a.xml", OUTSIDE + b"<a>&a;Salt.</a>").text == "a: Salt."


def test_a_password_needs_a_sentence():
    buffer = io.BytesIO(office.word())
    with zipfile.ZipFile(buffer) as archive:
        infos = archive.infolist()
    data = bytearray(buffer.getvalue())
    for info in infos:  # set the bit of encryption in both headers
        data[info.header_offset + 6] |= 1
    start = 0
    while (start := data.find(b"PK\1\2", start)) >= 0:
        data[start + 8] |= 1
        start += 4
    assert outcome("a.docx", bytes(data)) == "it needs a password; save a copy without one"
