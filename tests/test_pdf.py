"""PDFs that users can trust: what is read, which of two readings is kept, and that no file costs more than its row."""

from __future__ import annotations

import io
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from autocontext import AutoContext, PdfOptions, Settings, loaders
from autocontext.errors import LoadError, LoadStoppedError, SettingsError
from autocontext.loaders.base import Reading
from autocontext.loaders.pdf import client, compare, ocr
from autocontext.loaders.pdf.page_image import page_image
from autocontext.loaders.pdf.text import fold_forms, join_broken_words, leave_out_repeated, tidy_lines
from autocontext.tokenizing import tokenize
from tests.pdf_files import (
    FONT,
    SALT,
    bomb,
    drawn,
    encrypted,
    many_pages,
    of_objects,
    one_page,
    slow,
    stream,
    to_unicode,
)

DAMAGED = "it is damaged or not a PDF; open it in a viewer and save it again"
HEBREW = "שלום לכולם, זהו מסמך קצר בעברית על ספרים ישנים שאנשים קונים בשוק"
ARABIC = "كتب الطالب رسالة طويلة إلى المدرسة القديمة في المدينة"
JAPANESE = "取引できない商品に対してリスク中立確率を考えても意味がないからである"
PROSE = "The surveyors recorded an exceptionally low tide before the harbour was closed for repairs in the autumn. " * 4


def read(data, **limits):
    document = loaders.load("a.pdf", data, reading=Reading(pdf=PdfOptions(**limits)))
    return document.text, document.notes


def failure(data, **limits):
    with pytest.raises(LoadError) as caught:
        read(data, **limits)
    return caught.value.reason


# --- characters and words -------------------------------------------------------------------------------------------


def test_a_character_map_that_leads_to_nul_gives_way_to_the_real_character():
    font = FONT % b"/ToUnicode 6 0 R"
    data = one_page(b"BT /F1 12 Tf 72 720 Td (Part F-13 replaces F-18.) Tj ET", to_unicode(b"<2D> <0000>"), font=font)
    assert read(data) == ("Part F-13 replaces F-18.", ())


def test_signs_without_any_meaning_are_counted_and_do_not_reach_a_chunk():
    font = FONT % b"/ToUnicode 6 0 R"
    data = one_page(b"BT /F1 12 Tf 72 720 Td (Salt melts~ at 801.) Tj ET", to_unicode(b"<7E> <0007>"), font=font)
    text, notes = read(data)
    assert text == "Salt melts  at 801."
    assert notes == ("1 control character replaced by blanks.",)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("an exception-\nally low tide", "an exceptionally low tide"),
        ("a long-\nterm trend", "a long-term trend"),
        ("the Anglo-\nSaxon F-\n13 valve", "the Anglo-Saxon F-13 valve"),
        ("a co-op shop and a co-\nop bank", "a co-op shop and a co-op bank"),
        ("Look forward, looking far: a forward-\nlooking note", "Look forward, looking far: a forward-looking note"),
        ("A cause, to be sure, be-\ncause of because", "A cause, to be sure, because of because"),
        ("one -\ntwo", "one -\ntwo"),
    ],
)
def test_words_broken_at_a_line_end_are_made_whole(lines, text):
    content = b"BT /F1 12 Tf 16 TL 72 720 Td %s ET" % b" ".join(b"(%s) Tj T*" % s.encode() for s in lines.split("\n"))
    assert read(one_page(content))[0] == text


def test_broken_words_are_joined_over_a_page_break_and_soft_hyphens_go():
    assert join_broken_words(["It is excep-", "tionally low. Next."]) == ["It is exceptionally", "low. Next."]
    assert join_broken_words(["so\u00adft soft\u00ad\nly", "-"]) == ["soft softly", "-"]


def test_paragraphs_and_headings_stand_apart_and_raised_signs_stay_in_their_line():
    content = (
        b"BT /F1 18 Tf 72 720 Td (Salt) Tj /F1 11 Tf 0 -24 Td (It melts at) Tj 0 -14 Td (801 degrees.) Tj "
        b"0 -28 Td (It weighs 5 kg/m) Tj /F1 7 Tf 90 4 Td (3) Tj /F1 11 Tf 8 -4 Td (at least.) Tj ET"
    )
    assert read(one_page(content))[0] == "Salt\n\nIt melts at\n801 degrees.\n\nIt weighs 5 kg/m 3 at least."


