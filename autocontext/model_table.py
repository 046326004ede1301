"""What litellm's table says of a hosted model, read without importing litellm, which takes seconds."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

_FILE = "model_prices_and_context_window_backup.json"


def known_context_size(model: str) -> int | None:
    """Return how many tokens a model takes in, by litellm's name for it; None if the table does not say."""
    provider, _, name = model.partition("/")
    for key in (model, name):  # gemini/gemini-2.5-flash stands there as it is, openai/gpt-5-mini without its provider
        row = _table().get(key)
        if isinstance(row, dict) and row.get("litellm_provider") == provider:
            size = row.get("max_input_tokens") or row.get("max_tokens")
            return size if isinstance(size, int) and size > 0 else None
    return None


@cache
def _table() -> dict[str, Any]:
    spec = importlib.util.find_spec("litellm")
    for location in (spec.submodule_search_locations or []) if spec else []:
        try:
            content = json.loads((Path(location) / _FILE).read_text("utf-8"))
        except (OSError, ValueError):
            continue
        return content if isinstance(content, dict) else {}
    return {}
