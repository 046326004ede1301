"""Chunks: whole sentences, exact offsets, never longer than the encoder takes."""

from __future__ import annotations

import time
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autocontext import chunk_text, loaders
from autocontext.chunking import (
    _line_breaker,
    chunk_document,
    chunk_spans,
    document_title,
    estimate_tokens,
    index_text,
)
from autocontext.datatypes import Chunk, Document, Section
from autocontext.encoders import default_encoder
from autocontext.errors import SettingsError
from autocontext.settings import ChunkOptions


def count_words(texts):
    return [len(text.split()) for text in texts]


def count_characters(texts):
    return [sum(not char.isspace() for char in text) for text in texts]


def document(text, name="a.md", **more):
    return Document(name=name, text=text, content_hash="", **more)


def cut(text, max_tokens, count=count_words, sentences=3):
    spans = chunk_spans(text, ChunkOptions(sentences=sentences, max_tokens=max_tokens), count)
    return [text[start:end] for start, end in spans]


PIECES = st.sampled_from(
    [
        "One. ",
        "Two! ",
        "\n",
        "\n\n",
        " " * 50,
        "# Head\n",
        "word ",
        "x" * 90,
        "猫が来た。",
        "😀" * 50,
        "क्षि" * 30,
        ", ",
        ";\n",
    ]
)
TEXTS = st.text(max_size=120) | st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join)


@pytest.mark.parametrize(
    ("chunk_size", "chunks"),
    [
        (1, ["One.", "Two.", "Three.", "Four."]),
        (2, ["One. Two.", "Three.\n\nFour."]),
        (3, ["One. Two. Three.", "Four."]),
        (9, ["One. Two. Three.\n\nFour."]),
    ],
)
def test_a_chunk_is_so_many_whole_sentences_as_they_stand(chunk_size, chunks):
    assert chunk_text("One. Two. Three.\n\nFour.\n", chunk_size) == chunks


def test_three_sentences_are_the_default():
    assert ChunkOptions().sentences == 3
    assert chunk_text("One. Two. Three. Four.") == ["One. Two. Three.", "Four."]


@pytest.mark.parametrize("text", ["", "  \n\t\n"])
def test_no_text_makes_no_chunk(text):
    assert chunk_text(text) == []


def test_a_chunk_of_no_sentences_is_refused():
    with pytest.raises(SettingsError, match="at least 1 sentence, not 0"):
        chunk_text("One.", chunk_size=0)


def test_a_sentence_that_would_go_over_the_limit_begins_the_next_chunk():
    ten = "One two three four five six seven eight nine ten"
    assert cut(f"{ten}. {ten}! {ten}?", max_tokens=20) == [f"{ten}. {ten}!", f"{ten}?"]
    assert cut(f"{ten}. {ten}! {ten}?", max_tokens=19) == [f"{ten}.", f"{ten}!", f"{ten}?"]


@pytest.mark.parametrize("count", [estimate_tokens, count_words, count_characters])
@pytest.mark.parametrize(
    "text",
    [pytest.param("One.\n" + "\n" * 3000 + "Two.", id="blank lines"), pytest.param("😀" * 400, id="one long word")],
)
def test_neither_blank_lines_nor_endless_words_break_the_limit(text, count):
    assert max(count(cut(text, 16, count))) <= 16


@pytest.mark.parametrize("count", [estimate_tokens, count_words, count_characters])
@given(text=TEXTS, max_tokens=st.integers(16, 60), sentences=st.integers(1, 5))
@settings(max_examples=100)
def test_no_chunk_is_longer_than_the_limit(count, text, max_tokens, sentences):
    assert all(size <= max_tokens for size in count(cut(text, max_tokens, count, sentences)))


@given(text=TEXTS, max_tokens=st.integers(16, 300), sentences=st.integers(1, 5))
@example(text="a" * 100, max_tokens=16, sentences=1)
@settings(max_examples=150)
def test_offsets_are_exact_and_only_blanks_lie_between_chunks(text, max_tokens, sentences):
    chunks = chunk_document(document(text), ChunkOptions(sentences=sentences, max_tokens=max_tokens))
    position = 0
    for number, chunk in enumerate(chunks):
        assert chunk.number == number
        assert chunk.document == "a.md"
        assert text[chunk.start : chunk.end] == chunk.text == chunk.text.strip() != ""
        assert position <= chunk.start
        assert not text[position : chunk.start].strip()
        assert chunk.line == text.count("\n", 0, chunk.start) + 1
        position = chunk.end
    assert not text[position:].strip()


