"""Ask any language model that litellm knows, and give the answer piece by piece.

The only module that imports litellm, and only when a model is asked: the import takes seconds and nearly 200 MB.
"""

from __future__ import annotations

import importlib
import os
import queue
import re
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

from autocontext.allowed import check_allowed
from autocontext.datatypes import ModelOptions, Piece
from autocontext.errors import ModelError
from autocontext.llm_errors import (
    TOO_LATE,
    UNKNOWN_PROVIDER,
    check_address_and_key,
    check_model_name,
    explain,
    is_ollama,
    model_error,
    provider_of,
    tidy,
)

__all__ = ["StreamJob", "is_ollama", "load_litellm", "stream_answer"]

# Providers with one key and no other way in, so that a missing key can be told before anything is sent.
_KEY_PROVIDERS = {"openai", "gemini", "groq", "mistral", "openrouter", "deepseek", "xai", "cohere", "together_ai"}
# Providers whose connection is made here, so that nothing of the environment goes to a typed address. Others send a
# token of the environment whatever key is given, sign in with files of this machine, or follow redirects.
_ADDRESS_PROVIDERS = {"openai", "ollama", "ollama_chat"}
_HEADERS = {"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding"}
_HEADERS |= {"x-stainless-raw-response"}  # by which the openai client remembers what it was asked for
_THINK_TAG = re.compile(r"(<|\\u003c)(/?think)(?=>|\\u003e)")
_CONNECT_SECONDS = 10.0  # a wrong address should not be waited for as long as a model that loads


