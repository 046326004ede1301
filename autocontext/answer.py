"""A model's answer while it arrives, and what can be said of it afterwards."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from autocontext.budget import what_was_cut
from autocontext.citations import AnswerCheck, check_answer, find_citations, strip_citations
from autocontext.conversation import read_rewriting, rewriting_prompt
from autocontext.datatypes import Citation, ModelOptions, Piece, Prompt, Turn, Usage
from autocontext.errors import ModelError
from autocontext.llm import stream_answer

_REWRITING_TOKENS = 200


class Answer:
    """The text pieces of an answer, in order: iterate once, then read what came.

    Attributes
    ----------
    prompt
        What was asked, exactly.
    text
        What has arrived so far; also kept when the stream breaks off.
    thinking
        A reasoning model's notes to itself, not part of the answer.
    usage
        Tokens, seconds and cost; None until the answer is complete.
    unseen
        A sentence on what the model did not see of the prompt, if the server seems to have cut it; else "".
    complete
        Whether the model came to an end by itself.
    """

    def __init__(self, prompt: Prompt, options: ModelOptions) -> None:
        self.prompt = prompt
        self.options = options
        self.text = ""
        self.thinking = ""
        self.usage: Usage | None = None
        self.unseen = ""
        self.complete = False
        self._started = False

    def __iter__(self) -> Iterator[str]:
        """Ask the model and yield its text as it comes.

        Raises
        ------
        ModelError
            If no answer, or only a part of one, is to be had; `text` keeps the part.
        """
        if self._started:
            raise ModelError("used", "This answer was already read; ask again for another one.")
        self._started = True
        start = time.monotonic()
        for piece in stream_answer(self.prompt.text, self.options):
            self.take(piece, time.monotonic() - start)
            if piece.kind == "text":
                yield piece.text

    def take(self, piece: Piece, seconds: float) -> None:
        """Add one piece of a stream that is read elsewhere, `seconds` after the question was sent."""
        if piece.kind == "text":
            self.text += piece.text
            self._move_unopened_thought()
            if self.thinking:  # between a thought and its answer stand empty lines
                self.text = self.text.lstrip()
        elif piece.kind == "thinking":
            self.thinking += piece.text
        else:
            self.complete = piece.finish_reason != "length"
            self.usage = Usage(piece.prompt_tokens, piece.completion_tokens, seconds, piece.cost)
            self.unseen = what_was_cut(self.prompt, piece.prompt_tokens)

    def _move_unopened_thought(self) -> None:
        """Take a thought out of the text whose opening tag was a part of the model's chat template, so never came."""
        thought, tag, answer = self.text.partition("</think>")
        if tag and "<think>" not in thought:
            self.thinking += thought
            self.text = answer

    def __str__(self) -> str:
        return self.text

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Each passage number that the text cites, once, in order of first mention, with its evidence if it exists."""
        return find_citations(self.text, self.prompt)

    @property
    def check(self) -> AnswerCheck:
        """What each sentence of the text rests on, and what stands in no passage."""
        return check_answer(self.text, self.prompt)

    @property
    def turn(self) -> Turn:
        """Question and answer, for the `history` of the next question."""
        evidence = self.prompt.evidence
        sources = tuple(evidence[number - 1] for number in self.check.passages) if self.text else evidence
        return Turn(self.prompt.question, strip_citations(self.text), sources)


def rewrite_question(question: str, history: Sequence[Turn], options: ModelOptions) -> str:
    """Ask a model to put a follow-up question so that it stands alone; the question itself if it says nothing useful.

    Raises
    ------
    ModelError
        If no answer is to be had.
    """
    if not history:
        return question
    pieces = stream_answer(rewriting_prompt(question, history), replace(options, max_tokens=_REWRITING_TOKENS))
    return read_rewriting("".join(piece.text for piece in pieces if piece.kind == "text"), question)
