"""What one browser session knows, as one typed object; two sessions share nothing but the embedding model."""

from __future__ import annotations

import gc
import os
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from autocontext.budget import Budget, fit_context, plan_budget
from autocontext.datatypes import Chunk, ContextSize, FileReport, ModelOptions, Prompt, Report
from autocontext.engine import AutoContext
from autocontext.errors import AutoContextError
from autocontext.loaders import is_hidden, suffix_of, suffixes
from autocontext.model_server import find_context_size
from autocontext.ui.jobs import AnswerJob, IndexJob
from autocontext.ui.originals import Originals
from autocontext.ui.talk import Talk

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "data"
MAX_FILES = 5_000
MAX_FILE_MEGABYTES = 50
MAX_MEGABYTES = 500  # also server.maxUploadSize: what the browser refuses by itself gets no row
_GRACE_SECONDS = 30.0
_SIZE_SECONDS = 1.0  # a page waits no longer for a server to say how much its model takes


@dataclass
class UiState:
    """Everything a session keeps between reruns and pages.

    Attributes
    ----------
    files
        The last outcome of each file, by name; also of files that are not in the collection.
    originals
        The PDFs themselves, to show their pages.
    notice
        A sentence to show once, on the next run.
    problem
        Why there is no prompt for the question, or "".
    uploads
        How often the upload widgets were emptied: a new number is a new, empty widget.
    budget
        How the chosen model's context is shared between the prompt and its answer.
    context_size
        What the chosen model takes in all, if the user knows better; 0: as its server or litellm's table says.
    models_taken
        How often a model was taken from a list: a new number is a new widget, which begins with it.
    favourites
        Models to come back to, with their addresses and keys; of this session only, like every key.
    """

    engine: AutoContext = field(default_factory=AutoContext)
    files: dict[str, FileReport] = field(default_factory=dict)
    originals: Originals = field(default_factory=Originals)
    index_job: IndexJob | None = None
    notice: str = ""
    uploads: int = 0
    question: str = ""
    examples_taken: int = 0
    prompt: Prompt | None = None
    problem: str = ""
    budget: Budget | None = None
    num_results: int = 5
    max_tokens: int = 3000
    answer_job: AnswerJob | None = None
    model: str = field(default_factory=lambda: os.environ.get("AUTOCONTEXT_MODEL", "ollama/gemma3"))
    api_base: str = field(default_factory=lambda: os.environ.get("AUTOCONTEXT_API_BASE", ""))
    api_key: str = field(default="", repr=False)
    answer_tokens: int = 512
    context_size: int = 0
    max_num_ctx: int = 32_768
    timeout: int = 120
    deadline: int = 600
    models_taken: int = 0
    favourites: list[ModelOptions] = field(default_factory=list)
    test_job: AnswerJob | None = None
    talk: Talk = field(default_factory=Talk)
    _size: tuple[ModelOptions, ContextSize | None] | None = None
    _searched: tuple[str, int, int, str] | None = None
    _searched_chunks: tuple[Chunk, ...] = ()

    # --- documents ---

    def index(self, files: Sequence[tuple[str, bytes | Path]]) -> None:
        """Start to add files in the background; what is over a limit gets a row that says so. Hidden files are left."""
        taken: list[tuple[str, bytes | Path]] = []
        size = 0
        for name, source in sorted(((relative_name(name), source) for name, source in files), key=lambda file: file[0]):
            bytes_here = len(source) if isinstance(source, bytes) else source.stat().st_size
            if is_hidden(name):
                continue
            if suffix_of(name) in suffixes():  # the others only get their row
                size += bytes_here
            if bytes_here > MAX_FILE_MEGABYTES * 1_000_000:
                self._skip(name, f"Larger than {MAX_FILE_MEGABYTES} MB: split it.")
            elif len(taken) >= MAX_FILES or size > MAX_MEGABYTES * 1_000_000:
                self._skip(name, f"Over {MAX_FILES:,} files or {MAX_MEGABYTES} MB at once: add it in another round.")
            else:
                taken.append((name, source))
        if taken and not self.indexing:
            for name, source in taken:
                self.originals.keep(name, source)
            self.index_job = IndexJob(self.engine, taken, _is_abandoned())

    def _skip(self, name: str, why: str) -> None:
        last = self.files.get(name)
        self.files[name] = FileReport(name, "skipped", why, last.n_chunks if last else 0)

    @property
    def indexing(self) -> bool:
        """Whether files are being added now."""
        return self.index_job is not None and self.index_job.running

    def collect_index(self) -> bool:
        """Take over the outcome of a batch that has ended; True if one has."""
        job = self.index_job
        if job is None or job.running:
            return False
        self.index_job = None
        self._take(job.report or Report())
        self.notice = job.error or f"Done: {(job.report or Report()).summary}."
        return True

    def add_sample(self) -> None:
        """Start to add the sample collection."""
        self.index(
            [
                (f"{SAMPLE.name}/{path.name}", path)
                for path in SAMPLE.iterdir()
                if path.suffix in (".txt", ".md", ".pdf")
            ]
        )

    def remove(self, names: Sequence[str]) -> None:
        """Remove documents, and the rows of files that are no documents."""
        self._take(self.engine.remove_many([name for name in names if name in self.engine.documents]))
        for name in names:
            self.files.pop(name, None)
            self.originals.forget(name)
        self.prompt, self._searched, self._searched_chunks = None, None, ()  # a removed text stays nowhere
        if self.talk.forget(names):
            self.notice = "The conversation is cleared: it quoted a document that you removed."
        if not self.engine.documents:
            self.stop_answer()
            self.answer_job = None
            self.talk.clear()

    def _take(self, report: Report) -> None:
        for row in report:
            if row.status == "removed":
                self.files.pop(row.name, None)
            else:
                self.files[row.name] = row

    # --- asking ---

    def ask(self, question: str) -> None:
        """Take a new question; the answer to another one goes. `refresh` searches."""
        self.question = question.strip()
        self.stop_answer()
        self.answer_job = None

    def refresh(self) -> None:
        """Make the prompt again if the question, the documents, the budget or the form are not those it was made of."""
        chunks = self.engine.chunks
        if not (self.question and chunks):
            self.prompt, self.problem, self._searched = None, "", None
            return
        try:
            self.budget = plan_budget(self.max_tokens, self.model_options(), self._model_takes())
        except AutoContextError as error:
            self.prompt, self.problem, self._searched = None, str(error), None
            return
        searched = (self.question, self.num_results, self.budget.max_tokens, self.engine.settings.template)
        if searched == self._searched and chunks is self._searched_chunks:
            return
        self._searched, self._searched_chunks = searched, chunks
        self.prompt, self.problem = None, ""
        try:
            self.prompt = self.engine.get_prompt(self.question, self.num_results, self.budget.max_tokens)
        except AutoContextError as error:
            self.problem = str(error)

    def _model_takes(self) -> ContextSize | None:
        """Return the chosen model's context size; a server is asked once, and again before the model is."""
        options = self.model_options()
        if not options.model:
            return None
        if self._size is None or self._size[0] != options:
            self._size = (options, find_context_size(options, _SIZE_SECONDS))
        return self._size[1]

    def ask_model(self) -> None:
        """Send the prompt to the chosen model."""
        self.stop_answer()
        self._size = None
        self.refresh()
        if self.prompt is not None:
            options = fit_context(self.prompt, self.model_options(), self._model_takes())
            self.answer_job = AnswerJob(self.prompt, options)

    def model_options(self) -> ModelOptions:
        """Return the chosen model as it is asked."""
        return ModelOptions(
            model=self.model.strip(),
            api_base=self.api_base.strip() or None,
            api_key=self.api_key.strip() or None,
            max_tokens=self.answer_tokens,
            context_size=self.context_size or None,
            max_num_ctx=self.max_num_ctx,
            timeout=self.timeout,
            deadline=self.deadline,
        )

    def take_model(self, options: ModelOptions) -> None:
        """Choose a model of a list, with its address, key and limits."""
        self.model, self.api_base, self.api_key = options.model, options.api_base or "", options.api_key or ""
        self.answer_tokens, self.context_size = options.max_tokens, options.context_size or 0
        self.max_num_ctx, self.timeout, self.deadline = options.max_num_ctx, int(options.timeout), int(options.deadline)
        self.models_taken += 1

    def stop_answer(self) -> None:
        """Stop the answer that is arriving; what has come stays."""
        if self.answer_job is not None:
            self.answer_job.stop()


