"""Loaders: whatever encoding a note comes in, and every way in which a PDF can fail."""

from __future__ import annotations

import codecs
import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocontext import loaders
from autocontext.datatypes import TextEncoding
from autocontext.errors import LoadError
from autocontext.settings import ChunkOptions
from tests.pdf_files import drawn, encrypted

GERMAN = "Die Größe der Häuser übersteigt die Höhe der Bäume. Für Ärger sorgte das Übermaß an Fußgängern. "


def text_of(data, name="a.txt"):
    document = loaders.load(name, data)
    return document.text, document.notes


def failure(data, name="a.txt"):
    with pytest.raises(LoadError) as caught:
        loaders.load(name, data)
    assert caught.value.name == name
    assert str(caught.value) == f"{name}: {caught.value.reason}"
    return caught.value.reason


# --- text ---


def test_utf_8_text_is_taken_unchanged():
    data = "Grüße,\n\t猫 \n\n🎉\n".encode()
    document = loaders.load("notes/a.txt", data)
    assert document.text == data.decode()
    assert (document.name, document.page_starts, document.notes) == ("notes/a.txt", (), ())
    assert document.content_hash == hashlib.sha256(data).hexdigest()
    assert document.page_at(3) is None


@pytest.mark.parametrize("name", ["a.txt", "b/A.TXT", "a.text", "a.md", "a.b.markdown"])
def test_the_suffix_decides_whatever_its_case(name):
    assert text_of(b"Text.", name) == ("Text.", ())


@pytest.mark.parametrize(
    ("data", "text", "notes"),
    [
        pytest.param(codecs.BOM_UTF8 + "Größe".encode(), "Größe", (), id="utf-8 with a mark"),
        pytest.param(codecs.BOM_UTF16_LE + "Größe".encode("utf-16-le"), "Größe", ("Read as utf-16.",), id="utf-16-le"),
        pytest.param(codecs.BOM_UTF16_BE + "Größe".encode("utf-16-be"), "Größe", ("Read as utf-16.",), id="utf-16-be"),
        pytest.param(codecs.BOM_UTF32_LE + "Größe".encode("utf-32-le"), "Größe", ("Read as utf-32.",), id="utf-32-le"),
        pytest.param(b"one\r\ntwo\rthree\n", "one\ntwo\nthree\n", (), id="line ends"),
        pytest.param(b"a\0b\x1bc", "a b c", ("2 control characters replaced by blanks.",), id="control characters"),
        pytest.param(b"a\0b\tc", "a b\tc", ("1 control character replaced by blanks.",), id="one NUL"),
        pytest.param(
            GERMAN.encode() + b"\xff" + GERMAN.encode(),
            f"{GERMAN}\ufffd{GERMAN}",
            ("1 byte could not be decoded.",),
            id="one bad byte",
        ),
        pytest.param(
            codecs.BOM_UTF8 + b"one \xff two",
            "one \ufffd two",
            ("1 byte could not be decoded.",),
            id="mark and bad byte",
        ),
    ],
)
def test_text_is_decoded_and_what_is_unusual_is_told(data, text, notes):
    assert text_of(data) == (text, notes)


@pytest.mark.parametrize(
    "text",
    [
        GERMAN * 3,
        "Käse kaufen",
        "café",
        "Le café était fermé ce matin. Les élèves ont mangé à la cantine, où le menu était très varié.",
        "Il caffè è caldo. La città è più bella di così. Perché no?",
        "Søren spiser rødgrød på øen. Det er dårligt vejr i København.",
    ],
)
def test_western_notes_of_an_old_windows_are_read_right_and_it_is_told(text):
    decoded, notes = text_of(text.encode("cp1252"))
    assert decoded == text
    assert [note.startswith("Read as ") for note in notes] == [True]


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("猫が来た。今日は天気がいいです。日本語のメモです。", "shift_jis"),
        ("量子计算是一种新的计算方式。今天天气很好。", "gbk"),
        ("Zażółć gęślą jaźń. Książka leży na stole obok łóżka.", "cp1250"),
    ],
)
def test_other_old_encodings_are_guessed_and_it_is_told(text, encoding):
    decoded, notes = text_of(text.encode(encoding))
    assert decoded == text
    assert [note.endswith("(a guess).") for note in notes] == [True]


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        pytest.param(b"", "a.txt", "it holds no text", id="empty"),
        pytest.param(b" \n\r\n\0", "a.md", "it holds no text", id="blanks"),
        pytest.param(bytes(range(256)) * 20, "a.txt", "it is not text, whatever its name says", id="noise"),
        pytest.param(
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe\x90\0",
            "a.md",
            "it is a PNG picture, whatever its name says",
            id="picture",
        ),
    ],
)
def test_a_file_without_text_is_refused(data, name, reason):
    assert failure(data, name) == reason


