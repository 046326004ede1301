"""A model's answer while it arrives, and what can be said of it afterwards."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from autocontext.budget import what_was_cut
from autocontext.datatypes import Citation, ModelOptions, Piece, Prompt, Usage
from autocontext.errors import ModelError
from autocontext.llm import stream_answer

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


def find_citations(text: str, prompt: Prompt) -> tuple[Citation, ...]:
    """Return the passages that `text` cites as ``[n]`` or ``[n, m]``; a number without a passage has no evidence.

    Nothing is a citation where the prompt does not number its passages.
    """
    if not prompt.numbered:
        return ()
    numbers = dict.fromkeys(int(number) for group in _CITATION.findall(text) for number in re.findall(r"\d+", group))
    count = len(prompt.evidence)
    return tuple(Citation(n, prompt.evidence[n - 1] if 1 <= n <= count else None) for n in numbers)