def _is_abandoned() -> Callable[[], bool]:
    """Return a question: has this browser session been gone for a while? Reloading or closing the page ends it."""
    context = get_script_run_ctx()
    if context is None or not runtime.exists():
        return lambda: False
    server, session_id, last_seen = runtime.get_instance(), context.session_id, time.monotonic()

    def is_abandoned() -> bool:
        nonlocal last_seen
        if server.is_active_session(session_id):
            last_seen = time.monotonic()
        return time.monotonic() - last_seen > _GRACE_SECONDS

    return is_abandoned


def forget_uploads(files: Iterable[UploadedFile]) -> None:
    """Let the server forget uploaded bytes that were taken over; it would keep them until the session ends."""
    context = get_script_run_ctx()
    if context is None or not hasattr(context.uploaded_file_mgr, "remove_file"):  # not of Streamlit's public API
        return
    for file in files:
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)


def relative_name(name: str) -> str:
    """Return the name that a browser sent as a relative path with ``/`` that leads nowhere up."""
    parts = unicodedata.normalize("NFC", name).replace("\\", "/").split("/")
    return "/".join(part for part in parts if part not in ("", ".", "..")) or "unnamed"


def current_state() -> UiState:
    """Return the session's state, made on its first run."""
    if "autocontext" not in st.session_state:
        gc.collect()  # sessions that have ended let go of their documents: docs/decisions/003
        st.session_state["autocontext"] = UiState()
    state: UiState = st.session_state["autocontext"]
    return state


def kept(name: str, version: int = 0) -> dict[str, Any]:
    """Return the arguments of a widget that shows and changes the state's field `name`, also across pages.

    A widget's own value is lost when another page is visited, and then begins with the state's again. The key is the
    widget's identity, so a new ``value`` does not make a new widget, but a new `version` does; a value set in
    Streamlit's session state would be lost in a popover, which is drawn later, and overwrite what is being typed.
    """
    key = f"_{name}_{version}" if version else f"_{name}"
    return {"key": key, "value": getattr(current_state(), name), "on_change": _keep, "args": (name, key)}


def _keep(name: str, key: str) -> None:
    setattr(current_state(), name, st.session_state[key])
