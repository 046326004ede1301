"""A model's answer while it arrives, and what can be said of it afterwards."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from autocontext.citations import AnswerCheck, check_answer, find_citations, strip_citations
from autocontext.conversation import read_rewriting, rewriting_prompt
from autocontext.datatypes import Citation, ModelOptions, Piece, Prompt, Turn, Usage
from autocontext.errors import ModelError
from autocontext.llm import is_ollama, stream_answer

_CONTEXT_STEPS = (4096, 8192, 16384, 32768, 65536, 131072)
_REWRITING_TOKENS = 200
_MODEL_MARGIN = 1.3  # small models' tokenizers make up to 30 % more tokens than ours


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
        Tokens and seconds; None until the answer is complete.
    complete
        Whether the model came to an end by itself.
    """

    def __init__(self, prompt: Prompt, options: ModelOptions) -> None:
        self.prompt = prompt
        self.options = options
        self.text = ""
        self.thinking = ""
        self.usage: Usage | None = None
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
        elif piece.kind == "thinking":
            self.thinking += piece.text
        else:
            self.complete = piece.finish_reason != "length"
            self.usage = Usage(piece.prompt_tokens, piece.completion_tokens, seconds)

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


def fit_context(prompt: Prompt, options: ModelOptions) -> ModelOptions:
    """Return `options` with a context size for Ollama that holds the prompt and the answer: its own default cuts them.

    The smallest usual size is taken, since another size makes Ollama load the model again.
    """
    if options.num_ctx is not None or not is_ollama(options.model):
        return options
    needed = prompt.tokens * _MODEL_MARGIN + options.max_tokens
    return replace(options, num_ctx=next((step for step in _CONTEXT_STEPS if step >= needed), _CONTEXT_STEPS[-1]))
