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
from array import array
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from autocontext.datatypes import Hit
from autocontext.retrievers.base import Corpus, top_hits
from autocontext.stemming import index_terms, question_terms
from autocontext.tokenizing import content_words, tokenize


class TfidfRetriever:
    """Keyword search by term frequency and inverse document frequency, over the same terms as BM25."""

    name = "tfidf"

    def __init__(self, corpus: Corpus) -> None:
        self._size = len(corpus.chunks)
        self._languages = tuple(dict.fromkeys(corpus.languages.values()))
        self._last: tuple[str, NDArray[np.float64], NDArray[np.float64]] | None = None
        self._numbers: dict[str, int] = {}  # of each term
        terms, rows, counts = array("q"), array("q"), array("q")
        texts = corpus.texts if corpus.texts is not None else [chunk.text for chunk in corpus.chunks]
        for row, (chunk, text) in enumerate(zip(corpus.chunks, texts, strict=True)):
            for term, count in Counter(index_terms(text, corpus.languages.get(chunk.document, ""))).items():
                terms.append(self._numbers.setdefault(term, len(self._numbers)))
                rows.append(row)
                counts.append(count)
        numbers = np.asarray(terms, dtype=np.int64)
        order = np.argsort(numbers, kind="stable")  # by term, and by chunk within each
        self._rows = np.asarray(rows, dtype=np.int64)[order]
        self._counts = np.asarray(counts, dtype=np.float64)[order]
        self._starts = np.searchsorted(numbers[order], np.arange(len(self._numbers) + 1))

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
            postings = [self._postings(term) for term in terms if term in self._numbers]
            weight = self._idf(max((len(rows) for rows, _ in postings), default=1))
            whole += weight
            of_word, is_held = np.zeros(self._size), np.zeros(self._size, dtype=bool)
            for rows, counts in postings:  # a word counts once, in the form that weighs most
                of_word[rows] = np.maximum(of_word[rows], counts * self._idf(len(rows)))
                is_held[rows] = True
            scores += of_word
            held += weight * is_held
        shares = held / whole if whole else held
        self._last = (query, scores, shares)
        return scores, shares

    def _postings(self, term: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the chunks that hold `term`, ascending, and how often each does."""
        number = self._numbers[term]
        found = slice(self._starts[number], self._starts[number + 1])
        return self._rows[found], self._counts[found]

    def _idf(self, n: int) -> float:
        return math.log((self._size + 1) / n)


def build(corpus: Corpus) -> TfidfRetriever:
    """Count the chunks' words."""
    return TfidfRetriever(corpus)