def words(first, last):
    return " ".join(f"w{n}" for n in range(first, last))


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        pytest.param(
            f"{words(0, 12)}\n{words(12, 14)}, {words(14, 20)}",
            [words(0, 12), f"{words(12, 14)}, {words(14, 20)}"],
            id="a line end before a later clause",
        ),
        pytest.param(f"{words(0, 12)}; {words(12, 20)}", [f"{words(0, 12)};", words(12, 20)], id="a clause"),
        pytest.param(words(0, 20), [words(0, 16), words(16, 20)], id="a blank"),
        pytest.param(f"a, {words(1, 20)}", [f"a, {words(1, 16)}", words(16, 20)], id="no clause in the first half"),
    ],
)
def test_a_sentence_that_is_too_long_is_cut_at(text, chunks):
    assert cut(text, max_tokens=16) == chunks


@given(
    st.lists(
        st.sampled_from(["कि", "क्षे", "e\u0301", "o\u0308\u0323", "ไท่", "x", "שָׁ", "👍\ufe0f"]), min_size=30, max_size=90
    ),
    st.sampled_from([estimate_tokens, count_characters]),
)
@settings(max_examples=80)
def test_no_letter_is_cut_from_its_marks(letters, count):
    assert not [piece for piece in cut("".join(letters), 16, count) if unicodedata.category(piece[0]).startswith("M")]


def test_a_heading_begins_a_chunk_and_stays_with_its_text():
    text = "Intro.\n\n# Salt\n## Melting\nAt 801 degrees. Slowly.\n## Use\nSoup."
    assert chunk_text(text, 9) == ["Intro.", "# Salt\n## Melting\nAt 801 degrees. Slowly.", "## Use\nSoup."]


def test_a_comment_in_code_is_not_taken_for_a_heading():
    code = "def f(x):\n    # the sum\n    return x + 1\n   # Salt\nMelts."
    assert chunk_text(code, 9) == ["def f(x):\n    # the sum\n    return x + 1", "# Salt\nMelts."]


def sentences(*sizes):
    return " ".join("Word " * (size - 1) + "end." for size in sizes)


@pytest.mark.parametrize(
    ("text", "sizes", "max_tokens"),
    [
        pytest.param(sentences(10, 10, 7), [27], 40, id="fewer than a sentence is taken to hold"),
        pytest.param(sentences(10, 10, 4, 3), [27], 40, id="two of them together"),
        pytest.param(sentences(10, 10, 8), [20, 8], 40, id="as much as a sentence is taken to hold"),
        pytest.param(sentences(10, 10, 7), [20, 7], 26, id="no room for it"),
        pytest.param(sentences(10, 10) + "\n\n# Head\n\n" + sentences(4), [20, 6], 40, id="under a heading of its own"),
        pytest.param(sentences(10, 10, 7) + "\n\n# Head\n\n" + sentences(9), [27, 11], 40, id="before a heading"),
        pytest.param(sentences(7), [7], 40, id="alone"),
    ],
)
def test_a_rest_too_short_to_stand_alone_goes_to_the_chunk_before(text, sizes, max_tokens):
    options = ChunkOptions(sentences=2, sentence_tokens=8, max_tokens=max_tokens)
    assert [len(text[start:end].split()) for start, end in chunk_spans(text, options, count_words)] == sizes


def test_a_rest_after_a_page_break_is_a_chunk_of_its_own():
    text = sentences(10, 10, 7)
    breaks = [text.rindex("end. ") + len("end. ")]
    spans = chunk_spans(text, ChunkOptions(sentences=2, sentence_tokens=8), count_words, breaks)
    assert [len(text[start:end].split()) for start, end in spans] == [20, 7]


MARKDOWN = """Before.

# Salt

Salt melts.

## Melting ##

At 801.

```python
# not a heading
x = 1
```

# Sugar
Sweet.
"""


