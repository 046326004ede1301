"""Make one ranking of several, by chunk number, so that every chunk keeps who found it and what each gave.

A retriever that did not return a chunk gives it nothing, and that is told apart from ranking it last.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from autocontext.datatypes import Chunk, Contribution, Evidence, Hit
from autocontext.settings import FusionMethod

RRF_CONSTANT = 60
_MANY = 10  # so many equal scores, with more behind them, say nothing
# What is left of a weight when the retriever cannot read the question: enough to rank what nobody else found, too
# little to overrule the other.
_LEAST_TRUST = 0.001


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
        By retriever, 0 to 1: how far it can judge this question. It scales the weight, down to a thousandth.
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
    if len(rankings) == 1:  # one retriever alone gives its own ranking
        trust = {}
    effective = {
        name: weights.get(name, 1.0) * max(trust.get(name, 1.0), _LEAST_TRUST)
        for name in rankings
        if weights.get(name, 1.0) > 0
    }
    if method == "scores":
        whole = math.fsum(effective.values())
        effective = {name: weight / whole for name, weight in effective.items()}
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
    parts: dict[int, list[float]] = {}
    for by_chunk in shares.values():
        for chunk, share in by_chunk.items():
            parts.setdefault(chunk, []).append(share)
    totals = {chunk: math.fsum(given) for chunk, given in parts.items()}  # the same in whatever order they are added
    return sorted(totals.items(), key=lambda item: (-item[1], item[0]))
