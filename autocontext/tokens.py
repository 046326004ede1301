"""Count a language model's tokens, offline and without importing litellm: read every count as "about"."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

_ENCODING = "cl100k_base"
# The file that tiktoken keeps this encoding in, as litellm ships it.
_ENCODING_FILE = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"


def count_tokens(text: str) -> int:
    """Return about how many tokens a language model makes of `text`.

    Counted with the cl100k encoding; where its table is not on this machine, a third of the UTF-8 bytes.
    Other models' counts differ: small local ones need up to about 30 % more.
    """
    return _counter()(text)


@lru_cache(maxsize=1)
def _counter() -> Callable[[str], int]:
    folder = _table_folder()
    if folder is None:
        return lambda text: -(-len(text.encode("utf-8", "replace")) // 3)
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)  # read once, while the table is loaded
    try:
        import tiktoken

        encoding = tiktoken.get_encoding(_ENCODING)
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before
    return lambda text: len(encoding.encode_ordinary(text))


def _table_folder() -> Path | None:
    """Where the table lies: litellm ships it, and finding the package does not import it."""
    spec = importlib.util.find_spec("litellm")
    for location in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(location) / "litellm_core_utils" / "tokenizers"
        if (folder / _ENCODING_FILE).is_file():
            return folder
    return None
