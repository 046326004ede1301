"""Failures of a language model, told as one sentence with a cure.

Knows the exceptions of litellm, openai and httpx by their names only, so it imports none of them. The class that
litellm raises does not tell what happened: a refused connection is an ``InternalServerError`` with ``openai/`` and an
``APIConnectionError`` with ``ollama_chat/``. So the whole chain of causes is looked at, and its text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

from autocontext.datatypes import ModelOptions
from autocontext.errors import ModelError

OLLAMA_ADDRESS = "http://localhost:11434"
BAD_ADDRESS = f"'{{where}}' is not an address. Write one like {OLLAMA_ADDRESS} or https://example.org/v1."
_EXAMPLES = "provider/model in lower case, for example ollama/gemma3, openai/gpt-5-mini or gemini/gemini-2.5-flash"
UNKNOWN_PROVIDER = f"'{{model}}' does not name a provider that litellm knows. Write {_EXAMPLES}."
TOO_LATE = (
    "The answer took longer than {deadline} s and was stopped. Choose a smaller model or a shorter answer, or raise "
    "the deadline."
)

_SECRET = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|r8|nvapi|pplx)[-_][\w*-]{4,}|\bBearer\s+\S+|\bAIza[\w-]{10,}|\bkey=[^\s&\"']+"
)
_CREDENTIALS = re.compile(r"(?<=://)\S*@")  # greedy: a password may hold "@" and "/"
_NOISE = re.compile(r"litellm\.\w+: |\b(?:\w+Error: )?\w+Exception - ")


def is_ollama(model: str) -> bool:
    """Tell whether `model` is asked over Ollama's own protocol: ``ollama/...`` or ``ollama_chat/...``."""
    return provider_of(model) in ("ollama", "ollama_chat")


def provider_of(model: str) -> str:
    """Return what stands before the first ``/`` of `model`; "" if there is none."""
    provider, slash, _ = model.partition("/")
    return provider if slash else ""


def tidy(options: ModelOptions) -> ModelOptions:
    """Take off what comes along when an address or a key is pasted; "" means None."""
    address = (options.api_base or "").strip().rstrip("/")
    return replace(options, api_base=address or None, api_key=(options.api_key or "").strip() or None)


def redact(text: str, options: ModelOptions) -> str:
    """Return `text` without what must not be shown: keys, and user names and passwords in addresses.

    Taken out are ``options.api_key``, the values of the environment's ``..._KEY``, ``..._TOKEN`` and ``..._SECRET``
    variables (of 8 characters or more), and what looks like a provider's key.
    """
    secrets = [value for name, value in os.environ.items() if name.endswith(("_KEY", "_TOKEN", "_SECRET"))]
    secrets = [value.strip() for value in secrets if len(value.strip()) >= 8]
    if options.api_key and options.api_key.strip():
        secrets.append(options.api_key.strip())
    for secret in sorted(secrets, key=len, reverse=True):  # a key may begin with another one
        text = text.replace(secret, "***")
    return _CREDENTIALS.sub("", _SECRET.sub("***", text))


def shown_address(options: ModelOptions) -> str:
    """Return the server's address as it may be shown, without credentials and query; else the provider's name."""
    address = (options.api_base or "").strip()
    if not address and is_ollama(options.model):
        address = os.environ.get("OLLAMA_API_BASE") or OLLAMA_ADDRESS
    if not address:
        return provider_of(options.model) or "the provider"
    scheme, separator, rest = address.rpartition("://")
    rest = re.split(r"[?#]", rest.rpartition("@")[2])[0]
    return redact(f"{scheme}{separator}{rest.rstrip('/')}", options)


def model_error(kind: str, sentence: str, options: ModelOptions, detail: str = "") -> ModelError:
    """Return a ModelError for `sentence`, in which ``{where}``, ``{model}``, ... are filled in without secrets.

    The fields are ``where`` (the address), ``model`` (as typed), ``name`` (the model without its provider),
    ``provider``, and ``timeout`` and ``deadline`` in seconds.
    """
    message = sentence.format(
        where=shown_address(options),
        model=redact(options.model.strip(), options),
        name=redact(options.model.strip().partition("/")[2] or options.model.strip(), options),
        provider=redact(provider_of(options.model) or options.model, options),
        timeout=f"{options.timeout:g}",
        deadline=f"{options.deadline:g}",
    )
    return ModelError(kind, message, detail)


