"""Work that goes on while the page reruns: indexing and answering, each on its own thread.

A click anywhere reruns a page's script, so nothing long may live in one. Jobs touch no Streamlit; pages look at them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path

from autocontext.answer import Answer, rewrite_question
from autocontext.citations import AnswerCheck
from autocontext.comparison import Choice, Comparison, ComparisonStoppedError, Variants, compare
from autocontext.datatypes import ModelOptions, Prompt, Report, Turn
from autocontext.engine import AutoContext
from autocontext.errors import AutoContextError, ModelError
from autocontext.llm import StreamJob
from autocontext.settings import Settings


class Job:
    """Work on a thread of its own, that can be looked at and stopped.

    Attributes
    ----------
    label, done, total
        What is going on, and how far it is.
    error
        A sentence, if it failed.
    """

    _FAILED = ""  # what is said of a bug, by its kind

    def __init__(
        self,
        name: str,
        work: Callable[[], None],
        label: str,
        total: int = 0,
        is_abandoned: Callable[[], bool] = lambda: False,
    ) -> None:
        self.label, self.done, self.total = label, 0, total
        self.error: str | None = None
        self._stop = threading.Event()
        self._is_abandoned = is_abandoned
        self._thread = threading.Thread(target=self._run, args=(work,), name=f"autocontext-{name}", daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except AutoContextError as error:
            self.error = str(error)
        except Exception as error:  # noqa: BLE001 a bug: say so rather than show progress for ever
            self.error = self._FAILED.format(type(error).__name__)

    def _should_stop(self) -> bool:
        return self._stop.is_set() or self._is_abandoned()

    def _progress(self, label: str, done: int, total: int) -> None:
        self.label, self.done, self.total = label, done, total

    @property
    def running(self) -> bool:
        """Whether it is still at work."""
        return self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        """Wait for its end, but no longer than so many seconds."""
        self._thread.join(seconds)

    def stop(self) -> None:
        """Ask it to end; it does at the next file, batch or question."""
        self._stop.set()


class IndexJob(Job):
    """Adds files, brings a folder in step, or goes over to other settings.

    Nobody left to see it (`is_abandoned`) stops it too.

    Attributes
    ----------
    files, chunks, pages
        Done and the whole so far of each: files read, chunks embedded, pages of the PDF that is being read.
    report
        The rows of the files; None until it has ended.
    """

    _FAILED = "Indexing failed ({}). What was read is found by its words."

    def __init__(
        self,
        engine: AutoContext,
        work: Sequence[tuple[str, bytes | Path]] | Path | Settings,
        is_abandoned: Callable[[], bool] = lambda: False,
        encodings: Mapping[str, str] | None = None,
    ) -> None:
        self._encodings = encodings
        total = 0 if isinstance(work, Path | Settings) else len(work)
        self.files, self.chunks, self.pages = (0, total), (0, 0), (0, 0)
        self.report: Report | None = None
        super().__init__("index", partial(self._work, engine, work), "Reading", total, is_abandoned)

    def _work(self, engine: AutoContext, work: Sequence[tuple[str, bytes | Path]] | Path | Settings) -> None:
        if isinstance(work, Settings):
            engine.change_settings(work, progress=self._progress, should_stop=self._should_stop)
        elif isinstance(work, Path):
            self.report = engine.add_folder(work, progress=self._progress, should_stop=self._should_stop)
        else:
            self.report = engine.add_files(
                work, encodings=self._encodings, progress=self._progress, should_stop=self._should_stop
            )
        engine.warm_up(self._progress, self._should_stop)

    def _progress(self, label: str, done: int, total: int) -> None:
        super()._progress(label, done, total)
        if label == "Embedding":
            self.chunks = (done, total)
        elif label == "Pages":
            self.pages = (done, total)
        elif label == "Reading":
            self.files, self.pages = (done, total), (0, 0)

    @property
    def share(self) -> float:
        """How much of the whole is done, 0 to 1: of the files that are read, and of their chunks."""
        read, embedded = (done / total if total else 1.0 for done, total in (self.files, self.chunks))
        return min(1.0, read * embedded)


class AnswerJob:
    """Asks a model; `collect` takes what has come since the last look.

    Attributes
    ----------
    answer
        What has arrived.
    error
        Why it did not come (to an end), or None.
    stopped
        Whether the user stopped it.
    """

    def __init__(self, prompt: Prompt, options: ModelOptions) -> None:
        self.answer = Answer(prompt, options)
        self.error: ModelError | None = None
        self.stopped = False
        self.running = True
        self._started = time.monotonic()
        self._pieces = StreamJob(prompt.text, options).pieces(poll=0)
        self._looking = threading.Lock()  # a rerun may begin while the last one still looks

    @property
    def seconds(self) -> float:
        """Seconds since it was asked."""
        return time.monotonic() - self._started

    @cached_property
    def check(self) -> AnswerCheck:
        """What was found about the answer; to be looked at when it has ended."""
        return self.answer.check

    def collect(self) -> None:
        """Take the pieces that are there; never waits for more."""
        with self._looking:
            if self.running:
                self._take_pieces()

    def _take_pieces(self) -> None:
        try:
            for piece in self._pieces:
                if piece is None:
                    return
                self.answer.take(piece, self.seconds)
        except ModelError as error:
            self.error = error
        self.running = False

    def stop(self) -> None:
        """End it now; what has come is kept."""
        self.collect()
        with self._looking:
            if self.running:
                self._pieces.close()
                self.running, self.stopped = False, True


class RewriteJob:
    """Lets a model put a follow-up question so that it stands alone.

    Attributes
    ----------
    result
        The question as it is to be searched; None until the job has ended, and where it failed.
    error
        Why it failed, or None.
    """

    def __init__(self, question: str, history: Sequence[Turn], options: ModelOptions) -> None:
        self.result: str | None = None
        self.error: ModelError | None = None
        self._thread = threading.Thread(
            target=self._work, args=(question, tuple(history), options), name="autocontext-rewrite", daemon=True
        )
        self._thread.start()

    def _work(self, question: str, history: Sequence[Turn], options: ModelOptions) -> None:
        try:
            self.result = rewrite_question(question, history, options)
        except ModelError as error:
            self.error = error

    @property
    def running(self) -> bool:
        """Whether the model has not answered yet."""
        return self._thread.is_alive()


class CompareJob(Job):
    """Asks one question under several settings.

    Attributes
    ----------
    label, done, total
        Which choice is being made ready, and how many of its passages are embedded, of how many.
    result
        None until it has ended, and where it failed or was stopped.
    """

    _FAILED = "The comparison failed ({}). The documents are as they were."

    def __init__(
        self,
        engine: AutoContext,
        question: str,
        choices: Sequence[Choice],
        kept: Variants,
        *,
        num_results: int,
        max_tokens: int,
        is_abandoned: Callable[[], bool] = lambda: False,
    ) -> None:
        self.result: Comparison | None = None
        asked = partial(
            compare,
            engine,
            question,
            {choice.label: choice.settings for choice in choices},
            num_results=num_results,
            max_tokens=max_tokens,
            kept=kept,
        )
        super().__init__("compare", partial(self._work, asked), "", is_abandoned=is_abandoned)

    def _work(self, asked: Callable[..., Comparison]) -> None:
        with suppress(ComparisonStoppedError):
            self.result = asked(progress=self._progress, should_stop=self._should_stop)
