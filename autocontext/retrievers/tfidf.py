"""TF-IDF: finds chunks that repeat the question's rare words; the simplest ranking by words, to compare BM25 with.

The score of a chunk is the sum, over the question's content words, of ``tf * idf``: how often the word stands in the
chunk, and ``idf = ln((N + 1) / df)``, where `df` of the `N` chunks hold it. The plain ``ln(N / df)`` is 0 for a word
that is in every chunk, so that a collection of one chunk would find nothing; one chunk more, that holds no word, keeps
it above 0 and changes next to nothing in a collection of some size. Unlike BM25 it never tires of a repeated word,
takes a long chunk for a good one, and reads no chunk with its neighbours.

Spärck Jones, "A statistical interpretation of term specificity", 1972, doi:10.1108/eb026526.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from autocontext.datatypes import Hit
from autocontext.retrievers.base import Corpus, top_hits
from autocontext.stemming import question_terms
from autocontext.tokenizing import content_words, tokenize


class TfidfRetriever:
    """Keyword search by term frequency and inverse document frequency, over the same terms as BM25."""

    name = "tfidf"

    def __init__(self, corpus: Corpus) -> None:
        self._postings = corpus.postings
        self._size = len(corpus.chunks)
        self._languages = tuple(dict.fromkeys(corpus.languages.values()))
        self._last: tuple[str, NDArray[np.float64], NDArray[np.float64]] | None = None

    def search(self, query: str, k: int) -> list[Hit]:
        """Return at most `k` hits, best first, by the question's content words."""
        return top_hits(self.name, self._scores(query)[0], k)

    def trust(self, query: str) -> float:
        """Return the share of the question's words, each by its weight, that the best hit holds."""
        scores, shares = self._scores(query)
        return float(shares[scores.argmax()]) if scores.any() else 0.0

    def _scores(self, query: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return each chunk's score, and the share of the question's words that it holds; both shape (n_chunks,)."""
        last = self._last  # read once: several threads may ask
        if last is not None and last[0] == query:
            return last[1], last[2]
        scores, held, whole = np.zeros(self._size), np.zeros(self._size), 0.0
        for terms in question_terms(content_words(tokenize(query)), self._languages, query):
            weight = self._idf(max(1, *map(self._postings.frequency, terms)))
            whole += weight
            of_word, is_held = np.zeros(self._size), np.zeros(self._size, dtype=bool)
            for rows, counts in map(self._postings.of, terms):  # a word counts once, in the form that weighs most
                of_word[rows] = np.maximum(of_word[rows], counts * self._idf(max(1, len(rows))))
                is_held[rows] = True
            scores += of_word
            held += weight * is_held
        shares = held / whole if whole else held
        self._last = (query, scores, shares)
        return scores, shares

    def _idf(self, n: int) -> float:
        return math.log((self._size + 1) / n)


def build(corpus: Corpus) -> TfidfRetriever:
    """Count the chunks' words."""
    return TfidfRetriever(corpus)
