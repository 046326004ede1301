"""LangChain: FAISS with HuggingFaceEmbeddings and its BM25Retriever in an EnsembleRetriever."""

from __future__ import annotations

from job import MODEL, TOP, Search, serve
from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_community.vectorstores import FAISS
from langchain_huggingface import HuggingFaceEmbeddings

embeddings = HuggingFaceEmbeddings(model_name=MODEL, encode_kwargs={"batch_size": 32, "normalize_embeddings": True})
embeddings.embed_query("warm up")


def index(chunks: list[str]) -> Search:
    """Build both indexes."""
    dense = FAISS.from_texts(chunks, embeddings).as_retriever(search_kwargs={"k": TOP})
    ensemble = EnsembleRetriever(retrievers=[BM25Retriever.from_texts(chunks, k=TOP), dense], weights=[0.5, 0.5])
    return lambda question: [document.page_content for document in ensemble.invoke(question)[:TOP]]


serve(index)