def test_each_chunk_knows_the_headings_above_it():
    options = ChunkOptions(sentences=1, sentence_tokens=0)
    chunks = chunk_document(loaders.load("a.md", MARKDOWN.encode()), options)
    assert [(chunk.text, chunk.heading) for chunk in chunks] == [
        ("Before.", ""),
        ("# Salt", "Salt"),
        ("Salt melts.", "Salt"),
        ("## Melting ##", "Salt > Melting"),
        ("At 801.", "Salt > Melting"),
        ("```python", "Salt > Melting"),
        ("# not a heading", "Salt > Melting"),
        ("x = 1", "Salt > Melting"),
        ("```", "Salt > Melting"),
        ("# Sugar", "Sugar"),
        ("Sweet.", "Sugar"),
    ]


def test_plain_text_has_no_headings():
    assert chunk_document(loaders.load("a.txt", b"# Salt\nIt melts."), ChunkOptions())[0].heading == ""


def test_a_chunk_takes_heading_and_place_of_its_section_and_never_runs_over_the_start_of_one_held_apart():
    text = "Before. One.\n\nTwo.\n\nThree."
    sections = (
        Section(8, "Plan", "slide 1", apart=False),
        Section(14, "Plan > Costs", "slide 2"),
        Section(20, "Plan > End", "slide 3", apart=False),
    )
    chunks = chunk_document(document(text, name="a.pptx", sections=sections), ChunkOptions(sentences=9))
    assert [(chunk.text, chunk.heading, chunk.place) for chunk in chunks] == [
        ("Before. One.", "", "line 1"),
        ("Two.\n\nThree.", "Plan > Costs", "slide 2"),
    ]


def test_a_chunk_knows_its_line_and_the_page_it_begins_on():
    text = "One.\nTwo\n\nThree.\nFour."
    two = ChunkOptions(sentences=2, sentence_tokens=0)
    chunks = chunk_document(document(text, name="a.pdf", page_starts=(0, 5, 10)), two)
    assert [(chunk.text, chunk.line, chunk.page) for chunk in chunks] == [
        ("One.", 1, 1),
        ("Two", 2, 2),
        ("Three.\nFour.", 4, 3),
    ]


def test_chunk_numbers_have_no_gap_whatever_comes_and_goes(make_context):
    files = {"a.txt": "One. Two. Three. Four.", "b.txt": "Five.", "c.txt": "Six. Seven. Eight. Nine."}
    ac = make_context(files, chunking=ChunkOptions(sentence_tokens=0))
    ac.remove("b.txt")
    ac.add("a.txt", b"Ten.")
    ac.add("d.txt", b"Eleven.")
    assert [(chunk.number, chunk.document, chunk.text) for chunk in ac.chunks] == [
        (0, "a.txt", "Ten."),
        (1, "c.txt", "Six. Seven. Eight."),
        (2, "c.txt", "Nine."),
        (3, "d.txt", "Eleven."),
    ]


def test_a_replaced_document_leaves_no_stale_chunk(make_context):
    ac = make_context({"a.txt": "Salt melts.", "b.txt": "Water boils."})
    assert ac.search("salt")[0].chunk.text == "Salt melts."
    ac.add("a.txt", b"Gold shines.")
    assert "Salt melts." not in [item.chunk.text for item in ac.search("salt")]
    assert ac.search("gold")[0].chunk == ac.chunks[0]


@pytest.mark.parametrize("filler", [" ", "#"])
def test_eight_times_as_long_a_heading_takes_about_eight_times_as_long(filler):
    def seconds(n):
        start = time.perf_counter()
        chunk_document(document(f"# x {filler * n} y"), ChunkOptions())
        return time.perf_counter() - start

    small = min(seconds(500) for _ in range(5))
    assert min(seconds(4000) for _ in range(2)) / small < 24


def test_chunks_of_one_document_never_overlap():
    spans = chunk_spans("word, " * 500 + ". End. " + "😀" * 300, ChunkOptions(max_tokens=16))
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


# --- how much a chunk holds ---


@pytest.mark.parametrize(
    ("sentence_tokens", "sizes"),
    [(0, [3, 3, 3, 1]), (5, [3, 3, 3, 1]), (6, [4, 4, 2]), (10, [6, 4]), (16, [10]), (32, [10])],
)
def test_a_chunk_is_closed_only_when_its_sentences_hold_enough_tokens(sentence_tokens, sizes):
    text = " ".join(f"Here stands sentence number n{n}." for n in range(10))  # five words each
    spans = chunk_spans(text, ChunkOptions(sentence_tokens=sentence_tokens), count_words)
    assert [text[start:end].count("stands") for start, end in spans] == sizes


