"""Turn texts into vectors with an embedding model that is already on this machine."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from autocontext.encoders.finding import find_model
from autocontext.encoders.local import LocalEncoder, SentenceTransformerEncoder
from autocontext.protocols import Vectors
from autocontext.settings import EncoderOptions

__all__ = [
    "LocalEncoder",
    "SentenceTransformerEncoder",
    "cosine_similarity",
    "default_encoder",
    "find_model",
    "generate_embeddings",
    "shared_encoder",
]
_making = threading.Lock()
_fetching: dict[EncoderOptions, threading.Lock] = {}


def shared_encoder(options: EncoderOptions) -> LocalEncoder:
    """Return the encoder with these options, made on first use: all sessions of a process share one model.

    While a model is downloaded, others can be had.

    Raises
    ------
    EncoderError
        If the model cannot be had, or its tokenizer cannot be read.
    """
    if options.allow_download:
        with _fetching.setdefault(options, threading.Lock()):
            find_model(options)  # it is on this machine from here on, whoever may download
        options = replace(options, allow_download=False)
    with _making:
        encoder = _encoder(options)
        encoder.count_tokens([""])  # a tokenizer that was damaged is told now, where there is still a way without it
        return encoder


_encoder = lru_cache(maxsize=4)(LocalEncoder)


def default_encoder() -> LocalEncoder:
    """Return the one encoder with default options, made on first use."""
    return shared_encoder(EncoderOptions())


def generate_embeddings(texts: Sequence[str]) -> Vectors:
    """Return the default model's vectors: shape (len(texts), 384), float32, each row of length 1.

    Raises
    ------
    EncoderError
        If the model cannot be had.
    """
    return default_encoder().encode(texts)


def cosine_similarity(a: ArrayLike, b: ArrayLike) -> float:
    """Return the cosine of the angle between two vectors of one length, -1 to 1; 0.0 if either is all zeros.

    Raises
    ------
    ValueError
        If the shapes differ or are not one-dimensional.
    """
    left, right = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if left.ndim != 1 or left.shape != right.shape:
        raise ValueError(f"two vectors of one length are needed, got shapes {left.shape} and {right.shape}")
    scale = float(np.linalg.norm(left)) * float(np.linalg.norm(right))
    return float(np.clip(left @ right / scale, -1.0, 1.0)) if scale > 0 else 0.0
