"""The figures: exact on small rankings, and equal to those of trec_eval and scikit-learn."""

from __future__ import annotations

import math

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, R, nDCG
from sklearn.metrics import roc_auc_score

from autocontext.datatypes import Chunk
from autocontext.metrics import Figure, auroc_figure, mean_figure, median_figure, score_place, sign_test

LENGTH = 10


def cut(starts: list[int], length: int = LENGTH, document: str = "a") -> list[Chunk]:
    return [Chunk(n, document, "x" * length, start, start + length, 1) for n, start in enumerate(starts)]


CHUNKS = cut(list(range(0, 200, LENGTH)))  # chunk n holds the letters from 10 * n on
OTHERS = cut(list(range(0, 200, LENGTH)), document="b")


def place(order: list[int], start: int, end: int, chunks=CHUNKS):
    return score_place([chunks[n] for n in order], "a", frozenset(range(start, end)), chunks)


# ---- one place -------------------------------------------------------------------------------------------------------


def test_a_quote_in_one_passage_counts_where_that_passage_stands():
    found = place([5, 3, 2], 31, 36)
    assert (found.rank, found.complete) == (2, 2)
    assert [found.recall(k) for k in (1, 2, 3)] == [0.0, 1.0, 1.0]
    assert found.ndcg == 1 / math.log2(3)


def test_a_quote_over_two_passages_is_complete_with_the_second_and_counts_by_letters():
    found = place([4, 9, 3], 38, 46)  # 2 letters in chunk 3, 6 in chunk 4
    assert (found.rank, found.complete) == (1, 3)
    assert [found.recall(k) for k in (1, 2, 3)] == [0.75, 0.75, 1.0]
    assert found.ndcg == pytest.approx((6 + 2 / 2) / (6 + 2 / math.log2(3)))


def test_overlapping_passages_count_each_letter_once():
    overlapping = cut([0, 5, 10])
    found = place([0, 1, 2], 6, 10, overlapping)
    assert (found.rank, found.complete, found.ndcg) == (1, 1, 1.0)
    assert place([2, 1], 6, 10, overlapping).complete == 2


def test_what_is_not_found_is_zero_and_never_complete():
    found = place([7, 8], 31, 36)
    assert (found.rank, found.complete, found.recall(10), found.ndcg) == (None, None, 0.0, 0.0)
    half = place([3], 38, 46)
    assert (half.rank, half.complete, half.recall(10)) == (1, None, 0.25)


def test_the_same_offsets_of_another_document_are_no_answer():
    assert score_place(OTHERS, "a", frozenset(range(31, 36)), CHUNKS).rank is None


def test_ndcg_looks_at_ten_passages():
    assert place([*range(10), 15], 151, 155).ndcg == 0.0
    assert place([*range(9), 15], 151, 155).ndcg == pytest.approx(1 / math.log2(11))


@given(st.permutations(range(20)), st.integers(0, 190), st.integers(1, 60))
def test_the_figures_are_those_of_trec_eval(order, start, length):
    end = min(200, start + length)
    found = place(order, start, end)
    held = {n: min(end, 10 * n + 10) - max(start, 10 * n) for n in range(20)}
    grades = [ir_measures.Qrel("q", str(n), letters) for n, letters in held.items() if letters > 0]
    run = [ir_measures.ScoredDoc("q", str(n), 100.0 - rank) for rank, n in enumerate(order)]
    theirs = ir_measures.calc_aggregate([nDCG @ 10, RR, R @ 1, R @ 3, R @ 5, R @ 10], grades, run)
    assert found.ndcg == pytest.approx(theirs[nDCG @ 10])
    assert 1 / found.rank == pytest.approx(theirs[RR])
    if len(grades) == 1:  # trec_eval counts relevant passages, we letters: the same where one holds the quote
        assert [found.recall(k) for k in (1, 3, 5, 10)] == [theirs[R @ k] for k in (1, 3, 5, 10)]


@given(st.permutations(range(20)), st.integers(0, 195), st.integers(1, 60), st.sampled_from([4, 10, 15]))
def test_figures_stay_between_0_and_1_and_recall_only_grows(order, start, length, size):
    chunks = cut(list(range(0, 200, LENGTH)), size)
    found = place(order, start, min(200, start + length), chunks)
    recalls = [found.recall(k) for k in range(1, 21)]
    assert recalls == sorted(recalls)
    assert all(0 <= value <= 1 for value in [*recalls, found.ndcg])
    assert (found.complete is not None) == (recalls[-1] == 1)
    assert found.complete is None or found.complete >= found.rank


# ---- many questions --------------------------------------------------------------------------------------------------


def test_the_interval_of_equal_values_is_the_value():
    assert mean_figure([0.5] * 7) == Figure(0.5, 0.5, 0.5)
    assert median_figure([None]) == Figure(None, None, None)


def test_an_interval_is_the_same_each_time_and_holds_the_mean():
    values = [0.0, 1.0, 1.0, 0.5, 1.0, 0.0, 1.0, 0.2]
    first = mean_figure(values)
    assert first == mean_figure(list(values))
    assert first.value == pytest.approx(sum(values) / 8)
    assert 0.2 < first.low < first.value < first.high < 0.95


def test_the_interval_of_a_mean_is_as_wide_as_statistics_say():
    values = [n / 199 for n in range(200)]
    figure = mean_figure(values)
    half_width = 1.96 * math.sqrt(1 / 12) / math.sqrt(200)
    assert (figure.high - figure.low) / 2 == pytest.approx(half_width, rel=0.1)


def test_the_median_counts_what_was_not_found_as_the_most():
    assert median_figure([30, None, 10, 20, None]).value == 30
    assert median_figure([40, 10, 30, 20]).value == 20
    assert median_figure([None, None, 10]).value is None


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_auroc_is_that_of_scikit_learn(positive, negative):
    theirs = roc_auc_score([1] * len(positive) + [0] * len(negative), positive + negative)
    figure = auroc_figure(positive, negative)
    assert figure.value == pytest.approx(theirs)
    assert 0 <= figure.low <= figure.high <= 1


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [(0, 0, 1.0), (3, 3, 1.0), (1, 0, 1.0), (6, 0, 0.03125), (0, 6, 0.03125), (8, 1, 0.0390625)],
)
def test_the_sign_test_is_the_binomial_one(wins, losses, p):
    assert sign_test(wins, losses) == p
    assert sign_test(2_000, 1_000) < 1e-70
