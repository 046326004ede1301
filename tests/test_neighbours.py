"""Which chunks stand close to each other, and what that gives: one document, a few hundred characters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocontext import Settings, retrievers
from autocontext.datatypes import Chunk
from autocontext.retrievers.base import Corpus, Neighbours, best_first


def laid_out(*places):
    """Make chunks of ``(document, start, end)``."""
    return [Chunk(n, name, "x", start, end, 1) for n, (name, start, end) in enumerate(places)]


def pairs(chunks, rows=None):
    """Return who gets something of whom: found by looking at all chunks, and again by looking at one alone."""
    neighbours, found = Neighbours(chunks), []
    for row in range(len(chunks)) if rows is None else rows:
        one = np.zeros(len(chunks), np.float32)
        one[row] = 1
        of_all = neighbours.sums(one).tolist()
        where, values = neighbours.spread(np.array([row]), np.ones(1, np.float32), 0.5)
        spread = np.zeros(len(chunks), np.float32)
        spread[where] = values
        assert spread.tolist() == (one + 0.5 * np.array(of_all)).tolist()
        found += [(row, number) for number, value in enumerate(of_all) if value]
    return sorted(found)


def plain_pairs(chunks):
    return sorted(
        (a.number, b.number)
        for a in chunks
        for b in chunks
        if a.document == b.document
        and 0 < abs(a.number - b.number) <= 4
        and max(a.start, b.start) - (b if a.number > b.number else a).end < 600
    )


THREE_AND_ONE = laid_out(("a.txt", 0, 100), ("a.txt", 101, 200), ("a.txt", 201, 300), ("b.txt", 0, 100))


def test_a_small_example():
    assert pairs(THREE_AND_ONE) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    assert pairs(THREE_AND_ONE, [2, 3]) == [(2, 0), (2, 1)]
    mean = Neighbours(THREE_AND_ONE).mean(np.array([0.9, 0.3, 0.0, 0.5]))
    assert mean.tolist() == pytest.approx([0.4, 0.4, 0.4, 0.5])


def test_documents_never_mix():
    chunks = laid_out(*((f"{n % 2}.txt", 10 * n, 10 * n + 9) for n in range(2)), *(("2.txt", 0, 9) for _ in range(1)))
    assert pairs(chunks) == []
    scores = np.array([1.0, 0.0, 0.5])
    assert Neighbours(chunks).mean(scores).tolist() == scores.tolist()


@pytest.mark.parametrize(("gap", "near"), [(0, True), (599, True), (600, False), (5000, False)])
def test_six_hundred_characters_are_the_reach(gap, near):
    chunks = laid_out(("a.txt", 0, 50), ("a.txt", 50 + gap, 100 + gap))
    assert pairs(chunks) == ([(0, 1), (1, 0)] if near else [])


def test_at_most_four_on_either_side():
    chunks = laid_out(*(("a.txt", 10 * n, 10 * n + 9) for n in range(12)))
    assert [b for a, b in pairs(chunks) if a == 6] == [2, 3, 4, 5, 7, 8, 9, 10]
    assert [b for a, b in pairs(chunks) if a == 0] == [1, 2, 3, 4]
    assert [b for a, b in pairs(chunks) if a == 11] == [7, 8, 9, 10]


def test_chunks_that_overlap_are_neighbours():
    assert pairs(laid_out(("a.txt", 0, 50), ("a.txt", 30, 90))) == [(0, 1), (1, 0)]


@pytest.mark.parametrize("count", [0, 1])
def test_none_and_one_chunk_have_no_neighbours(count):
    chunks = laid_out(("a.txt", 0, 50))[:count]
    assert pairs(chunks) == []
    assert Neighbours(chunks).mean(np.ones(count)).tolist() == [1.0] * count


@st.composite
def collections(draw):
    places = []
    for number in range(draw(st.integers(0, 4))):
        start = 0
        for _ in range(draw(st.integers(1, 8))):
            length = draw(st.integers(1, 400))
            places.append((f"{number}.txt", start, start + length))
            start += length + draw(st.integers(0, 700))
    return laid_out(*places)


@given(collections(), st.randoms())
@settings(max_examples=120)
def test_neighbours_are_those_of_the_plain_rule(chunks, random):
    expected = plain_pairs(chunks)
    assert pairs(chunks) == expected
    scores = np.array([random.random() for _ in chunks])
    near = {chunk.number: [b for a, b in expected if a == chunk.number] for chunk in chunks}
    means = [np.mean([scores[n], *scores[near[n]]]) for n in near]
    assert Neighbours(chunks).mean(scores).tolist() == pytest.approx(means)


@given(st.integers(0, 60_000), st.integers(0, 40), st.integers(1, 5000), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_the_best_are_those_of_a_full_sort(count, k, kinds, seed):
    scores = np.random.default_rng(seed).integers(-1, kinds, count).astype(np.float32)  # many alike
    expected = [n for n in np.argsort(-scores, kind="stable")[:k].tolist() if scores[n] > 0]
    assert best_first(scores, k).tolist() == expected


def test_the_dense_score_is_seven_tenths_its_own_and_three_tenths_the_mean(encoder):
    texts = ["Salt melts.", "Boats sail on the sea.", "Salt."]
    chunks = [Chunk(n, name, text, 0, len(text), 1) for n, (name, text) in enumerate(zip("aab", texts, strict=True))]
    vectors = encoder.encode(texts)
    first, second, third = (vectors @ encoder.encode(["Salt melts."])[0]).tolist()
    hits = retrievers.build("dense", Corpus(chunks, Settings(), encoder, vectors)).search("Salt melts.", 3)
    mean = (first + second) / 2
    expected = {0: 0.7 * first + 0.3 * mean, 1: 0.7 * second + 0.3 * mean, 2: third}
    assert {hit.chunk: hit.score for hit in hits} == pytest.approx(
        {n: s for n, s in expected.items() if s > 0}, abs=1e-5
    )
