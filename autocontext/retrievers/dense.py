"""Dense retrieval: finds chunks whose meaning is near the question's, by the cosine of their vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from autocontext.datatypes import Hit
from autocontext.errors import EncoderError
from autocontext.protocols import Encoder, ReadingEncoder, Vectors
from autocontext.retrievers.base import Corpus, Neighbours, top_hits
from autocontext.vector_pool import VectorRows

_NEIGHBOUR_WEIGHT = 0.3
_READ_SAMPLE = 64  # chunks that tell how well the encoder reads the collection
_MOST_SENTENCES = 10_000  # kept, for questions on the same passages


class DenseRetriever:
    """Exact search: one product of the chunks' matrix with the question's vector.

    The score is the cosine, seven tenths the chunk's own and three tenths the mean of it and its neighbours'.
    """

    name = "dense"

    def __init__(
        self, encoder: Encoder, vectors: Vectors | VectorRows, neighbours: Neighbours, readable: float = 1.0
    ) -> None:
        self._encoder = encoder
        self._vectors = vectors
        self._neighbours = neighbours
        self._readable = readable
        self._sentences: dict[str, Vectors] = {}
        self._last: tuple[str, Vectors] = ("", np.zeros(0, np.float32))

    def search(self, query: str, k: int) -> list[Hit]:
        """Return at most `k` hits, best first; a cosine of 0 or less is no match."""
        if not len(self._vectors) or not query.strip():
            return []
        cosines = self._vectors @ self._vector(query)
        mean = self._neighbours.mean(cosines)
        cosines = np.float32(1 - _NEIGHBOUR_WEIGHT) * cosines + np.float32(_NEIGHBOUR_WEIGHT) * mean
        return top_hits(self.name, cosines.round(6), k)  # equal texts differ in the last bit, by their row

    def closeness(self, query: str, chunks: Mapping[int, Sequence[str]]) -> list[float]:
        """Return, for each chunk number with its sentences: the cosine of the query to the chunk or the nearest one."""
        wanted = [text for sentences in chunks.values() for text in sentences]
        known = {text: row for text in wanted if (row := self._sentences.get(text)) is not None}
        missing = [text for text in dict.fromkeys(wanted) if text not in known]
        known.update(zip(missing, self._encoder.encode(missing), strict=True) if missing else ())
        if len(self._sentences) > _MOST_SENTENCES:
            self._sentences = {}
        self._sentences.update(known)
        vector = self._vector(query)
        return [
            max(
                (
                    float(row @ vector)
                    for row in (self._vectors[number], *(known[text] for text in sentences))
                    if row is not None  # not embedded yet: its sentences speak for it
                ),
                default=0.0,
            )
            for number, sentences in chunks.items()
        ]

    def _vector(self, query: str) -> Vectors:
        asked, vector = self._last  # read once: several threads may ask
        if query != asked:
            vector = np.asarray(self._encoder.encode([query])[0])
            self._last = (query, vector)
        return vector

    def trust(self, query: str) -> float:
        """Return how well the encoder reads the question and the documents: it is near blind outside its languages."""
        if not isinstance(self._encoder, ReadingEncoder):
            return 1.0
        return min(self._readable, self._encoder.readability(query))


def build(corpus: Corpus) -> DenseRetriever:
    """Search the chunks' vectors.

    Raises
    ------
    EncoderError
        Without an encoder and its vectors.
    """
    if corpus.encoder is None or corpus.vectors is None:
        raise EncoderError("Dense retrieval needs an embedding model.")
    return DenseRetriever(corpus.encoder, corpus.vectors, corpus.neighbours, _readability(corpus))


def _readability(corpus: Corpus) -> float:
    """Return how well the encoder reads what it reads best in the collection: nine tenths of a sample read worse."""
    if not isinstance(corpus.encoder, ReadingEncoder) or not corpus.chunks:
        return 1.0
    sample = corpus.chunks[:: max(1, len(corpus.chunks) // _READ_SAMPLE)]
    return float(np.quantile([corpus.encoder.readability(chunk.text) for chunk in sample], 0.9))
