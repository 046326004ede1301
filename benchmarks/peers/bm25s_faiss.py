"""bm25s and FAISS' exact index, 300 candidates each, ranks fused: the fast way. All vectors come with the job."""

from __future__ import annotations

from collections import defaultdict

import bm25s
import faiss
import numpy as np
from job import JOB, TOP, Search, serve

vectors = np.load(JOB["vectors"])
of_question = dict(zip(JOB["questions"], np.load(JOB["question_vectors"]), strict=True))
DEPTH = min(JOB["candidates"], len(JOB["chunks"]))


def index(chunks: list[str]) -> Search:
    """Build both indexes."""
    words = bm25s.BM25()
    words.index(bm25s.tokenize(chunks, stopwords="en", show_progress=False), show_progress=False)
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(vectors)

    def search(question: str) -> list[str]:
        tokens = bm25s.tokenize([question], stopwords="en", show_progress=False)
        by_words, _ = words.retrieve(tokens, k=DEPTH, show_progress=False)
        _, by_meaning = flat.search(of_question[question][None], DEPTH)
        scores: dict[int, float] = defaultdict(float)
        for ranking in (by_words[0], by_meaning[0]):
            for rank, number in enumerate(ranking.tolist()):
                scores[number] += 1 / (60 + rank)
        return [chunks[number] for number in sorted(scores, key=scores.__getitem__, reverse=True)[:TOP]]

    return search


serve(index)