def test_lines_of_a_table_stay_together():
    rows = [b"(Iron 1538) Tj 0 -30 Td", b"(Gold 1064) Tj 0 -30 Td", b"(Salt 801) Tj"]
    assert read(one_page(b"BT /F1 11 Tf 72 720 Td %s ET" % b" ".join(rows)))[0] == "Iron 1538\nGold 1064\nSalt 801"


def test_columns_of_vertical_writing_are_read_from_the_right():
    columns = ["春の海ひねもす", "夏草や兵どもが", "秋深き隣は何を"]
    font = b"<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/UniJIS-UCS2-V/DescendantFonts[6 0 R]>>"
    cid = b"<</Type/Font/Subtype/CIDFontType0/BaseFont/X/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)>>>>"
    content = b"".join(
        b"BT /F1 20 Tf %d 700 Td <%s> Tj ET " % (400 - 40 * n, column.encode("utf-16-be").hex().encode())
        for n, column in enumerate(columns)
    )
    assert read(one_page(content, cid, font=font))[0].split("\n") == columns


def test_ligatures_drawn_forms_and_accents_by_themselves_become_letters():
    assert fold_forms("eﬃcient ﬂow Univerſity ﻣﺮﺣﺒﺎ Universit¨at Caf´e it´s") == (
        "efficient flow University مرحبا Universität Café it´s"
    )
    assert tokenize("eﬃcient") == tokenize("efficient")


def test_dot_leaders_do_not_fill_a_chunk():
    assert tidy_lines("Salt . . . . . . . . . . . 12\r\n\r\n\r\n\r\n  Water........ 14 ") == "Salt … 12\n\nWater… 14"


@pytest.mark.parametrize(
    "text", ["word" * 200_000, "-\n" * 200_000, "a-" * 200_000, "(" * 200_000, "\u05d0 1." * 100_000]
)
def test_odd_texts_take_no_time(text):
    started = time.monotonic()
    leave_out_repeated(join_broken_words([tidy_lines(fold_forms(text)), text]))
    compare.turned(text)
    compare.judge(text)
    assert time.monotonic() - started < 5


# --- which of two readings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "right", "reason"),
    [
        pytest.param(PROSE.replace(" ", ""), PROSE, "words without blanks", id="glued words"),
        pytest.param(" ".join(PROSE.replace(" ", "")), PROSE, "blanks within words", id="spaced letters"),
        pytest.param("\0".join(PROSE), PROSE, "characters that are none", id="NULs"),
        pytest.param("\x01\x04\x05\x06\x07\x08\x04", "pint test", "characters that are none", id="codes"),
        pytest.param("Part F\x0013 in the pump.", "Part F-13 in the pump.", "characters that are none", id="one NUL"),
        pytest.param("औҾͰ͖ͳ͍\u098eʹରͯ͠ϦεΫதཱ֬Λߟ͑ͯҙຯ͕ͳ͍͔ΒͰ͋Δ", JAPANESE, "scripts mixed within words", id="plausible CJK"),
        pytest.param("꒢꒤꒦꒨꒪", "あいうえお", "characters that are none", id="a script nobody writes"),
        pytest.param("ϲΒϴΒhabibi يبيبَح", "حَبيبي habibi حَبيبي", "scripts mixed within words", id="Arabic as Greek"),
        pytest.param(HEBREW[::-1], HEBREW, "letters in reversed order", id="reversed Hebrew"),
        pytest.param(ARABIC[::-1], ARABIC, "letters in reversed order", id="reversed Arabic"),
        pytest.param(
            "Uif tvswfzpst sfdpsefe bo fydfqujpobmmz mpx ujef. " * 8, PROSE, "few vowels", id="shifted letters"
        ),
    ],
)
def test_the_better_reading_is_kept_whichever_comes_first(wrong, right, reason):
    bad, good = (wrong, compare.judge(wrong)), (right, compare.judge(right))
    assert reason in bad[1].reasons
    assert good[1].reasons == ()
    assert compare.choose(bad, good) == 1
    assert compare.choose(good, bad) == 0
    assert compare.is_doubtful(*bad)


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        "Die Donaudampfschifffahrtsgesellschaft ist ein langes Wort. "
        + "Die Häuser am Fluss sind alt und schön. " * 20,
        "Die Länge beträgt 5 μm bei Δx = 3 nm.",
        "JR東日本の切符はAB-123です。",
        "11,062.6 1,540.0 9,522.6 (X)\n457.9 60.3 397.6",
        "SELECT x FROM t; a b c d e f",
        "Ελληνικά και English, Русский текст",
        "हिन्दी में लिखा हुआ एक छोटा वाक्य।",
        "ภาษาไทยเขียนติดกันไม่มีช่องว่าง",
    ],
)
def test_ordinary_texts_are_not_doubted(text):
    assert compare.judge(text).reasons == ()
    assert not compare.is_doubtful(text, compare.judge(text))


