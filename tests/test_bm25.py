"""BM25 scores against a plain reading of the formula, and against rank_bm25 itself."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from autocontext import BM25Index, Settings
from autocontext.settings import BM25Options

CORPUS = [
    "salt melts at 801 degrees".split(),
    "salt salt salt and salt again and again until nobody can see the sea for all the salt".split(),
    "water boils".split(),
    "salt".split(),
    [],
]
WORDS = st.sampled_from("salt water melts boils sea".split())
CORPORA = st.lists(st.lists(WORDS, max_size=6), max_size=6)
K1, B = st.floats(0, 5), st.floats(0, 1)


def plain_scores(corpus, query, k1, b):
    """Read the formula word by word, as it stands in Robertson and Zaragoza with the idf of the docstring."""
    mean = sum(map(len, corpus)) / len(corpus) if corpus else 0.0
    scores = []
    for chunk in corpus:
        score = 0.0
        for word in query:
            n = sum(word in other for other in corpus)
            tf = chunk.count(word)
            idf = math.log(1 + (len(corpus) - n + 0.5) / (n + 0.5))
            if tf:
                score += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(chunk) / mean))
        scores.append(score)
    return scores


@given(corpus=CORPORA, query=st.lists(WORDS, max_size=5), k1=K1, b=B)
@settings(max_examples=150, deadline=None)
def test_scores_are_those_of_the_formula(corpus, query, k1, b):
    index = BM25Index(corpus, k1=k1, b=b)
    assert index.get_scores(query).tolist() == pytest.approx(plain_scores(corpus, query, k1, b))


# With k1 = 0 or b = 1 rank_bm25 divides 0 by 0 for an empty chunk.
@given(corpus=CORPORA.filter(any), query=st.lists(WORDS, max_size=5), k1=st.floats(0.01, 5), b=st.floats(0, 0.99))
@settings(max_examples=150, deadline=None)
def test_scores_are_those_of_rank_bm25_with_this_idf(corpus, query, k1, b):
    index, okapi = BM25Index(corpus, k1=k1, b=b), BM25Okapi(corpus, k1=k1, b=b)
    assert (index.corpus_size, index.avgdl, index.doc_len) == (okapi.corpus_size, okapi.avgdl, okapi.doc_len)
    okapi.idf = index.idf
    assert index.get_scores(query).tolist() == pytest.approx(okapi.get_scores(query).tolist())


def test_known_scores():
    top = BM25Index([["salt", "water"], ["sugar"]]).get_top_n(["salt"], 5)
    assert top == [(pytest.approx(math.log(2) * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 2 / 1.5))), 0)]


@pytest.mark.parametrize("corpus", [[["salt"]], [["salt"], ["salt"]], [["salt", "salt"], ["salt", "sea"]]])
def test_a_word_in_every_chunk_of_a_tiny_collection_is_still_found(corpus):
    top = BM25Index(corpus).get_top_n(["salt"], 5)
    assert sorted(chunk for _, chunk in top) == list(range(len(corpus)))
    assert all(score > 0 for score, _ in top)


@pytest.mark.parametrize("corpus", [[], [[]], [[], []]])
def test_nothing_is_found_where_there_are_no_words(corpus):
    index = BM25Index(corpus)
    assert index.get_scores(["salt"]).tolist() == [0.0] * len(corpus)
    assert index.get_top_n(["salt"], 5) == []
    assert index.idf_of(0) > 0


@pytest.mark.parametrize("query", [[], ["unheard"]])
def test_an_unknown_word_finds_nothing(query):
    assert BM25Index(CORPUS).get_top_n(query, 5) == []


def test_a_rare_word_outweighs_a_common_one():
    corpus = [["salt", "and"], ["sea", "and"], ["and"], ["and"]]
    assert [chunk for _, chunk in BM25Index(corpus).get_top_n(["and", "sea"], 1)] == [1]


def test_a_word_asked_twice_counts_twice():
    index = BM25Index(CORPUS)
    assert index.get_scores(["salt", "salt"]).tolist() == pytest.approx((2 * index.get_scores(["salt"])).tolist())


@pytest.mark.parametrize(
    ("k1", "b", "order"),
    [
        pytest.param(1.5, 0.75, [3, 1, 0], id="default"),
        pytest.param(1.5, 0.0, [1, 0, 3], id="length does not count"),
        pytest.param(0.0, 0.75, [0, 1, 3], id="repetition does not count"),
        pytest.param(100.0, 0.3, [1, 3, 0], id="repetition counts"),
    ],
)
def test_k1_and_b_change_the_order(k1, b, order):
    assert [chunk for _, chunk in BM25Index(CORPUS, k1=k1, b=b).get_top_n(["salt"], 5)] == order


def test_ties_keep_chunk_order_also_where_n_cuts_through_them():
    index = BM25Index([["sea"], ["salt"], ["salt"], ["salt"]])
    assert [chunk for _, chunk in index.get_top_n(["salt"], 2)] == [1, 2]


def test_the_settings_reach_the_index(make_context):
    files = {f"{n}.txt": " ".join(words) for n, words in enumerate(CORPUS) if words}
    for b, best in ((0.75, "3.txt"), (0.0, "1.txt")):
        ac = make_context(files, retrievers=("bm25",), bm25=BM25Options(b=b))
        assert ac.search("salt")[0].chunk.document == best
    assert Settings().bm25 == BM25Options(k1=1.5, b=0.75)
