"""Dense retrieval: finds chunks whose meaning is near the question's, by the cosine of their vectors."""

from __future__ import annotations

import numpy as np

from autocontext.datatypes import Hit
from autocontext.errors import EncoderError
from autocontext.protocols import Encoder, ReadingEncoder, Vectors
from autocontext.retrievers.base import Corpus, top_hits


class DenseRetriever:
    """Exact search: one product of the chunks' matrix with the question's vector; the score is the cosine."""

    name = "dense"

    def __init__(self, encoder: Encoder, vectors: Vectors) -> None:
        self._encoder = encoder
        self._vectors = vectors

    def search(self, query: str, k: int) -> list[Hit]:
        """Return at most `k` hits, best first; a cosine of 0 or less is no match."""
        if not len(self._vectors) or not query.strip():
            return []
        cosines = self._vectors @ np.asarray(self._encoder.encode([query])[0])
        return top_hits(self.name, cosines.round(6), k)  # equal texts differ in the last bit, by their row

    def trust(self, query: str) -> float:
        """Return how well the encoder reads the question: it is near blind outside its training languages."""
        return self._encoder.readability(query) if isinstance(self._encoder, ReadingEncoder) else 1.0


def build(corpus: Corpus) -> DenseRetriever:
    """Search the chunks' vectors.

    Raises
    ------
    EncoderError
        Without an encoder and its vectors.
    """
    if corpus.encoder is None or corpus.vectors is None:
        raise EncoderError("Dense retrieval needs an embedding model.")
    return DenseRetriever(corpus.encoder, corpus.vectors)
