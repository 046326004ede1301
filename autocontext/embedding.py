"""Get the vectors of a collection's passages, each once: from memory, its store, a cache, or the encoder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from autocontext.protocols import Encoder, Store, VectorCache, Vectors
from autocontext.snapshot import Entry
from autocontext.vector_pool import VectorPool

_LOAD_BATCH = 5_000  # vectors that are read at once
_ENCODE_BATCH = 256  # about a second, so that a stop is soon obeyed; a question need not wait for all of it
_UNUSED = 0.1  # share of the vectors in memory that may belong to no document


class Embedder:
    """The vectors of one collection.

    Attributes
    ----------
    pool
        Those in memory; a smaller one takes its place when too many of its texts are gone.
    """

    def __init__(self, store: Store | None = None, cache: VectorCache | None = None) -> None:
        self.pool = VectorPool()
        self._store, self._cache = store, cache
        self._changing = threading.Lock()

    def embed(
        self,
        entries: Sequence[Entry],
        encoder: Encoder,
        tell: Callable[[int], None],
        stop: Callable[[], bool],
    ) -> list[Entry]:
        """Get a vector of each chunk; return the entries that have all of theirs: fewer, if it was stopped.

        Parameters
        ----------
        tell
            Called with how many chunks have theirs.
        """
        missing = _texts(entries, self.fetch(entries, encoder))
        total = sum(len(entry.chunks) for entry in entries)
        tell(total - len(missing))
        hashes = sorted(missing, key=lambda text_hash: len(missing[text_hash]))  # like lengths together: little padding
        for first in range(0, len(hashes), _ENCODE_BATCH):
            if stop():
                return [entry for entry in entries if all(text_hash in self.pool for text_hash in entry.hashes)]
            batch = hashes[first : first + _ENCODE_BATCH]
            rows = dict(zip(batch, encoder.encode([missing[text_hash] for text_hash in batch]), strict=True))
            if self._store is not None:  # at once: what is made is never made again, whatever happens
                self._store.add_vectors(encoder.name, rows)
            if self._cache is not None:
                self._cache.put(encoder.name, rows)
            self._add(rows)
            tell(total - len(hashes) + first + len(batch))
        return list(entries)

    def fetch(self, entries: Sequence[Entry], encoder: Encoder) -> list[bytes]:
        """Take the vectors that store and cache have into memory; return the hashes that have none yet."""
        missing = [text_hash for entry in entries for text_hash in entry.hashes if text_hash not in self.pool]
        for known in (self._store.vectors if self._store else None, self._from_cache if self._cache else None):
            if missing and known is not None:
                for first in range(0, len(missing), _LOAD_BATCH):
                    self._add(known(encoder.name, missing[first : first + _LOAD_BATCH]))
                missing = [text_hash for text_hash in missing if text_hash not in self.pool]
        return missing

    def lacks_any(self, hashes: Sequence[bytes], encoder: Encoder) -> bool:
        """Tell whether one of the collection's texts was never embedded; the store knows without reading vectors."""
        if self._store is not None:
            return self._store.lacks_vectors(encoder.name)
        return any(text_hash not in self.pool for text_hash in hashes)

    def let_go(self, hashes: Sequence[bytes]) -> None:
        """Let go of the vectors of all other texts, if they are many."""
        if len(self.pool) > len(hashes):
            used = set(hashes)
            with self._changing:
                if len(self.pool) - len(used) > len(self.pool) * _UNUSED:
                    self.pool = self.pool.only(used)

    def _from_cache(self, model: str, hashes: Sequence[bytes]) -> Mapping[bytes, Vectors]:
        rows = self._cache.get(model, hashes) if self._cache is not None else {}
        if rows and self._store is not None:
            self._store.add_vectors(model, rows)
        return rows

    def _add(self, rows: Mapping[bytes, Vectors]) -> None:
        with self._changing:  # a smaller pool may be about to take the place of this one
            self.pool.add(rows)


def _texts(entries: Sequence[Entry], hashes: Sequence[bytes]) -> dict[bytes, str]:
    """Return the texts of these hashes, each once; making a text costs, so only documents that hold one are asked."""
    texts = dict.fromkeys(hashes, "")
    for entry in entries if texts else ():
        if not texts.keys().isdisjoint(entry.hashes):
            of_entry = zip(entry.hashes, entry.texts, strict=True)
            texts.update((text_hash, text) for text_hash, text in of_entry if text_hash in texts)
    return texts