def test_the_first_reading_is_kept_where_both_are_as_good_and_the_fuller_one_where_one_lacks_much():
    whole, part = (PROSE, compare.judge(PROSE)), (PROSE[:60], compare.judge(PROSE[:60]))
    assert compare.choose(whole, whole) == 0
    assert compare.choose(part, whole) == 1
    assert compare.choose(whole, part) == 0
    nothing = "", compare.judge("")
    assert (compare.choose(nothing, part), compare.choose(part, nothing)) == (1, 0)


def test_text_that_stands_as_it_is_seen_is_turned_and_numbers_and_latin_words_stay():
    seen = "םירפס 15 לע (PDF) ךמסמ והז\nEnglish stays."
    assert compare.turned(seen) == "זהו מסמך (PDF) על 15 ספרים\nEnglish stays."


def test_a_page_that_both_extractors_misread_is_told():
    font = b"<</Type/Font/Subtype/Type1/BaseFont/X/Encoding<</Type/Encoding/Differences[65/g1/g2/g3/g4/g5/g6/g7/g8]>>>>"
    text, notes = read(one_page(b"BT /F1 12 Tf 72 720 Td (ABCDEFGHABCDEFGH HGFEDCBA) Tj ET" * 3, font=font))
    if compare.judge(text).fault >= compare.UNREADABLE:
        assert "The text of 1 of 1 pages looks unreadable." in notes


# --- headers and footers --------------------------------------------------------------------------------------------

BODIES = [
    "Salt melts at 801 degrees.",
    "Water boils at 100 degrees.",
    "Gold shines in the sun.",
    "Iron rusts in the rain.",
]


def test_headers_and_footers_are_left_out_but_for_the_first_and_it_is_told():
    pages = [f"ACME Confidential\n{body}\nMore of {body[:4]}.\n{n} / 4" for n, body in enumerate(BODIES, start=1)]
    text, notes = read(drawn(*pages))
    assert text.count("ACME Confidential") == 1
    assert [text.count(f"{n} / 4") for n in (1, 2, 3, 4)] == [0, 0, 0, 0]
    assert all(body in text for body in BODIES)
    assert notes == ('Repeated headers and footers left out: 7 lines, such as "# / #", "ACME Confidential".',)


def test_left_and_right_pages_may_have_headers_of_their_own():
    pages = [f"{'Chapter of Salt' if n % 2 else 'A Book of Things'}\nBody number {n * n} here." for n in range(8)]
    left = leave_out_repeated(pages)
    assert left.count == 6
    assert left.pages[0] == pages[0]
    assert left.pages[7] == "Body number 49 here."


@pytest.mark.parametrize(
    "pages",
    [
        pytest.param([f"This is page {n}." for n in range(9)], id="all there is"),
        pytest.param([f"12.{n * 7} 13.{n}\n3 4 5\n6 7 8" for n in range(9)], id="figures"),
        pytest.param(
            [f"Yes.\nBody {n * n}." if n % 5 == 0 else f"No {n * n}.\nBody {n * 7}." for n in range(20)], id="chance"
        ),
        pytest.param(["Invoice\nOne.", "Invoice\nTwo."], id="two pages"),
        pytest.param(
            [f"Unit {n * n} is red.\nUnit {n * 3} is blue." for n in range(9)], id="numbers that are no pages"
        ),
    ],
)
def test_what_repeats_by_chance_or_is_all_there_is_stays(pages):
    assert leave_out_repeated(pages).pages == tuple(pages)
    assert leave_out_repeated(pages).count == 0


