"""The words of documents, counted once: what every index over words is put together from."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.unsignedinteger]

_HEADER = 5  # numbers in front of a blob: chunks, pairs, bytes of the vocabulary, bytes of a word's number, of a count


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class WordCounts:
    """How often each word stands in each chunk of one document.

    Attributes
    ----------
    vocabulary
        The document's distinct words.
    words, counts
        Shape (n_pairs,): a word's place in the vocabulary, and how often it stands in the chunk; chunk by chunk. Of the
        smallest type that holds them.
    starts
        Shape (n_chunks + 1,): the pairs of chunk i are those from ``starts[i]`` to ``starts[i + 1]``.
    """

    vocabulary: tuple[str, ...]
    words: Numbers
    counts: Numbers
    starts: NDArray[np.int32]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Words in each chunk, shape (n_chunks,)."""
        summed = np.concatenate(([0], np.cumsum(self.counts, dtype=np.int64)))
        return summed[self.starts[1:]] - summed[self.starts[:-1]]

    def to_bytes(self) -> bytes:
        """Return it for a file; `from_bytes` reads it."""
        vocabulary = "\n".join(self.vocabulary).encode("utf-8", "surrogatepass")
        sizes = (self.words.itemsize, self.counts.itemsize)
        header = np.asarray((len(self.starts) - 1, len(self.words), len(vocabulary), *sizes))
        parts = ((header, 4), (self.starts, 4), (self.words, sizes[0]), (self.counts, sizes[1]))
        return b"".join([*(part.astype(f"<u{size}").tobytes() for part, size in parts), vocabulary])

    @staticmethod
    def from_bytes(data: bytes, n_chunks: int) -> WordCounts | None:
        """Return what `to_bytes` wrote of a document of so many chunks; None if these bytes can be no such thing."""
        if len(data) < 4 * _HEADER:
            return None
        chunks, pairs, letters, *sizes = map(int, np.frombuffer(data, "<u4", _HEADER))
        lengths = (4 * _HEADER, 4 * (chunks + 1), sizes[0] * pairs, sizes[1] * pairs, letters)
        if chunks != n_chunks or not {*sizes} <= {1, 2, 4} or len(data) != sum(lengths):
            return None
        ends = list(accumulate(lengths))
        starts, words, counts = (
            np.frombuffer(data[begin:end], f"<u{size}")
            for begin, end, size in zip(ends, ends[1:], (4, *sizes), strict=False)
        )
        written = data[ends[3] :].decode("utf-8", "replace")
        vocabulary = tuple(map(sys.intern, written.split("\n"))) if letters else ()
        fits = starts[0] == 0 and starts[-1] == pairs and bool(np.all(starts[1:] >= starts[:-1]))
        fits = fits and (not pairs or (int(words.max()) < len(vocabulary) and int(counts.min()) > 0))
        return WordCounts(vocabulary, words, counts, starts.astype(np.int32)) if fits else None


def count_words(chunks: Iterable[Sequence[str]]) -> WordCounts:
    """Count the words of a document, given those of each of its chunks.

    Examples
    --------
    >>> counted = count_words([["salt", "sea", "salt"], ["sea"]])
    >>> counted.vocabulary, counted.words.tolist(), counted.counts.tolist(), counted.starts.tolist()
    (('salt', 'sea'), [0, 1, 1], [2, 1, 1], [0, 2, 3])
    """
    places: dict[str, int] = {}
    words: list[int] = []
    lengths: list[int] = []
    for chunk in chunks:
        words += [places.setdefault(word, len(places)) for word in chunk]
        lengths.append(len(chunk))
    rows = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    pairs, counts = np.unique(rows * max(1, len(places)) + np.asarray(words, dtype=np.int64), return_counts=True)
    rows, columns = np.divmod(pairs, max(1, len(places)))
    starts = np.searchsorted(rows, np.arange(len(lengths) + 1))
    return WordCounts(tuple(map(sys.intern, places)), _smallest(columns), _smallest(counts), starts.astype(np.int32))


def _smallest(numbers: NDArray[np.integer]) -> Numbers:
    """Return the numbers, none of them negative, in the smallest type that holds them."""
    small: Numbers = numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))
    return small


class Vocabulary:
    """Numbers for words, the same in every index that is made with it; it only grows."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._known: WeakKeyDictionary[WordCounts, NDArray[np.int32]] = WeakKeyDictionary()

    def number(self, counted: WordCounts) -> NDArray[np.int32]:
        """Return the numbers of a document's vocabulary, in its order."""
        known = self._known.get(counted)
        if known is None:
            numbers = self.numbers
            known = np.fromiter(
                (numbers.setdefault(word, len(numbers)) for word in counted.vocabulary),
                np.int32,
                len(counted.vocabulary),
            )
            self._known[counted] = known
        return known


class Postings:
    """For each word, the chunks that hold it: of a whole collection, put together from its documents' counts.

    Attributes
    ----------
    lengths
        Words in each chunk, shape (n_chunks,).
    unused
        Share of the vocabulary that no chunk holds: words of documents that are gone.
    """

    def __init__(self, documents: Sequence[WordCounts], vocabulary: Vocabulary | None = None) -> None:
        vocabulary = vocabulary or Vocabulary()
        numbers = [vocabulary.number(counted)[counted.words] for counted in documents]
        self.numbers: Mapping[str, int] = vocabulary.numbers
        self.lengths = _joined([counted.lengths for counted in documents], np.int64)
        words = _joined(numbers, np.int32)
        pairs = _joined([np.diff(counted.starts) for counted in documents], np.int64)
        # Sorted by word, and by chunk for each: the place of a pair in the low half tells where it came from.
        order = np.sort((words.astype(np.int64) << 32) | np.arange(len(words))) & 0xFFFFFFFF
        self._rows = np.repeat(np.arange(len(pairs), dtype=np.int32), pairs)[order]
        self._counts = np.concatenate([np.zeros(0, np.uint8), *(counted.counts for counted in documents)])[order]
        frequencies = np.bincount(words, minlength=len(vocabulary.numbers))
        self._starts = np.concatenate(([0], np.cumsum(frequencies)))
        self.unused = float(np.mean(frequencies == 0)) if len(frequencies) else 0.0

    def of(self, word: str) -> tuple[NDArray[np.int32], Numbers]:
        """Return the chunks that hold `word`, ascending, and how often each does."""
        first, last = self._span(word)
        return self._rows[first:last], self._counts[first:last]

    def frequency(self, word: str) -> int:
        """Return how many chunks hold `word`."""
        first, last = self._span(word)
        return last - first

    def _span(self, word: str) -> tuple[int, int]:
        number = self.numbers.get(word, -1)
        if not 0 <= number < len(self._starts) - 1:  # a word that came into the vocabulary later
            return 0, 0
        return int(self._starts[number]), int(self._starts[number + 1])


def _joined(parts: Sequence[NDArray[np.integer]], kind: type[np.integer]) -> NDArray[np.integer]:
    return np.concatenate([np.zeros(0, kind), *parts]).astype(kind, copy=False)
