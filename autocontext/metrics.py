"""How early a ranking holds a quote, and figures of many questions with their intervals.

A passage is relevant if it holds letters or digits of the quote; a quote that lies over two passages has two. The
intervals hold 95 % of 2,000 bootstrap resamples of the questions, drawn with a fixed seed: the same numbers give the
same interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from autocontext.datatypes import Chunk

CUTOFF = 10
_RESAMPLES, _SEED = 2_000, 0


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure and its 95 % interval; of tokens None stands for "not among the best passages"."""

    value: float | None
    low: float | None
    high: float | None


# --- one place in one ranking -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlaceScore:
    """How a ranking finds one place; `gains` are the new letters at each rank, `total` those of the quote."""

    gains: tuple[tuple[int, int], ...]  # (rank, letters), by rank
    ideal: tuple[int, ...]  # letters, richest first
    total: int

    @property
    def rank(self) -> int | None:
        """Of the first relevant passage."""
        return self.gains[0][0] if self.gains else None

    @property
    def complete(self) -> int | None:
        """Rank of the passage that completes the quote."""
        return self.gains[-1][0] if sum(gain for _, gain in self.gains) == self.total else None

    def recall(self, k: int) -> float:
        """Return the share of the letters in the best `k` passages."""
        return sum(gain for rank, gain in self.gains if rank <= k) / self.total

    @property
    def ndcg(self) -> float:
        """The gains by their ranks, against the best order; 0 to 1."""
        reached = sum(gain / math.log2(rank + 1) for rank, gain in self.gains if rank <= CUTOFF)
        best = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(self.ideal[:CUTOFF], start=1))
        return min(1.0, reached / best) if best else 0.0


def score_place(
    ranking: Sequence[Chunk], document: str, letters: frozenset[int], chunks: Sequence[Chunk]
) -> PlaceScore:
    """Return how `ranking` finds the `letters` of a document, given all `chunks` of this document."""
    first, last = min(letters), max(letters)
    relevant = [chunk for chunk in chunks if chunk.start <= last and first < chunk.end]
    held = {
        (chunk.start, chunk.end): frozenset(n for n in letters if chunk.start <= n < chunk.end) for chunk in relevant
    }
    gains: list[tuple[int, int]] = []
    rest = set(letters)
    for rank, chunk in enumerate(ranking, start=1):
        new = rest & held.get((chunk.start, chunk.end), frozenset()) if chunk.document == document else set()
        if new:
            gains.append((rank, len(new)))
            rest -= new
    return PlaceScore(tuple(gains), tuple(_richest_first(list(held.values()), set(letters))), len(letters))


def _richest_first(held: list[frozenset[int]], rest: set[int]) -> Iterator[int]:
    """Yield the gains of the order that takes what adds most first: with overlapping passages the usual ideal."""
    while held:
        best = max(held, key=lambda letters: len(letters & rest))
        gain = len(best & rest)
        if not gain:
            return
        yield gain
        rest -= best
        held.remove(best)


# --- figures of many questions ----------------------------------------------------------------------------------------


def _resamples(n: int) -> NDArray[np.int64]:
    """Return the questions of each resample, shape (n_resamples, n): the same for every system, so they are paired."""
    return np.random.default_rng(_SEED).integers(0, n, (_RESAMPLES, n))


def mean_figure(values: Sequence[float]) -> Figure:
    """Return the mean of at least one value."""
    means = np.asarray(values)[_resamples(len(values))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Figure(math.fsum(values) / len(values), float(low), float(high))


def median_figure(values: Sequence[int | None]) -> Figure:
    """Return the median of at least one value, of an even number the lower one; None counts as more than any number."""
    numbers = np.asarray([math.inf if value is None else value for value in values])
    middle = (len(numbers) - 1) // 2
    medians = np.sort(np.sort(numbers[_resamples(len(numbers))], axis=1)[:, middle])
    low, high = medians[int(0.025 * _RESAMPLES)], medians[int(0.975 * _RESAMPLES)]
    return Figure(*(int(n) if math.isfinite(n) else None for n in (np.sort(numbers)[middle], low, high)))


def auroc_figure(positive: Sequence[float], negative: Sequence[float]) -> Figure:
    """Return the chance that a positive one scores above a negative one, a tie counted half; both are resampled."""
    above, below = np.asarray(positive)[:, None], np.asarray(negative)[None, :]
    wins = (above > below) + 0.5 * (above == below)  # (positive, negative)
    counts = [_counts(len(side), seed) for seed, side in enumerate((positive, negative))]
    aurocs = ((counts[0] @ wins) * counts[1]).sum(axis=1) / wins.size
    low, high = np.quantile(aurocs, [0.025, 0.975])
    return Figure(float(wins.mean()), float(low), float(high))


def _counts(n: int, seed: int) -> NDArray[np.float64]:
    """Return how often each of `n` questions is in each resample, shape (n_resamples, n)."""
    drawn = np.random.default_rng(_SEED + seed).integers(0, n, (_RESAMPLES, n))
    counts = np.zeros((_RESAMPLES, n))
    np.add.at(counts, (np.arange(_RESAMPLES)[:, None], drawn), 1.0)
    return counts


def sign_test(wins: int, losses: int) -> float:
    """Return the two-sided p-value of so many wins and losses if either were as likely as the other.

    Examples
    --------
    >>> sign_test(8, 1)
    0.0390625
    """
    n = wins + losses
    tail = sum(math.comb(n, k) for k in range(min(wins, losses) + 1))
    return min(1.0, float(Fraction(2 * tail, 2**n)))