# --- forms, notes, what is not seen -----------------------------------------------------------------------------------


def form(*fields):
    """Make a page with a form: each field a dictionary's entries."""
    numbers = b" ".join(b"%d 0 R" % n for n in range(6, 6 + len(fields)))
    widgets = [b"<</Type/Annot/Subtype/Widget/Rect[72 600 300 620]/P 3 0 R%s>>" % field for field in fields]
    return one_page(SALT, *widgets, page=b"/Annots[%s]" % numbers, catalog=b"/AcroForm<</Fields[%s]>>" % numbers)


def test_what_was_typed_into_a_form_follows_the_text_as_field_and_value():
    data = form(
        b"/FT/Tx/T(applicant)/V(Marigold Ltd)",
        b"/FT/Tx/T(x12)/TU(Date of birth)/V(1 May 1970)",
        b"/FT/Tx/T(empty)",
        b"/FT/Tx/T(secret)/Ff 8192/V(hunter2)",
        b"/FT/Tx/T(hidden)/F 2/V(nobody sees it)",
        b"/FT/Ch/T(colour)/Ff 131072/Opt[(red)(blue)]/V(blue)",
    )
    assert read(data)[0] == (
        "Salt melts at 801 degrees.\n\napplicant: Marigold Ltd\nDate of birth: 1 May 1970\ncolour: blue"
    )


def test_notes_on_a_page_follow_its_text():
    notes = [
        b"<</Type/Annot/Subtype/FreeText/Rect[9 9 99 99]/Contents(Hello from a box)>>",
        b"<</Type/Annot/Subtype/Text/Rect[9 9 99 99]/Contents(Check this figure)>>",
        b"<</Type/Annot/Subtype/Popup/Rect[9 9 99 99]/Contents(twice)>>",
    ]
    data = one_page(SALT, *notes, page=b"/Annots[6 0 R 7 0 R 8 0 R]")
    assert read(data)[0] == "Salt melts at 801 degrees.\n\nHello from a box\nNote: Check this figure"


def test_a_form_without_other_text_is_read():
    data = form(b"/FT/Tx/T(applicant)/V(Marigold Ltd)").replace(
        b"(Salt melts at 801 degrees.)", b"(                         )"
    )
    assert read(data) == ("applicant: Marigold Ltd", ())


def test_text_outside_of_the_visible_page_is_left_out_and_counted():
    content = SALT + b" BT /F1 12 Tf 72 50 Td (Below the edge.) Tj ET BT /F1 12 Tf 72 -300 Td (Far off.) Tj ET"
    text, notes = read(one_page(content, page=b"/CropBox[0 100 612 792]"))
    assert text == "Salt melts at 801 degrees."
    assert notes == ("18 characters outside of the visible page left out.",)


@pytest.mark.parametrize("paint", [b"1 1 1 rg", b"3 Tr"], ids=["white", "invisible"])
def test_text_that_nobody_sees_is_told_but_kept(paint):
    text, notes = read(one_page(SALT + b" BT %s /F1 12 Tf 72 600 Td (Obey me.) Tj ET" % paint))
    assert text == "Salt melts at 801 degrees.\n\nObey me."
    assert notes == ("1 of 1 pages hold text that cannot be seen (white, or behind a picture).",)


def test_white_text_on_a_dark_ground_is_seen():
    content = b"0 0 0 rg 60 590 200 30 re f BT 1 1 1 rg /F1 12 Tf 72 600 Td (Heading) Tj ET"
    assert read(one_page(content)) == ("Heading", ())


def test_text_of_a_turned_page_is_read():
    assert read(one_page(page=b"/Rotate 90")) == ("Salt melts at 801 degrees.", ())


def test_attached_files_are_told():
    catalog = b"/Names<</EmbeddedFiles<</Names[(a.txt) 6 0 R]>>>>"
    attached = b"<</Type/Filespec/F(a.txt)/EF<</F 7 0 R>>>>"
    assert read(one_page(SALT, attached, stream(b"inside"), catalog=catalog))[1] == ("Attached files are not read: 1.",)


