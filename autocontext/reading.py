"""Many slow calls on a few threads, with the results in order: but one that takes long is overtaken by the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

R = TypeVar("R")

_AHEAD = 8  # results that may wait to be taken: each may hold a file
_MAX_LATE = 6  # calls that may be overtaken at once: each holds a thread
_POLL = 0.1  # seconds between two questions whether to stop


def in_order(
    calls: Sequence[Callable[[], R]],
    *,
    should_stop: Callable[[], bool] = lambda: False,
    while_waiting: Callable[[], None] = lambda: None,
    patience: float = 1.0,
    limit: Callable[[int], float] = lambda _index: 120.0,
    threads: int = 2,
) -> Iterator[tuple[int, R | None]]:
    """Yield ``(index, result)`` of each call: in order, or later if it takes longer than `patience` seconds.

    The calls must not raise. One that runs longer than its `limit` in seconds gives None; its thread cannot be ended,
    so it is left to itself and another one takes its place. If it is to stop, the calls that run are left to
    themselves too. `while_waiting` is called now and then where nothing is to be yielded.
    """
    work = _Work(calls, threads)
    waiting = list(range(len(calls) - 1, -1, -1))  # the next one is the last
    late: list[int] = []
    try:
        while (waiting or late) and not should_stop():
            for index in [index for index in late if work.is_over(index, limit(index))]:
                late.remove(index)
                yield index, work.take(index)
            if not waiting:
                work.wait_for_any(late, _POLL)
                while_waiting()
                continue
            index = waiting[-1]
            wait = patience if len(late) < _MAX_LATE else limit(index)
            while not work.is_over(index, wait):
                if should_stop():
                    return
                if not work.wait_for_any([index], _POLL):
                    while_waiting()
            waiting.pop()
            if work.is_over(index, limit(index)):
                yield index, work.take(index)
            else:
                work.overtake(index)
                late.append(index)
    finally:
        work.close()


class _Work(Generic[R]):
    """The threads, and what they have done so far."""

    def __init__(self, calls: Sequence[Callable[[], R]], threads: int) -> None:
        self._calls = calls
        self._next = 0
        self._room = _AHEAD
        self._results: dict[int, R] = {}
        self._began: dict[int, float] = {}
        self._overtaken: set[int] = set()
        self._closed = False
        self._change = threading.Condition()
        for _ in range(min(threads, len(calls))):
            self._start()

    def _start(self) -> None:
        threading.Thread(target=self._run, name="autocontext-read", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._room > 0 or self._closed)
                if self._closed or self._next == len(self._calls):
                    return
                index = self._next
                self._next += 1
                self._room -= 1
                self._began[index] = time.monotonic()
            result = self._calls[index]()
            with self._change:
                self._results[index] = result
                self._change.notify_all()
                if index in self._overtaken:  # another thread goes on in its place
                    return

    def is_over(self, index: int, seconds: float) -> bool:
        """Tell whether a call has ended, or runs longer than this."""
        began = self._began.get(index)
        return index in self._results or (began is not None and time.monotonic() - began > seconds)

    def wait_for_any(self, indexes: Sequence[int], seconds: float) -> bool:
        """Wait until one of these calls ends, or so long; tell whether one has."""
        with self._change:
            return self._change.wait_for(lambda: any(index in self._results for index in indexes), seconds)

    def overtake(self, index: int) -> None:
        """Let the others go on: neither its thread nor its room counts any more."""
        with self._change:
            if index not in self._results and index not in self._overtaken:
                self._overtaken.add(index)
                self._room += 1
                self._start()
                self._change.notify_all()

    def take(self, index: int) -> R | None:
        """Return a result, or None of a call that has not ended: it is given up."""
        self.overtake(index)
        with self._change:
            if index not in self._overtaken:
                self._room += 1
                self._change.notify_all()
            return self._results.pop(index, None)

    def close(self) -> None:
        """Let the threads end, each after the call that it is in."""
        with self._change:
            self._closed = True
            self._change.notify_all()
