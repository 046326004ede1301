"""LlamaIndex: a VectorStoreIndex and its BM25Retriever in a QueryFusionRetriever (no questions made by a model)."""

from __future__ import annotations

from job import MODEL, TOP, Search, serve
from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.embeddings.huggingface import HuggingFaceEmbedding
from llama_index.retrievers.bm25 import BM25Retriever

embedding = HuggingFaceEmbedding(model_name=MODEL, embed_batch_size=32, device="cpu")
embedding.get_query_embedding("warm up")


def index(chunks: list[str]) -> Search:
    """Build both indexes."""
    nodes = [TextNode(text=chunk) for chunk in chunks]
    dense = VectorStoreIndex(nodes, embed_model=embedding).as_retriever(similarity_top_k=TOP)
    fusion = QueryFusionRetriever(
        [dense, BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=TOP)],
        llm=MockLLM(),
        num_queries=1,
        similarity_top_k=TOP,
        mode="reciprocal_rerank",
        use_async=False,
    )
    return lambda question: [found.node.get_content() for found in fusion.retrieve(question)]


serve(index)
