"""What computes the vectors: the same model through sentence-transformers or through OpenVINO.

sentence-transformers is the reference, and the way for GPUs and for models of another build. OpenVINO is for CPUs: some
three times as fast, in a tenth of the time to start and half of the memory, since torch is not imported.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from autocontext.encoders.bert import UnknownModelError, read_bert
from autocontext.errors import EncoderError
from autocontext.protocols import Vectors


class RuntimeUnavailableError(Exception):
    """OpenVINO cannot or need not be used here; the text says why, as the end of a sentence."""


class Runtime(Protocol):
    """Computes vectors, each stream for one thread at a time.

    Attributes
    ----------
    label
        What it is, for people.
    dimension
        Length of a vector.
    streams
        How many it can do at once.
    step_tokens
        How many tokens, padding counted, it is given at once: enough to keep a stream busy for some ten milliseconds.
    """

    label: str
    dimension: int
    streams: int
    step_tokens: int

    def run(self, texts: Sequence[str], tokens: Sequence[Sequence[int]], stream: int) -> Vectors:
        """Return the vectors of a few texts of like length, given also as the model's tokens."""
        ...


class TorchRuntime:
    """sentence-transformers, on the device that it chooses.

    Raises
    ------
    EncoderError
        If it is not installed.
    """

    def __init__(self, folder: Path) -> None:
        # The Trainer's integrations are not needed, and the progress bar of loading weights is noise on stderr.
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        try:
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging
        except ImportError as error:
            raise EncoderError(
                f"The embedding model needs sentence-transformers, which cannot be loaded ({error}). Install it with: "
                "pip install sentence-transformers"
            ) from error

        logging.disable_progress_bar()
        self._model: Any = SentenceTransformer(str(folder), local_files_only=True)
        device = self._model.device.type
        self.label = "sentence-transformers" if device == "cpu" else f"sentence-transformers on {device}"
        self.dimension: int = self._model.get_embedding_dimension()
        self.streams = 1
        self.step_tokens = 1_024 if device == "cpu" else 16_384

    def run(self, texts: Sequence[str], tokens: Sequence[Sequence[int]], stream: int) -> Vectors:  # noqa: ARG002 it has its own
        """See `Runtime`."""
        vectors: Vectors = self._model.encode(
            list(texts),
            batch_size=len(texts),
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return vectors


class OpenVINORuntime:
    """OpenVINO on the CPU, for models of the kind BERT.

    The model is built from its weights at each start, which takes a fifth of a second: no converted file is kept.
    In bfloat16 where the processor computes with it, in float32 elsewhere.

    Raises
    ------
    RuntimeUnavailableError
        If it cannot be used for this model, or on this machine.
    """

    _BATCH_TOKENS = 1_024  # docs/decisions/016-encoder.md

    def __init__(self, folder: Path, max_tokens: int) -> None:
        try:
            model = read_bert(folder, max_tokens)
            openvino = import_openvino()
            core = openvino.Core()
            # The default is bfloat16 where the processor has instructions for it; float16 on ARM is not exact enough.
            default = core.get_property("CPU", "INFERENCE_PRECISION_HINT")
            precision = default if default == openvino.Type.bf16 else openvino.Type.f32
            compiled = core.compile_model(
                model.graph(openvino),
                "CPU",
                {
                    "PERFORMANCE_HINT": "THROUGHPUT",  # as many streams as suit the processor
                    "INFERENCE_PRECISION_HINT": precision,
                    "ENABLE_CPU_PINNING": False,  # other programs run too
                },
            )
            self.streams = compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")
            self._requests = [compiled.create_infer_request() for _ in range(self.streams)]
            self.step_tokens = self._BATCH_TOKENS
            self.label = f"OpenVINO in {'bfloat16' if precision == openvino.Type.bf16 else 'float32'}"
            self.dimension = model.dimension
            trial = self.run(["", ""], [[0, 0], [0]], 0)
        except (RuntimeUnavailableError, UnknownModelError) as error:
            raise RuntimeUnavailableError(str(error)) from error
        except Exception as error:  # its own errors, those of damaged weights, of a missing library
            about = " ".join(str(error).split())  # it is shown as one line
            raise RuntimeUnavailableError(f"OpenVINO failed: {type(error).__name__}: {about}") from error
        if not np.allclose(np.linalg.norm(trial, axis=1), 1, atol=0.01):
            raise RuntimeUnavailableError("OpenVINO computes no vectors of length 1 here")

    def run(self, texts: Sequence[str], tokens: Sequence[Sequence[int]], stream: int) -> Vectors:  # noqa: ARG002 the tokens say it
        """See `Runtime`."""
        request = self._requests[stream]
        request.start_async(_padded(tokens), share_inputs=True)
        request.wait()
        vectors: Vectors = np.array(request.get_output_tensor(0).data, dtype=np.float32)
        return vectors


def _padded(tokens: Sequence[Sequence[int]]) -> list[Any]:
    """Return the tokens and where there are any, both of shape (texts, longest)."""
    shape = len(tokens), max(len(ids) for ids in tokens)
    ids, mask = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int32)
    for row, text in enumerate(tokens):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
    return [ids, mask]


def import_openvino() -> Any:
    """Import OpenVINO without its telemetry, which would send a message to Google at every import.

    Raises
    ------
    RuntimeUnavailableError
        If it is not installed or does not load.
    """
    if importlib.util.find_spec("openvino") is None:
        raise RuntimeUnavailableError("the package openvino is not installed")
    # None says "not installed"; OpenVINO then takes a stand-in that sends nothing, for as long as the process lives.
    is_new = "openvino_telemetry" not in sys.modules
    if is_new:
        sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
    try:
        import openvino
    except Exception as error:  # a missing system library, a processor that is too old
        raise RuntimeUnavailableError(f"the package openvino cannot be loaded: {error}") from error
    finally:
        if is_new:
            del sys.modules["openvino_telemetry"]
    return openvino


def has_gpu() -> bool:
    """Tell, without importing torch, whether sentence-transformers will compute on a GPU."""
    if sys.platform == "darwin":
        import platform

        return platform.machine() == "arm64"
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0") in ("", "-1"):
        return False
    torch = importlib.util.find_spec("torch")
    folders = torch.submodule_search_locations if torch is not None else None
    libraries = ("libtorch_cuda.so", "libtorch_hip.so", "torch_cuda.dll")
    built_for_gpu = any((Path(folder) / "lib" / name).exists() for folder in folders or () for name in libraries)
    system = Path(os.environ.get("SYSTEMROOT", r"C:\Windows")) / "System32"
    drivers = (Path("/dev/nvidiactl"), Path("/dev/dxg"), Path("/dev/kfd"), system / "nvcuda.dll")
    return built_for_gpu and any(driver.exists() for driver in drivers)
