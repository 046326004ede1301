"""A scripted language model server for tests and demos: OpenAI protocol (/v1/...) and Ollama protocol (/api/...).

Standard library only; it binds 127.0.0.1 and gives each connection a thread. What it does is chosen by the **model
name** of the request, so that a test needs no side channel:

=====================  ===============================================================================
model                  what happens
=====================  ===============================================================================
any other name         the answer, word by word, then the token counts
``slow``               0.3 s before each word
``reasoning``          two notes to itself, then the answer
``think-tags``         the same notes as ``<think>...</think>`` in the text, the tags cut in two
``think-tokens``       the same, each tag a piece of its own, as a model's tokens are
``think-unopened``     the same without the first tag, which was in the model's chat template
``length``             the answer, finished because the tokens were used up
``length-empty``       used up all tokens and said nothing
``empty``              a well-formed answer without a word
``nothing``            a stream that ends at once
``no-end``             the answer, but the stream ends without saying that it is finished
``no-usage``           the answer without token counts
``blank``              status 200 and not a byte
``stall``              three words, then no byte for 30 s, or until the server is closed
``401`` ``404``        wrong key; no such model
``403`` ``402``        this key may not; the balance is used up
``429`` ``quota``      too many requests (Retry-After: 1); no credit left
``500`` ``503``        the server failed; the server is overloaded
``memory`` ``embed``   the model does not fit the memory; it is none that answers
``context``            the prompt is too long, in OpenAI's words
``llamacpp-context``   the same in llama.cpp's words
``truncate``           the same in Ollama's words, but only if the request forbids to cut the prompt
``filter``             the content filter refuses the prompt
``filter-stream``      the content filter stops the answer (OpenAI only)
``garbage``            an HTML page with status 200
``garbage-stream``     a stream of something that is not JSON
``cut``                the connection breaks after three words
``error-in-stream``    an error object after three words
``redirect``           status 302 to ``FakeLLM.redirect_to``
``hang``               no byte for 30 s, or until the server is closed
``echo-key``           status 401 with the key that was sent, in the error's text
=====================  ===============================================================================

The lists of models come from /v1/models and /api/tags. Under /redirect/ every GET is answered with status 302, under
/page/ with an HTML page. Every request is recorded in ``FakeLLM.requests``.

By hand: ``python tests/fake_llm.py --port 8090 --delay 0.05``.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

ANSWER = "Pauli Blendergast says that economics is bullshit [1]."
NOTES = ("Let me look", " at the context.")
PROMPT_TOKENS = 42
WORDS_BEFORE_TROUBLE = 3
TOO_LONG = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
TOO_LONG_LLAMACPP = {
    "code": 400,
    "message": "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 9000,
    "n_ctx": 4096,
}
PAGE = b"<html><body>502 Bad Gateway</body></html>"
FILTERED = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
# model: (status, text, OpenAI's error code)
REFUSALS = {
    "401": (401, "Incorrect API key provided: sk-wrong.", "invalid_api_key"),
    "404": (404, "model '404' not found", "model_not_found"),
    "403": (403, "You are not allowed to sample from this model", "permission_denied"),
    "402": (402, "Insufficient Balance", "invalid_request_error"),
    "memory": (500, "model requires more system memory (9.1 GiB) than is available (3.2 GiB)", None),
    "embed": (400, '"embed" does not support chat', None),
    "429": (429, "Rate limit reached for requests", "rate_limit_exceeded"),
    "quota": (429, "You exceeded your current quota, please check your plan.", "insufficient_quota"),
    "500": (500, "llama runner process has terminated: exit status 2", None),
    "503": (503, "The server is overloaded", None),
    "context": (400, TOO_LONG, "context_length_exceeded"),
    "filter": (400, FILTERED, "content_filter"),
}


@dataclass
class Recorded:
    """One request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any] = field(default_factory=dict)


