"""What one browser session knows, as one typed object.

Two sessions share nothing but the embedding model, vectors, and a kept collection that both have opened.
"""

from __future__ import annotations

import gc
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from autocontext.budget import Budget, fit_context, plan_budget
from autocontext.comparison import Choice
from autocontext.datatypes import Chunk, ContextSize, FileReport, ModelOptions, Prompt, Report
from autocontext.engine import AutoContext
from autocontext.errors import AutoContextError
from autocontext.explanation import Explanation
from autocontext.folders import Signature, signature_of
from autocontext.indexing import Progress
from autocontext.model_server import find_context_size
from autocontext.naming import is_hidden, relative
from autocontext.settings import Settings
from autocontext.statistics import Statistics, collection_statistics
from autocontext.ui.comparing import Comparing
from autocontext.ui.draft import Draft
from autocontext.ui.evaluating import EvaluateJob, Evaluating
from autocontext.ui.jobs import AnswerJob, IndexJob
from autocontext.ui.library import library
from autocontext.ui.talk import Talk
from autocontext.why_not import WhyNot, why_not

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "data"
_GRACE_SECONDS = 30.0
_SETTLE_SECONDS = 0.5  # a change of settings that takes no longer is done when the page is drawn again
_SIZE_SECONDS = 1.0  # a page waits no longer for a server to say how much its model takes