def explain(error: BaseException, options: ModelOptions) -> ModelError:
    """Return the ModelError for whatever litellm, openai or httpx raised when asked with `options`."""
    failure = _Failure(error, options)
    kind, sentence = next((kind, sentence) for kind, applies, sentence in _CASES if applies(failure))
    return model_error(kind, sentence, options, detail=_one_line(error, options))


def check_model_name(options: ModelOptions) -> None:
    """Raise ModelError (kind ``"bad_model"``) if ``options.model`` cannot be a model's name."""
    model = options.model
    if not model.strip():
        raise model_error("bad_model", f"No model is named. Write {_EXAMPLES}.", options)
    if model != model.strip():
        raise model_error("bad_model", "The model's name begins or ends with a blank. Write '{model}'.", options)
    if model.endswith("/"):
        raise model_error("bad_model", f"'{{model}}' names a provider but no model. Write {_EXAMPLES}.", options)


def check_address_and_key(options: ModelOptions) -> None:
    """Raise ModelError if what was typed can be neither an address (``"bad_address"``) nor a key (``"wrong_key"``)."""
    if options.api_key and not (options.api_key.isascii() and options.api_key.isprintable()):
        raise model_error("wrong_key", "The API key holds characters that no key has. Copy it again.", options)
    if not options.api_base:
        return
    with suppress(ValueError):  # which a bracket left open raises, and a port that is no number when it is read
        url = urlsplit(options.api_base)
        _ = url.port
        if url.scheme in ("http", "https") and url.hostname and " " not in options.api_base:
            return
    raise model_error("bad_address", BAD_ADDRESS, options)


class _Failure:
    """What the predicates of the table look at: class names, status codes and text of an error and its causes."""

    def __init__(self, error: BaseException, options: ModelOptions) -> None:
        chain = list(_causes(error))
        self.names = {cls.__name__ for e in chain for cls in type(e).__mro__}
        self.statuses = {status for e in chain for status in _statuses(e)}
        self.text = " ".join(str(e) for e in chain).lower()
        self.ollama = is_ollama(options.model)

    def is_a(self, *names: str) -> bool:
        return not self.names.isdisjoint(names)

    def has(self, *statuses: int) -> bool:
        return not self.statuses.isdisjoint(statuses)

    def says(self, pattern: str) -> bool:
        return re.search(pattern, self.text) is not None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        yield error
        error = getattr(error, "original_exception", None) or error.__cause__ or error.__context__


def _statuses(error: BaseException) -> Iterator[int]:
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            yield status


def _one_line(error: BaseException, options: ModelOptions) -> str:
    """Return what the provider said, in one line, without tracebacks and secrets."""
    text = str(getattr(error, "message", "") or error)
    text = re.split(r"Traceback \(most recent call last\)| Original exception:", text)[0]
    # Cut after the secrets are out: half a key would not be known as one.
    return redact(" ".join(_NOISE.sub("", text).split()), options)[:400]


