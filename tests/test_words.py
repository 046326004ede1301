"""Words counted once a document, and the postings put together from these."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocontext import AutoContext, Settings, snapshot
from autocontext.words import Postings, Vocabulary, WordCounts, count_words

WORDS = st.sampled_from(["salt", "sea", "boil", "猫が", "x y", "a\u0301"])
DOCUMENTS = st.lists(st.lists(st.lists(WORDS, max_size=6), max_size=4), max_size=4)


@given(documents=DOCUMENTS)
def test_postings_are_those_of_counting_each_chunk(documents):
    postings = Postings([count_words(document) for document in documents])
    chunks = [Counter(chunk) for document in documents for chunk in document]
    for word in ["salt", "sea", "boil", "猫が", "x y", "a\u0301", "nowhere"]:
        rows, counts = postings.of(word)
        assert dict(zip(rows.tolist(), counts.tolist(), strict=True)) == {
            n: chunk[word] for n, chunk in enumerate(chunks) if word in chunk
        }
        assert rows.tolist() == sorted(rows.tolist())
        assert postings.frequency(word) == sum(word in chunk for chunk in chunks)
    assert postings.lengths.tolist() == [chunk.total() for chunk in chunks]


@given(documents=DOCUMENTS)
def test_counts_come_back_from_bytes(documents):
    for document in documents:
        counted = count_words(document)
        again = WordCounts.from_bytes(counted.to_bytes(), len(document))
        assert again is not None
        assert again.vocabulary == counted.vocabulary
        for name in ("words", "counts", "starts"):
            assert getattr(again, name).tolist() == getattr(counted, name).tolist()


@given(data=st.binary(max_size=200), n_chunks=st.integers(0, 4))
def test_bytes_from_anywhere_are_counts_or_nothing(data, n_chunks):
    counted = WordCounts.from_bytes(data, n_chunks)
    assert counted is None or len(counted.starts) == n_chunks + 1


@given(place=st.integers(0, 60), value=st.integers(0, 255))
def test_a_damaged_byte_never_makes_an_index_that_breaks(place, value):
    data = bytearray(count_words([["salt", "sea"], ["salt"]]).to_bytes())
    data[place % len(data)] = value
    counted = WordCounts.from_bytes(bytes(data), 2)
    if counted is not None:
        assert len(Postings([counted]).lengths) == 2


def test_many_words_and_many_times_the_same_one_are_counted_in_full():
    counted = count_words([[f"w{n}" for n in range(70_000)], ["w1"] * 300])
    assert len(counted.vocabulary) == 70_000
    rows, counts = Postings([counted]).of("w1")
    assert (rows.tolist(), counts.tolist()) == ([0, 1], [1, 300])


def test_one_vocabulary_serves_indexes_one_after_the_other():
    vocabulary = Vocabulary()
    salt, sea = count_words([["salt"]]), count_words([["sea"], ["salt"]])
    first = Postings([salt], vocabulary)
    second = Postings([salt, sea], vocabulary)
    assert first.of("sea")[0].tolist() == []  # came later
    assert second.of("salt")[0].tolist() == [0, 2]
    assert Postings([sea], vocabulary).unused == 0.0
    assert Postings([salt], vocabulary).unused == 0.5


@pytest.fixture
def tokenized(monkeypatch):
    """Return the list of texts that are tokenized to be indexed."""
    texts: list[str] = []
    real = snapshot.index_terms
    monkeypatch.setattr(snapshot, "index_terms", lambda text, language: (texts.append(text), real(text, language))[1])
    return texts


def test_adding_a_document_tokenizes_only_that_one(make_context, tokenized):
    ac = make_context({f"{n}.txt": f"Number {n} is here." for n in range(20)})
    ac.search("number")
    tokenized.clear()
    ac.add("new.txt", b"Salt melts.")
    assert ac.search("When does salt melt?")[0].chunk.document == "new.txt"
    assert tokenized == ["Salt melts."]


def test_opening_a_kept_collection_tokenizes_nothing(encoder, tokenized, tmp_path):
    ac = AutoContext(encoder=encoder, store=tmp_path / "notes.db")
    ac.add_files([("a.txt", b"Salt melts."), ("b.txt", b"Tea steeps.")])
    before = ac.search("salt")
    ac.close()
    tokenized.clear()
    again = AutoContext(encoder=encoder, store=tmp_path / "notes.db")
    assert again.search("salt") == before
    assert again.get_prompt("salt").support == ac.get_prompt("salt").support
    assert tokenized == []


def test_words_of_documents_that_are_gone_leave_the_vocabulary(encoder):
    ac = AutoContext(Settings(retrievers=("bm25",)), encoder)
    ac.add("a.txt", b"Salt.")
    ac.add("b.txt", b"Boats sail far from every harbour.")
    ac.search("salt")
    assert "harbour" in ac._vocabulary.numbers
    ac.remove("b.txt")
    ac.get_prompt("salt")
    ac.add("c.txt", b"Tea.")
    ac.search("tea")
    assert sorted(ac._vocabulary.numbers) == ["salt", "tea"]


def test_lengths_are_whole_numbers_of_a_kind_that_does_not_overflow():
    counted = count_words([["a"] * 255, ["a"] * 255])
    assert counted.counts.dtype == np.uint8
    assert counted.lengths.tolist() == [255, 255]
