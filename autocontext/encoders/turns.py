"""One model for many sessions: whose turn it is to compute."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager


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

    @contextmanager
    def turn(self, *, urgent: bool) -> Iterator[None]:
        """Wait until it is this thread's turn, and hold it."""
        ticket = (not urgent, next(self._numbers))
        with self._changed:
            heapq.heappush(self._waiting, ticket)
            try:
                self._changed.wait_for(lambda: not self._is_taken and self._waiting[0] == ticket)
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