def load_litellm() -> ModuleType:
    """Import litellm quietly: no price list or tokenizer from the network, no .env file, no advertising on stdout.

    Takes 4 to 10 s for the first time; may be called early from a thread.

    Raises
    ------
    ModelError
        If litellm is not installed (kind ``"not_installed"``).
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else the import itself asks a server
    os.environ.setdefault("LITELLM_OFFLINE_MODE", "true")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    os.environ.setdefault("LITELLM_LOG", "ERROR")
    litellm = _import("litellm")
    litellm.suppress_debug_info = True  # type: ignore[attr-defined]  # untyped
    return litellm


def stream_answer(messages: str | Sequence[Mapping[str, str]], options: ModelOptions) -> Generator[Piece, None, None]:
    """Yield the answer as it comes; the last piece is of kind ``"done"`` and holds the figures.

    Nothing is sent before the first piece is asked for, and nothing is ever sent twice. Closing the generator
    (``break`` and ``close()``, or dropping it) closes the connection, so that the server stops working. Nothing of the
    environment (keys, organisations, further headers) goes to ``options.api_base``, and redirects from there are not
    followed. Ollama is told to refuse a prompt that does not fit rather than to cut it.

    Parameters
    ----------
    messages
        The prompt, or the messages of a chat (``role``, ``content``).
    options
        Which model, where, and how long to wait. ``deadline`` is looked at whenever a piece arrives.

    Raises
    ------
    ModelError
        And nothing else. Pieces that came before a failure were already yielded.
    """
    give_up_at = time.monotonic() + options.deadline
    options = tidy(options)
    chat = [{"role": "user", "content": messages}] if isinstance(messages, str) else [dict(m) for m in messages]
    outcome = _Outcome()
    response = handler = None
    try:
        arguments = _call_arguments(options)
        if options.api_base or is_ollama(options.model):
            handler = _own_connection(options)
            arguments["client"] = handler if is_ollama(options.model) else _openai_client(options, handler)
        response = load_litellm().completion(messages=chat, **arguments)
        for piece in _read(response, outcome):
            if time.monotonic() > give_up_at:
                raise model_error("timeout", TOO_LATE, options)  # noqa: TRY301 - passed on below as it is
            outcome.has_text = outcome.has_text or (piece.kind == "text" and not piece.text.isspace())
            yield piece
    except ModelError:
        raise
    except Exception as error:  # noqa: BLE001 - litellm raises anything, plain Exception included
        raise explain(error, options) from None
    finally:
        for opened in (response, handler):
            if opened is not None:
                with suppress(Exception):  # closing tells the server to stop; a failure of it is no news
                    opened.close()
    yield outcome.done(options)


class StreamJob:
    """An answer that is fetched by a thread, so that the caller is never blocked while the server is silent.

    A blocking read cannot be interrupted, and a local model may take a minute before its first word: with the plain
    generator, a Stop button would do nothing until then. The thread starts at once and ends by itself; after
    `cancel` it closes the connection at the server's next byte, or after ``options.timeout``.
    """

    def __init__(self, messages: str | Sequence[Mapping[str, str]], options: ModelOptions) -> None:
        self._options = options
        self._give_up_at = time.monotonic() + options.deadline
        self._items: queue.SimpleQueue[Piece | ModelError | None] = queue.SimpleQueue()
        self._cancelled = threading.Event()
        threading.Thread(target=self._work, args=(messages,), daemon=True, name="autocontext-answer").start()

    def cancel(self) -> None:
        """Stop the answer; returns at once and may be called again."""
        self._cancelled.set()

    def pieces(self, poll: float = 0.2) -> Generator[Piece | None, None, None]:
        """Yield the pieces of `stream_answer` as they come, and None after every `poll` seconds without one.

        To be used once. Leaving it early, by whatever way, cancels the job. Raises ModelError as `stream_answer`
        does, and for the deadline even if the server is silent.
        """
        try:
            while True:
                try:
                    item = self._items.get(timeout=poll)
                except queue.Empty:
                    if time.monotonic() > self._give_up_at:
                        raise model_error("timeout", TOO_LATE, self._options) from None
                    yield None
                    continue
                if item is None:
                    return
                if isinstance(item, ModelError):
                    raise item
                yield item
        finally:
            self.cancel()

    def _work(self, messages: str | Sequence[Mapping[str, str]]) -> None:
        try:
            with closing(stream_answer(messages, self._options)) as stream:
                for piece in stream:
                    if self._cancelled.is_set():
                        break
                    self._items.put(piece)
        except ModelError as error:
            self._items.put(error)
        except BaseException as error:  # noqa: BLE001 - a bug of ours: tell it rather than let the caller wait for ever
            sentence = "Asking the model failed inside AutoContext. Please report it."
            self._items.put(ModelError("bug", sentence, type(error).__name__))
        finally:
            self._items.put(None)


@dataclass
class _Outcome:
    """What is known about an answer when its stream has ended."""

    finish: str | None = None
    usage: object = None
    has_text: bool = False

    def done(self, options: ModelOptions) -> Piece:
        """Return the last piece, or raise if the stream ended well but without an answer."""
        if self.finish == "content_filter":
            sentence = "The content filter of {where} stopped the answer. Ask in other words, or choose another model."
            raise model_error("content_filter", sentence, options)
        if not self.has_text and self.finish == "length":
            sentence = "{model} used all its tokens before the answer began. Allow a longer answer."
            raise model_error("empty", sentence, options)
        if not self.has_text:  # also what litellm makes of an HTML page, and llama_cpp.server of a prompt too long
            sentence = (
                "{where} answered with nothing. Use a smaller token budget, or check that the address is that of a "
                "language model."
            )
            raise model_error("empty", sentence, options)
        prompt_tokens = getattr(self.usage, "prompt_tokens", None)
        completion_tokens = getattr(self.usage, "completion_tokens", None)
        cost = _cost(options, prompt_tokens, completion_tokens)
        return Piece("done", "", self.finish, prompt_tokens, completion_tokens, cost)


def _read(response: Any, outcome: _Outcome) -> Iterator[Piece]:
    """Yield the pieces of litellm's stream, and note in `outcome` what it says beside the text."""
    splitter = ThinkSplitter()
    for chunk in response:
        outcome.usage = getattr(chunk, "usage", None) or outcome.usage
        for choice in chunk.choices[:1]:  # the chunk with the usage has none
            outcome.finish = choice.finish_reason or outcome.finish
            if thought := getattr(choice.delta, "reasoning_content", None):
                yield Piece("thinking", thought)
            yield from splitter.feed(_unshielded(choice.delta.content or ""))
    yield from splitter.feed("", last=True)


class ThinkSplitter:
    """Split a stream of text at ``<think>...</think>``, also where a tag is cut between two pieces.

    The tag counts only before the first word of the answer: later it is text.
    """

    def __init__(self) -> None:
        self._state: Literal["before", "inside", "answer"] = "before"
        self._rest = ""

    def feed(self, text: str, *, last: bool = False) -> Iterator[Piece]:
        """Yield what can be told of the stream up to `text`; with `last`, all that was kept back."""
        start_tag, end_tag = "<think>", "</think>"
        self._rest += text
        if self._state == "before":
            start = self._rest.lstrip()
            if start.startswith(start_tag):
                self._state, self._rest = "inside", start.removeprefix(start_tag)
            elif last or not start_tag.startswith(start):
                self._state = "answer"
        if self._state == "inside":
            thought, tag, after = self._rest.partition(end_tag)
            if not tag and not last:
                begun = max(n for n in range(len(end_tag)) if thought.endswith(end_tag[:n]))
                thought, after = thought[: len(thought) - begun], thought[len(thought) - begun :]
            self._state, self._rest = "answer" if tag else "inside", after
            if thought:
                yield Piece("thinking", thought)
        if self._state == "answer" and self._rest:
            text, self._rest = self._rest, ""
            yield Piece("text", text)


