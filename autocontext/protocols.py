"""What a part must offer to be plugged in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


class Retriever(Protocol):
    """Ranks the chunks it was built over."""

    name: str

    def search(self, query: str, k: int) -> list[Hit]:
        """Return at most `k` hits, best first, ranks 1..n; equal scores keep chunk order; [] where nothing matches."""
        ...

    def trust(self, query: str) -> float:
        """Return how far this retriever can judge this question, 0 to 1; its weight in the fusion is scaled by it."""
        ...


class Store(Protocol):
    """Keeps documents, their chunks and vectors. Each method is one transaction."""

    def load(self) -> list[tuple[Document, tuple[Chunk, ...]]]:
        """Return all documents with their chunks, in the order they were first added; chunk numbers are 0."""
        ...

    def save(self, items: Iterable[tuple[Document, tuple[Chunk, ...]]]) -> None:
        """Insert, or replace the documents of the same names in their places."""
        ...

    def remove(self, names: Iterable[str]) -> None:
        """Forget these documents; unknown names are ignored. Their vectors stay."""
        ...

    def vectors(self, model: str, hashes: Sequence[bytes]) -> Mapping[bytes, Vectors]:
        """Return the known vectors by SHA-256 of the text."""
        ...

    def add_vectors(self, model: str, rows: Mapping[bytes, Vectors]) -> None:
        """Keep vectors; a known hash is left as it is."""
        ...

    def get(self, key: str) -> str | None:
        """Return a value kept with the collection."""
        ...

    def put(self, key: str, value: str) -> None:
        """Keep a value with the collection."""
        ...

    def close(self) -> None:
        """Close the file; the store is not used after this."""
        ...
