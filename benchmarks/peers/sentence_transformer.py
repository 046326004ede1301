"""Plain SentenceTransformer.encode, batch 32: the embedding alone; a question is embedded and compared by numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from job import MODEL, TOP, Search, serve
from sentence_transformers import SentenceTransformer

model = SentenceTransformer(MODEL, device="cpu")
model.encode(["warm up"])


def index(chunks: list[str]) -> Search:
    """Embed the chunks."""
    vectors = model.encode(chunks, batch_size=32, normalize_embeddings=True, show_progress_bar=False)

    def search(question: str) -> Sequence[str]:
        cosines = vectors @ model.encode(question, normalize_embeddings=True, show_progress_bar=False)
        return [chunks[number] for number in np.argsort(-cosines)[:TOP]]

    return search


serve(index)