@dataclass
class UiState:
    """Everything a session keeps between reruns and pages.

    Attributes
    ----------
    collection
        The id of the kept collection that is open; "" for documents of this session only.
    collection_name
        Its name.
    files
        The last outcome of each file, by name; also of files that are not in the collection.
    notice
        A sentence to show once, on the next run.
    failure
        Why the last work in the background failed; shown until other work begins, or the user has seen it.
    explanation
        The prompt for the question with all that it came about by; None if there is none.
    problem
        Why there is no prompt for the question, or "".
    expected, why
        A sentence that one expected in the prompt, and what kept it out.
    statistics
        How the documents were cut, once somebody has asked.
    drawn_empty
        Whether the page was last drawn without any document.
    uploads
        How often the upload widgets were emptied: a new number is a new, empty widget.
    budget
        How the chosen model's context is shared between the prompt and its answer.
    context_size
        What the chosen model takes in all, if the user knows better; 0: as its server or litellm's table says.
    models_taken
        How often a model was taken from a list: a new number is a new widget, which begins with it.
    settings_before
        The settings before the last change of them, to go back to.
    favourites
        Models to come back to, with their addresses and keys; of this session only, like every key.
    """

    engine: AutoContext = field(default_factory=lambda: library().session_only())
    collection: str = ""
    collection_name: str = ""
    files: dict[str, FileReport] = field(default_factory=dict)
    index_job: IndexJob | None = None
    notice: str = ""
    failure: str = ""
    uploads: int = 0
    question: str = ""
    examples_taken: int = 0
    explanation: Explanation | None = None
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
    settings_before: Settings | None = None
    favourites: list[ModelOptions] = field(default_factory=list)
    test_job: AnswerJob | None = None
    talk: Talk = field(default_factory=Talk)
    expected: str = ""
    why: WhyNot | None = None
    statistics: Statistics | None = None
    comparing: Comparing = field(default_factory=Comparing)
    draft: Draft = field(default_factory=Draft)
    evaluating: Evaluating = field(default_factory=Evaluating)
    _size: tuple[ModelOptions, ContextSize | None] | None = None
    watching: bool = False
    _settings_before: Settings | None = None
    _said_at_end: str = ""
    drawn_empty: bool = True
    _left_alone: int = 0
    _signatures: dict[str, Signature] = field(default_factory=dict)
    _searched: tuple[str, int, int, Settings] | None = None
    _searched_chunks: tuple[Chunk, ...] = ()
    _why_of: tuple[str, object] | None = None
    _statistics_of: tuple[Chunk, ...] = ()

    # --- collections ---

    def open_collection(self, id_: str) -> None:
        """Open a kept collection in place of what is open; StoreError, and nothing changes, if that cannot be."""
        engine = library().open(id_)
        self._show(engine)
        self.collection, self.collection_name = id_, library().collections.name(id_)
        self.num_results, self.max_tokens = engine.settings.num_results, engine.settings.max_tokens
        self.notice, engine.notes = " ".join(engine.notes), ()
        self.index_job = library().job_of(engine)
        if self.index_job is None and engine.documents:
            self._start([])  # loads what the first question needs

    def close_collection(self) -> None:
        """Go back to documents of this session only, with none."""
        self._show(library().session_only())
        self.collection = self.collection_name = ""

    def keep_as(self, name: str) -> None:
        """Make a collection of the documents of this session, and open it."""
        self.open_collection(library().collections.keep(name, self.engine))

    def look_again(self) -> None:
        """Take over what another session or program has done to the open collection, also that it is gone."""
        if not self.collection:
            return
        try:
            is_other = self.engine.refresh()
            self.collection_name = library().collections.name(self.collection)
        except AutoContextError as error:
            self.close_collection()
            self.notice = str(error)
            return
        if is_other:
            self._searched = None  # a vector that has come changes what is found, though the passages are the same
        is_other = is_other or {n for n, row in self.files.items() if row.n_chunks} != set(self.engine.documents)
        if is_other and not self.indexing:
            self.files = _rows_of(self.engine)
            self.comparing.forget()

    def use_settings(self, settings: Settings, done: str) -> None:
        """Go on with other settings, in the background as far as documents are cut or embedded again.

        Parameters
        ----------
        done
            What is said when that is so.
        """
        before = self.engine.settings
        if settings == before or self.indexing:
            return
        self._settings_before, self._said_at_end, self.failure = before, done, ""
        self.index_job = library().start(self.engine, IndexJob(self.engine, settings))
        self.index_job.wait(_SETTLE_SECONDS)

    def undo_settings(self) -> None:
        """Go back to the settings before the last change."""
        if self.settings_before is not None and not self.indexing:
            self.use_settings(self.settings_before, "The settings are as they were before.")

    def _collect_settings(self, job: IndexJob) -> None:
        """Take over the limits of settings that are in use now, and say so where all that they ask for is done."""
        if self._said_at_end:
            settings = self.engine.settings
            if settings != self._settings_before:
                self.settings_before = self._settings_before
                self.num_results, self.max_tokens = settings.num_results, settings.max_tokens
            self.notice = "" if job.error else self._said_at_end
            self._said_at_end = ""

    def keep_settings(self) -> None:
        """Keep the limits of the prompt with the documents, and so with an open collection."""
        settings = replace(self.engine.settings, num_results=self.num_results, max_tokens=self.max_tokens)
        if settings != self.engine.settings:
            self.engine.change_settings(settings)

    def attempt(self, do: Callable[..., object], *arguments: object) -> None:
        """Do what may fail in a callback or a fragment: these run outside of the page that would tell it."""
        try:
            do(*arguments)
        except AutoContextError as error:
            self.notice = str(error)

    def _show(self, engine: AutoContext) -> None:
        if self.index_job is not None and not self.collection:
            self.index_job.stop()  # nobody will see these documents again
        self.ask("")
        self.talk.clear()
        self.engine, self.files, self.index_job = engine, _rows_of(engine), None
        self.problem, self.expected, self.failure, self._said_at_end = "", "", "", ""
        self._forget_search()
        self.watching, self._signatures = False, {}
        self.comparing.forget()
        self.evaluating.forget()
        self.draft.clear()
        self.settings_before = None

    # --- documents ---

    def index(self, files: Sequence[tuple[str, bytes | Path]]) -> None:
        """Start to add files in the background, but hidden ones."""
        named = sorted(((relative(name), source) for name, source in files), key=lambda file: file[0])
        taken = [(name, source) for name, source in named if not is_hidden(name)]
        if not self.indexing:
            self._left_alone = len(named) - len(taken)
            self._start(taken)

    def sync_folder(self, folder: Path) -> None:
        """Start to bring the collection in step with a folder of this machine."""
        if not self.indexing:
            self._start(folder)

    def sync_changed(self) -> bool:
        """Start to sync a folder in which something has changed and come to rest since the last look; True if so."""
        if not self.watching or self.indexing:
            return False
        for path in self.engine.folders.values():
            try:
                now = signature_of(path)
            except AutoContextError:
                continue  # a drive that was taken out: nothing is removed
            before = self._signatures.get(path), self._signatures.get(f"{path} last")
            self._signatures[f"{path} last"] = now
            if now != before[0] and now == before[1]:
                self._signatures[path] = now
                self.sync_folder(Path(path))
                return True
        return False

    def reread(self, name: str, encoding: str) -> None:
        """Start to decode a text in another way, whose encoding was a guess."""
        document = self.engine.documents.get(name)
        if document is not None and document.encoding is not None and not self.indexing:
            self._start([(name, document.encoding.data)], {name: encoding})

    def _start(
        self, files: Sequence[tuple[str, bytes | Path]] | Path, encodings: Mapping[str, str] | None = None
    ) -> None:
        self.failure = ""
        is_abandoned = (lambda: False) if self.collection else _is_abandoned()  # a kept collection is for later too
        self.index_job = library().start(self.engine, IndexJob(self.engine, files, is_abandoned, encodings))

    @property
    def indexing(self) -> bool:
        """Whether files are being added now."""
        if self.index_job is None and self.collection:  # one that another session has begun
            self.index_job = library().job_of(self.engine)
        return self.index_job is not None and self.index_job.running

    def collect_index(self) -> bool:
        """Take over the outcome of a batch that has ended; True if one has."""
        job = self.index_job
        if job is None or job.running:
            return False
        self.index_job = None
        self._searched = self._why_of = None  # it may have been by words only
        self.evaluating.forget_passages()
        if job.report is not None:
            self.comparing.forget()
        report = job.report or Report()
        self._take(report)
        present = {*self.engine.documents, *(row.name for row in self.engine.unread)}
        self.files = {name: row for name, row in self.files.items() if name in present}
        hidden = f"{self._left_alone:,} hidden files left alone." if self._left_alone else ""
        said = [f"Done: {report.summary}." if report or job.error is None else "", hidden, *report.notes]
        self._left_alone = 0
        if report or report.notes or hidden:  # not where a collection was only opened
            self.notice = " ".join(sentence for sentence in said if sentence)
        self._collect_settings(job)
        self.failure = job.error or str(report.error or "")
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
        try:
            self._take(self.engine.remove_many([name for name in names if name in self.engine.documents]))
            self.engine.forget_unread(names)
        except AutoContextError as error:  # a callback runs outside of the page that would tell it
            self.notice = str(error)
            return
        for name in names:
            self.files.pop(name, None)
        self._forget_search()  # a removed text stays nowhere
        self.comparing.forget()
        self.evaluating.forget()
        self.draft.forget()
        if self.talk.forget(names):
            self.notice = "The conversation is cleared: it quoted a document that you removed."
        if not self.engine.documents:
            self.stop_answer()
            self.answer_job = None
            self.talk.clear()

    def remove_folder(self, prefix: str) -> None:
        """Remove a folder of this machine and its documents."""
        self.remove([name for name in self.files if name.startswith(f"{prefix}/")])
        self.engine.remove_folder(prefix)

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
            self.explanation, self.problem, self._searched = None, "", None
            return
        try:
            self.budget = plan_budget(self.max_tokens, self.model_options(), self._model_takes())
        except AutoContextError as error:
            self.explanation, self.problem, self._searched = None, str(error), None
            return
        searched = (self.question, self.num_results, self.budget.max_tokens, self.engine.settings)
        if searched == self._searched and chunks is self._searched_chunks:
            return
        self._searched, self._searched_chunks = searched, chunks
        self.explanation, self.problem = None, ""
        try:
            self.explanation = self.engine.explain(self.question, self.num_results, self.budget.max_tokens)
        except AutoContextError as error:
            self.problem = str(error)

    @property
    def prompt(self) -> Prompt | None:
        """The prompt for the question; None if there is none."""
        return self.explanation.prompt if self.explanation is not None else None

    def _forget_search(self) -> None:
        self.explanation, self._searched, self._searched_chunks = None, None, ()
        self.why, self._why_of = None, None
        self.statistics, self._statistics_of = None, ()

    def look_for_expected(self) -> None:
        """Find out what kept the expected sentence out of the prompt, unless that is known.

        Raises
        ------
        SettingsError
            If it has no words, or is too long.
        """
        if self.explanation is None or not self.expected.strip():
            self.why, self._why_of = None, None
        elif self._why_of != (self.expected, self._searched) or self.why is None:
            self.why, self._why_of = None, (self.expected, self._searched)
            prompt = self.explanation.prompt
            self.why = why_not(self.engine, prompt.question, self.expected, self.num_results, prompt.max_tokens)

    def look_at_chunks(self, progress: Progress) -> Statistics:
        """Return how the documents were cut, looked at anew if they have changed."""
        chunks = self.engine.chunks
        if self.statistics is None or self._statistics_of is not chunks:
            self.statistics, self._statistics_of = collection_statistics(self.engine, progress), chunks
        return self.statistics

    def _model_takes(self) -> ContextSize | None:
        """Return the chosen model's context size; a server is asked once, and again before the model is."""
        options = self.model_options()
        if not options.model:
            return None
        if self._size is None or self._size[0] != options:
            self._size = (options, find_context_size(options, _SIZE_SECONDS))
        return self._size[1]

    def compare(self, choices: Sequence[Choice], *, begin: bool) -> bool:
        """Ask the question under several settings, within the limits of its prompt; True if this has been begun."""
        limits = (self.num_results, self.budget.max_tokens if self.budget is not None else self.max_tokens)
        asked = self.comparing.is_asked(self.engine, self.question, choices, limits)
        if begin and not asked:
            self.comparing.ask(self.engine, self.question, choices, limits, _is_abandoned())
        return asked or begin

    def measure(self, settings: Mapping[str, Settings]) -> None:
        """Start to measure the present settings and others on the user's questions."""
        questions = self.engine.questions
        self.evaluating.job = EvaluateJob(self.engine, questions, settings, _is_abandoned())
        self.evaluating.job.wait(_SETTLE_SECONDS)

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


