"""The parent's side of the child process that reads PDFs: started when needed, used again, replaced when it dies.

Two threads may read at once, each with a child of its own; a third one waits.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

MAX_WORKERS = 2
_POLL = 0.05  # seconds between looks at Stop and the time
_PACKAGES = str(Path(__file__).parents[3])


class WorkerError(Exception):
    """The child gave no (whole) answer."""


class WorkerTimeoutError(WorkerError):
    """It took longer than it may."""


class WorkerDiedError(WorkerError):
    """It crashed, mostly over its memory."""


class WorkerStoppedError(WorkerError):
    """The caller wanted to stop."""


class _Worker:
    def __init__(self) -> None:
        path = os.pathsep.join([_PACKAGES, *filter(None, [os.environ.get("PYTHONPATH")])])
        kept = {name: text for name, text in os.environ.items() if not name.endswith("_API_KEY")}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "autocontext.loaders.pdf.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**kept, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )

    @property
    def usable(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, job: dict[str, Any], data: bytes) -> queue.SimpleQueue[dict[str, Any] | None]:
        """Send a job; its answers come into the queue that is returned, None when the child has closed its end."""
        answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._talk, args=(job, data, answers), name="autocontext-pdf", daemon=True).start()
        return answers

    def _talk(self, job: dict[str, Any], data: bytes, answers: queue.SimpleQueue[dict[str, Any] | None]) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        try:
            if stdin is None or stdout is None:
                return
            stdin.write(json.dumps({**job, "size": len(data)}).encode("ascii") + b"\n")
            stdin.write(data)
            stdin.flush()
            for line in stdout:
                message: dict[str, Any] = json.loads(line)
                answers.put(message)
                if "end" in message or "failed" in message:
                    return
        except (OSError, ValueError):
            pass  # it has died; told below
        finally:
            answers.put(None)

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError, ValueError):
                    pipe.close()


_idle: list[_Worker] = []
_free = threading.BoundedSemaphore(MAX_WORKERS)


def converse(
    job: dict[str, Any], data: bytes, *, seconds: float, should_stop: Callable[[], bool] = lambda: False
) -> Generator[dict[str, Any], None, None]:
    """Yield the child's answers to a job.

    Raises
    ------
    WorkerError
        One of its kinds; what was yielded before stays true.
    """
    while not _free.acquire(timeout=_POLL):
        if should_stop():
            raise WorkerStoppedError
    worker: _Worker | None = None
    reusable = False
    ends = time.monotonic() + seconds
    try:
        worker = _take_worker()
        answers = worker.ask({**job, "seconds": seconds}, data)
        while True:
            message = _next(answers)
            if message is not None:
                ended = "end" in message or "failed" in message
                reusable = ended and not message["last"]
                yield message
                if ended:
                    return
            if should_stop():
                raise WorkerStoppedError
            if time.monotonic() > ends:
                raise WorkerTimeoutError
    finally:
        if worker is not None and reusable:
            _idle.append(worker)
        elif worker is not None:
            worker.kill()
        _free.release()


def _next(answers: queue.SimpleQueue[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Return the next message, or None if there is none yet."""
    try:
        message = answers.get(timeout=_POLL)
    except queue.Empty:
        return None
    if message is None:
        raise WorkerDiedError
    return message


def _take_worker() -> _Worker:
    while _idle:
        worker = _idle.pop()
        if worker.usable:
            return worker
        worker.kill()
    return _Worker()


def close() -> None:
    """End the children that wait for work."""
    while _idle:
        _idle.pop().kill()


atexit.register(close)
