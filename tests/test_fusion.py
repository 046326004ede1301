"""Fusion: exact scores, and that every score is explained by its contributions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocontext import reciprocal_rank_fusion, weighted_fusion
from autocontext.datatypes import Chunk, Hit
from autocontext.fusion import _LEAST_TRUST, fuse

METHODS = ("scores", "ranks", "union")
CHUNKS = [Chunk(n, "a.txt", f"Text {n}.", n, n + 1, 1) for n in range(20)]


def hits(name, *scores_by_chunk):
    """Make the ranking ``hits("bm25", (7, 8.0), (3, 2.0))``."""
    return [Hit(name, chunk, rank, score) for rank, (chunk, score) in enumerate(scores_by_chunk, start=1)]


def fused(rankings, method="scores", *, weights=None, trust=None, depth=100):
    return fuse(rankings, CHUNKS, method=method, weights=weights or {}, trust=trust or {}, depth=depth)


def scores(evidence):
    return [(item.chunk.number, item.score) for item in evidence]


@st.composite
def rankings(draw, names=("bm25", "dense")):
    made = {}
    for name in names:
        chunks = draw(st.lists(st.integers(0, 19), unique=True, max_size=12))
        values = sorted(draw(st.lists(st.integers(1, 40), min_size=len(chunks), max_size=len(chunks))), reverse=True)
        made[name] = hits(name, *zip(chunks, [value / 8 for value in values], strict=True))
    return made


TWO = {"bm25": hits("bm25", (0, 8.0), (1, 2.0)), "dense": hits("dense", (1, 0.6), (2, 0.3))}


def test_reciprocal_rank_fusion_adds_one_over_sixty_plus_rank():
    assert reciprocal_rank_fusion({"bm25": [7, 3], "dense": [3]}) == [(3, 1 / 62 + 1 / 61), (7, 1 / 61)]


def test_reciprocal_rank_fusion_with_weights_and_another_constant():
    both = {"bm25": [7, 3], "dense": [3], "none": [9]}
    assert reciprocal_rank_fusion(both, {"bm25": 4.0, "none": 0.0}, constant=1) == [(7, 2.0), (3, 4 / 3 + 1 / 2)]


def test_weighted_fusion_is_the_weighted_mean_of_scaled_scores():
    both = {"bm25": {1: 8.0, 2: 2.0}, "dense": {2: 0.6, 3: 0.2}}
    assert weighted_fusion(both) == [(1, 0.5), (2, 0.5), (3, 0.0)]
    assert weighted_fusion(both, floors={"bm25": 0.0, "dense": 0.0}) == [
        (2, pytest.approx(0.5 * 0.25 + 0.5)),
        (1, 0.5),
        (3, pytest.approx(0.5 / 3)),
    ]
    assert weighted_fusion(both, {"bm25": 30.0, "dense": 10.0}) == [(1, 0.75), (2, 0.25), (3, 0.0)]
    assert weighted_fusion(both, {"dense": 0.0}) == [(1, 1.0), (2, 0.0)]


@pytest.mark.parametrize("function", [reciprocal_rank_fusion, weighted_fusion])
def test_ties_go_by_chunk_number_and_nothing_fuses_to_nothing(function):
    assert function({}) == []
    assert function({"bm25": {}, "dense": {}}) == []
    assert [chunk for chunk, _ in function({"b": {5: 1.0}, "a": {3: 1.0}})] == [3, 5]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("scores", [(1, 0.5 * 0.25 + 0.5), (0, 0.5), (2, 0.25)]),
        ("ranks", [(1, 1 / 62 + 1 / 61), (0, 1 / 61), (2, 1 / 62)]),
        ("union", [(0, 1.0), (1, 1 / 2), (2, 1 / 3)]),
    ],
)
def test_each_method_has_its_exact_scores(method, expected):
    assert scores(fused(TWO, method)) == expected


def test_a_retriever_with_more_to_give_is_scaled_from_its_last_hit():
    assert scores(fused(TWO, depth=2)) == [(0, 0.5), (1, 0.5), (2, 0.0)]


def test_equal_scores_count_in_full():
    assert scores(fused({"bm25": hits("bm25", (4, 2.0), (9, 2.0)), "dense": []}, depth=2)) == [(4, 0.5), (9, 0.5)]


@pytest.mark.parametrize("method", METHODS)
@given(
    made=rankings(),
    weights=st.dictionaries(st.sampled_from(["bm25", "dense"]), st.floats(0.01, 100)),
    trust=st.dictionaries(st.sampled_from(["bm25", "dense"]), st.floats(0, 1)),
    depth=st.integers(1, 20),
)
@settings(max_examples=80)
def test_contributions_add_up_to_the_score_and_every_hit_is_kept(method, made, weights, trust, depth):
    evidence = fused(made, method, weights=weights, trust=trust, depth=depth)
    for item in evidence:
        assert sum(part.share for part in item.contributions) == pytest.approx(item.score, abs=1e-9)
        assert [part.retriever for part in item.contributions] == list(item.hits)
        assert list(item.hits) == [name for name in made if name in item.hits]
        assert all(hit == made[name][hit.rank - 1] for name, hit in item.hits.items())
    assert sum(len(item.hits) for item in evidence) == sum(map(len, made.values()))
    assert len({item.chunk.number for item in evidence}) == len(evidence)
    order = [(-item.score, item.chunk.number) for item in evidence]
    assert order == sorted(order)


@pytest.mark.parametrize("method", ["scores", "ranks"])
@given(made=rankings(), weight=st.floats(0.1, 10), trust=st.floats(0, 1))
@settings(max_examples=60)
def test_the_order_of_the_retrievers_does_not_matter(method, made, weight, trust):
    more = {"weights": {"bm25": weight}, "trust": {"dense": trust}}
    turned = dict(reversed(made.items()))
    assert scores(fused(made, method, **more)) == scores(fused(turned, method, **more))


@given(made=rankings(names=("dense", "bm25")))
@settings(max_examples=60)
def test_the_union_is_one_list_after_the_other_each_chunk_once(made):
    joined = dict.fromkeys(hit.chunk for ranking in made.values() for hit in ranking)
    assert [item.chunk.number for item in fused(made, "union")] == list(joined)


@pytest.mark.parametrize("method", METHODS)
def test_weight_zero_removes_a_retriever(method):
    evidence = fused(TWO, method, weights={"dense": 0.0})
    assert [item.chunk.number for item in evidence] == [0, 1]
    assert [list(item.hits) for item in evidence] == [["bm25"], ["bm25"]]


@pytest.mark.parametrize(("method", "heavy"), [("scores", 10.0), ("ranks", 2.0)])
def test_weights_change_the_ranking(method, heavy):
    ranked = {"bm25": hits("bm25", (0, 8.0), (1, 7.0)), "dense": hits("dense", (1, 0.6), (0, 0.5))}
    for weights, best in (({"bm25": heavy}, 0), ({"dense": heavy}, 1)):
        assert fused(ranked, method, weights=weights)[0].chunk.number == best


@pytest.mark.parametrize("method", METHODS)
def test_a_chunk_that_was_not_returned_has_no_hit(method):
    by_number = {item.chunk.number: item for item in fused(TWO, method)}
    assert {number: list(item.hits) for number, item in by_number.items()} == {
        0: ["bm25"],
        1: ["bm25", "dense"],
        2: ["dense"],
    }
    assert set(by_number) == {0, 1, 2}


@pytest.mark.parametrize("method", METHODS)
@given(made=rankings(names=("bm25",)), depth=st.integers(1, 20), trust=st.floats(0, 1))
@settings(max_examples=50)
def test_a_single_retriever_keeps_its_own_order(method, made, depth, trust):
    made = {"bm25": sorted(made["bm25"], key=lambda hit: (-hit.score, hit.chunk))}
    made = {"bm25": hits("bm25", *((hit.chunk, hit.score) for hit in made["bm25"]))}
    evidence = fused(made, method, depth=depth, trust={"bm25": trust})
    assert [item.hits["bm25"].rank for item in evidence] == list(range(1, len(evidence) + 1))
    assert [item.contributions[0].weight for item in evidence] == [1.0] * len(evidence)


@pytest.mark.parametrize(("trust", "kept"), [(1.0, 1.0), (0.5, 0.5), (0.05, 0.05), (0.0, _LEAST_TRUST)])
def test_trust_scales_the_weight_but_leaves_a_little(trust, kept):
    assert kept > 0
    assert _LEAST_TRUST <= 0.01
    ranks = fused(TWO, "ranks", weights={"dense": 3.0}, trust={"dense": trust})
    assert dict(scores(ranks))[2] == pytest.approx(3 * kept / 62)
    by_score = dict(scores(fused(TWO, trust={"dense": trust})))
    assert by_score[0] == pytest.approx(1 / (1 + kept))
    assert by_score[2] == pytest.approx(0.5 * kept / (1 + kept))


@pytest.mark.parametrize("method", METHODS)
def test_empty_rankings_give_no_evidence(method):
    assert fused({"bm25": [], "dense": []}, method) == []
    assert scores(fused({"bm25": [], "dense": TWO["dense"]}, method))[0][0] == 1


@pytest.mark.parametrize("method", METHODS)
def test_weights_of_zero_for_all_give_no_evidence(method):
    assert fused(TWO, method, weights={"bm25": 0.0, "dense": 0.0}) == []
