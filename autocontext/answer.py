"""A model's answer while it arrives, and what can be said of it afterwards."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace

from autocontext.datatypes import Citation, ModelOptions, Piece, Prompt, Usage
from autocontext.errors import ModelError
from autocontext.llm import is_ollama, stream_answer

_CONTEXT_STEPS = (4096, 8192, 16384, 32768, 65536, 131072)
_MODEL_MARGIN = 1.3  # small models' tokenizers make up to 30 % more tokens than ours
_CITATION = re.compile(r"\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")


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


def find_citations(text: str, prompt: Prompt) -> tuple[Citation, ...]:
    """Return the passages that `text` cites as ``[n]`` or ``[n, m]``; a number without a passage has no evidence.

    Nothing is a citation where the prompt does not number its passages.
    """
    if not prompt.numbered:
        return ()
    numbers = dict.fromkeys(int(number) for group in _CITATION.findall(text) for number in re.findall(r"\d+", group))
    count = len(prompt.evidence)
    return tuple(Citation(n, prompt.evidence[n - 1] if 1 <= n <= count else None) for n in numbers)


def fit_context(prompt: Prompt, options: ModelOptions) -> ModelOptions:
    """Return `options` with a context size for Ollama that holds the prompt and the answer: its own default cuts them.

    The smallest usual size is taken, since another size makes Ollama load the model again.
    """
    if options.num_ctx is not None or not is_ollama(options.model):
        return options
    needed = prompt.tokens * _MODEL_MARGIN + options.max_tokens
    return replace(options, num_ctx=next((step for step in _CONTEXT_STEPS if step >= needed), _CONTEXT_STEPS[-1]))
