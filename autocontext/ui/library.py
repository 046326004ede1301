"""What all sessions of this process share: the kept collections that are open, their jobs, and the vectors' caches.

Sessions that open the same collection, one page before and after a reload for example, get the same engine: it is in
memory once, and a job that goes on is seen by both. Documents that are not kept are never here.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from weakref import WeakKeyDictionary, WeakValueDictionary

from autocontext.collections import Collections
from autocontext.engine import AutoContext
from autocontext.protocols import Encoder
from autocontext.stores.vectors import MemoryVectors
from autocontext.ui.jobs import IndexJob


class Library:
    """See the module.

    Attributes
    ----------
    memory
        Vectors for sessions whose documents are not kept: in memory, until the server stops.
    encoder
        Another embedding model than the settings of a collection name; for tests.
    """

    def __init__(self, collections: Collections | None = None, encoder: Encoder | None = None) -> None:
        self.collections = collections or Collections()
        self.memory = MemoryVectors()
        self.encoder = encoder
        self._engines: WeakValueDictionary[str, AutoContext] = WeakValueDictionary()
        self._jobs: WeakKeyDictionary[AutoContext, IndexJob] = WeakKeyDictionary()
        self._opening = threading.Lock()

    def open(self, id_: str) -> AutoContext:
        """Return the engine of a kept collection, opened if no session has it.

        Raises
        ------
        StoreError
            If it is not there, or cannot be opened.
        """
        self.collections.path(id_)
        with self._opening:
            engine = self._engines.get(id_)
            if engine is None:
                engine = self.collections.open(id_, self.encoder)
                self._engines[id_] = engine
            return engine

    def delete(self, id_: str) -> None:
        """Delete a kept collection; sessions that have it open are told at their next run."""
        self.collections.delete(id_)
        with self._opening:
            engine = self._engines.pop(id_, None)
        if engine is not None:
            engine.close()

    def session_only(self) -> AutoContext:
        """Return a new engine whose documents are in memory only."""
        return AutoContext(encoder=self.encoder, cache=self.memory)

    def start(self, engine: AutoContext, job: IndexJob) -> IndexJob:
        """Let other sessions of the engine see the job."""
        self._jobs[engine] = job
        return job

    def job_of(self, engine: AutoContext) -> IndexJob | None:
        """Return the job that goes on for an engine, whichever session began it."""
        job = self._jobs.get(engine)
        return job if job is not None and job.running else None


@lru_cache(maxsize=1)
def library() -> Library:
    """Return the one of this process."""
    return Library()
