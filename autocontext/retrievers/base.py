"""What every retriever is built from, and how scores become hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from autocontext.datatypes import Chunk, Hit
from autocontext.protocols import Encoder, Vectors
from autocontext.settings import Settings
from autocontext.stemming import index_terms
from autocontext.vector_pool import VectorRows
from autocontext.words import Postings, Vocabulary, WordCounts, count_words

_REACH = 600  # characters around a chunk, about a hundred words, that still speak of the same thing
_MOST_NEIGHBOURS = 4  # on either side
_PARTS = 8  # times as many as wanted: two good scores then seldom meet in one part
_FEW = 20  # of so many chunks less than one: looking at these alone is quicker than at all


class Neighbours:
    """Which chunks stand close to each other in one document.

    A passage is understood with what surrounds it: a sentence that answers a question often leaves its subject to the
    sentences before.
    """

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        starts = np.fromiter((chunk.start for chunk in chunks), np.int64, len(chunks))
        ends = np.fromiter((chunk.end for chunk in chunks), np.int64, len(chunks))
        numbers: dict[str, int] = {}
        owners = np.fromiter((numbers.setdefault(chunk.document, len(numbers)) for chunk in chunks), np.int64)
        near = [
            (owners[n:] == owners[:-n]) & (starts[n:] - ends[:-n] < _REACH)
            for n in range(1, min(_MOST_NEIGHBOURS, len(chunks) - 1) + 1)
        ]  # [n - 1][i]: whether chunks i and i + n are neighbours; if they are, so are those between
        self._near = [mask.astype(np.float32) for mask in near]
        self._before, self._after = np.zeros(len(chunks), np.int64), np.zeros(len(chunks), np.int64)
        for distance, mask in enumerate(near, start=1):
            self._after[:-distance] += mask
            self._before[distance:] += mask

    def sums(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the sum over each chunk's neighbours, without its own value; shape (n_chunks,)."""
        total, part = np.zeros_like(values), np.empty_like(values)
        for distance, near in enumerate(self._near, start=1):
            shares = part[distance:]
            total[:-distance] += np.multiply(values[distance:], near, out=shares)
            total[distance:] += np.multiply(values[:-distance], near, out=shares)
        return total

    def spread(
        self, rows: NDArray[np.integer], values: NDArray[np.float32], weight: float
    ) -> tuple[NDArray[np.integer] | slice, NDArray[np.float32]]:
        """Add to each chunk's value the `weight` of its neighbours', where only the chunks `rows` have one, each once.

        Returns
        -------
        tuple[NDArray | slice, NDArray]
            Which chunks get a value, some of them maybe more than once, and the value of each of these; all others
            have 0.
        """
        total = np.zeros(len(self._after), np.float32)
        if len(rows) * _FEW > len(total):
            total[rows] = values
            total += np.float32(weight) * self.sums(total)
            return slice(None), total
        before = self._before[rows]
        lengths = before + self._after[rows] + 1
        ends = np.cumsum(lengths)
        near = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths - rows + before, lengths)
        np.add.at(total, near, np.repeat(np.float32(weight) * values, lengths))
        total[rows] += np.float32(1 - weight) * values
        return near, total[near]

    def mean(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the mean over each chunk and its neighbours, shape (n_chunks,)."""
        means: NDArray[np.float32] = self.sums(scores) + scores
        means /= self._before + self._after + 1
        return means


@dataclass(frozen=True)
class Corpus:
    """The chunks to search, and what belongs to them.

    Attributes
    ----------
    vectors
        Shape (len(chunks), dim), one row a chunk, each of length 1, or none yet; None without an encoder.
    words
        What is indexed of each document, in the chunks' order; None for the words of the chunks' text alone.
    vocabulary
        Numbers of words that are known from an earlier state of the collection.
    languages
        Of the documents, by name: ISO 639 codes, "" where unknown.
    known_neighbours
        Of these chunks, if they were found before.
    """

    chunks: Sequence[Chunk]
    settings: Settings
    encoder: Encoder | None = None
    vectors: Vectors | VectorRows | None = None
    words: Sequence[WordCounts] | None = None
    vocabulary: Vocabulary | None = None
    languages: Mapping[str, str] = field(default_factory=dict)
    known_neighbours: Neighbours | None = None

    @cached_property
    def neighbours(self) -> Neighbours:
        """Which chunks stand close to each other."""
        return self.known_neighbours or Neighbours(self.chunks)

    @cached_property
    def postings(self) -> Postings:
        """Which chunks hold which index terms."""
        words = self.words
        if words is None:
            terms = (index_terms(chunk.text, self.languages.get(chunk.document, "")) for chunk in self.chunks)
            words = [count_words(terms)]
        return Postings(words, self.vocabulary)


def best_first(scores: NDArray[np.floating], k: int) -> NDArray[np.intp]:
    """Return the indexes of the `k` highest scores above 0, best first; equal scores keep index order."""
    least = _reached(scores, k)
    found = np.flatnonzero(scores >= least if least > 0 else scores > 0)
    if 0 < k < len(found):
        threshold = np.partition(scores[found], -k)[-k]
        found = found[scores[found] >= threshold]
    order = np.argsort(-scores[found], kind="stable")
    return found[order][: max(k, 0)]


def _reached(scores: NDArray[np.floating], k: int) -> float:
    """Return a score that at least `k` reach, close to the k-th highest; 0 where to look for one does not pay.

    Of any parts that the scores are dealt out to, as many as `k` have a highest score that is at least the k-th highest
    of these.
    """
    parts = _PARTS * k
    width = len(scores) // parts if k > 0 else 0
    if width < 2:
        return 0.0
    highest = scores[: parts * width].reshape(width, parts).max(axis=0)
    return float(np.partition(highest, -k)[-k])


def top_hits(retriever: str, scores: NDArray[np.floating], k: int) -> list[Hit]:
    """Return the `k` best chunks as hits; a score of 0 or less means "no match" and never becomes one."""
    best = best_first(scores, k)
    ranked = enumerate(zip(best.tolist(), scores[best].tolist(), strict=True), start=1)
    return [Hit(retriever, chunk, rank, score) for rank, (chunk, score) in ranked]
