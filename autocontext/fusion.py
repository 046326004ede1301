"""Make one ranking of several, by chunk number, so that every chunk keeps who found it and what each gave.

A retriever that did not return a chunk gives it nothing, and that is told apart from ranking it last.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from autocontext.datatypes import Chunk, Contribution, Evidence, Hit
from autocontext.settings import FusionMethod

RRF_CONSTANT = 60
_MANY = 10  # so many equal scores, with more behind them, say nothing
# What is left of a weight when the retriever cannot read the question: enough to rank what nobody else found, too
# little to overrule the other where it tells two chunks apart at all.
_LEAST_TRUST = 1e-6
# How two rankings are told from unrelated ones, by looking up the first hits of each in the best tenth of the other.
_COMPARED = 10
_ENOUGH = 250  # chunks; in fewer, ten hits are so much of the whole that little can be said
_IN_COMMON = 0.5  # of these, where both look for the same; medians of English sets: 0.45 to 1 between words and vectors
_IS_SOUND = 0.99  # before anything is seen: somebody chose this retriever


def reciprocal_rank_fusion(
    rankings: Mapping[str, Sequence[int]], weights: Mapping[str, float] | None = None, constant: int = RRF_CONSTANT
) -> list[tuple[int, float]]:
    """Fuse rankings of chunk numbers by weighted reciprocal rank fusion.

    Parameters
    ----------
    rankings
        By retriever: chunk numbers, best first, each at most once.
    weights
        By retriever, 0 or more; a missing one counts as 1, 0 removes the retriever.
    constant
        The larger, the less the first ranks stand out; above 0.

    Returns
    -------
    list[tuple[int, float]]
        Chunk number and the sum of ``weight / (constant + rank)``, ranks from 1; best first, ties by number.

    References
    ----------
    Cormack, Clarke and Buettcher, SIGIR 2009, doi:10.1145/1571941.1572114.

    Examples
    --------
    >>> reciprocal_rank_fusion({"bm25": [7, 3], "dense": [3]})[0]
    (3, 0.03252247488101534)
    """
    weights = weights or {}
    shares = {
        name: {chunk: weights.get(name, 1.0) / (constant + rank) for rank, chunk in enumerate(ranking, start=1)}
        for name, ranking in rankings.items()
        if weights.get(name, 1.0) > 0
    }
    return _totals(shares)


def weighted_fusion(
    scores: Mapping[str, Mapping[int, float]],
    weights: Mapping[str, float] | None = None,
    floors: Mapping[str, float] | None = None,
) -> list[tuple[int, float]]:
    """Fuse scores in different units as a weighted mean, each brought to 0..1 first.

    Parameters
    ----------
    scores
        By retriever: chunk number to score in the retriever's own unit.
    weights
        As in `reciprocal_rank_fusion`; only their proportions matter.
    floors
        By retriever: the score that becomes 0; a missing one is the lowest score returned.

    Returns
    -------
    list[tuple[int, float]]
        Chunk number and fused score, 0 to 1; best first, ties by number.

    Examples
    --------
    >>> weighted_fusion({"bm25": {1: 8.0, 2: 2.0}, "dense": {2: 0.6}}, floors={"bm25": 0.0, "dense": 0.0})
    [(2, 0.625), (1, 0.5)]
    """
    weights, floors = weights or {}, floors or {}
    used = {name: weights.get(name, 1.0) for name in scores if weights.get(name, 1.0) > 0}
    whole = math.fsum(used.values())
    shares = {
        name: _scaled(scores[name], floors.get(name, min(scores[name].values(), default=0.0)), weight / whole)
        for name, weight in used.items()
    }
    return _totals(shares)


def fuse(
    rankings: Mapping[str, Sequence[Hit]],
    chunks: Sequence[Chunk],
    *,
    method: FusionMethod,
    weights: Mapping[str, float],
    trust: Mapping[str, float],
    depth: int,
    limit: int | None = None,
) -> list[Evidence]:
    """Fuse the retrievers' hits into evidence, best first.

    Parameters
    ----------
    rankings
        Hits by retriever, best first.
    weights
        By retriever, 0 or more; a missing one counts as 1, 0 removes the retriever.
    trust
        By retriever, 0 to 1: how far it can judge this question. It scales the weight, down to a millionth. A retriever
        whose hits are no more like any other's than chance would have it is trusted less: of two that are unrelated,
        the one with the smaller weight, as far as the other can judge the question.
    depth
        How many hits each retriever was asked for: one that returned fewer has no others to give.
    limit
        How many to return; None for all.

    Returns
    -------
    list[Evidence]
        Every returned chunk once, or the first `limit`. The contributions of each add up to its score; ties are in
        chunk order.
    """
    effective = effective_weights(
        rankings, method=method, weights=weights, trust=trust, depth=depth, n_chunks=len(chunks)
    )
    if method == "scores":
        shares = {name: _score_shares(rankings[name], depth, weight) for name, weight in effective.items()}
    elif method == "ranks":
        shares = {
            name: {hit.chunk: weight / (RRF_CONSTANT + hit.rank) for hit in rankings[name]}
            for name, weight in effective.items()
        }
    else:
        shares = _union_shares({name: rankings[name] for name in effective})
    by_chunk = {name: {hit.chunk: hit for hit in rankings[name]} for name in effective}
    found: list[Evidence] = []
    for number, score in _totals(shares)[:limit]:
        hits = {name: of_name[number] for name, of_name in by_chunk.items() if number in of_name}
        contributions = tuple(Contribution(name, effective[name], shares[name].get(number, 0.0)) for name in hits)
        found.append(Evidence(chunks[number], score, hits, contributions))
    return found


def effective_weights(
    rankings: Mapping[str, Sequence[Hit]],
    *,
    method: FusionMethod,
    weights: Mapping[str, float],
    trust: Mapping[str, float],
    depth: int,
    n_chunks: int,
) -> dict[str, float]:
    """Return what each retriever's weight comes to for one question; those of weight 0 are not in it.

    Scaled by the trust, unless it is alone, and by how likely its ranking is more than noise; for ``"scores"`` they add
    up to 1.
    """
    if len(rankings) == 1:  # one retriever alone gives its own ranking
        trust = {}
    used = {name: weights.get(name, 1.0) for name in rankings if weights.get(name, 1.0) > 0}
    sound = _soundness({name: rankings[name] for name in used}, used, trust, depth, n_chunks)
    effective = {name: weight * max(trust.get(name, 1.0) * sound[name], _LEAST_TRUST) for name, weight in used.items()}
    whole = math.fsum(effective.values()) if method == "scores" else 1.0
    return {name: weight / whole for name, weight in effective.items()}


def _soundness(
    rankings: Mapping[str, Sequence[Hit]],
    weights: Mapping[str, float],
    trust: Mapping[str, float],
    depth: int,
    n_chunks: int,
) -> dict[str, float]:
    """Return for each retriever, 0 to 1, how likely its ranking is more than noise; 1 for the one that leads."""
    found = sorted(name for name, ranking in rankings.items() if ranking)  # products do not depend on their order
    pairs = {two: _related(rankings[two[0]], rankings[two[1]], depth, n_chunks) for two in combinations(found, 2)}
    related = {name: max((share for two, share in pairs.items() if name in two), default=1.0) for name in rankings}
    by_lead = sorted(rankings, key=lambda name: (-weights[name] * related[name], name))  # not by the order they come in
    leader = by_lead[0] if by_lead else ""
    doubt = trust.get(leader, 1.0) ** 2  # one that hardly knows the question's words cannot accuse another
    return {name: 1.0 if name == leader else 1 - doubt * (1 - share) for name, share in related.items()}


def _related(one: Sequence[Hit], other: Sequence[Hit], depth: int, n_chunks: int) -> float:
    """Return the probability that two rankings look for the same, by Bayes' rule from the hits that they share."""
    if depth < _COMPARED or n_chunks < _ENOUGH:
        return 1.0
    reach = min(depth, max(_COMPARED, n_chunks // 10))
    by_chance = reach / n_chunks
    odds = _IS_SOUND / (1 - _IS_SOUND)
    for first, second in ((one, other), (other, one)):
        best = {hit.chunk for hit in second[:reach]}
        held = [hit.chunk in best for hit in first[:_COMPARED]]
        odds *= math.prod(_IN_COMMON / by_chance if h else (1 - _IN_COMMON) / (1 - by_chance) for h in held)
    return odds / (1 + odds)


def _score_shares(ranking: Sequence[Hit], depth: int, weight: float) -> dict[int, float]:
    # What was not returned scored at most as much as the last hit, or nothing where the retriever had no more to give.
    floor = ranking[-1].score if len(ranking) >= depth else 0.0
    if len(ranking) >= depth >= _MANY and ranking[0].score == floor:  # all alike, and more of them: nothing is said
        return dict.fromkeys((hit.chunk for hit in ranking), 0.0)
    return _scaled({hit.chunk: hit.score for hit in ranking}, floor, weight)


def _scaled(scores: Mapping[int, float], floor: float, weight: float) -> dict[int, float]:
    spread = max(scores.values(), default=floor) - floor
    return {chunk: weight * ((score - floor) / spread if spread > 0 else 1.0) for chunk, score in scores.items()}


def _union_shares(rankings: Mapping[str, Sequence[Hit]]) -> dict[str, dict[int, float]]:
    """Put the lists one after the other; each place down scores less, for the retriever that came first."""
    shares: dict[str, dict[int, float]] = {}
    seen: set[int] = set()
    for name, ranking in rankings.items():
        shares[name] = {}
        for hit in ranking:
            if hit.chunk not in seen:
                seen.add(hit.chunk)
                shares[name][hit.chunk] = 1.0 / len(seen)
    return shares


def _totals(shares: Mapping[str, Mapping[int, float]]) -> list[tuple[int, float]]:
    totals: dict[int, float] = {}
    for by_chunk in shares.values():
        for chunk, share in by_chunk.items():
            totals[chunk] = totals.get(chunk, 0.0) + share
    if len(shares) > 2:  # a sum of two is the same in either order, others would hang on it
        parts = list(shares.values())
        totals = {chunk: math.fsum(part.get(chunk, 0.0) for part in parts) for chunk in totals}
    in_order = sorted(sorted(totals), key=totals.__getitem__, reverse=True)  # a stable sort: ties stay by number
    return [(chunk, totals[chunk]) for chunk in in_order]
