"""Which models may be asked, where somebody who runs a shared server has listed them.

The environment variable ``AUTOCONTEXT_ALLOWED_MODELS`` names a text file with a model a line, and behind it the address
if it is not the provider's own; ``*`` stands for any characters, ``#`` begins a comment::

    ollama/gemma3     http://10.0.0.5:11434
    openai/*          http://10.0.0.6:8000/v1
    gemini/gemini-2.5-flash

Without the variable every model and address is allowed. A file that cannot be read allows none.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import urlsplit

from autocontext.datatypes import ModelOptions
from autocontext.errors import ModelError

VARIABLE = "AUTOCONTEXT_ALLOWED_MODELS"


@dataclass(frozen=True, slots=True)
class AllowedModel:
    """One line of the list: a model's name, perhaps with ``*``, and its address (None: the provider's own)."""

    model: str
    api_base: str | None


def allowed_models() -> tuple[AllowedModel, ...] | None:
    """Return the list, or None where there is none and everything is allowed.

    Raises
    ------
    ModelError
        If there is a list that cannot be read (kind ``"not_allowed"``).
    """
    path = os.environ.get(VARIABLE)
    if path is None:
        return None
    try:
        lines = Path(path).read_text("utf-8-sig").splitlines()
    except (OSError, ValueError):
        sentence = f"The list of allowed models cannot be read, so none is asked. Correct {VARIABLE} on the server."
        raise ModelError("not_allowed", sentence) from None
    words = [line.partition("#")[0].split() for line in lines]
    return tuple(AllowedModel(row[0], row[1] if len(row) > 1 else None) for row in words if row)


def check_allowed(options: ModelOptions) -> None:
    """Raise ModelError (kind ``"not_allowed"``) if there is a list, and it lacks this model at this address."""
    allowed = allowed_models()
    if allowed is None:
        return
    name, address = _plain_name(options.model), _plain_address(options.api_base)
    if not any(
        fnmatchcase(name, _plain_name(row.model)) and address == _plain_address(row.api_base) for row in allowed
    ):
        names = ", ".join(dict.fromkeys(row.model for row in allowed)) or "none"
        sentence = f"This server allows its listed models and addresses only. Choose one of its models: {names}."
        raise ModelError("not_allowed", sentence)


def check_address_allowed(options: ModelOptions) -> None:
    """Raise ModelError (kind ``"not_allowed"``) if there is a list without any model at this address."""
    allowed = allowed_models()
    address = _plain_address(options.api_base)
    if allowed is not None and address not in [_plain_address(row.api_base) for row in allowed]:
        sentence = "This server allows its listed addresses only. Choose one of its models."
        raise ModelError("not_allowed", sentence)


def _plain_name(model: str) -> str:
    return model.replace("ollama_chat/", "ollama/", 1) if model.startswith("ollama_chat/") else model


def _plain_address(address: str | None) -> str:
    """Return an address so that two spellings of the same one are equal; "" for the provider's own."""
    try:
        parts = urlsplit((address or "").strip().rstrip("/"))
        return parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower()).geturl()
    except ValueError:
        return address or ""
