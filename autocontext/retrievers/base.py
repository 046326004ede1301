"""What every retriever is built from, and how scores become hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autocontext.datatypes import Chunk, Hit
from autocontext.protocols import Encoder, Vectors
from autocontext.settings import Settings


@dataclass(frozen=True, slots=True)
class Corpus:
    """The chunks to search, and what belongs to them.

    Attributes
    ----------
    vectors
        Shape (len(chunks), dim), one row a chunk, each of length 1; None without an encoder.
    """

    chunks: Sequence[Chunk]
    settings: Settings
    encoder: Encoder | None = None
    vectors: Vectors | None = None


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
