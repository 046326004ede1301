"""The vectors of a collection in memory, one row for each different text.

They are kept in half precision: a component of a vector of length 1 changes by a two-thousandth of itself, a cosine by
less than 0.0001, and both the memory and the time to read it are halved (docs/decisions/017).
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autocontext.protocols import Vectors

_FIRST_BLOCK, _LARGEST_BLOCK = 1 << 12, 1 << 17  # rows: each block is as long as all before it, up to a size


class VectorPool:
    """Vectors by the hash of their text, in blocks; rows are added and never moved."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}
        self._blocks: list[NDArray[np.float16]] = []
        self._firsts: list[int] = []  # the place of each block's first row
        self._growing = threading.Lock()

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, text_hash: object) -> bool:
        return text_hash in self._places

    def add(self, rows: Mapping[bytes, Vectors]) -> None:
        """Take vectors in; those of known texts are left as they are."""
        with self._growing:
            for text_hash, row in rows.items():
                place = len(self._places)
                if text_hash in self._places:
                    continue
                if not self._blocks or place == self._firsts[-1] + len(self._blocks[-1]):
                    size = min(max(_FIRST_BLOCK, place), _LARGEST_BLOCK)
                    self._blocks.append(np.empty((size, len(row)), np.float16))
                    self._firsts.append(place)
                self._blocks[-1][place - self._firsts[-1]] = row
                self._places[text_hash] = place  # last: who finds it finds its row

    def get(self, hashes: Iterable[bytes]) -> dict[bytes, Vectors]:
        """Return the known ones of these."""
        places = ((text_hash, self._places.get(text_hash)) for text_hash in hashes)
        return {text_hash: self.row(place) for text_hash, place in places if place is not None}

    def row(self, place: int) -> Vectors:
        """Return the vector in a place, shape (dim,)."""
        block = bisect_right(self._firsts, place) - 1
        row: Vectors = self._blocks[block][place - self._firsts[block]].astype(np.float32)
        return row

    def places(self, hashes: Sequence[bytes]) -> NDArray[np.int32]:
        """Return where the vectors of these texts are; -1 for those that are not here."""
        return np.fromiter((self._places.get(text_hash, -1) for text_hash in hashes), np.int32, len(hashes))

    def dot(self, vector: Vectors) -> Vectors:
        """Return the product of every row with `vector`, shape (n_rows,)."""
        import numkong  # numpy's own product of halves is twenty times slower

        count = len(self._places)
        products = np.empty(count, np.float32)
        asked = vector.astype(np.float16)[np.newaxis]
        for first, block in zip(self._firsts, self._blocks, strict=False):
            last = min(first + len(block), count)
            if last > first:
                products[first:last] = np.asarray(numkong.cdist(asked, block[: last - first], "dot"))[0]
        return products

    def copy(self) -> VectorPool:
        """Return a pool with the same vectors, that grows by itself."""
        with self._growing:
            other = VectorPool()
            other._places = dict(self._places)
            other._firsts = list(self._firsts)
            other._blocks = [*self._blocks[:-1], *(block.copy() for block in self._blocks[-1:])]
            return other

    def only(self, hashes: Collection[bytes]) -> VectorPool:
        """Return a pool with the known ones of these alone."""
        smaller = VectorPool()
        smaller.add(self.get(dict.fromkeys(hashes)))
        return smaller


class VectorRows:
    """The vectors of a list of texts, as rows of a matrix that lies in a pool.

    A text that is not embedded yet has a row of zeros, until it is.
    """

    def __init__(self, pool: VectorPool, hashes: Sequence[bytes]) -> None:
        self._pool = pool
        self._hashes = hashes
        self._found = self._look(pool.places(hashes))

    def _look(self, places: NDArray[np.int32]) -> _Found:
        """Return where the texts are, looking for those that were not embedded when they were looked for last."""
        missing = np.flatnonzero(places < 0)
        if len(missing):
            places = places.copy()
            places[missing] = self._pool.places([self._hashes[int(number)] for number in missing])
            missing = np.flatnonzero(places < 0)
        in_order = not len(missing) and bool(np.all(places == np.arange(len(places))))
        return _Found(places, missing, in_order)

    def __len__(self) -> int:
        return len(self._hashes)

    def __getitem__(self, number: int) -> Vectors | None:
        """Return the vector of one text, shape (dim,); None while it is not embedded."""
        place = int(self._found.places[number])
        return self._pool.row(place) if place >= 0 else None

    def __matmul__(self, vector: Vectors) -> Vectors:
        found = self._found  # read once: several threads may ask
        if len(found.missing):
            found = self._found = self._look(found.places)
        products = self._pool.dot(vector)
        if found.in_order:
            return products[: len(found.places)]
        if not len(products):
            return np.zeros(len(found.places), np.float32)
        of_texts = products[found.places]
        of_texts[found.missing] = 0
        return of_texts


class _Found(NamedTuple):
    """Where the texts of `VectorRows` are in the pool: -1 for the `missing` ones; `in_order`: all, from 0 on."""

    places: NDArray[np.int32]
    missing: NDArray[np.intp]
    in_order: bool
