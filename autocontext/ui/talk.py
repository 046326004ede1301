"""The conversation of one session: its turns, one after the other; the page only draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from autocontext.answer import Answer
from autocontext.budget import Budget, fit_context
from autocontext.datatypes import Evidence, ModelOptions, Prompt, Turn
from autocontext.engine import AutoContext
from autocontext.errors import AutoContextError
from autocontext.ui.jobs import AnswerJob, RewriteJob


@dataclass
class TalkTurn:
    """One question on its way: rewritten if so wished, searched, asked.

    Attributes
    ----------
    number
        Counted from 1 and never given twice in a session.
    options
        The model to ask; None makes the prompt only.
    rewriting
        The question's rewriting by the model, or None.
    problem
        Why there is no prompt, or "".
    stopped
        Whether the user stopped it before the model was asked.
    """

    number: int
    question: str
    options: ModelOptions | None
    rewriting: RewriteJob | None = None
    budget: Budget | None = None
    prompt: Prompt | None = None
    job: AnswerJob | None = None
    problem: str = ""
    stopped: bool = False

    @property
    def running(self) -> bool:
        """Whether something is still to come."""
        waits = self.prompt is None and not self.problem and not self.stopped
        return waits or (self.job is not None and self.job.running)

    @property
    def answer(self) -> Answer | None:
        """The answer; one without a text where no model was asked; None without a prompt."""
        if self.job is not None:
            return self.job.answer
        return Answer(self.prompt, ModelOptions(model="")) if self.prompt is not None else None


@dataclass
class Talk:
    """The turns of a conversation, oldest first.

    Attributes
    ----------
    rewrite
        Whether the model puts follow-up questions in other words before they are searched.
    """

    turns: list[TalkTurn] = field(default_factory=list)
    rewrite: bool = False
    _asked: int = 0

    @property
    def running(self) -> bool:
        """Whether the last question is still being answered."""
        return bool(self.turns) and self.turns[-1].running

    def ask(self, question: str, options: ModelOptions | None) -> None:
        """Begin a turn; `advance` searches and asks. The answer before it is stopped."""
        if not question.strip():
            return
        self.stop()
        self._asked += 1
        turn = TalkTurn(self._asked, question.strip(), options)
        history = self.history()
        if self.rewrite and options is not None and history:
            turn.rewriting = RewriteJob(turn.question, history, options)
        self.turns.append(turn)

    def history(self) -> Sequence[Turn]:
        """Return the turns that have a prompt, for the next question."""
        return [answer.turn for turn in self.turns if (answer := turn.answer) is not None]

    def advance(self, engine: AutoContext, num_results: int, max_tokens: int) -> None:
        """Do what can be done for the last question without waiting: search it, ask the model, take what came."""
        if not self.turns:
            return
        turn = self.turns[-1]
        if turn.job is not None:
            turn.job.collect()
        elif turn.running and (turn.rewriting is None or not turn.rewriting.running):
            searched = turn.rewriting.result if turn.rewriting else None
            try:
                turn.budget = engine.plan(turn.options, max_tokens) if turn.options else None
                allowed = turn.budget.max_tokens if turn.budget else max_tokens
                turn.prompt = engine.get_prompt(
                    turn.question, num_results, allowed, history=self.history(), searched=searched
                )
            except AutoContextError as error:
                turn.problem = str(error)
                return
            if turn.options is not None:
                turn.job = AnswerJob(
                    turn.prompt, fit_context(turn.prompt, turn.options, turn.budget.size if turn.budget else None)
                )

    def stop(self) -> None:
        """Stop the answer that is arriving; what has come stays."""
        if self.turns and self.turns[-1].running:
            turn = self.turns[-1]
            if turn.job is not None:
                turn.job.stop()
            else:
                turn.stopped = True

    def clear(self) -> None:
        """Forget everything that was said."""
        self.stop()
        self.turns = []

    def forget(self, names: Sequence[str]) -> bool:
        """Forget everything if it quotes one of these documents; True if it did."""
        quoted = {item.chunk.document for turn in self.turns if turn.prompt for item in _all_evidence(turn.prompt)}
        if quoted.isdisjoint(names):
            return False
        self.clear()
        return True


def _all_evidence(prompt: Prompt) -> list[Evidence]:
    return [*prompt.evidence, *(left.evidence for left in prompt.left_out)]
