"""An embedding model of this machine: its tokens, and its vectors in short turns that many sessions share."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from autocontext.encoders.finding import find_model, identity
from autocontext.encoders.runtimes import OpenVINORuntime, Runtime, RuntimeUnavailableError, TorchRuntime, has_gpu
from autocontext.encoders.turns import Turns
from autocontext.errors import EncoderError
from autocontext.piece_counting import PieceCounter
from autocontext.protocols import Vectors
from autocontext.settings import EncoderOptions

_LEAST_TOKENS = 3  # two special ones, and one of the text
_FULL_BATCH = 16  # texts that tell how fast it is
_FEW = 8  # as many texts are a question; more are documents, which wait for it
_LETTER_RUN = re.compile(r"[^\W\d_]+")
# Letters a piece: English has about 4.5, German 2.9, Russian 1.4, and an unknown word counts none.
_READS_NOTHING, _READS_ALL = 1.6, 3.8


class LocalEncoder:
    """A sentence-transformers model, computed by OpenVINO where that can be done, else by its own library.

    Both give the same vectors but for rounding, so they share a `name`. Finding the model and counting tokens load
    neither; `encode` does on first use.

    Attributes
    ----------
    max_tokens
        Tokens the model takes without cutting, its two special ones not counted.
    characters_per_second
        How fast it is, as measured on the last batch of some size; None before that.

    Raises
    ------
    EncoderError
        At construction, if the model cannot be had, or says nothing sensible of itself.
    """

    def __init__(self, options: EncoderOptions | None = None) -> None:
        self.options = options or EncoderOptions()
        self.folder = find_model(self.options)
        self.name = identity(self.options.model, self.folder)
        try:
            self.max_tokens = self._limit() - 2
        except (ValueError, TypeError, AttributeError, OverflowError) as error:  # no JSON, or other values in it
            raise self._broken(error) from error
        self._turns = Turns()
        self._loaded: Runtime | None = None
        self._refusal = ""
        self.characters_per_second: float | None = None

    def _limit(self) -> int:
        """Return how many tokens the model takes, its special ones counted."""
        limit = self._config("sentence_bert_config.json").get("max_seq_length")
        if limit is None:  # newer releases of sentence-transformers write it with the tokenizer
            limits = (
                self._config("tokenizer_config.json").get("model_max_length"),
                self._config("config.json").get("max_position_embeddings"),
            )
            limit = min((known for known in limits if known), default=256)
        if int(limit) < _LEAST_TOKENS:
            raise ValueError(limit)
        return int(limit)

    def _config(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
        return found

    @cached_property
    def _tokenizer(self) -> Any:
        return self._read_tokenizer()

    @cached_property
    def _cutting_tokenizer(self) -> Any:
        tokenizer = self._read_tokenizer()
        tokenizer.enable_truncation(self.max_tokens + 2)
        return tokenizer

    def _read_tokenizer(self) -> Any:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        except Exception as error:  # the library raises nothing more special
            raise self._broken(error) from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def _runtime(self) -> Runtime:
        if self._loaded is None:
            with self._turns.turn(urgent=True):  # another thread may have loaded it meanwhile
                self._loaded = self._loaded or self._load()
            self._turns.widen(self._loaded.streams)
        return self._loaded

    def _load(self) -> Runtime:
        backend = self.options.backend
        if backend == "auto" and has_gpu():
            self._refusal = "there is a GPU"
        elif backend != "sentence-transformers":
            try:
                return OpenVINORuntime(self.folder, self.max_tokens + 2)
            except RuntimeUnavailableError as error:
                if backend == "openvino":
                    raise EncoderError(
                        f"The embedding model cannot be computed by OpenVINO: {error}. EncoderOptions(backend='auto') "
                        "takes sentence-transformers then."
                    ) from error
                self._refusal = str(error)
        try:
            return TorchRuntime(self.folder)
        except EncoderError:
            raise
        except Exception as error:  # the library and torch raise many kinds
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> EncoderError:
        return EncoderError(
            f"The embedding model in {self.folder} cannot be loaded ({type(error).__name__}). Install it again, or "
            "give another folder."
        )

    @property
    def description(self) -> str:
        """The model, and once it is loaded what computes it, and why that is not OpenVINO."""
        loaded = self._loaded
        if loaded is None:
            return self.name
        return f"{self.name} by {loaded.label}" + (f" (not OpenVINO: {self._refusal})" if self._refusal else "")

    def warm_up(self) -> None:
        """Load the model now rather than at the first call of `encode`."""
        self._runtime()
        _ = self._cutting_tokenizer

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return shape (len(texts), dim), float32, rows of length 1.

        It may be called by many threads. They take turns of some ten milliseconds; who asks for a few texts, as a
        question does, has the next one.
        """
        runtime = self._runtime()
        started = time.perf_counter()
        tokens = [encoding.ids for encoding in self._cutting_tokenizer.encode_batch_fast(list(texts))]
        vectors = np.empty((len(texts), runtime.dimension), dtype=np.float32)

        def compute(stream: int, rows: list[int]) -> None:
            vectors[rows] = runtime.run([texts[row] for row in rows], [tokens[row] for row in rows], stream)

        steps = _steps([len(ids) for ids in tokens], runtime.step_tokens)
        self._turns.share(steps, compute, urgent=len(texts) <= _FEW)
        if len(texts) >= _FULL_BATCH:
            self.characters_per_second = sum(map(len, texts)) / (time.perf_counter() - started)
        return vectors

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text, special ones not counted."""
        return self._counter(texts)

    @cached_property
    def _counter(self) -> Callable[[Sequence[str]], list[int]]:
        cuts_at_blanks = type(self._tokenizer.pre_tokenizer).__name__ == "BertPreTokenizer"
        return PieceCounter(self._count_in_full) if cuts_at_blanks else self._count_in_full

    def _count_in_full(self, texts: Sequence[str]) -> list[int]:
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(encoding.ids) for encoding in encodings]

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


class SentenceTransformerEncoder(LocalEncoder):
    """The reference: the same model by sentence-transformers, whatever the options say."""

    def __init__(self, options: EncoderOptions | None = None) -> None:
        super().__init__(replace(options or EncoderOptions(), backend="sentence-transformers"))


def _steps(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield the numbers of texts that are computed together, the longest first: like lengths need little padding."""
    step: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda row: -lengths[row]):
        if step and (len(step) + 1) * lengths[step[0]] > budget:
            yield step
            step = []
        step.append(row)
    if step:
        yield step
