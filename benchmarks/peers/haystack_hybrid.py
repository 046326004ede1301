"""Haystack: documents embedded and written to its InMemoryDocumentStore; both of its retrievers, ranks fused."""

from __future__ import annotations

from haystack import Document, Pipeline
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.utils import ComponentDevice
from haystack_integrations.components.embedders.sentence_transformers import (
    SentenceTransformersDocumentEmbedder,
    SentenceTransformersTextEmbedder,
)
from job import MODEL, TOP, Search, serve

options = {"model": MODEL, "device": ComponentDevice.from_str("cpu"), "batch_size": 32, "progress_bar": False}
embedder = SentenceTransformersDocumentEmbedder(**options, normalize_embeddings=True)
asker = SentenceTransformersTextEmbedder(**options, normalize_embeddings=True)
embedder.warm_up()
asker.warm_up()
asker.run("warm up")


def index(chunks: list[str]) -> Search:
    """Run the indexing pipeline and make the one for questions."""
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    writing = Pipeline()
    writing.add_component("embedder", embedder)
    writing.add_component("writer", DocumentWriter(store))
    writing.connect("embedder.documents", "writer.documents")
    writing.run({"embedder": {"documents": [Document(content=chunk) for chunk in chunks]}})
    asking = Pipeline()
    asking.add_component("asker", asker)
    asking.add_component("dense", InMemoryEmbeddingRetriever(store, top_k=TOP))
    asking.add_component("bm25", InMemoryBM25Retriever(store, top_k=TOP))
    asking.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=TOP))
    asking.connect("asker.embedding", "dense.query_embedding")
    asking.connect("dense.documents", "joiner.documents")
    asking.connect("bm25.documents", "joiner.documents")

    def search(question: str) -> list[str]:
        found = asking.run({"asker": {"text": question}, "bm25": {"query": question}})
        return [document.content for document in found["joiner"]["documents"]]

    return search


serve(index)
