"""What the Evaluate page keeps between reruns: its jobs with what came of them, and the questions before a change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from autocontext.datatypes import Chunk, ModelOptions, Prompt
from autocontext.engine import AutoContext
from autocontext.errors import QuestionError
from autocontext.evaluation import Evaluation, evaluate
from autocontext.questions import Question, lines_of, locate, with_answer, with_no_answer
from autocontext.settings import Settings
from autocontext.suggesting import Suggestion, suggest
from autocontext.ui.jobs import Job

_SHOWN = 8  # passages to mark an answer among
_NO_BUDGET = 1_000_000


class EvaluateJob(Job):
    """Measures settings on the questions.

    Attributes
    ----------
    result
        None until it has ended, and where it failed.
    """

    _FAILED = "Measuring failed ({}). Questions and documents are as they were."

    def __init__(
        self,
        engine: AutoContext,
        questions: Sequence[Question],
        settings: Mapping[str, Settings],
        is_abandoned: Callable[[], bool] = lambda: False,
    ) -> None:
        self.result: Evaluation | None = None
        self._of = (engine, engine.settings, engine.chunks, tuple(questions))
        super().__init__("evaluate", partial(self._work, settings), "Getting ready", is_abandoned=is_abandoned)

    def _work(self, settings: Mapping[str, Settings]) -> None:
        engine, _, _, questions = self._of
        self.result = evaluate(engine, questions, settings, progress=self._progress, should_stop=self._should_stop)

    def is_of(self, engine: AutoContext, questions: Sequence[Question]) -> bool:
        """Tell whether documents, settings and questions are still those that were measured."""
        of, settings, chunks, measured = self._of
        is_same = of is engine and settings == engine.settings and chunks is engine.chunks
        return is_same and measured == tuple(questions)


class SuggestJob(Job):
    """Asks a model for a question on each of some passages, one call a passage.

    Attributes
    ----------
    found
        What has come so far.
    done, total
        Passages that were asked for, and all of them.
    useless
        Answers that held no question.
    """

    _FAILED = "Suggesting failed ({}). The questions are as they were."

    def __init__(self, chunks: Sequence[Chunk], options: ModelOptions) -> None:
        self.found: list[Suggestion] = []
        self.useless = 0
        super().__init__("suggest", partial(self._work, tuple(chunks), options), "Asking", len(chunks))

    def _work(self, chunks: Sequence[Chunk], options: ModelOptions) -> None:
        for chunk in chunks:
            if self._should_stop():
                return
            suggestion = suggest(chunk, options)
            if self._should_stop():  # nobody waits for it any more
                return
            if suggestion is None:
                self.useless += 1
            else:
                self.found.append(suggestion)
            self.done += 1


@dataclass
class Evaluating:
    """A session's questions and what was measured on them.

    Attributes
    ----------
    question
        The question whose answer is being looked for.
    kinds
        Which kinds of settings are tried beside the present ones.
    show
        ``"questions"`` or ``"results"``.
    editing
        Which answer's words are being edited: ``"new"`` for one more; "" for none.
    looked_at
        How often a question was taken from the list: a new number is a new field, which begins with it.
    before
        The questions before the last change, to go back to.
    """

    question: str = ""
    kinds: list[str] = field(default_factory=list)
    show: str = "questions"
    editing: str = ""
    looked_at: int = 0
    uploads: int = 0
    said: list[str] = field(default_factory=list)
    before: tuple[Question, ...] | None = None
    job: EvaluateJob | None = None
    suggesting: SuggestJob | None = None
    _found: tuple[tuple[str, Settings], tuple[Chunk, ...], Prompt] | None = None
    _missing: dict[Question, str] = field(default_factory=dict)
    _missing_of: tuple[Chunk, ...] = ()

    # --- questions ---

    def change(self, engine: AutoContext, questions: Iterable[Question]) -> None:
        """Keep other questions; `undo` goes back."""
        before = engine.questions
        engine.set_questions(questions)
        self.before = before

    def remove(self, engine: AutoContext, id_: str) -> None:
        """Take a question off the list."""
        self.change(engine, [one for one in engine.questions if one.id != id_])

    def undo(self, engine: AutoContext) -> None:
        """Go back to the questions before the last change; a second time forward again."""
        if self.before is not None:
            self.change(engine, self.before)

    def toggle_answer(self, engine: AutoContext, question: str, chunk: Chunk) -> None:
        """Mark a passage as one that answers the question, or take the mark away."""
        marked = answers_in(engine.questions, question, chunk)
        if marked:
            self.change(engine, [one for one in engine.questions if one not in marked])
        else:
            self.change(engine, with_answer(engine.questions, question, chunk.document, chunk.text.strip(), chunk.page))

    def toggle_nothing(self, engine: AutoContext, question: str) -> None:
        """Say that nothing answers the question, or take that back."""
        lines = lines_of(engine.questions, question)
        if lines and lines[0].document is None:
            self.change(engine, [one for one in engine.questions if one not in lines])
        else:
            self.change(engine, with_no_answer(engine.questions, question))

    def passages(self, engine: AutoContext) -> Prompt:
        """Return what is found for the question, searched again only if anything has changed."""
        asked, chunks = (self.question, engine.settings), engine.chunks
        if self._found is None or self._found[0] != asked or self._found[1] is not chunks:
            self._found = (asked, chunks, engine.get_prompt(self.question, _SHOWN, _NO_BUDGET))
        return self._found[2]

    def missing(self, engine: AutoContext, line: Question) -> str:
        """Return why the answer of a line is not found, or ""; looked for once in a state of the documents."""
        if self._missing_of is not engine.chunks:
            self._missing, self._missing_of = {}, engine.chunks
        if line not in self._missing:
            self._missing[line] = ""
            try:
                locate(line, engine.documents)
            except QuestionError as error:
                self._missing[line] = str(error)
        return self._missing[line]

    def look_at(self, question: str) -> None:
        """Look for the answer of another question."""
        self.question, self.editing = question.strip(), ""
        self.looked_at += 1
        self.show = "questions"

    # --- suggestions ---

    def accept(self, engine: AutoContext, suggestion: Suggestion, text: str) -> None:
        """Take a suggested question over, as it is or reworded."""
        chunk = suggestion.chunk
        self.change(engine, with_answer(engine.questions, text, chunk.document, suggestion.quote, chunk.page))
        self.discard(suggestion)

    def discard(self, suggestion: Suggestion) -> None:
        """Let a suggestion go."""
        if self.suggesting is not None and suggestion in self.suggesting.found:
            self.suggesting.found.remove(suggestion)

    def forget(self) -> None:
        """Let go of everything that holds texts: other documents are open now, or some have left."""
        for job in (self.job, self.suggesting):
            if job is not None:
                job.stop()
        self.job = self.suggesting = self._found = self.before = None
        self.said, self.editing = [], ""
        self._missing, self._missing_of = {}, ()


def answers_in(questions: Sequence[Question], text: str, chunk: Chunk) -> list[Question]:
    """Return the lines of a question whose quote is a part of a passage, or the other way round."""
    return [
        line
        for line in lines_of(questions, text)
        if line.document == chunk.document
        and line.quote is not None
        and (line.quote in chunk.text or chunk.text.strip() in line.quote)
    ]
