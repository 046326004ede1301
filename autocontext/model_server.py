"""What a server says of its models: which there are, and how much each takes in. Does not import litellm.

litellm's own list is invented when Ollama is down, and its context sizes cost the import of all of it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from typing import Any

from autocontext.allowed import check_address_allowed, check_allowed
from autocontext.datatypes import ContextSize, ModelOptions
from autocontext.errors import ModelError
from autocontext.llm_errors import (
    OLLAMA_ADDRESS,
    check_address_and_key,
    check_model_name,
    explain,
    is_ollama,
    model_error,
    tidy,
)
from autocontext.model_table import known_context_size

_NO_LIST = "{where} does not answer with a list of models. Check the address: it may be that of another server."


def list_models(options: ModelOptions, timeout: float = 3.0) -> list[str]:
    """Return what the server offers, sorted, as names for ``ModelOptions.model``: ``["ollama/gemma3:4b"]``.

    Asks Ollama (``options.model`` begins with ``ollama/``; the rest of it does not matter) or the server with OpenAI's
    protocol at ``options.api_base``; no other provider is asked, and the list is empty. Where only some models
    are allowed (``autocontext.allowed``), only those are in it.

    Raises
    ------
    ModelError
        If the server cannot be reached within `timeout` seconds, or answers something else.
    """
    options = tidy(replace(options, timeout=timeout))
    ollama = is_ollama(options.model)
    base = _ollama_address(options) if ollama else options.api_base
    if base is None:
        return []
    check_address_allowed(options)
    check_address_and_key(options)
    content = _fetch_json("GET", base + ("/api/tags" if ollama else "/models"), None, options)
    try:
        names = [str(row["name"]) for row in content["models"]] if ollama else [str(r["id"]) for r in content["data"]]
    except (KeyError, TypeError) as error:
        raise model_error("no_model_list", _NO_LIST, options, type(error).__name__) from None
    found = [f"{'ollama' if ollama else 'openai'}/{name}" for name in sorted(names)]
    return [name for name in found if _is_allowed(replace(options, model=name))]


def find_context_size(options: ModelOptions, timeout: float = 3.0) -> ContextSize | None:
    """Return how many tokens the model takes in all, prompt and answer; None if nobody says.

    ``options.num_ctx`` or ``options.context_size`` where it is given. For Ollama, the lowest of that, of what its
    /api/show says of the model and of ``options.max_num_ctx``; for a hosted model, what litellm's table says. A server
    that cannot be reached within `timeout` seconds is no error here: it is told when the model is asked.
    """
    options = tidy(replace(options, timeout=timeout))
    if options.num_ctx:
        return ContextSize(options.num_ctx, "as it is set")
    own = [ContextSize(options.context_size, "as it is set")] if options.context_size else []
    if is_ollama(options.model):
        shown = _ollama_context_size(options)
        sizes = [*own, *([ContextSize(shown, "Ollama says so")] if shown else [])]
        sizes.append(ContextSize(options.max_num_ctx, "the largest context size that is set for Ollama"))
        return min(sizes, key=lambda size: size.tokens)
    if own:
        return own[0]
    known = None if options.api_base else known_context_size(options.model)
    return ContextSize(known, "as litellm's table says") if known else None


def _ollama_address(options: ModelOptions) -> str:
    return options.api_base or (os.environ.get("OLLAMA_API_BASE") or OLLAMA_ADDRESS).rstrip("/")


def _ollama_context_size(options: ModelOptions) -> int | None:
    """Return the context size that Ollama knows of a model, None if it does not answer."""
    with suppress(ModelError):
        check_model_name(options)
        check_allowed(options)
        check_address_and_key(options)
        body = {"model": options.model.partition("/")[2]}
        shown = _fetch_json("POST", _ollama_address(options) + "/api/show", body, options)
        facts = shown.get("model_info") if isinstance(shown, dict) else None
        for name, value in facts.items() if isinstance(facts, dict) else ():
            if name.endswith(".context_length") and isinstance(value, int) and value > 0:
                return value
    return None


def _fetch_json(method: str, url: str, body: object, options: ModelOptions) -> Any:
    """Return what a server answers; only the key that was typed is sent, and no redirect followed."""
    import httpx

    headers = {"Authorization": f"Bearer {options.api_key}"} if options.api_key else {}
    try:
        answer = httpx.request(method, url, json=body, headers=headers, timeout=options.timeout)
        if answer.status_code != 404:  # whose text says nothing of a list
            answer.raise_for_status()
        return answer.json()
    except ValueError as error:
        raise model_error("no_model_list", _NO_LIST, options, type(error).__name__) from None
    except Exception as error:  # noqa: BLE001 - httpx raises its own and the system's errors
        raise explain(error, options) from None


def _is_allowed(options: ModelOptions) -> bool:
    try:
        check_allowed(options)
    except ModelError:
        return False
    return True