def test_short_lines_share_a_chunk_and_long_sentences_do_not_wait():
    lines = "\n".join(f"- item {n}" for n in range(20))
    assert len(chunk_spans(lines, ChunkOptions(), count_words)) == 1
    long = " ".join("Word " * 39 + "end." for _ in range(6))
    assert len(chunk_spans(long, ChunkOptions(), count_words)) == 2


def test_the_limit_holds_before_the_sentences_are_enough():
    text = " ".join(f"Here stands sentence number n{n}." for n in range(10))
    spans = chunk_spans(text, ChunkOptions(sentence_tokens=32, max_tokens=20), count_words)
    assert [text[start:end].count("stands") for start, end in spans] == [4, 4, 2]


# --- overlap ---


def overlapped(text, overlap, *, sentences=3, max_tokens=254):
    options = ChunkOptions(sentences=sentences, sentence_tokens=0, overlap=overlap, max_tokens=max_tokens)
    return [text[start:end] for start, end in chunk_spans(text, options, count_words)]


def test_a_chunk_repeats_the_last_sentences_of_the_one_before():
    text = "A one. B two. C three. D four. E five."
    assert overlapped(text, 0) == ["A one. B two. C three.", "D four. E five."]
    assert overlapped(text, 1) == ["A one. B two. C three.", "C three. D four. E five."]
    assert overlapped(text, 2) == ["A one. B two. C three.", "B two. C three. D four.", "C three. D four. E five."]


def test_no_chunk_only_repeats():
    assert overlapped("A one. B two. C three.", 2) == ["A one. B two. C three."]
    assert overlapped("A one. B two. C three. ", 1) == ["A one. B two. C three."]


def test_chunks_do_not_overlap_over_a_heading_nor_over_the_limit():
    assert overlapped("A one. B two. C three.\n# Head\nD four.", 1) == ["A one. B two. C three.", "# Head\nD four."]
    ten = "One two three four five six seven eight nine ten."
    assert overlapped(" ".join([ten] * 4), 1, sentences=2, max_tokens=20) == [f"{ten} {ten}"] + [f"{ten} {ten}"] * 2
    long = "Long " * 14 + "end."
    assert overlapped(f"{ten} {ten} {long}", 1, sentences=2, max_tokens=24) == [f"{ten} {ten}", long]


@pytest.mark.parametrize(("overlap", "message"), [(3, "below the 3 sentences"), (-1, "must be 0 or more")])
def test_an_overlap_of_a_whole_chunk_is_refused(overlap, message):
    with pytest.raises(SettingsError, match=message):
        ChunkOptions(overlap=overlap)


@given(text=TEXTS, overlap=st.integers(0, 3), sentence_tokens=st.integers(0, 8), max_tokens=st.integers(16, 60))
@settings(max_examples=120)
def test_overlapping_chunks_go_on_keep_the_limit_and_leave_nothing_out(text, overlap, sentence_tokens, max_tokens):
    options = ChunkOptions(sentences=4, sentence_tokens=sentence_tokens, overlap=overlap, max_tokens=max_tokens)
    spans = chunk_spans(text, options, count_words)
    covered = [False] * len(text)
    for start, end in spans:
        covered[start:end] = [True] * (end - start)
    assert not "".join(char for char, inside in zip(text, covered, strict=True) if not inside).strip()
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(spans))
    assert all(size <= max_tokens for size in count_words([text[start:end] for start, end in spans]))


def test_overlap_reaches_the_engine(make_context):
    text = "Salt melts. Water boils. Gold shines. Boats sail. Cats sleep."
    ac = make_context({"a.txt": text}, chunking=ChunkOptions(sentence_tokens=0, overlap=1))
    assert [chunk.text for chunk in ac.chunks] == [
        "Salt melts. Water boils. Gold shines.",
        "Gold shines. Boats sail. Cats sleep.",
    ]


# --- scripts without blanks ---