def _rows_of(engine: AutoContext) -> dict[str, FileReport]:
    """Return a row for each document as it is, and for each file that could not be read."""
    counts = Counter(chunk.document for chunk in engine.chunks)
    rows = {
        name: FileReport(name, "unchanged", " ".join(document.notes), counts[name])
        for name, document in engine.documents.items()
    }
    return rows | {row.name: row for row in engine.unread}


def current_state() -> UiState:
    """Return the session's state, made on its first run."""
    if "autocontext" not in st.session_state:
        gc.collect()  # sessions that have ended let go of their documents: docs/decisions/003
        st.session_state["autocontext"] = UiState()
    state: UiState = st.session_state["autocontext"]
    if "autocontext_address" not in st.session_state:  # the session's first run: F5, a bookmark, a server's restart
        st.session_state["autocontext_address"] = True
        _open_from_address(state)
    return state


def _open_from_address(state: UiState) -> None:
    id_ = st.query_params.get("collection", "")
    if id_ and id_ != state.collection:
        try:
            with st.spinner("Opening the collection…", show_time=True):
                state.open_collection(id_)
        except AutoContextError as error:
            state.notice = str(error)


def show_in_address(state: UiState) -> None:
    """Let the page's address say which collection is open, so that a reload opens it again."""
    if state.collection and st.query_params.get("collection") != state.collection:
        st.query_params["collection"] = state.collection
    elif not state.collection and "collection" in st.query_params:
        del st.query_params["collection"]


def kept(name: str, version: int = 0) -> dict[str, Any]:
    """Return the arguments of a widget that shows and changes the state's field `name`, also across pages.

    A widget's own value is lost when another page is visited, and then begins with the state's again. The key is the
    widget's identity, so a new ``value`` does not make a new widget, but a new `version` does; a value set in
    Streamlit's session state would be lost in a popover, which is drawn later, and overwrite what is being typed.
    """
    key = f"_{name}_{version}" if version else f"_{name}"
    return {"key": key, "value": getattr(current_state(), name), "on_change": _keep, "args": (name, key)}


def _keep(name: str, key: str) -> None:
    state = current_state()
    setattr(state, name, st.session_state[key])
    if name in ("num_results", "max_tokens"):
        state.attempt(state.keep_settings)