# The first row that applies counts. Text comes before classes and status codes, which providers use loosely.
_CASES: tuple[tuple[str, Callable[[_Failure], bool], str], ...] = (
    (
        "loop",
        lambda f: f.says("repeating the same chunk"),
        "The model repeated itself without end and was stopped. Ask in other words, or choose a larger model.",
    ),
    (
        "context_window",
        lambda f: f.is_a("ContextWindowExceededError") or f.says(r"context[ _](length|size|window)"),
        "The prompt is longer than the context window of {model}. Use fewer passages or a smaller token budget, or "
        "a model with a larger window (Ollama: a larger context size).",
    ),
    (
        "memory",
        lambda f: f.says("requires more (system|gpu) memory|out of memory|cudamalloc failed"),
        "{name} needs more memory than {where} has free. Choose a smaller model, or a smaller context size.",
    ),
    (
        "no_chat",
        lambda f: f.says("does not support (chat|generate)"),
        "{name} is no model that answers, for example one for embeddings. Choose a chat model.",
    ),
    (
        "content_filter",
        lambda f: f.is_a("ContentPolicyViolationError") or f.says("content management policy|content_filter"),
        "The content filter of {where} refused the prompt. Ask in other words, or choose another model.",
    ),
    (
        "redirect",
        lambda f: f.has(*range(300, 400)),
        "{where} sends on to another address, which is not followed: your text would go elsewhere. Type the address "
        "that it ends at, for example with https:// for http://.",
    ),
    (
        "bad_address",
        lambda f: f.is_a("UnsupportedProtocol", "InvalidURL"),
        BAD_ADDRESS,
    ),
    (
        "missing_key",
        lambda f: f.says(r"missing credentials|missing \w+ api key|unable to locate credentials"),
        "No API key for {provider}. Type one in, or set the provider's variable before starting the app.",
    ),
    (
        "wrong_key",
        lambda f: f.is_a("AuthenticationError", "PermissionDeniedError") or f.has(401, 403),
        "{where} refused the API key. Check it, and that it may use {model}.",
    ),
    (
        "model_not_found",
        lambda f: f.ollama and f.has(404) and f.says("model.*not found"),
        "Ollama has no model '{name}'. Fetch it with: ollama pull {name}",
    ),
    (
        "bad_address",
        lambda f: f.ollama and f.has(404),
        f"There is no Ollama at {{where}}. Its address has no path and looks like {OLLAMA_ADDRESS}.",
    ),
    (
        "model_not_found",
        lambda f: f.is_a("NotFoundError") or f.has(404),
        "{where} knows no model '{name}'. Check the name, and that the address is complete: most end with /v1.",
    ),
    (
        "quota",
        lambda f: f.has(402) or f.says("insufficient_quota|exceeded your current quota|insufficient (balance|credits)"),
        "The account at {where} has no credit left. Add credit, or choose another model.",
    ),
    (
        "rate_limit",
        lambda f: f.is_a("RateLimitError") or f.has(429),
        "{where} says that there were too many requests. Wait a little and ask again.",
    ),
    (
        "no_tls",
        lambda f: f.is_a("SSLError", "SSLCertVerificationError") or f.says(r"\[ssl\b|wrong_version_number"),
        "No secure connection to {where}. Check whether its address begins with http:// or https://, and its "
        "certificate.",
    ),
    (
        "unreachable",
        lambda f: f.is_a("gaierror"),
        "The host of {where} is not known. Check its spelling and the network.",
    ),
    (
        "unreachable",
        lambda f: f.ollama and f.is_a("ConnectError", "ConnectionRefusedError", "ConnectTimeout"),
        "Nothing answers at {where}. Is Ollama running? Start it with: ollama serve",
    ),
    (
        "unreachable",
        lambda f: f.is_a("ConnectError", "ConnectionRefusedError", "ConnectTimeout"),
        "Nothing answers at {where}. Check the address, and that the server is running.",
    ),
    (
        "timeout",
        lambda f: f.is_a("Timeout", "ReadTimeout") or f.has(408),
        "{where} sent nothing for {timeout} s. A model that is loaded for the first time can need longer: ask again, "
        "or raise the timeout.",
    ),
    (
        "cut",
        lambda f: f.is_a("MidStreamFallbackError", "RemoteProtocolError") or f.says("unexpected response from ollama"),
        "The answer broke off: the connection was lost, or the server reported an error. Ask again.",
    ),
    (
        "bad_request",
        lambda f: f.is_a("BadRequestError") or f.has(400),
        "{where} did not accept the request. Check the model's name and the settings.",
    ),
    (
        "overloaded",
        lambda f: f.is_a("ServiceUnavailableError") or f.has(502, 503, 504, 529),
        "{where} is overloaded or still starting. Wait a little and ask again.",
    ),
    (
        "server_error",
        lambda _: True,
        "{where} failed to answer. Ask again; if it stays so, look at the server's log.",
    ),
)
