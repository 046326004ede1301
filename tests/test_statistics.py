"""Figures on how documents were cut, exact on small collections, and the warnings with their cures."""

from __future__ import annotations

import json

from autocontext import AutoContext, ChunkOptions, Settings
from autocontext.statistics import collection_statistics
from tests.conftest import HashEncoder
from tests.pdf_files import drawn

ONE_A_CHUNK = ChunkOptions(sentences=1, sentence_tokens=0, max_tokens=40)
PLAIN = {"salt.txt": "Salt melts at 801 degrees.", "cats.txt": "Cats sleep all day long. They do."}


def test_documents_chunks_and_lengths(make_context):
    figures = collection_statistics(make_context(PLAIN, chunking=ONE_A_CHUNK))
    # estimated where the encoder cannot count: 26, 24 and 8 bytes, three a token
    assert (figures.documents, figures.chunks, figures.counter, figures.limit) == (2, 3, "estimate", 40)
    assert (figures.tokens, figures.mean, figures.median) == (9 + 9 + 3, 7.0, 9.0)
    assert [(item.tokens, item.chunk.text) for item in figures.longest] == [
        (9, "Salt melts at 801 degrees."),
        (9, "Cats sleep all day long."),
        (3, "They do."),
    ]
    assert [item.tokens for item in figures.shortest] == [3, 9, 9]


def test_the_histogram_has_every_chunk_in_bins_without_gaps(make_context):
    figures = collection_statistics(make_context(PLAIN, chunking=ONE_A_CHUNK))
    assert [(of.first, of.last, of.chunks) for of in figures.histogram][:4] == [
        (1, 4, 1),
        (5, 8, 0),
        (9, 12, 2),
        (13, 16, 0),
    ]
    assert figures.histogram[-1].last >= figures.limit
    assert sum(of.chunks for of in figures.histogram) == figures.chunks


def test_an_end_inside_a_sentence_and_inside_a_word_is_counted(make_context):
    endless = " ".join(f"word{n}" for n in range(60)) + "."
    sequence = "acgt" * 200
    figures = collection_statistics(
        make_context({"long.txt": endless, "dna.txt": sequence, **PLAIN}, chunking=ONE_A_CHUNK)
    )
    by_document = {chunk.document for chunk in figures.mid_sentence}
    assert by_document == {"long.txt", "dna.txt"}
    assert {chunk.document for chunk in figures.mid_word} == {"dna.txt"}
    cut = [chunk for chunk in figures.mid_sentence if chunk.document == "long.txt"]
    assert all(not chunk.text.endswith(".") for chunk in cut)
    assert figures.warnings[0].startswith(f"{len(figures.mid_sentence)} of {figures.chunks} passages end inside")
    assert "raise chunking.max_tokens" in figures.warnings[0]


def test_scripts_without_blanks_are_not_cut_inside_a_word(make_context):
    figures = collection_statistics(make_context({"水.txt": "水在一百度沸腾而且很热" * 30}, chunking=ONE_A_CHUNK))
    assert figures.mid_sentence
    assert figures.mid_word == ()


def test_copies_are_told_with_what_they_repeat(make_context):
    text = "The annual report says that the valves of the old boiler were replaced in March by the engineer from Ulm."
    files = {
        "a.txt": text,
        "b.txt": text,
        "c.txt": text.replace("that the", "the"),
        "d.txt": "Cats sleep all day long and they do not care.",
    }
    figures = collection_statistics(make_context(files))
    assert [(one.document, of.document) for one, of in figures.exact_copies] == [("b.txt", "a.txt")]
    assert [(one.document, of.document) for one, of in figures.near_copies] == [("c.txt", "a.txt")]
    assert any("1 passages are copies of others" in warning for warning in figures.warnings)


def test_a_number_that_differs_makes_no_copy(make_context):
    text = "Invoice 2024 of the plumber on the repair of the boiler in the cellar of the house at the lake: paid."
    files = {"a.txt": text, "b.txt": text.replace("2024", "2025")}
    assert collection_statistics(make_context(files)).near_copies == ()


def test_pages_and_documents_without_text_and_lone_headings(make_context):
    ac = make_context({"empty.md": "# Costs\n\nThey are told here at some length.\n\n# Plan\n"})
    ac.add("scan.pdf", drawn("Salt melts at 801 degrees.", "", ""))
    figures = collection_statistics(ac)
    assert figures.empty_pages == {"scan.pdf": (2, 3)}
    assert [chunk.text for chunk in figures.only_headings] == ["# Plan"]
    assert any(warning.startswith("2 pages in 1 documents have no text") for warning in figures.warnings)
    assert any("pdf.ocr" in warning for warning in figures.warnings)


class Reader(HashEncoder):
    """Reads Latin letters only."""

    name, max_tokens = "reader", 100

    def count_tokens(self, texts):
        return [len(text.split()) for text in texts]

    def readability(self, text):
        return 1.0 if text.isascii() else 0.0


def test_the_share_that_the_encoder_cannot_read(make_context):
    ac = AutoContext(Settings(chunking=ONE_A_CHUNK), encoder=Reader())
    assert collection_statistics(ac).unreadable is None
    ac.add_files([("a.txt", b"Cats sleep. Dogs do not."), ("b.txt", "Вода кипит. Соль тает.".encode())])
    figures = collection_statistics(ac)
    assert (figures.counter, figures.unreadable) == ("reader", 0.5)
    assert figures.warnings[-1].startswith("The embedding model cannot read 50% of the passages")
    assert collection_statistics(make_context(PLAIN)).unreadable is None


def test_a_good_collection_has_no_warning(sample):
    figures = collection_statistics(sample)
    assert figures.chunks == len(sample.chunks)
    assert [warning[:37] for warning in figures.warnings] == [
        "The embedding model cannot read 10% o"
    ]  # the Japanese note


def test_an_empty_collection_has_zeros(make_context):
    figures = collection_statistics(make_context())
    assert (figures.documents, figures.chunks, figures.tokens, figures.mean) == (0, 0, 0, 0.0)
    assert (figures.histogram, figures.warnings) == ((), ())


def test_it_tells_how_far_it_is_and_its_record_is_json(make_context):
    steps = []
    figures = collection_statistics(make_context(PLAIN), lambda label, done, total: steps.append(label))
    assert steps == ["Counting tokens", "Looking at sentences", "Looking for copies"]
    record = json.loads(json.dumps(figures.to_record()))
    assert record["documents"] == 2
    assert record["shortest"][0]["document"] == "salt.txt"
