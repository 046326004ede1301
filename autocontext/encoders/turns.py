"""One model for many sessions: whose turn it is to compute."""

from __future__ import annotations

import atexit
import heapq
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LAST_STEP_SECONDS = 3.0


class Turns:
    """A lock that is passed on in the order of asking, to the urgent first.

    Whoever has a lot to do takes many short turns, so that a question waits for the end of one, never for all of it.
    A plain lock would not do: it is most often taken again by the thread that has just let it go.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[tuple[bool, int]] = []
        self._numbers = itertools.count()
        self._is_taken = False
        self._is_over = False
        atexit.register(self._end)

    @contextmanager
    def turn(self, *, urgent: bool) -> Iterator[None]:
        """Wait until it is this thread's turn, and hold it."""
        if self._is_over and threading.current_thread() is threading.main_thread():
            yield  # alone: nobody else gets a turn any more
            return
        ticket = (not urgent, next(self._numbers))
        with self._changed:
            heapq.heappush(self._waiting, ticket)
            try:
                self._changed.wait_for(lambda: not self._is_taken and self._waiting[0] == ticket and not self._is_over)
                self._is_taken = True
            finally:  # also if the wait was interrupted: nobody waits for one who has left
                self._waiting.remove(ticket)
                heapq.heapify(self._waiting)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._is_taken = False
                self._changed.notify_all()

    def _end(self) -> None:
        """Let the step that runs come to its end, and no other begin.

        Python ends the threads of a server without asking, and one that is ended within C++ takes the process down
        with "terminate called without an active exception".
        """
        with self._changed:
            self._is_over = True
            self._changed.wait_for(lambda: not self._is_taken, timeout=_LAST_STEP_SECONDS)
