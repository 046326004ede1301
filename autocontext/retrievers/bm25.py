"""BM25: finds chunks by the question's words, rare words first.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, doi:10.1561/1500000019.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from autocontext.datatypes import Hit
from autocontext.retrievers.base import Corpus, best_first, top_hits
from autocontext.stemming import index_terms, question_terms
from autocontext.tokenizing import content_words, tokenize

_NEIGHBOUR_WEIGHT = 0.4
_BACKGROUND = 50
_FULL_SHARE = 0.35
_HIRAGANA = re.compile("[\u3041-\u309f]")


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
            rows, frequencies = self.postings(token)
            scores[rows] += times * self._weigh(token, frequencies, self._length_norm[rows])
        return scores

    def postings(self, token: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the chunks that hold `token`, ascending, and how often each does."""
        rows, frequencies = self._postings.get(token, ((), ()))
        return np.asarray(rows, dtype=np.intp), np.asarray(frequencies, dtype=np.float64)

    def _weigh(
        self, token: str, frequencies: NDArray[np.float64], length_norm: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        whole = frequencies + length_norm  # 0 where k1 is 0 or an empty chunk has b of 1
        shares = np.divide(frequencies, whole, out=np.zeros_like(whole), where=frequencies > 0)
        return self.idf.get(token, 0.0) * (self.k1 + 1) * shares

    def get_batch_scores(self, query: Sequence[str], doc_ids: Sequence[int]) -> list[float]:
        """Return the scores of some chunks, in the order of `doc_ids`."""
        return [float(score) for score in self.get_scores(query)[list(doc_ids)]]

    def get_top_n(self, query: Sequence[str], n: int = 5) -> list[tuple[float, int]]:
        """Return ``(score, chunk)`` of the `n` best chunks, best first; those that share no word are left out."""
        scores = self.get_scores(query)
        return [(float(scores[chunk]), int(chunk)) for chunk in best_first(scores, n)]


class PassageIndex(BM25Index):
    """BM25 over chunks that are read with their neighbours.

    A word in a chunk next to it counts `_NEIGHBOUR_WEIGHT` times as much as one in the chunk itself, before
    saturation, as the fields of BM25F do (Robertson, Zaragoza and Taylor, CIKM 2004, doi:10.1145/1031171.1031181).
    """

    def __init__(self, corpus: Corpus) -> None:
        options = corpus.settings.bm25
        self._neighbours = corpus.neighbours
        self._last: tuple[str, NDArray[np.float64]] = ("", np.zeros(len(corpus.chunks)))
        self.languages = tuple(dict.fromkeys(corpus.languages.values()))
        texts = corpus.texts if corpus.texts is not None else [chunk.text for chunk in corpus.chunks]
        terms = [
            index_terms(text, corpus.languages.get(chunk.document, ""))
            for chunk, text in zip(corpus.chunks, texts, strict=True)
        ]
        super().__init__(terms, k1=options.k1, b=options.b)
        lengths = self._with_neighbours(np.arange(self.corpus_size), np.asarray(self.doc_len, dtype=np.float64))
        relative = lengths / lengths.mean() if lengths.any() else lengths
        self._length_norm = self.k1 * (1 - self.b + self.b * relative)

    def question_scores(self, question: str) -> NDArray[np.float64]:
        """Return the score of every chunk by the question's content words; 0 for chunks that hold none themselves."""
        asked, scores = self._last  # read once: several threads may ask
        if question == asked:
            return scores
        scores = np.zeros(self.corpus_size, dtype=np.float64)
        holds = np.zeros(self.corpus_size, dtype=bool)
        for terms in self._terms(question):
            of_word = [self._term_scores(term, holds) for term in terms if term in self.idf]
            if of_word:  # a word counts once, in the form that weighs most
                scores += np.maximum.reduce(of_word)
        scores *= holds
        self._last = (question, scores)
        return scores

    def coverage(self, question: str) -> float:
        """Return how far the best chunk stands out by the question's words, 0 to 1.

        Its share of the highest score that the words could reach, less the mean share of all chunks (counted as if
        there were `_BACKGROUND` more that hold none of them): common words are found everywhere.
        """
        scores = self.question_scores(question)
        if not scores.any():
            return 0.0
        return float((scores.max() - scores.sum() / (len(scores) + _BACKGROUND)) / self._highest(question))

    def best_share(self, question: str) -> float:
        """Return the share of the highest score that the question's words could reach, of the best chunk; 0 to 1."""
        scores = self.question_scores(question)
        return min(1.0, float(scores.max() / self._highest(question))) if scores.any() else 0.0

    def _terms(self, question: str) -> list[tuple[str, ...]]:
        return question_terms(content_words(tokenize(question)), self.languages, question)

    def _highest(self, question: str) -> float:
        """Return the score of a chunk that is full of every word of the question.

        Pairs with hiragana that are nowhere do not count: they are mostly grammar, or the end of one word and the
        beginning of the next.
        """
        frequencies = [
            frequency
            for terms in self._terms(question)
            if (frequency := self.word_frequency(terms)) or not any(map(_HIRAGANA.search, terms))
        ]
        return float((self.k1 + 1) * sum(map(self.idf_of, frequencies)))

    def word_frequency(self, terms: Collection[str]) -> int:
        """Return how many chunks hold a word, given the terms that it may be indexed by."""
        return max((self.document_frequency(term) for term in terms), default=0)

    def _term_scores(self, term: str, holds: NDArray[np.bool_]) -> NDArray[np.float64]:
        rows, frequencies = self.postings(term)
        holds[rows] = True
        return self._weigh(term, self._with_neighbours(rows, frequencies), self._length_norm)

    def _with_neighbours(self, rows: NDArray[np.intp], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a value for every chunk: its own, and a share of its neighbours'."""
        whole = np.zeros(self.corpus_size, dtype=np.float64)
        whole[rows] = values
        for which, near in self._neighbours.of(rows):
            whole[near] += _NEIGHBOUR_WEIGHT * values[which]
        return whole


class BM25Retriever:
    """Keyword search over the chunks' words, in whatever form they stand there."""

    name = "bm25"

    def __init__(self, corpus: Corpus) -> None:
        self.index = PassageIndex(corpus)

    def search(self, query: str, k: int) -> list[Hit]:
        """Return at most `k` hits, best first, by the question's content words."""
        return top_hits(self.name, self.index.question_scores(query), k)

    def trust(self, query: str) -> float:
        """Return how much of the question's words the best hit has, 1 from `_FULL_SHARE` on.

        Where the documents say it in other words, the other retriever decides.
        """
        return math.sqrt(min(1.0, self.index.best_share(query) / _FULL_SHARE))


def build(corpus: Corpus) -> BM25Retriever:
    """Index the chunks' words."""
    return BM25Retriever(corpus)
