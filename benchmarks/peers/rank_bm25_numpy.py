"""rank_bm25 over all chunks and cosines by numpy, each sorted in full: the plain way. All vectors come with the job."""

from __future__ import annotations

import numpy as np
from job import JOB, TOP, Search, serve
from rank_bm25 import BM25Okapi

vectors = np.load(JOB["vectors"])
of_question = dict(zip(JOB["questions"], np.load(JOB["question_vectors"]), strict=True))


def index(chunks: list[str]) -> Search:
    """Count the words."""
    bm25 = BM25Okapi([chunk.lower().split() for chunk in chunks])

    def search(question: str) -> list[str]:
        by_words = np.argsort(bm25.get_scores(question.lower().split()))[::-1][:TOP]
        by_meaning = np.argsort(vectors @ of_question[question])[::-1][:TOP]
        return [chunks[number] for number in dict.fromkeys([*by_words, *by_meaning])]

    return search


serve(index)
