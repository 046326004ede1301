"""Work that goes on while the page reruns: indexing and answering, each on its own thread.

A click anywhere reruns a page's script, so nothing long may live in one. Jobs touch no Streamlit; pages look at them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from autocontext.answer import Answer, rewrite_question
from autocontext.citations import AnswerCheck
from autocontext.comparison import Choice, Comparison, ComparisonStoppedError, Variants, compare
from autocontext.datatypes import ModelOptions, Prompt, Report, Turn
from autocontext.engine import AutoContext
from autocontext.errors import AutoContextError, ModelError
from autocontext.llm import StreamJob
from autocontext.settings import Settings


class IndexJob:
    """Adds files, brings a folder in step, or goes over to other settings.

    Nobody left to see it (`is_abandoned`) stops it too.

    Attributes
    ----------
    label, done, total
        What is going on and how far it is.
    files, chunks, pages
        Done and the whole so far of each: files read, chunks embedded, pages of the PDF that is being read.
    report
        The rows of the files; None until it has ended.
    error
        A sentence, if the whole batch failed.
    """

    def __init__(
        self,
        engine: AutoContext,
        work: Sequence[tuple[str, bytes | Path]] | Path | Settings,
        is_abandoned: Callable[[], bool] = lambda: False,
        encodings: Mapping[str, str] | None = None,
    ) -> None:
        self._encodings = encodings
        self.label, self.done, self.total = "Reading", 0, 0 if isinstance(work, Path | Settings) else len(work)
        self.files, self.chunks, self.pages = (0, self.total), (0, 0), (0, 0)
        self.report: Report | None = None
        self.error: str | None = None
        self._stop = threading.Event()
        self._is_abandoned = is_abandoned
        self._thread = threading.Thread(target=self._work, args=(engine, work), name="autocontext-index", daemon=True)
        self._thread.start()

    def _work(self, engine: AutoContext, work: Sequence[tuple[str, bytes | Path]] | Path | Settings) -> None:
        try:
            if isinstance(work, Settings):
                engine.change_settings(work, progress=self._progress, should_stop=self._should_stop)
            elif isinstance(work, Path):
                self.report = engine.add_folder(work, progress=self._progress, should_stop=self._should_stop)
            else:
                self.report = engine.add_files(
                    work, encodings=self._encodings, progress=self._progress, should_stop=self._should_stop
                )
            engine.warm_up(self._progress, self._should_stop)
        except AutoContextError as error:
            self.error = str(error)
        except Exception as error:  # noqa: BLE001 a bug: say so rather than show progress for ever
            self.error = f"Indexing failed ({type(error).__name__}). What was read is found by its words."

    def _should_stop(self) -> bool:
        return self._stop.is_set() or self._is_abandoned()

    def _progress(self, label: str, done: int, total: int) -> None:
        self.label, self.done, self.total = label, done, total
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

    @property
    def running(self) -> bool:
        """Whether it is still at work."""
        return self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        """Wait for its end, but no longer than so many seconds."""
        self._thread.join(seconds)

    def stop(self) -> None:
        """Ask it to end; it does at the next file or batch."""
        self._stop.set()


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


class CompareJob:
    """Asks one question under several settings.

    Attributes
    ----------
    label, done, total
        Which choice is being made ready, and how many of its passages are embedded, of how many.
    result
        None until it has ended, and where it failed or was stopped.
    error
        A sentence, if it failed.
    """

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
        self.label, self.done, self.total = "", 0, 0
        self.result: Comparison | None = None
        self.error: str | None = None
        self._stop = threading.Event()
        self._is_abandoned = is_abandoned
        work = (engine, question, tuple(choices), kept, num_results, max_tokens)
        self._thread = threading.Thread(target=self._work, args=work, name="autocontext-compare", daemon=True)
        self._thread.start()

    def _work(
        self,
        engine: AutoContext,
        question: str,
        choices: Sequence[Choice],
        kept: Variants,
        num_results: int,
        max_tokens: int,
    ) -> None:
        try:
            self.result = compare(
                engine,
                question,
                {choice.label: choice.settings for choice in choices},
                num_results=num_results,
                max_tokens=max_tokens,
                kept=kept,
                progress=self._progress,
                should_stop=lambda: self._stop.is_set() or self._is_abandoned(),
            )
        except ComparisonStoppedError:
            pass
        except AutoContextError as error:
            self.error = str(error)
        except Exception as error:  # noqa: BLE001 a bug: say so rather than show progress for ever
            self.error = f"The comparison failed ({type(error).__name__}). The documents are as they were."

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
        """Ask it to end; it does at the next batch."""
        self._stop.set()
