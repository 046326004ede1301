"""Count a language model's tokens, offline and without importing litellm: read every count as "about"."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

# The files that tiktoken keeps its encodings in, as litellm ships them.
_FILES = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}


def count_tokens(text: str) -> int:
    """Return about how many tokens a language model makes of `text`.

    Counted with the cl100k encoding; where its table is not on this machine, a third of the UTF-8 bytes.
    Other models' counts differ: small local ones need up to about 30 % more.
    """
    return _counter("cl100k_base")(text)


def fewest_tokens(text: str) -> int:
    """Return the lower one of two encodings' counts: the newer one needs fewer tokens for other languages."""
    return min(_counter(name)(text) for name in _FILES)


@cache
def _counter(encoding_name: str) -> Callable[[str], int]:
    folder = _table_folder(encoding_name)
    if folder is None:
        return lambda text: -(-len(text.encode("utf-8", "replace")) // 3)
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)  # read once, while the table is loaded
    try:
        import tiktoken

        encoding = tiktoken.get_encoding(encoding_name)
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before
    return lambda text: len(encoding.encode_ordinary(text))


def _table_folder(encoding_name: str) -> Path | None:
    """Where the table lies: litellm ships it, and finding the package does not import it."""
    spec = importlib.util.find_spec("litellm")
    for location in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(location) / "litellm_core_utils" / "tokenizers"
        if (folder / _FILES[encoding_name]).is_file():
            return folder
    return None
