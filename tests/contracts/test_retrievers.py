"""What every retriever promises; a new module in autocontext/retrievers comes under these by itself."""

from __future__ import annotations

import numpy as np
import pytest

from autocontext import Settings, retrievers
from autocontext.datatypes import Chunk
from autocontext.errors import SettingsError
from autocontext.retrievers.base import Corpus, best_first

TEXTS = [
    "Water boils at 100 degrees.",
    "Salt melts at 801 degrees. Salt is white.",
    "Salt is in the sea, and much else is in the sea too, fish for example.",
    "The cat sleeps.",
    "Sugar melts sooner than salt.",
    "Boats sail.",
]


@pytest.fixture(params=retrievers.available())
def build(request, encoder):
    """Return a maker of this retriever over texts."""

    def make(texts, *, apart=False):
        names = [f"{n}.txt" if apart else "a.txt" for n in range(len(texts))]
        chunks = [
            Chunk(n, name, text, 0, len(text), 1) for n, (name, text) in enumerate(zip(names, texts, strict=True))
        ]
        return retrievers.build(request.param, Corpus(chunks, Settings(), encoder, encoder.encode(texts)))

    return make


def test_the_seed_retrievers_are_there():
    assert {"bm25", "dense"} <= set(retrievers.available())
    assert retrievers.available() == sorted(retrievers.available())


def test_no_chunks_means_no_hits(build):
    assert build([]).search("salt", k=3) == []


def test_hits_are_ranked_from_one_without_gaps_best_first_each_chunk_once(build):
    retriever = build(TEXTS)
    hits = retriever.search("When does salt melt? melts salt", k=10)
    assert hits
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len({hit.chunk for hit in hits}) == len(hits)
    assert {hit.retriever for hit in hits} == {retriever.name}
    assert hits[0].chunk in (1, 4)


def test_at_most_k_hits_and_they_are_the_first_of_all(build):
    retriever = build(TEXTS)
    everything = retriever.search("salt degrees", k=100)
    assert len(everything) >= 3
    for k in range(len(TEXTS) + 1):
        assert retriever.search("salt degrees", k=k) == everything[:k]


def test_a_hit_never_has_a_score_of_zero_or_less(build):
    for question in ("salt", "degrees", "unheard", "cat boats", "the sea"):
        assert all(hit.score > 0 for hit in build(TEXTS).search(question, k=10))


@pytest.mark.parametrize("copies", [2, 3, 7, 50])
def test_equal_texts_keep_chunk_order(build, copies):
    for word in ("salt", "gold", "silver", "river", "sugar", "lemon"):
        copied = build([f"{word} melts at 801 degrees."] * copies, apart=True)  # neighbours would tell them apart
        hits = copied.search(f"{word} degrees", k=copies)
        assert [hit.chunk for hit in hits] == list(range(copies))
        assert len({hit.score for hit in hits}) == 1


@pytest.mark.parametrize("k", [0, 1, 2, 30, 52, 99])
def test_equal_scores_keep_chunk_order_also_where_k_cuts_through_them(k):
    scores = np.array([1.0, -1.0, 3.0, 0.0, *[2.0] * 50])
    assert best_first(scores, k).tolist() == [2, *range(4, 54), 0][:k]


@pytest.mark.parametrize("question", ["", "  \n", "?!"])
def test_a_question_without_words_finds_nothing_or_little_but_never_fails(build, question):
    assert all(hit.score > 0 for hit in build(TEXTS).search(question, k=3))


def test_trust_lies_between_zero_and_one(build):
    for question in ("When does salt melt?", "Wann schmilzt Salz?", "量子计算", "", "?!"):
        assert 0 <= build(TEXTS).trust(question) <= 1


def test_a_retriever_carries_the_name_it_is_chosen_by(encoder):
    for name in retrievers.available():
        assert retrievers.build(name, Corpus([], Settings(), encoder, encoder.encode([]))).name == name


@pytest.mark.parametrize("name", ["bm26", "base", "", "../bm25"])
def test_an_unknown_retriever_is_refused_with_the_choices(name):
    with pytest.raises(SettingsError) as caught:
        retrievers.build(name, Corpus([], Settings()))
    assert str(caught.value) == f"There is no retriever {name!r}; choose from {', '.join(retrievers.available())}."
