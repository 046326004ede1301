"""TF-IDF against its formula, read plainly."""

from __future__ import annotations

import math

import pytest

from autocontext import Settings, retrievers
from autocontext.datatypes import Chunk
from autocontext.retrievers.base import Corpus

TEXTS = ["Salt, salt and more salt.", "Salt melts.", "Sugar melts and melts.", "Boats sail."]


def built(*texts):
    chunks = [Chunk(n, f"{n}.txt", text, 0, len(text), 1) for n, text in enumerate(texts)]
    return retrievers.build("tfidf", Corpus(chunks, Settings()))


def scores(question, *texts):
    return {hit.chunk: hit.score for hit in built(*texts).search(question, 10)}


def test_a_score_is_the_sum_of_term_frequency_times_inverse_document_frequency():
    salt = melts = math.log(5 / 2)
    assert scores("salt", *TEXTS) == pytest.approx({0: 3 * salt, 1: salt})
    assert scores("What of salt that melts?", *TEXTS) == pytest.approx({0: 3 * salt, 2: 2 * melts, 1: salt + melts})
    assert scores("boats", *TEXTS) == pytest.approx({3: math.log(5)})


def test_a_word_asked_twice_counts_once():
    assert scores("salt salt", *TEXTS) == scores("salt", *TEXTS)


@pytest.mark.parametrize("copies", [1, 2])
def test_a_collection_of_one_or_two_notes_finds_them_although_every_chunk_holds_the_word(copies):
    found = scores("salt", *["Salt melts."] * copies)
    assert found == pytest.approx(dict.fromkeys(range(copies), math.log((copies + 1) / copies)))
    assert min(found.values()) > 0


def test_what_holds_no_word_is_not_returned():
    assert scores("quantum", *TEXTS) == {}


def test_trust_is_the_weighed_share_of_the_words_that_the_best_hit_holds():
    salt, boats, unheard = math.log(5 / 2), math.log(5), math.log(5)
    assert built(*TEXTS).trust("salt") == 1
    assert built(*TEXTS).trust("salt boats") == pytest.approx(salt / (salt + boats))
    assert built(*TEXTS).trust("salt quantum") == pytest.approx(salt / (salt + unheard))
    assert built(*TEXTS).trust("quantum") == 0


def test_it_is_off_unless_it_is_asked_for(make_context):
    files = {"a.txt": "Salt melts at 801 degrees.", "b.txt": "Boats sail."}
    assert "tfidf" not in Settings().retrievers
    ac = make_context(files, retrievers=("bm25", "tfidf"))
    assert set(ac.search("When does salt melt?")[0].hits) == {"bm25", "tfidf"}
