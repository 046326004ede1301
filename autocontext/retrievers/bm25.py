"""BM25: finds chunks by the question's words, rare words first.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, doi:10.1561/1500000019.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from autocontext.datatypes import Hit
from autocontext.retrievers.base import Corpus, best_first, top_hits
from autocontext.stemming import question_terms
from autocontext.tokenizing import content_words, tokenize
from autocontext.words import Postings, count_words

_NEIGHBOUR_WEIGHT = 0.4
_BACKGROUND = 50
_FULL_SHARE = 0.35
_TINY = 1e-9  # added to a frequency where a length adds nothing: 0 / 0 otherwise
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
        super().__init__(tokenized_corpus, k1=k1, b=b)
        self._length_norm = self._normed(self.postings.lengths)

    def _initialize(self, corpus: Sequence[Sequence[str]]) -> dict[str, int]:
        """Collect the same statistics as the parent, as postings in place of a dict a chunk."""
        self._take(Postings([count_words(corpus)]))
        return {}

    def _take(self, postings: Postings) -> None:
        self.postings = postings
        self.corpus_size = len(postings.lengths)
        self.doc_len = postings.lengths.tolist()
        self.avgdl = float(postings.lengths.mean()) if self.corpus_size else 0.0

    def _calc_idf(self, nd: dict[str, int]) -> None:  # noqa: ARG002  it is the parent's
        self.idf = _Weights(self)

    def _normed(self, lengths: NDArray[np.integer] | NDArray[np.floating]) -> NDArray[np.float64]:
        """Return what a chunk's length adds to the frequency of each word in it."""
        relative = lengths / lengths.mean() if lengths.any() else lengths
        return np.asarray(self.k1 * (1 - self.b + self.b * relative), dtype=np.float64)

    def idf_of(self, n: int) -> float:
        """Return the inverse document frequency of a word that is in `n` chunks; always above 0."""
        return math.log(1 + (self.corpus_size - n + 0.5) / (n + 0.5))

    def document_frequency(self, token: str) -> int:
        """Return how many chunks hold `token`."""
        return self.postings.frequency(token)

    def get_scores(self, query: Sequence[str]) -> NDArray[np.float64]:
        """Return the score of every chunk, shape (n_chunks,); 0 where no word of the question is in it.

        A word that stands twice in the question counts twice, as in rank_bm25.
        """
        scores = np.zeros(self.corpus_size, dtype=np.float64)
        for token, times in Counter(query).items():
            rows, frequencies = self.postings.of(token)
            scores[rows] += times * self._weigh(token, frequencies, self._length_norm[rows])
        return scores

    def _weigh(
        self, token: str, frequencies: NDArray[np.number], length_norm: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        whole = frequencies + length_norm  # 0 where k1 is 0 or an empty chunk has b of 1
        shares = np.divide(frequencies, whole, out=np.zeros_like(whole), where=frequencies > 0)
        weighed: NDArray[np.float64] = self.idf_of(self.document_frequency(token)) * (self.k1 + 1) * shares
        return weighed

    def get_batch_scores(self, query: Sequence[str], doc_ids: Sequence[int]) -> list[float]:
        """Return the scores of some chunks, in the order of `doc_ids`."""
        return [float(score) for score in self.get_scores(query)[list(doc_ids)]]

    def get_top_n(self, query: Sequence[str], n: int = 5) -> list[tuple[float, int]]:
        """Return ``(score, chunk)`` of the `n` best chunks, best first; those that share no word are left out."""
        scores = self.get_scores(query)
        return [(float(scores[chunk]), int(chunk)) for chunk in best_first(scores, n)]


class _Weights(Mapping[str, float]):
    """The inverse document frequency of each word, as rank_bm25 has it, found when it is asked for."""

    def __init__(self, index: BM25Index) -> None:
        self._index = index

    def __getitem__(self, token: str) -> float:
        frequency = self._index.document_frequency(token)
        if not frequency:
            raise KeyError(token)
        return self._index.idf_of(frequency)

    def __iter__(self) -> Iterator[str]:
        return (token for token in self._index.postings.numbers if self._index.document_frequency(token))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class PassageIndex(BM25Index):
    """BM25 over chunks that are read with their neighbours.

    A word in a chunk next to it counts `_NEIGHBOUR_WEIGHT` times as much as one in the chunk itself, before
    saturation, as the fields of BM25F do (Robertson, Zaragoza and Taylor, CIKM 2004, doi:10.1145/1031171.1031181).
    """

    def __init__(self, corpus: Corpus) -> None:
        options = corpus.settings.bm25
        self._neighbours = corpus.neighbours
        self._last: tuple[str, NDArray[np.float32]] = ("", np.zeros(len(corpus.chunks), np.float32))
        self.languages = tuple(dict.fromkeys(corpus.languages.values()))
        self._last_terms: tuple[str, list[tuple[str, ...]]] = ("", [])
        super().__init__(corpus, k1=options.k1, b=options.b)  # type: ignore[arg-type]  # it gets to _initialize
        lengths = self.postings.lengths.astype(np.float32)
        normed = self._normed(lengths + _NEIGHBOUR_WEIGHT * self._neighbours.sums(lengths))
        self._norm = np.maximum(normed, _TINY).astype(np.float32)

    def _initialize(self, corpus: Corpus) -> dict[str, int]:  # type: ignore[override]
        self._take(corpus.postings)
        return {}

    def question_scores(self, question: str) -> NDArray[np.float32]:
        """Return the score of every chunk by the question's content words; 0 for chunks that hold none themselves."""
        asked, scores = self._last  # read once: several threads may ask
        if question == asked:
            return scores
        scores = np.zeros(self.corpus_size, dtype=np.float32)
        holds = np.zeros(self.corpus_size, dtype=bool)
        for terms in self._terms(question):
            forms = [self._term_scores(term, holds) for term in terms if self.document_frequency(term)]
            if len(forms) == 1:
                [(rows, weights)] = forms
                scores[rows] += weights
            elif forms:  # a word counts once, in the form that weighs most
                of_word = np.zeros_like(scores)
                for rows, weights in forms:
                    of_word[rows] = np.maximum(of_word[rows], weights)
                scores += of_word
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
        asked, terms = self._last_terms  # read once: several threads may ask
        if question != asked:
            terms = question_terms(content_words(tokenize(question)), self.languages, question)
            self._last_terms = (question, terms)
        return terms

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

    def _term_scores(
        self, term: str, holds: NDArray[np.bool_]
    ) -> tuple[NDArray[np.integer] | slice, NDArray[np.float32]]:
        """Return the chunks that hold a term or are next to one, each maybe more than once, and what it gives them."""
        holders, counts = self.postings.of(term)
        holds[holders] = True
        rows, weights = self._neighbours.spread(holders, counts.astype(np.float32), _NEIGHBOUR_WEIGHT)
        weights /= weights + self._norm[rows]
        weights *= np.float32(self.idf_of(len(holders)) * (self.k1 + 1))
        return rows, weights


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