class FakeLLM:
    """The server: ``with FakeLLM() as llm: ask(api_base=llm.openai_base)``.

    Attributes
    ----------
    answer, models, delay
        What it says, the models it lists, and the seconds before each word; may be changed while it runs.
    prompt_tokens
        What it counts for the prompt; None: `PROMPT_TOKENS`, or a third of its characters if that is more.
    context_length
        What /api/show says of every model; None: nothing.
    counted
        What it counted for the last prompt.
    requests
        Every request so far.
    disconnected
        Set when a client left in the middle of a stream.
    """

    def __init__(
        self,
        answer: str = ANSWER,
        models: Iterable[str] = ("ok", "gemma3:270m"),
        delay: float = 0.0,
        port: int = 0,
    ) -> None:
        self.answer, self.models, self.delay = answer, list(models), delay
        self.prompt_tokens: int | None = None
        self.counted = 0
        self.context_length: int | None = 32768
        self.requests: list[Recorded] = []
        self.disconnected = threading.Event()
        self.closing = threading.Event()
        self.redirect_to = "http://127.0.0.1:1/elsewhere"
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.llm = self
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.openai_base = f"{self.url}/v1"
        self.ollama_base = self.url

    def __enter__(self) -> Self:
        """Start to serve."""
        # A short poll interval only shortens shutdown().
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop, also in the middle of an answer."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(2)

    def base(self, protocol: str) -> str:
        """Return the address for ``"openai"`` or ``"ollama"``."""
        return self.openai_base if protocol == "openai" else self.ollama_base

    def last(self, path: str) -> Recorded:
        """Return the last request to `path`."""
        return [request for request in self.requests if request.path == path][-1]

    def chats(self) -> list[Recorded]:
        """Return the requests for an answer; litellm asks Ollama's /api/show in the background as well."""
        return [r for r in self.requests if r.path in ("/v1/chat/completions", "/api/chat", "/api/generate")]

    def words(self) -> list[str]:
        """Return the pieces in which the answer is streamed."""
        first, *others = self.answer.split(" ")
        return [first, *(" " + word for word in others)]


