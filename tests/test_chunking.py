"""Chunks: whole sentences, exact offsets, never longer than the encoder takes."""

from __future__ import annotations

import time
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autocontext import chunk_text, loaders
from autocontext.chunking import chunk_document, chunk_spans, estimate_tokens
from autocontext.datatypes import Document, Section
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
@settings(max_examples=100, deadline=None)
def test_no_chunk_is_longer_than_the_limit(count, text, max_tokens, sentences):
    assert all(size <= max_tokens for size in count(cut(text, max_tokens, count, sentences)))


@given(text=TEXTS, max_tokens=st.integers(16, 300), sentences=st.integers(1, 5))
@example(text="a" * 100, max_tokens=16, sentences=1)
@settings(max_examples=150, deadline=None)
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
@settings(max_examples=80, deadline=None)
def test_no_letter_is_cut_from_its_marks(letters, count):
    assert not [piece for piece in cut("".join(letters), 16, count) if unicodedata.category(piece[0]).startswith("M")]


def test_a_heading_begins_a_chunk_and_stays_with_its_text():
    text = "Intro.\n\n# Salt\n## Melting\nAt 801 degrees. Slowly.\n## Use\nSoup."
    assert chunk_text(text, 9) == ["Intro.", "# Salt\n## Melting\nAt 801 degrees. Slowly.", "## Use\nSoup."]


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
    chunks = chunk_document(loaders.load("a.md", MARKDOWN.encode()), ChunkOptions(sentences=1))
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
    chunks = chunk_document(document(text, name="a.pdf", page_starts=(0, 5, 10)), ChunkOptions(sentences=2))
    assert [(chunk.text, chunk.line, chunk.page) for chunk in chunks] == [
        ("One.\nTwo", 1, 1),
        ("Three.\nFour.", 4, 3),
    ]


def test_chunk_numbers_have_no_gap_whatever_comes_and_goes(make_context):
    ac = make_context({"a.txt": "One. Two. Three. Four.", "b.txt": "Five.", "c.txt": "Six. Seven. Eight. Nine."})
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
