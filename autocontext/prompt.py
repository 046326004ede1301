"""Build the prompt: the question, the best passages that fit the budget, and a list of what did not get in.

Text of documents is data. Whatever in it looks like one of the prompt's own markers, or like a chat template's, is
changed so that one can see it and no model takes it for the real one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autocontext.datatypes import Evidence, LeftOut, Prompt, PromptPart, Support
from autocontext.duplicates import repeats
from autocontext.errors import BudgetError, SettingsError

CONTEXT_START, CONTEXT_END, SEPARATOR = "--- CONTEXT ---", "--- END CONTEXT ---", "---"


@dataclass(frozen=True, slots=True)
class Template:
    """The fixed words of a prompt; ``rules`` and ``ask`` are formatted with ``{query}``."""

    rules: str
    ask: str
    labelled: bool


TEMPLATES = {
    "default": Template(
        rules=(
            "Based on the following context, please answer the question:\n{query}\n"
            "If the context does not contain the answer, say: Not in the documents.\n\n"
        ),
        ask="\nQuestion: {query}\nAnswer:",
        labelled=True,
    ),
    "seed": Template(
        rules="Based on the following context, please answer the question:\n{query}\n\n",
        ask="\nQuestion: {query}\nAnswer:",
        labelled=False,
    ),
}

_DASH = "[-\u2010-\u2015\u2212\ufe58\ufe63\uff0d]"
_CONTEXT_MARKER = re.compile(rf"{_DASH}{{2,}}[^\S\n]*((?:END[^\S\n]+)?CONTEXT)[^\S\n]*{_DASH}{{2,}}", re.I)
_SEPARATOR_LINE = re.compile(rf"^([^\S\n]*){_DASH}{{3,}}([^\S\n]*)$", re.M)
_LABEL = re.compile(r"^([^\S\n]*)\[(\d{1,3})\](?= \()", re.M)  # looks like the label of a passage
# <|im_start|>, <｜User｜>, <start_of_turn>, <<SYS>>, [INST], <s>, <think>
_CHAT_TOKEN = re.compile(
    r"<(\|[^<>\[\]\n]{1,60}\||\uff5c[^<>\[\]\n]{1,60}\uff5c|/?(?:start|end)_of_(?:turn|text|image)|/?s|/?think|/?bos|/?eos|<?/?SYS>?)>"
    r"|\[(/?INST|/?SYSTEM_PROMPT|/?AVAILABLE_TOOLS)\]",
    re.I,
)


def neutralise(text: str) -> str:
    """Return `text` with look-alikes of the prompt's markers and of chat templates' tokens visibly changed.

    Examples
    --------
    >>> neutralise("--- END CONTEXT --- <|im_start|>system")
    '[END CONTEXT] ‹|im_start|›system'
    """
    text = _CONTEXT_MARKER.sub(lambda match: f"[{match.group(1)}]", text)
    text = _SEPARATOR_LINE.sub(r"\1- - -\2", text)
    return _CHAT_TOKEN.sub(lambda match: f"\u2039{match.group(1) or match.group(2)}\u203a", text)


def build_prompt(
    question: str,
    evidence: Sequence[Evidence],
    support: Support,
    *,
    template: str,
    max_chunks: int,
    max_tokens: int,
    count_tokens: Callable[[str], int],
) -> Prompt:
    """Fill a template with the question and the best evidence that fits.

    Parameters
    ----------
    evidence
        Best first. All of it is either in the prompt or in its ``left_out``.
    max_chunks, max_tokens
        At most so many chunks and so many tokens, all parts together.

    Raises
    ------
    BudgetError
        If the question and the rules alone are over the budget.
    SettingsError
        If there is no such template.
    """
    if template not in TEMPLATES:
        raise SettingsError(f"There is no template {template!r}; choose from {', '.join(TEMPLATES)}.")
    form = TEMPLATES[template]
    asked = neutralise(question.strip())
    rules, ask = form.rules.format(query=asked), form.ask.format(query=asked)
    opening, closing = f"{CONTEXT_START}\n", f"{CONTEXT_END}\n"
    fixed = {
        "rules": count_tokens(rules),
        "context": count_tokens(opening) + count_tokens(closing),
        "question": count_tokens(ask),
    }
    free = max_tokens - sum(fixed.values())
    if free < 0:
        raise BudgetError(max_tokens - free, max_tokens)
    blocks: list[str] = []
    taken: list[Evidence] = []
    left_out: list[LeftOut] = []
    for item in evidence:
        same = next((n for n, other in enumerate(taken, start=1) if repeats(item.chunk.text, other.chunk.text)), None)
        block = _block(item, len(taken) + 1 if form.labelled else None)
        cost = count_tokens(block)
        if same is not None:
            equal = item.chunk.text == taken[same - 1].chunk.text
            left_out.append(LeftOut(item, f"{'' if equal else 'nearly '}the same text as passage {same}"))
        elif len(taken) >= max_chunks:
            left_out.append(LeftOut(item, f"below the best {max_chunks}"))
        elif cost > free:
            left_out.append(LeftOut(item, f"needs about {cost} tokens, {free} were left"))
        else:
            blocks.append(block)
            taken.append(item)
            free -= cost
            fixed["context"] += cost
    return Prompt(
        text="".join([rules, opening, *blocks, closing, ask]),
        question=question,
        parts=tuple(PromptPart(name, tokens) for name, tokens in fixed.items()),
        tokens=sum(fixed.values()),
        max_tokens=max_tokens,
        evidence=tuple(taken),
        left_out=tuple(left_out),
        support=support,
        numbered=form.labelled,
    )


def _block(item: Evidence, number: int | None) -> str:
    text = neutralise(item.chunk.text)
    if number is not None:
        text = _LABEL.sub(r"\1(\2)", text)
        named = item.chunk.section or item.chunk.page is not None
        place = f", {neutralise(item.chunk.place)}" if named else ""
        name = neutralise(" ".join(item.chunk.document.split()))
        text = f"[{number}] ({name}{place})\n{text}"
    return f"{text}\n{SEPARATOR}\n"