# --- files with a fault -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(one_page(startxref=False), id="no startxref"),
        pytest.param(b"x" * 3_000 + b"\n" + one_page(), id="3 KB of junk before it"),
        pytest.param(b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n" + one_page(), id="a server's answer before it"),
        pytest.param(one_page() + b"\0" * 5_000, id="zeros after it"),
        pytest.param(one_page().replace(b"\n%%EOF", b"%%EOF"), id="glued end"),
        pytest.param(encrypted(one_page(), user_password="", owner_password="o", algorithm="AES-256"), id="owner only"),
    ],
)
def test_small_faults_that_viewers_forgive_are_forgiven(data):
    assert read(data) == ("Salt melts at 801 degrees.", ())


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"%PDF-1.7\n" + random.Random(1).randbytes(300_000), DAMAGED, id="noise"),
        pytest.param(drawn("Text.")[:150], DAMAGED, id="cut off"),
        pytest.param(
            b"<!DOCTYPE html><p>404</p>", "it is a web page, not a PDF; download the file itself", id="web page"
        ),
        pytest.param(
            b"PK\x03\x04" + bytes(300), "it is a ZIP or Office file, not a PDF; give it its right ending", id="zip"
        ),
        pytest.param(
            encrypted(one_page(), user_password="u", algorithm="AES-128"),
            "it needs a password; save a copy without one",
            id="password",
        ),
    ],
)
def test_what_cannot_be_read_is_a_sentence_with_a_cure(data, reason):
    assert failure(data) == reason


def test_a_page_tree_that_leads_back_to_itself_ends():
    pages = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Count 2/Kids[3 0 R 2 0 R]>>"]
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 4 0 R>>>>/Contents 5 0 R>>"
    text, notes = read(of_objects([*pages, page, FONT % b"", stream(SALT)]))
    assert text.strip() == "Salt melts at 801 degrees."
    assert notes == ("1 of 2 pages could not be read.",)


def test_a_stream_that_inflates_without_end_costs_its_own_row_within_the_limits():
    started = time.monotonic()
    assert failure(many_pages(bomb(800)), memory_megabytes=400) == (
        "reading it crashes or takes more than 400 MB of memory; save it again or split it"
    )
    assert time.monotonic() - started < 30
    assert read(one_page()) == ("Salt melts at 801 degrees.", ())


def test_a_bomb_costs_its_own_page_only():
    data = many_pages(stream(SALT), bomb(800), stream(SALT.replace(b"Salt", b"Iron")))
    text, notes = read(data, memory_megabytes=400)
    assert text == "Salt melts at 801 degrees.\n\n\n\nIron melts at 801 degrees."
    assert notes == ("1 of 3 pages could not be read.",)


def test_the_limit_of_pages_is_told():
    text, notes = read(drawn(*BODIES), max_pages=3)
    assert text == "\n\n".join(BODIES[:3])
    assert notes == ("Only the first 3 of 4 pages were read: the limit is 3 pages.",)


def test_the_time_limit_ends_a_file_and_the_pages_that_were_read_are_kept():
    started = time.monotonic()
    document = loaders.load("a.pdf", slow(stream(SALT)), reading=Reading(pdf=PdfOptions(seconds=2)))
    assert 1.5 < time.monotonic() - started < 6
    assert document.text.startswith("Salt melts at 801 degrees.\n")
    pages = len(document.page_starts)
    assert 1 < pages < 1_501
    assert document.notes[0] == f"Only the first {pages:,} of 1,501 pages were read: the limit is 2 seconds."


@pytest.mark.parametrize(("limits", "word"), [({"seconds": 0}, "second"), ({"max_pages": 0}, "max_pages")])
def test_limits_that_cannot_work_are_refused(limits, word):
    with pytest.raises(SettingsError, match=word):
        PdfOptions(**limits)


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_whatever_happens_to_a_file_it_gives_text_or_a_sentence(data):
    whole = bytearray(data.draw(st.sampled_from(WHOLE)))
    for _ in range(data.draw(st.integers(1, 6))):
        first = data.draw(st.integers(0, len(whole) - 1))
        whole[first : first + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=30))
    whole = bytes(whole[: data.draw(st.integers(1, len(whole)))]) or b"x"
    try:
        document = loaders.load("a.pdf", whole, reading=Reading(pdf=PdfOptions(seconds=20)))
    except LoadError:
        pass
    else:
        assert document.text.strip()
        assert list(document.page_starts) == sorted(document.page_starts)
        assert not any(char < " " and char not in "\t\n" for char in document.text)