THAI = "แมวนอนหลับทั้งวันในบ้านเก่าริมแม่น้ำและชาวบ้านทุกคนรู้จักมันเพราะมันชอบจับปลามาให้เจ้าของทุกเช้าก่อนพระอาทิตย์ขึ้น"
KANA = "ねこはかわのそばのふるいいえでいちにちじゅうねむっているがむらのひとびとはみなそのねこをしっている"
JAPANESE = "猫は川のそばの古い家で一日中眠っているが村の人々は皆その猫を知っていて毎朝魚をあげるので幸せに暮らす"
CHINESE = "猫整天在河边的老房子里睡觉村里的人都认识它因为它每天早上日出之前都会给主人送来新鲜的鱼所以大家都很喜欢它"
UNMARKED = {
    "th": THAI, "ja": KANA, "ja mixed": JAPANESE, "zh": CHINESE, "ko": "고양이는강가의오래된집에서하루종일잔다",
    "km": "ឆ្មាដេកពេញមួយថ្ងៃនៅក្នុងផ្ទះចាស់ក្បែរទន្លេ", "my": "ကြောင်သည်မြစ်ဘေးရှိအိမ်ဟောင်းတွင်တစ်နေ့လုံးအိပ်သည်",
    "hi": "बिल्लीनदीकिनारेपुरानेघरमेंसोतीहै", "ar": "تنامالقطةفيالبيتالقديم", "en": "catsleepsinthehouse", "emoji": "😀🎉👍🏽",
}  # fmt: skip


@pytest.mark.parametrize("max_tokens", [64, 100, 254])
@pytest.mark.parametrize(
    ("language", "text"),
    [("th", THAI), ("ja", KANA), ("ja", JAPANESE), ("zh", CHINESE)],
    ids=["th", "kana", "ja", "zh"],
)
def test_every_cut_of_unmarked_text_falls_between_two_words(language, text, max_tokens):
    text = f"{text * 12} {text * 5}"
    ends, position = {text.index(" ")}, 0
    for word in _line_breaker(language).parse(text):
        position += len(word)
        ends.add(position)
    spans = chunk_spans(text, ChunkOptions(max_tokens=max_tokens))
    assert len(spans) > len(text) * 3 / max_tokens / 4
    assert [text[end - 6 : end] + "|" + text[end : end + 6] for _, end in spans if end not in ends] == []


@pytest.mark.parametrize("max_tokens", [16, 40, 64, 100, 254])
@pytest.mark.parametrize("language", UNMARKED)
def test_no_chunk_is_longer_than_the_encoder_takes_whatever_the_language(language, max_tokens):
    sentence = UNMARKED[language]
    model = default_encoder()
    for text in (sentence * 30, f"{sentence}. {sentence * 7}! {sentence * 3} {sentence} " * 5):
        for count in (model.count_tokens, estimate_tokens):
            chunks = cut(text, max_tokens, count)
            assert max(count(chunks)) <= max_tokens
            assert "".join("".join(chunks).split()) == "".join(text.split())


@given(
    pieces=st.lists(
        st.sampled_from([*UNMARKED.values(), ". ", " ", "\n", "。", "Word ", "INV-2024-017 ", "#", "\n# Head\n"]),
        max_size=40,
    ),
    max_tokens=st.integers(16, 260),
    sentence_tokens=st.sampled_from([0, 32]),
)
@settings(max_examples=80)
def test_mixed_languages_keep_the_limit_and_lose_nothing(pieces, max_tokens, sentence_tokens):
    text = "".join(pieces)
    spans = chunk_spans(text, ChunkOptions(max_tokens=max_tokens, sentence_tokens=sentence_tokens))
    assert all(size <= max_tokens for size in estimate_tokens([text[start:end] for start, end in spans]))
    assert "".join("".join(text[start:end] for start, end in spans).split()) == "".join(text.split())


