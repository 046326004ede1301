"""What every retriever is built from, and how scores become hits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from autocontext.datatypes import Chunk, Hit
from autocontext.protocols import Encoder, Vectors
from autocontext.settings import Settings

_REACH = 600  # characters around a chunk, about a hundred words, that still speak of the same thing
_MOST_NEIGHBOURS = 4  # on either side


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
        self._near = [
            np.append((owners[n:] == owners[:-n]) & (starts[n:] - ends[:-n] < _REACH), np.zeros(n, bool))
            for n in range(1, min(_MOST_NEIGHBOURS, len(chunks) - 1) + 1)
        ]  # [n - 1][i]: whether chunks i and i + n are neighbours

    def of(self, rows: NDArray[np.intp]) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.intp]]]:
        """Yield, for each distance and side: which of `rows` have a neighbour there, and the numbers of these."""
        for distance, near in enumerate(self._near, start=1):
            after = near[rows]
            yield after, rows[after] + distance
            before = rows >= distance
            before[before] = near[rows[before] - distance]
            yield before, rows[before] - distance

    def mean(self, scores: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the mean over each chunk and its neighbours, shape (n_chunks,)."""
        total, count = scores.copy(), np.ones(len(scores), scores.dtype)
        for distance, near in enumerate(self._near, start=1):
            rows = np.flatnonzero(near)
            total[rows] += scores[rows + distance]
            total[rows + distance] += scores[rows]
            count[rows] += 1
            count[rows + distance] += 1
        return total / count


@dataclass(frozen=True)
class Corpus:
    """The chunks to search, and what belongs to them.

    Attributes
    ----------
    vectors
        Shape (len(chunks), dim), one row a chunk, each of length 1; None without an encoder.
    texts
        What is indexed of each chunk: its text, title and headings; None for the text alone.
    languages
        Of the documents, by name: ISO 639 codes, "" where unknown.
    """

    chunks: Sequence[Chunk]
    settings: Settings
    encoder: Encoder | None = None
    vectors: Vectors | None = None
    texts: Sequence[str] | None = None
    languages: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def neighbours(self) -> Neighbours:
        """Which chunks stand close to each other."""
        return Neighbours(self.chunks)


def best_first(scores: NDArray[np.floating], k: int) -> NDArray[np.intp]:
    """Return the indexes of the `k` highest scores above 0, best first; equal scores keep index order."""
    found = np.flatnonzero(scores > 0)
    if 0 < k < len(found):
        threshold = np.partition(scores[found], -k)[-k]
        found = found[scores[found] >= threshold]
    order = np.argsort(-scores[found], kind="stable")
    return found[order][: max(k, 0)]


def top_hits(retriever: str, scores: NDArray[np.floating], k: int) -> list[Hit]:
    """Return the `k` best chunks as hits; a score of 0 or less means "no match" and never becomes one."""
    return [
        Hit(retriever=retriever, chunk=int(chunk), rank=rank, score=float(scores[chunk]))
        for rank, chunk in enumerate(best_first(scores, k), start=1)
    ]