WHOLE = [
    one_page(),
    drawn(*BODIES),
    form(b"/FT/Tx/T(a)/V(b)"),
    encrypted(one_page(), user_password="", algorithm="AES-256"),
]


# --- the child process ------------------------------------------------------------------------------------------------


def test_two_threads_read_at_once_and_each_gets_its_own():
    files = [drawn(*(f"File {n} page {page} tells of salt." for page in range(20))) for n in range(12)]
    texts: dict[int, str] = {}
    errors: list[Exception] = []

    def work(mine):
        try:
            for n in mine:
                texts[n] = loaders.load(f"{n}.pdf", files[n]).text
        except Exception as error:  # noqa: BLE001 told by the assertion below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(range(first, 12, 4),)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [texts[n] for n in range(12)] == [
        "\n\n".join(f"File {n} page {page} tells of salt." for page in range(20)) for n in range(12)
    ]


@pytest.fixture
def workers(monkeypatch):
    """Return the children that are taken into use while the test runs."""
    taken = []
    take = client._take_worker

    def recorded():
        taken.append(take())
        return taken[-1]

    monkeypatch.setattr(client, "_take_worker", recorded)
    return taken


@pytest.mark.parametrize(("deaths", "status"), [(1, "added"), (2, "failed")], ids=["once", "twice"])
def test_a_child_that_dies_is_asked_once_more_and_costs_no_other_file(monkeypatch, deaths, status):
    """PDFium may be to blame: the second time the file is read without it."""
    left = [deaths]
    take = client._take_worker

    def taken():
        worker = take()
        if left[0]:
            left[0] -= 1
            worker._process.kill()
        return worker

    monkeypatch.setattr(client, "_take_worker", taken)
    ac = AutoContext(settings=Settings(retrievers=("bm25",)))
    report = [ac.add("bad.pdf", one_page()), ac.add("good.pdf", one_page())]  # together they are read at once
    assert [row.status for row in report] == [status, "added"]
    assert (report[0].reason == "") == (status == "added")
    if status == "failed":
        why = "Reading it crashes or takes more than 900 MB of memory; save it again or split it."
        assert report[0].reason == why


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_child_that_hangs_is_ended_at_the_limit(workers):
    read(one_page())
    os.kill(workers[0].pid, signal.SIGSTOP)
    started = time.monotonic()
    assert failure(one_page(), seconds=2).startswith("it could not be read within 2 seconds")
    assert time.monotonic() - started < 5
    assert read(one_page()) == ("Salt melts at 801 degrees.", ())


def test_stop_ends_a_file_within_a_second():
    stopped = threading.Event()
    told: list[float] = []

    def stop():
        time.sleep(1.0)
        told.append(time.monotonic())
        stopped.set()

    threading.Thread(target=stop).start()
    with pytest.raises(LoadStoppedError):
        loaders.load("a.pdf", slow(), reading=Reading(should_stop=stopped.is_set))
    assert time.monotonic() - told[0] < 1.0


def test_a_stopped_file_is_told_as_such_and_progress_goes_by_page():
    progress: list[tuple[str, int, int]] = []
    ac = AutoContext(settings=Settings(retrievers=("bm25",)))
    data = drawn(*BODIES)
    report = ac.add_files(
        [("a.pdf", data)],
        progress=lambda *told: progress.append(told),
        should_stop=lambda: ("Pages", 4, 4) in progress,
    )
    assert [told for told in progress if told[0] == "Pages"] == [("Pages", n, 4) for n in (1, 2, 3, 4)]
    assert [(row.name, row.status, row.reason) for row in report] == [
        ("a.pdf", "skipped", "Stopped before it was indexed."),
    ]


def test_one_child_reads_many_files(workers):
    client.close()
    for n in range(20):
        assert loaders.load("a.pdf", drawn(f"File {n}.")).text == f"File {n}."
    assert len({worker.pid for worker in workers}) == 1