@pytest.mark.parametrize("text", [THAI, JAPANESE, CHINESE, "word ", "x"], ids=["th", "ja", "zh", "words", "one word"])
def test_a_line_of_a_million_characters_takes_about_twice_as_long_as_half_of_it(text):
    def seconds(length):
        line = (text * (length // len(text) + 1))[:length]
        start = time.perf_counter()
        chunk_spans(line, ChunkOptions())
        return time.perf_counter() - start

    half = min(seconds(500_000) for _ in range(2))
    assert min(seconds(1_000_000) for _ in range(2)) / half < 3.5


# --- what a chunk is found by ---


@pytest.mark.parametrize(
    ("text", "name", "title"),
    [
        ("Salt of the earth\n\nIt melts.", "x.txt", "Salt of the earth"),
        ("# Salt\n\nIt melts.", "x.md", "Salt"),
        ("\ufeff\n\n  \n## Salt \n\nIt melts.", "x.md", "Salt"),
        ("Salt melts.\nIt is white.\n\nMore.", "notes/table_salt-2.txt", "table salt 2"),
        ("Salt melts.", "notes/table_salt.txt", "table salt"),
        ("x" * 151 + "\n\nText.", "salt.txt", "salt"),
        ("x" * 150 + "\n\nText.", "salt.txt", "salt: " + "x" * 150),
        ("Salt melts.", "2024-03-14.txt", ""),
        ("Salt melts.", "IMG_20240314_1.txt", ""),
        ("Salt melts.", "a/b/日本語メモ.txt", "日本語メモ"),
        ("", "salt.txt", "salt"),
        ("#\n\nIt melts.", "salt.md", "salt"),
    ],
)
def test_a_documents_title_is_its_first_line_or_what_its_name_says(text, name, title):
    assert document_title(document(text, name)) == title


@pytest.mark.parametrize(
    ("text", "heading", "indexed"),
    [
        ("It melts ice.", "Salt > Uses", "It melts ice.\nSalt > Uses"),
        ("It melts ice.", "", "It melts ice.\nSalt"),
        ("It melts ice.", "Uses", "It melts ice.\nSalt > Uses"),
        ("# Salt\n\nIt is white.", "Salt", "# Salt\n\nIt is white."),
        ("## Uses\n\nIt melts ice.", "Salt > Uses", "## Uses\n\nIt melts ice.\nSalt"),
    ],
)
def test_a_chunk_is_indexed_with_the_title_and_the_headings_that_it_does_not_begin_with(text, heading, indexed):
    salt = document("# Salt\n\n## Uses\n\nIt melts ice.")
    assert index_text(salt, Chunk(0, "a.md", text, 0, len(text), 1, heading=heading)) == indexed


def test_a_title_is_left_out_only_where_it_stands_as_whole_words():
    salt, art = (
        document("Salt\n\nSaltwater is heavy.", "a.txt"),
        document("# Art\n\n# Artists\n## Monet\n\nHe painted."),
    )
    saltwater = Chunk(0, "a.txt", "Saltwater is heavy.", 6, 25, 3)
    assert index_text(salt, saltwater) == "Saltwater is heavy.\nSalt"
    monet = Chunk(0, "a.md", "He painted.", 27, 38, 6, heading="Artists > Monet")
    assert index_text(art, monet) == "He painted.\nArt > Artists > Monet"


def test_what_a_chunk_is_indexed_with_is_short_and_comes_last():
    deep = " > ".join(["x" * 90] * 9)
    indexed = index_text(document("Text.", "salt.txt"), Chunk(0, "salt.txt", "Text.", 0, 5, 1, heading=deep))
    assert indexed == f"Text.\n{deep[-300:]}"


@pytest.mark.parametrize("retrievers", [("bm25",), ("bm25", "dense")])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("guides/fiverr_handbook.txt", "You may have your money back within thirty days."),
        ("a.txt", "Acme handbook\n\nYou may have your money back within thirty days."),
        (
            "a.md",
            "# Acme handbook\n\nGeneral words.\n\n## Refunds\n\nYou may have your money back within thirty days.",
        ),
    ],
    ids=["file name", "first line", "heading"],
)
def test_a_passage_that_does_not_name_its_subject_is_found_by_title_and_headings(make_context, retrievers, name, text):
    rival = "You may have your money back within thirty days, says the rule."
    ac = make_context({"b.txt": rival, name: text, "c.txt": rival.replace("thirty", "forty")}, retrievers=retrievers)
    best = ac.search("money back in thirty days, Acme")[0].chunk
    assert best.document == name
    assert text.endswith(best.text)
    assert "within thirty days" in best.text


def test_what_is_shown_is_the_text_itself(make_context):
    ac = make_context({"table_salt.txt": "It melts ice."}, retrievers=("bm25",))
    assert ac.search("table salt")[0].chunk.text == "It melts ice."
    assert "table salt" not in str(ac.get_prompt("What melts ice?"))
