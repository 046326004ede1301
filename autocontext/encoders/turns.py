"""One model for many sessions: whose turn it is to compute."""

from __future__ import annotations

import atexit
import heapq
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

_LAST_STEP_SECONDS = 3.0


class Turns:
    """A lock that is passed on in the order of asking, to the urgent first; some may hold it at once, each on its lane.

    Whoever has a lot to do takes many short turns, so that a question waits for the end of one, never for all of it.
    A plain lock would not do: it is most often taken again by the thread that has just let it go.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[tuple[bool, int]] = []
        self._numbers = itertools.count()
        self._free = [0]
        self._lanes = 1
        self._is_over = False
        atexit.register(self._end)

    def widen(self, lanes: int) -> None:
        """Let so many hold it at once from now on, at least as many as before."""
        with self._changed:
            self._free += range(self._lanes, lanes)
            self._lanes = max(self._lanes, lanes)
            self._changed.notify_all()

    @contextmanager
    def turn(self, *, urgent: bool) -> Iterator[int]:
        """Wait until it is this thread's turn, and hold it; gives the lane, which nobody else has meanwhile."""
        if self._is_over and threading.current_thread() is threading.main_thread():
            yield 0  # alone: nobody else gets a turn any more
            return
        ticket = (not urgent, next(self._numbers))
        with self._changed:
            heapq.heappush(self._waiting, ticket)
            try:
                self._changed.wait_for(lambda: self._free and self._waiting[0] == ticket and not self._is_over)
                lane = self._free.pop()
            finally:  # also if the wait was interrupted: nobody waits for one who has left
                self._waiting.remove(ticket)
                heapq.heapify(self._waiting)
                self._changed.notify_all()
        try:
            yield lane
        finally:
            with self._changed:
                self._free.append(lane)
                self._changed.notify_all()

    def share(self, steps: Iterable[T], work: Callable[[int, T], None], *, urgent: bool) -> None:
        """Do `work` with each step in a turn of its own, on all lanes at once where there are more steps than one."""
        waiting = list(steps)[::-1]
        failures: list[BaseException] = []

        def go_on() -> None:
            try:
                while True:
                    try:
                        step = waiting.pop()
                    except IndexError:  # nothing is left, or another thread took it
                        return
                    with self.turn(urgent=urgent) as lane:
                        work(lane, step)
            except BaseException as error:  # noqa: BLE001 raised again below, on the thread that asked
                waiting.clear()
                failures.append(error)

        helpers = 0 if self._is_over else min(self._lanes, len(waiting)) - 1
        threads = [threading.Thread(target=go_on, name="autocontext-encode", daemon=True) for _ in range(helpers)]
        for thread in threads:
            thread.start()
        go_on()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def _end(self) -> None:
        """Let the steps that run come to their end, and no other begin.

        Python ends the threads of a server without asking, and one that is ended within C++ takes the process down
        with "terminate called without an active exception".
        """
        with self._changed:
            self._is_over = True
            self._changed.wait_for(lambda: len(self._free) == self._lanes, timeout=_LAST_STEP_SECONDS)