def test_a_child_lets_nothing_heavy_in_and_no_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    client.close()
    read(one_page())
    (worker,) = client._idle
    seen = Path(f"/proc/{worker.pid}")
    if not seen.exists():
        pytest.skip("no /proc here")
    assert "sk-secret" not in (seen / "environ").read_text()
    maps = (seen / "maps").read_text()
    assert "libpdfium" in maps
    assert not any(name in maps for name in ("libtorch", "pyarrow"))


# --- a page as a picture ----------------------------------------------------------------------------------------------


def marked_pixels(image):
    picture = Image.open(io.BytesIO(image.png)).convert("RGB")
    orange = [
        (x, y)
        for x in range(picture.width)
        for y in range(0, picture.height, 2)
        if (pixel := picture.getpixel((x, y)))[0] > 230 and pixel[2] < 210 and pixel[0] - pixel[2] > 40
    ]
    return picture.size, orange


def test_a_page_is_drawn_with_the_passage_marked_where_it_stands():
    data = drawn("First page.", "Nothing here.\nSalt melts at 801 degrees.\nAnd more of it.")
    image = page_image("a.pdf", data, 2, "Salt melts at 801 degrees.", width=595)
    assert (image.page, image.pages, image.marks) == (2, 2, 1)
    (width, height), orange = marked_pixels(image)
    assert (width, height) == (595, 842)
    assert orange
    assert all(60 < x < 240 and height - 770 < y < height - 735 for x, y in orange)


def test_a_passage_over_lines_with_a_joined_hyphen_is_marked_line_by_line():
    data = drawn("It was an excep-\ntionally low tide\nthat day.")
    assert page_image("a.pdf", data, 1, "It was an exceptionally low tide\nthat day.").marks == 3


def test_the_part_of_a_passage_that_is_on_the_page_is_marked():
    data = drawn("The sentence on page one.", "The rest is on page two.")
    passage = "The sentence on page one.\n\nThe rest is on page two."
    assert [page_image("a.pdf", data, page, passage).marks for page in (1, 2)] == [1, 1]
    assert page_image("a.pdf", data, 1, "What is nowhere in this file.").marks == 0


def test_a_turned_page_is_marked_where_the_text_is_seen():
    image = page_image("a.pdf", one_page(page=b"/Rotate 90"), 1, "Salt melts at 801 degrees.", width=792)
    (width, height), orange = marked_pixels(image)
    assert (width, height, image.marks) == (792, 612, 1)
    assert all(700 < x < 750 and 60 < y < 240 for x, y in orange)


def test_a_page_that_cannot_be_drawn_is_a_sentence():
    with pytest.raises(LoadError, match="page 9 cannot be drawn"):
        page_image("a.pdf", drawn("One."), 9)
    with pytest.raises(LoadError, match="page 1 cannot be drawn"):
        page_image("a.pdf", b"no", 1)


# --- text recognition, an extra ---------------------------------------------------------------------------------------


def scan(*lines):
    """Make a page that is a picture of text."""
    picture = Image.new("L", (1240, 1754), 255)
    for number, line in enumerate(lines):
        font = ImageFont.load_default(size=40)
        ImageDraw.Draw(picture).text((120, 150 + 80 * number), line, fill=0, font=font)
    out = io.BytesIO()
    picture.save(out, "pdf")
    return out.getvalue()


@pytest.mark.skipif(not ocr.is_installed(), reason="rapidocr and onnxruntime are an extra")
def test_a_scanned_page_is_recognized_if_that_is_switched_on():
    text, notes = read(scan("Salt melts at 801 degrees.", "Fault code F-13."), ocr=True)
    assert text == "Salt melts at 801 degrees.\nFault code F-13."
    assert notes == ("The text of 1 of 1 pages was recognized from pictures (OCR).",)


@pytest.mark.skipif(ocr.is_installed(), reason="it is installed")
def test_recognition_that_is_not_installed_is_told_with_the_cure():
    scanned = "no text found (scanned pages?); run it through an OCR program first"
    assert failure(scan("Salt melts.")) == scanned
    assert failure(scan("Salt melts."), ocr=True) == (
        f"{scanned}; text recognition is on, but it is not installed: pip install rapidocr onnxruntime"
    )