# --- PDF ---


def test_pdf_pages_keep_their_texts_and_numbers():
    document = loaders.load("a.pdf", drawn("Salt melts.\nLate.", "Water boils.", "Gold shines."))
    assert document.text == "Salt melts.\nLate.\n\nWater boils.\n\nGold shines."
    assert document.page_starts == (0, 19, 33)
    assert document.notes == ()
    assert [document.page_at(document.text.index(word)) for word in ("Salt", "Late", "Water", "Gold")] == [1, 1, 2, 3]


def test_a_sentence_that_runs_over_a_page_break_stays_one(make_context):
    ac = make_context(retrievers=("bm25",), chunking=ChunkOptions(sentence_tokens=0))
    ac.add("a.pdf", drawn("First. Salt melts at", "about 801 degrees. Last.", "Next page."))
    assert ac.documents["a.pdf"].text == "First. Salt melts at\nabout 801 degrees. Last.\n\nNext page."
    assert [(chunk.text, chunk.page) for chunk in ac.chunks] == [
        ("First. Salt melts at\nabout 801 degrees.", 1),
        ("Last.", 2),
        ("Next page.", 3),
    ]


def test_pages_without_text_are_told_and_keep_their_numbers():
    document = loaders.load("a.pdf", drawn("", "Salt melts.", "", "Water boils."))
    assert document.notes == ("2 of 4 pages hold no text.",)
    assert [document.page_at(document.text.index(word)) for word in ("Salt", "Water")] == [2, 4]
    assert document.text.split() == ["Salt", "melts.", "Water", "boils."]


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
def test_a_pdf_that_needs_a_password_is_refused(algorithm):
    data = encrypted(drawn("Secret."), user_password="open", algorithm=algorithm)
    assert failure(data, "a.pdf") == "it needs a password; save a copy without one"


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
def test_a_pdf_that_is_only_protected_against_changes_is_read(algorithm):
    data = encrypted(drawn("Open."), user_password="", owner_password="owner", algorithm=algorithm)
    assert text_of(data, "a.pdf") == ("Open.", ())


SCANNED = "no text found (scanned pages?); run it through an OCR program first"
DAMAGED = "it is damaged or not a PDF; open it in a viewer and save it again"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", "the file is empty", id="zero bytes"),
        pytest.param(b"Only words.", DAMAGED, id="not a PDF"),
        pytest.param(drawn("Text.")[:200], DAMAGED, id="cut off"),
        pytest.param(b"%PDF-1.7\n" + bytes(range(256)) * 20, DAMAGED, id="rubbish"),
        pytest.param(drawn("", ""), SCANNED, id="pictures only"),
    ],
)
def test_a_pdf_without_readable_text_is_refused_with_a_cure(data, reason):
    assert failure(data, "a.pdf") == reason


def test_a_damaged_index_of_a_pdf_is_repaired():
    data = re.sub(rb"\d{10} 00000 n", b"0000000007 00000 n", drawn("Salt melts.", "Water boils."))
    assert text_of(data, "a.pdf")[0] == "Salt melts.\n\nWater boils."


def test_a_file_that_cannot_be_read_costs_its_own_row_only(make_context):
    ac = make_context({"a.txt": "Old."}, retrievers=("bm25",))
    report = ac.add_files([("a.txt", b""), ("b.pdf", b"no"), ("c.exe", b"no"), ("d.txt", b"New.")])
    assert [(row.name, row.status) for row in report] == [
        ("a.txt", "failed"),
        ("b.pdf", "failed"),
        ("c.exe", "skipped"),
        ("d.txt", "added"),
    ]
    assert report[0].reason == "It holds no text."
    assert report[1].reason == "It is damaged or not a PDF; open it in a viewer and save it again."
    assert [chunk.text for chunk in ac.chunks] == ["Old.", "New."]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_wide_text_without_a_byte_order_mark_is_read_and_it_is_told(encoding):
    document = loaders.load("a.txt", "Salt melts at 801 degrees.".encode(encoding))
    assert (document.text, document.notes) == ("Salt melts at 801 degrees.", (f"Read as {encoding} (a guess).",))


