"""How many tokens a prompt may have, the context size that it needs, and whether the server cut it all the same.

Every count is "about": it is made with OpenAI's encoding, and the tokenizers of small local models were seen to make
14 to 30 % more of the same English text. So for all but OpenAI's own models a margin of 30 % is kept.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from autocontext.datatypes import ContextSize, ModelOptions, Prompt
from autocontext.errors import ModelError, SettingsError
from autocontext.llm_errors import is_ollama, model_error, provider_of
from autocontext.tokens import count_tokens, fewest_tokens

CONTEXT_STEPS = tuple(4096 * 2**n for n in range(9))  # 4,096 to 1,048,576
_MARGIN = 1.3
_CHAT_TEMPLATE = 64  # tokens that a chat template puts around the prompt; 31 to 40 were seen


@dataclass(frozen=True, slots=True)
class Budget:
    """How the context of a model is shared between prompt and answer.

    Attributes
    ----------
    max_tokens
        Tokens that the prompt may have: never more than `wanted`.
    wanted
        The budget as it was set.
    reserve
        Tokens kept for the answer.
    size
        What the model takes in all; None if it is not known.
    """

    max_tokens: int
    wanted: int
    reserve: int
    size: ContextSize | None

    @property
    def note(self) -> str:
        """Why the prompt may have fewer tokens than was set; "" if it may have them all."""
        if self.size is None or self.max_tokens >= self.wanted:
            return ""
        return (
            f"The prompt may have {self.max_tokens:,} tokens instead of {self.wanted:,}: the model takes "
            f"{self.size.tokens:,} in all ({self.size.source}), of which {self.reserve:,} are kept for the answer and "
            "some because models count differently."
        )


def plan_budget(wanted: int, options: ModelOptions, size: ContextSize | None) -> Budget:
    """Return the budget of a prompt: `wanted`, or what the model's context leaves beside the answer.

    Parameters
    ----------
    options
        The model; ``options.max_tokens`` are kept for its answer.
    size
        From ``autocontext.model_server.find_context_size``.

    Raises
    ------
    SettingsError
        If nothing is left for a prompt.
    """
    if size is None:
        return Budget(wanted, wanted, options.max_tokens, None)
    room = math.floor((size.tokens - options.max_tokens - _CHAT_TEMPLATE) / _margin(options))
    if room < 1:
        raise SettingsError(
            f"No room is left for the prompt: the model takes {size.tokens:,} tokens in all ({size.source}), and "
            f"{options.max_tokens:,} are kept for the answer. Allow a shorter answer."
        )
    return Budget(min(wanted, room), wanted, options.max_tokens, size)


def fit_context(prompt: Prompt, options: ModelOptions, size: ContextSize | None = None) -> ModelOptions:
    """Return `options` with a context size for Ollama that holds the prompt and the answer: its own default cuts them.

    The smallest usual size is taken, since another size makes Ollama load the model again. A ``num_ctx`` that is set
    is left as it is.

    Raises
    ------
    ModelError
        If prompt and answer need more than `size`, or without one more than ``options.max_num_ctx``.
    """
    if options.num_ctx is not None or not is_ollama(options.model):
        return options
    limit = size or ContextSize(options.max_num_ctx, "the largest context size that is set")
    needed = math.ceil(prompt.tokens * _MARGIN) + _CHAT_TEMPLATE + options.max_tokens
    if needed > limit.tokens:
        raise _too_large(needed, limit, options)
    step = next((step for step in CONTEXT_STEPS if step >= needed), limit.tokens)
    return replace(options, num_ctx=min(step, limit.tokens))


def what_was_cut(prompt: Prompt, reported: int | None) -> str:
    """Return a sentence on what the model did not see, if the server counted clearly fewer tokens than were sent.

    Parameters
    ----------
    reported
        The prompt's tokens as the server counted them; None or 0 where it does not.

    Notes
    -----
    "Clearly" is less than 0.7 of the lower of two counts, since some models need a quarter fewer tokens for some
    languages; or one of the sizes to which servers cut, and less than was sent (docs/decisions/011).
    """
    sent = count_tokens(prompt.text)
    if not reported or sent - reported < 100:
        return ""
    cut_to_a_step = any(abs(reported - step) <= 8 for step in (2048, *CONTEXT_STEPS)) and reported < 0.97 * sent
    if not cut_to_a_step and reported >= 0.7 * fewest_tokens(prompt.text):
        return ""
    return (
        f"The model saw only {reported:,} of about {sent:,} tokens of the prompt; if the server cuts at the beginning, "
        f"as Ollama does, {_lost(prompt, sent - reported)} lost. Do not trust this answer: use a smaller token budget, "
        "or give the server a larger context size."
    )


def _margin(options: ModelOptions) -> float:
    return 1.0 if provider_of(options.model) == "openai" and not options.api_base else _MARGIN


def _too_large(needed: int, limit: ContextSize, options: ModelOptions) -> ModelError:
    sentence = (
        f"Prompt and answer need a context of about {needed:,} tokens, but {{model}} gets at most {limit.tokens:,} "
        f"({limit.source}). Use a smaller token budget or fewer passages, allow a shorter answer, or raise the limit."
    )
    return model_error("context_window", sentence, options)


def _lost(prompt: Prompt, n_tokens: int) -> str:
    """Return what stands in the first `n_tokens` of a prompt, with its verb: "the rules and passage 1 are"."""
    opening, closing = re.search(r"^--- CONTEXT.*---\n", prompt.text, re.M), prompt.text.rfind("--- END CONTEXT")
    start = count_tokens(prompt.text[: opening.end()]) if opening else n_tokens
    if opening is None or start >= n_tokens:
        return "a part of the rules is"
    whole, rest = 0, n_tokens - start
    for block in prompt.text[opening.end() : closing].split("\n---\n")[: len(prompt.evidence)]:
        rest -= count_tokens(f"{block}\n---\n")
        if rest < 0:
            break
        whole += 1
    lost = ["the rules"]
    if whole:
        lost.append("passage 1" if whole == 1 else f"passages 1 {'and' if whole == 2 else 'to'} {whole}")
    if rest < 0:
        lost.append(f"the beginning of passage {whole + 1}")
    return f"{' and '.join([', '.join(lost[:-1]), lost[-1]] if len(lost) > 1 else lost)} {'are' if lost[1:] else 'is'}"
