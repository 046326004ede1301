"""BM25: finds chunks by the question's words, rare words first.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, doi:10.1561/1500000019.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from autocontext.datatypes import Hit
from autocontext.retrievers.base import Corpus, best_first, top_hits
from autocontext.tokenizing import content_words, tokenize


class BM25Index(BM25Okapi):  # type: ignore[misc]  # rank_bm25 has no types
    """``rank_bm25.BM25Okapi`` that is right on small collections and fast on large ones.

    The statistics are its own. The inverse document frequency is ``ln(1 + (N - n + 0.5) / (n + 0.5))``, which is above
    0 for every word (its own is 0 or negative where a word is in half of the chunks or more, so a collection of one or
    two chunks finds nothing). Scores come from postings: only chunks that hold a word of the question are looked at.

    Parameters
    ----------
    tokenized_corpus
        Tokens of each chunk; may be empty, and so may each chunk.
    k1
        How soon repeating a word stops to count, 0 or more.
    b
        How much long chunks are held back, 0 to 1.

    Examples
    --------
    >>> index = BM25Index([["salt", "water"], ["sugar"]])
    >>> [(round(score, 3), chunk) for score, chunk in index.get_top_n(["salt"], 5)]
    [(0.603, 0)]
    """

    def __init__(self, tokenized_corpus: Sequence[Sequence[str]], k1: float = 1.5, b: float = 0.75) -> None:
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        if tokenized_corpus:
            super().__init__(tokenized_corpus, k1=k1, b=b)
        else:  # rank_bm25 divides by the number of chunks
            self.k1, self.b, self.corpus_size, self.avgdl = k1, b, 0, 0.0
            self.doc_len: list[int] = []
            self.idf: dict[str, float] = {}
        lengths = np.asarray(self.doc_len, dtype=np.float64)
        relative = lengths / self.avgdl if self.avgdl else np.zeros_like(lengths)
        self._length_norm = self.k1 * (1 - self.b + self.b * relative)

    def _initialize(self, corpus: Sequence[Sequence[str]]) -> dict[str, int]:
        """Collect the same statistics as the parent, as postings in place of a dict a chunk."""
        total = 0
        for chunk, tokens in enumerate(corpus):
            self.doc_len.append(len(tokens))
            total += len(tokens)
            for token, frequency in Counter(tokens).items():
                chunks, frequencies = self._postings.setdefault(token, (array("l"), array("l")))
                chunks.append(chunk)
                frequencies.append(frequency)
        self.corpus_size = len(corpus)
        self.avgdl = total / self.corpus_size
        return {token: len(chunks) for token, (chunks, _) in self._postings.items()}

    def _calc_idf(self, nd: dict[str, int]) -> None:
        self.idf = {token: self.idf_of(n) for token, n in nd.items()}

    def idf_of(self, n: int) -> float:
        """Return the inverse document frequency of a word that is in `n` chunks; always above 0."""
        return math.log(1 + (self.corpus_size - n + 0.5) / (n + 0.5))

    def document_frequency(self, token: str) -> int:
        """Return how many chunks hold `token`."""
        return len(self._postings[token][0]) if token in self._postings else 0

    def get_scores(self, query: Sequence[str]) -> NDArray[np.float64]:
        """Return the score of every chunk, shape (n_chunks,); 0 where no word of the question is in it.

        A word that stands twice in the question counts twice, as in rank_bm25.
        """
        scores = np.zeros(self.corpus_size, dtype=np.float64)
        for token, times in Counter(query).items():
            if token in self._postings:
                chunks, frequencies = self._postings[token]
                rows, tf = np.asarray(chunks), np.asarray(frequencies, dtype=np.float64)
                scores[rows] += times * self.idf[token] * tf * (self.k1 + 1) / (tf + self._length_norm[rows])
        return scores

    def get_batch_scores(self, query: Sequence[str], doc_ids: Sequence[int]) -> list[float]:
        """Return the scores of some chunks, in the order of `doc_ids`."""
        return [float(score) for score in self.get_scores(query)[list(doc_ids)]]

    def get_top_n(self, query: Sequence[str], n: int = 5) -> list[tuple[float, int]]:
        """Return ``(score, chunk)`` of the `n` best chunks, best first; those that share no word are left out."""
        scores = self.get_scores(query)
        return [(float(scores[chunk]), int(chunk)) for chunk in best_first(scores, n)]


class BM25Retriever:
    """Keyword search over the chunks' tokens."""

    name = "bm25"

    def __init__(self, corpus: Corpus) -> None:
        options = corpus.settings.bm25
        self.index = BM25Index([tokenize(chunk.text) for chunk in corpus.chunks], k1=options.k1, b=options.b)

    def search(self, query: str, k: int) -> list[Hit]:
        """Return at most `k` hits, best first, by the question's content words."""
        return top_hits(self.name, self.index.get_scores(content_words(tokenize(query))), k)

    def trust(self, query: str) -> float:  # noqa: ARG002
        """Return 1: the tokenizer reads every script."""
        return 1.0


def build(corpus: Corpus) -> BM25Retriever:
    """Index the chunks' words."""
    return BM25Retriever(corpus)
