"""What a part must offer to be plugged in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from autocontext.datatypes import Chunk, Document, Hit

Vectors = NDArray[np.float32]


class Encoder(Protocol):
    """Turns texts into vectors. `name` is part of every cache key: another model, another name."""

    name: str

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return shape (len(texts), dim), each row of length 1; shape (0, dim) for no texts."""
        ...


@runtime_checkable
class ReadingEncoder(Encoder, Protocol):
    """An encoder that also tells how much it can take in, and how well it reads a text.

    `max_tokens` is what it takes without cutting, special tokens not counted.
    """

    max_tokens: int

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of the encoder's tokens in each text, special tokens not counted."""
        ...

    def readability(self, text: str) -> float:
        """Return how well the encoder reads this text: 1 like its own language, 0 not at all."""
        ...


@runtime_checkable
class LoadedEncoder(Encoder, Protocol):
    """An encoder that is loaded from a file, on first use or before."""

    @property
    def description(self) -> str:
        """What it is and, once it is loaded, how it computes, in a few words for people."""
        ...

    def warm_up(self) -> None:
        """Load it now rather than at the first call of `encode`."""
        ...


class Retriever(Protocol):
    """Ranks the chunks it was built over."""

    name: str

    def search(self, query: str, k: int) -> list[Hit]:
        """Return at most `k` hits, best first, ranks 1..n; equal scores keep chunk order; [] where nothing matches."""
        ...

    def trust(self, query: str) -> float:
        """Return how far this retriever can judge this question, 0 to 1; its weight in the fusion is scaled by it."""
        ...


@dataclass(frozen=True, slots=True)
class Kept:
    """One document as a store keeps it.

    Attributes
    ----------
    hashes
        The hash of each chunk's embedded text: what its vector is kept under.
    original
        The bytes of the file, where they are kept too; a store's `load` leaves them out.
    language, words
        The document's language, and its `WordCounts` as bytes; empty where they are to be found anew.
    """

    document: Document
    chunks: tuple[Chunk, ...]
    hashes: tuple[bytes, ...]
    original: bytes | None = None
    language: str = ""
    words: bytes = b""


class Store(Protocol):
    """Keeps documents, their chunks and vectors. Each method is one transaction."""

    def load(self) -> list[Kept]:
        """Return all documents with their chunks, in the order they were first added; chunk numbers are 0."""
        ...

    def load_changes(self) -> tuple[list[str], list[Kept]]:
        """Return the names of all documents in order, and those that are not as they were last loaded or saved here."""
        ...

    def save(self, items: Iterable[Kept], model: str = "", rows: Mapping[bytes, Vectors] | None = None) -> None:
        """Insert, or replace the documents of the same names in their places, together with vectors; all or nothing.

        Where one was replaced, the value ``"stale"`` is kept until the next `prune`.
        """
        ...

    def remove(self, names: Iterable[str]) -> None:
        """Forget these documents, their chunks and vectors; unknown names are ignored."""
        ...

    def prune(self) -> None:
        """Forget the vectors of texts that no document holds."""
        ...

    def original(self, name: str) -> bytes | None:
        """Return the bytes of the file that a document was read from, if they were kept."""
        ...

    def originals(self) -> Mapping[str, int]:
        """Return the size in bytes of each kept original, by the document's name."""
        ...

    def vectors(self, model: str, hashes: Sequence[bytes]) -> Mapping[bytes, Vectors]:
        """Return the known vectors by the hash of the text."""
        ...

    def lacks_vectors(self, model: str) -> bool:
        """Tell whether there is a chunk whose text has no vector."""
        ...

    def add_vectors(self, model: str, rows: Mapping[bytes, Vectors]) -> None:
        """Keep vectors."""
        ...

    def get(self, key: str) -> str | None:
        """Return a value kept with the collection."""
        ...

    def put(self, key: str, value: str) -> None:
        """Keep a value with the collection."""
        ...

    def changed(self) -> bool:
        """Tell whether another process has written since the last `load`."""
        ...

    def close(self) -> None:
        """Close the file; the store is not used after this."""
        ...


class VectorCache(Protocol):
    """Keeps vectors beyond one collection; may forget any at any time, and never raises."""

    def get(self, model: str, hashes: Sequence[bytes]) -> Mapping[bytes, Vectors]:
        """Return the known ones."""
        ...

    def put(self, model: str, rows: Mapping[bytes, Vectors]) -> None:
        """Keep them."""
        ...
