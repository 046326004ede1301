"""AutoContext turns your own documents and a question into a small, honest, visible prompt for any language model."""

from __future__ import annotations

from autocontext.chunking import chunk_text
from autocontext.datatypes import Chunk, Document, Evidence, ModelOptions, Prompt, Turn
from autocontext.encoders import cosine_similarity, generate_embeddings
from autocontext.engine import AutoContext
from autocontext.errors import AutoContextError, ModelError
from autocontext.fusion import reciprocal_rank_fusion, weighted_fusion
from autocontext.retrievers.bm25 import BM25Index
from autocontext.sentences import split_into_sentences
from autocontext.settings import BM25Options, ChunkOptions, EncoderOptions, PdfOptions, Settings
from autocontext.tokenizing import tokenize

__all__ = [
    "AutoContext",
    "AutoContextError",
    "BM25Index",
    "BM25Options",
    "Chunk",
    "ChunkOptions",
    "Document",
    "EncoderOptions",
    "Evidence",
    "ModelError",
    "ModelOptions",
    "PdfOptions",
    "Prompt",
    "Settings",
    "Turn",
    "chunk_text",
    "cosine_similarity",
    "generate_embeddings",
    "reciprocal_rank_fusion",
    "split_into_sentences",
    "tokenize",
    "weighted_fusion",
]
__version__ = "0.1.0"
