"""txtai: one hybrid index (FAISS and its own BM25) that keeps the texts too."""

from __future__ import annotations

from job import MODEL, TOP, Search, serve
from txtai import Embeddings

embeddings = Embeddings(path=MODEL, hybrid=True, content=True, gpu=False)
embeddings.batchtransform(["warm up"])


def index(chunks: list[str]) -> Search:
    """Index the chunks."""
    embeddings.index(chunks)
    return lambda question: [found["text"] for found in embeddings.search(question, TOP)]


serve(index)