def _call_arguments(options: ModelOptions) -> dict[str, object]:
    """Return litellm's arguments; raise ModelError for what can be told without sending anything."""
    check_model_name(options)
    check_allowed(options)
    check_address_and_key(options)
    provider = _provider(options)
    arguments: dict[str, object] = {
        "model": options.model,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": options.temperature,
        "max_tokens": options.max_tokens,
        "drop_params": True,  # some models accept no temperature
        "max_retries": 0,  # the openai client would ask three times, each with the full timeout
        "timeout": _import("httpx").Timeout(options.timeout, connect=min(options.timeout, _CONNECT_SECONDS)),
    }
    if is_ollama(options.model):
        # ollama/ would flatten the messages to "### User:" inside the model's own template.
        arguments["model"] = "ollama_chat/" + options.model.partition("/")[2]
        arguments["extra_body"] = {"truncate": False}
        if options.num_ctx:
            arguments["num_ctx"] = options.num_ctx
    if options.api_base:
        arguments["api_base"] = options.api_base
        # Without one, litellm sends the key of the environment to the address that the user typed; "" is no help.
        arguments["api_key"] = options.api_key or "none"
    elif options.api_key:
        arguments["api_key"] = options.api_key
    elif provider in _KEY_PROVIDERS:
        _check_environment(provider, options)
    return arguments


def _provider(options: ModelOptions) -> str:
    """Return litellm's name of the provider."""
    litellm = load_litellm()
    try:
        provider = str(litellm.get_llm_provider(options.model, api_base=options.api_base)[1])
    except litellm.BadRequestError:
        raise model_error("unknown_provider", UNKNOWN_PROVIDER, options) from None
    if options.api_base and not {provider, provider_of(options.model)} <= _ADDRESS_PROVIDERS:
        sentence = (
            "An address goes with ollama/ and openai/ only. Leave it out for {provider}/, or write openai/ for a "
            "server with OpenAI's protocol."
        )
        raise model_error("bad_address", sentence, options)
    return provider


def _check_environment(provider: str, options: ModelOptions) -> None:
    missing = load_litellm().validate_environment(options.model)["missing_keys"]
    if missing:
        variables = " or ".join(missing)
        sentence = f"No API key for {provider}. Type one in, or set {variables} before starting the app."
        raise model_error("missing_key", sentence, options)


def _own_connection(options: ModelOptions) -> Any:
    """Return a connection that follows no redirect, keeps think tags, and sends a typed address our headers only."""
    handler = _import("litellm.llms.custom_httpx.http_handler").HTTPHandler(follow_redirects=False)

    def send_ours_only(request: Any) -> None:
        for name in set(request.headers) - _HEADERS:
            del request.headers[name]
        request.headers["user-agent"] = "autocontext"
        request.headers["authorization"] = f"Bearer {options.api_key or 'none'}"

    handler.client.event_hooks = {
        "request": [send_ours_only] if options.api_base else [],
        "response": [_shield_think_tags] if is_ollama(options.model) else [],
    }
    return handler


def _openai_client(options: ModelOptions, handler: Any) -> Any:
    key = options.api_key or "none"
    return _import("openai").OpenAI(api_key=key, base_url=options.api_base, http_client=handler.client, max_retries=0)


def _shield_think_tags(response: Any) -> None:
    """Change think tags so that litellm does not know them.

    Of Ollama's streams it takes them out, and leaves the thought between them in the answer if a tag comes in a piece
    of its own, as a model's tokens do (1.110.2).
    """
    texts = response.iter_text

    def lines() -> Iterator[str]:  # whole ones, so that no tag is cut
        rest = ""
        for text in texts():
            *whole, rest = (rest + text).split("\n")
            for line in whole:
                yield _THINK_TAG.sub("\\1\u2060\\2", line) + "\n"
        yield _THINK_TAG.sub("\\1\u2060\\2", rest)

    response.iter_text = lines


def _unshielded(text: str) -> str:
    return text.replace("<\u2060think", "<think").replace("<\u2060/think", "</think")


def _cost(options: ModelOptions, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
    """Return the price in dollars by litellm's table, which is as old as its release; None where it has none."""
    if options.api_base or is_ollama(options.model) or prompt_tokens is None or completion_tokens is None:
        return None
    with suppress(Exception):  # litellm raises a plain one for a model that it does not know
        return float(
            sum(
                load_litellm().cost_per_token(
                    model=options.model, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens
                )
            )
        )
    return None


def _import(name: str) -> ModuleType:
    """Import litellm or what comes with it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        sentence = "litellm is not installed, so no model can be asked. Install it with: pip install litellm"
        raise ModelError("not_installed", sentence, str(error)) from None