FERRY = {
    "ru": "Паром отходит каждое утро в шесть. Он везёт почту и молоко. Собаки едут бесплатно.",
    "ja": "渡し船は毎朝六時に出ます。郵便と牛乳を運びます。犬は無料です。",
    "zh": "渡船每天早上六点出发。它运送邮件和牛奶。狗免费乘坐。",
    "el": "Το πλοίο φεύγει κάθε πρωί στις έξι.",
    "ar": "تغادر العبارة كل صباح في الساعة السادسة.",
    "he": "המעבורת יוצאת בכל בוקר בשש.",
    "ko": "나룻배는 매일 아침 여섯 시에 떠납니다. 우편과 우유를 나릅니다.",
    "th": "เรือข้ามฟากออกทุกเช้าเวลาหกโมง",
    "hi": "नौका हर सुबह छह बजे चलती है।",
    "de": "Die Fähre fährt täglich um sechs Uhr früh. Hunde fahren umsonst.",
    "cs": "Vlak odjíždí v šest hodin ráno z třetího nástupiště.",
    "tr": "Vapur her sabah saat altıda kalkar, köpekler ücretsiz biner. Kışın çalışmıyor.",
    "it": "Il caffè è caldo. La città è più bella di così. Perché no?",
}


@pytest.mark.parametrize("language", FERRY)
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_in_every_script_needs_no_mark(language, encoding):
    document = loaders.load("a.txt", FERRY[language].encode(encoding))
    assert (document.text, document.encoding.name) == (FERRY[language], encoding)


OLD = {
    "ru": "cp1251 koi8-r cp866 mac_cyrillic iso8859_5 cp855",
    "ja": "shift_jis euc_jp iso2022_jp",
    "zh": "gb18030 hz",
    "ko": "euc_kr iso2022_kr johab",
    "el": "cp1253 iso8859_7 cp737",
    "ar": "cp1256 iso8859_6",
    "he": "cp1255 iso8859_8 cp862",
    "th": "tis-620",
    "de": "cp1252 cp850 mac_roman cp273",
    "cs": "cp1250 iso8859_2 cp852",
    "tr": "cp1254",
    "it": "cp1252",
}


@pytest.mark.parametrize(
    ("language", "encoding"), [(language, old) for language in OLD for old in OLD[language].split()]
)
def test_old_encodings_are_recognised_and_can_be_changed(language, encoding):
    document = loaders.load("a.txt", FERRY[language].encode(encoding))
    assert document.text == FERRY[language]
    assert document.encoding.source == "guess"
    assert document.encoding.data == FERRY[language].encode(encoding)
    assert document.notes == (f"Read as {document.encoding.name} (a guess).",)
    chosen = loaders.load("a.txt", document.encoding.data, "cp437")
    assert chosen.encoding == TextEncoding("cp437", "user", document.encoding.data)


def test_code_that_looks_a_little_like_a_seven_bit_encoding_stays_as_it_is():
    text = '(format t "~{~a~^, ~}" list) \\ ~{ab~} \n'
    assert loaders.load("a.lisp", text.encode()).text == text


def test_blocks_of_zeros_in_a_log_do_not_make_it_a_binary():
    document = loaders.load("a.log", b"Salt melts.\n" + b"\0" * 4096 + b"Water boils.\n")
    assert document.text.split() == ["Salt", "melts.", "Water", "boils."]
    assert document.notes == ("4096 control characters replaced by blanks.",)


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).filter(lambda text: text.strip()))
def test_utf_8_is_always_read_as_it_is(text):
    document = loaders.load("a.txt", text.encode())
    assert document.text == text.removeprefix("\ufeff")
    assert document.encoding.source in ("plain", "mark")