class _Server(ThreadingHTTPServer):
    llm: FakeLLM
    daemon_threads = True
    block_on_close = False  # a hanging handler must not block the end of a test

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: that a client goes away is expected in these tests."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name http.server gives it
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer the lists of models."""
        self._record()
        models = self.server.llm.models
        if self.path.startswith("/redirect/"):
            self._send(302, "text/plain", b"", {"Location": self.server.llm.redirect_to})
        elif self.path.startswith("/page/"):
            self._send(200, "text/html", PAGE)
        elif self.path == "/v1/models":
            self._json(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in models]})
        elif self.path == "/api/tags":
            self._json(200, {"models": [{"name": name, "model": name, "size": 291_000_000} for name in models]})
        else:
            self._json(404, {"error": "not found"})

    def do_POST(self) -> None:
        """Answer a prompt, as the model's name says."""
        body = self._record().body
        self.model = str(body.get("model", ""))
        self.is_ollama = self.path.startswith("/api/")
        if "messages" in body:
            n_characters = sum(len(str(message.get("content"))) for message in body["messages"])
            self.server.llm.counted = self.server.llm.prompt_tokens or max(PROMPT_TOKENS, n_characters // 3)
        if self.path == "/api/show":
            length = self.server.llm.context_length
            facts = {"general.architecture": "gemma3"} | ({} if length is None else {"gemma3.context_length": length})
            self._json(200, {"details": {"family": "gemma3"}, "model_info": facts})
        elif self.path not in ("/v1/chat/completions", "/api/chat", "/api/generate"):
            self._json(404, {"error": "not found"})
        elif not self._failed(body):
            include_usage = body.get("stream_options", {}).get("include_usage", False)
            self._ollama_stream() if self.is_ollama else self._openai_stream(include_usage)

    # ---- whole answers -------------------------------------------------------------------------------------------

    def _failed(self, body: Mapping[str, Any]) -> bool:
        """Send what comes instead of a stream, if the model's name asks for it."""
        if self.model in REFUSALS:
            self._refuse(*REFUSALS[self.model])
        elif self.model == "echo-key":
            self._refuse(401, f"Not a valid key: {self.headers['Authorization'].removeprefix('Bearer ')}", None)
        elif self.model == "llamacpp-context":
            self._json(400, {"error": TOO_LONG_LLAMACPP})
        elif self.model == "truncate" and body.get("truncate") is False:
            self._refuse(400, "the input length exceeds the context length", None)
        elif self.model == "garbage":
            self._send(200, "text/html", PAGE)
        elif self.model == "blank":
            self._send(200, "text/event-stream", b"")
        elif self.model == "redirect":
            self._send(302, "text/plain", b"", {"Location": self.server.llm.redirect_to})
        elif self.model == "hang":
            self.server.llm.closing.wait(30)
            self._break_off()
        else:
            return False
        return True

    def _refuse(self, status: int, text: str, code: str | None) -> None:
        details = {"message": text, "type": "error", "param": None, "code": code}
        headers = {"Retry-After": "1"} if status == 429 else {}
        self._json(status, {"error": text if self.is_ollama else details}, headers)

    # ---- streams -------------------------------------------------------------------------------------------------

    def _openai_stream(self, include_usage: bool) -> None:
        shared = {"id": "fake", "object": "chat.completion.chunk", "created": int(time.time()), "model": self.model}

        def send(delta: Mapping[str, str], finish: str | None = None) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            self._event(shared | {"choices": [choice]})

        self._start_stream("text/event-stream")
        if self.model == "garbage-stream":
            self._chunk(b"data: {not json\n\n")
            return self._end_stream()
        if self.model != "nothing":
            send({"role": "assistant", "content": ""})
        for name, text in self._pieces():
            if name == "error":
                self._event({"error": {"message": text, "type": "server_error", "code": 500}})
                return self._end_stream()
            if name == "break":
                return self._break_off()
            send({"content" if name == "content" else "reasoning_content": text})
        if self.model not in ("nothing", "no-end"):
            send({}, {"filter-stream": "content_filter"}.get(self.model, self._finish()))
        if include_usage and self.model != "no-usage":
            n_words = len(self.server.llm.words())
            usage = {"prompt_tokens": self.server.llm.counted, "completion_tokens": n_words}
            self._event(shared | {"choices": [], "usage": usage | {"total_tokens": self.server.llm.counted + n_words}})
        self._chunk(b"data: [DONE]\n\n")
        return self._end_stream()

    def _ollama_stream(self) -> None:
        shared = {"model": self.model, "created_at": "2026-01-01T00:00:00.000000Z"}

        def part(**message: str) -> dict[str, Any]:
            if self.path == "/api/generate":
                return shared | {"response": message.pop("content", "")} | message
            return shared | {"message": {"role": "assistant", "content": ""} | message}

        self._start_stream("application/x-ndjson")
        if self.model == "garbage-stream":
            self._chunk(b"{not json\n")
            return self._end_stream()
        for name, text in self._pieces():
            if name == "error":
                self._line({"error": text})
                return self._end_stream()
            if name == "break":
                return self._break_off()
            self._line(part(**{name: text}) | {"done": False})
        if self.model not in ("nothing", "no-end"):
            counts = {"prompt_eval_count": self.server.llm.counted, "eval_count": len(self.server.llm.words())}
            counts = {} if self.model == "no-usage" else counts
            self._line(part() | {"done": True, "done_reason": self._finish()} | counts)
        return self._end_stream()

    def _pieces(self) -> Iterable[tuple[str, str]]:
        """Yield ``("thinking" or "content", text)`` as the answer goes on, or ``("error" or "break", text)``."""
        if self.model == "reasoning":
            yield from (("thinking", note) for note in NOTES)
        if self.model == "think-tags":
            # Cut in the middle of the tags, as tokens do.
            yield from (("content", text) for text in ("<thi", "nk>", *NOTES, "</", "think>\n"))
        if self.model in ("think-tokens", "think-unopened"):
            opening = () if self.model == "think-unopened" else ("<think>", "\n")
            yield from (("content", text) for text in (*opening, *NOTES, "</think>", "\n\n"))
        if self.model in ("empty", "length-empty", "nothing"):
            return
        for i, word in enumerate(self.server.llm.words()):
            if i == WORDS_BEFORE_TROUBLE and self.model == "cut":
                yield "break", ""
            if i == WORDS_BEFORE_TROUBLE and self.model == "stall":
                self.server.llm.closing.wait(30)
                yield "break", ""
            if i == WORDS_BEFORE_TROUBLE and self.model == "error-in-stream":
                yield "error", "an error was encountered while running the model"
            if i == WORDS_BEFORE_TROUBLE and self.model == "filter-stream":
                return
            time.sleep(0.3 if self.model == "slow" else self.server.llm.delay)
            yield "content", word

    def _finish(self) -> str:
        return "length" if self.model.startswith("length") else "stop"

    # ---- bytes ---------------------------------------------------------------------------------------------------

    def _record(self) -> Recorded:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Recorded(self.command, self.path, headers, json.loads(raw or b"{}"))
        self.server.llm.requests.append(request)
        return request

    def _send(self, status: int, content_type: str, data: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _json(self, status: int, answer: object, headers: Mapping[str, str] | None = None) -> None:
        self._send(status, "application/json", json.dumps(answer).encode(), headers)

    def _start_stream(self, content_type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _event(self, answer: object) -> None:
        self._chunk(b"data: " + json.dumps(answer).encode() + b"\n\n")

    def _line(self, answer: object) -> None:
        self._chunk(json.dumps(answer).encode() + b"\n")

    def _chunk(self, data: bytes) -> None:
        try:
            self.wfile.write(b"%X\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        except OSError:
            self.server.llm.disconnected.set()
            raise

    def _end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def _break_off(self) -> None:
        """Close the socket without the last chunk, as a crashed server does."""
        self.close_connection = True
        self.connection.close()


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description="A scripted language model server (see the module's docstring).")
    parser.add_argument("--port", type=int, default=8090, help="0 takes a free one")
    parser.add_argument("--delay", type=float, default=0.05, help="seconds before each word")
    parser.add_argument("--answer", default=ANSWER)
    options = parser.parse_args()
    with FakeLLM(answer=options.answer, port=options.port, delay=options.delay) as llm, suppress(KeyboardInterrupt):
        print(f"OpenAI: {llm.openai_base}  Ollama: {llm.ollama_base}", flush=True)  # noqa: T201 - a command
        threading.Event().wait()


if __name__ == "__main__":
    main()
