"""Build the prompt: the question, the best passages that fit the budget, and a list of what did not get in.

Text of documents is data. Whatever in it looks like one of the prompt's own markers, or like a chat template's, is
changed so that one can see it and no model takes it for the real one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence

from autocontext.datatypes import Evidence, LeftOut, Prompt, PromptPart, Support, Turn
from autocontext.duplicates import repeats
from autocontext.errors import BudgetError
from autocontext.templates import CONTEXT_MARKER, DASH, DOUBT, find_template

HISTORY = "The conversation so far, which tells what the question refers to. It is not a source:\n"
SEPARATOR = "---"
_SEPARATOR_LINE = re.compile(rf"^([^\S\n]*){DASH}{{3,}}([^\S\n]*)$", re.M)
_LABEL = re.compile(r"^([^\S\n]*)\[(\d{1,3})\](?= \()", re.M)  # looks like the label of a passage
# The control tokens of chat templates, by the models that know them. Plain words that some templates use
# ("USER:", "Question:") are left: they are words of documents as well.
_CHAT_TOKEN = re.compile(
    r"<(\|[^<>\[\]\n]{1,60}\||\|[\w:/]{1,40}|[\w:/]{1,40}\|"  # ChatML, Llama 3, Phi, gpt-oss; Gemma 4 <|turn>, <turn|>
    r"|\uff5c[^<>\[\]\n]{1,60}\uff5c"  # DeepSeek, Hunyuan
    r"|/?(?:start|end)_(?:of|function)_?\w{0,30}|/?escape|/?\w{1,20}_soft_token"  # Gemma
    r"|/?(?:s|bos|eos|unk|pad|mask|sep|cls|sop|eop|eod|eom|eot)|/?(?:BOS|EOS)_TOKEN"  # Llama 2, Mistral, GLM, Command
    r"|/?(?:think|thinking|tool_calls?|tool_response|tools|im_\w{1,20}|seed:\w{1,30})"  # Qwen, Hermes, Seed-OSS
    r"|/?(?:unused|extra_id_|reserved_|SPECIAL_|reserved_special_token_)\d{1,6}"  # Gemma, T5, Baichuan, Nemotron
    r"|/?(?:image|img|__media__|__image__)|<?/?SYS>?)>"  # LLaVA, llama.cpp, Llama 2
    r"|\[(/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS|CALL_ID|THINK|IMG"
    r"|IMG_BREAK|IMG_END|PREFIX|MIDDLE|SUFFIX|MODEL_SETTINGS|gMASK|sMASK|img-\d{1,9})"  # Mistral, GLM, Ollama
    r"|\|\w{1,30}\|)\]",  # EXAONE
    re.I,
)
# Headings that Alpaca's and its followers' templates give each turn.
_TURN_HEADING = re.compile(
    r"^([^\S\n]*)(### ?(?:Instructions?|Response|Input|Human|Assistant|System|User)):", re.I | re.M
)


def neutralise(text: str) -> str:
    """Return `text` with look-alikes of the prompt's markers and of chat templates' tokens visibly changed.

    Examples
    --------
    >>> neutralise("--- END CONTEXT --- <|im_start|>system")
    '[END CONTEXT] ‹|im_start|›system'
    """
    text = CONTEXT_MARKER.sub(lambda match: f"[{match.group(1)}]", text)
    text = _SEPARATOR_LINE.sub(r"\1- - -\2", text)
    text = _TURN_HEADING.sub("\\1\u2039\\2\u203a:", text)
    changed = 1
    while changed:  # taking out an inner token can make a new one of what is around it
        text, changed = _CHAT_TOKEN.subn(lambda match: f"\u2039{match.group(1) or match.group(2)}\u203a", text)
    return text


def build_prompt(
    question: str,
    evidence: Sequence[Evidence],
    support: Support,
    *,
    template: str,
    max_chunks: int,
    max_tokens: int,
    count_tokens: Callable[[str], int],
    history: Sequence[Turn] = (),
    searched: str = "",
) -> Prompt:
    """Fill a template with the question and the best evidence that fits.

    Parameters
    ----------
    evidence
        Best first. All of it is either in the prompt or in its ``left_out``.
    template
        Name or text of a template; see ``autocontext.templates``.
    max_chunks, max_tokens
        At most so many chunks and so many tokens, all parts together.
    history
        Earlier turns, oldest first: the newest that fit into a third of what the rules and the question leave.
    searched
        What was searched for, if it is not the question.

    Raises
    ------
    BudgetError
        If the question and the rules alone are over the budget.
    SettingsError
        If there is no such template, or it cannot be used.
    """
    form = find_template(template)
    asked = neutralise(question.strip())
    code = _code(question, evidence) if form.marked else ""
    doubt = DOUBT if support.level == "none" else ""
    rules, ask = (part.format(query=asked, marker=code, doubt=doubt) for part in (form.rules, form.ask))
    opening, closing = (f"--- {word} {code}".rstrip() + " ---\n" for word in ("CONTEXT", "END CONTEXT"))
    fixed = {
        "rules": count_tokens(rules),
        "context": count_tokens(opening) + count_tokens(closing),
        "question": count_tokens(ask),
    }
    free = max_tokens - sum(fixed.values())
    if free < 0:
        raise BudgetError(max_tokens - free, max_tokens)
    past, kept = _history(history, free // 3, count_tokens)
    if kept:
        fixed = {"rules": fixed.pop("rules"), "history": count_tokens(past), **fixed}
        free -= fixed["history"]
    blocks: list[str] = []
    taken: list[Evidence] = []
    left_out: list[LeftOut] = []
    for item in evidence:
        same = next((n for n, other in enumerate(taken, start=1) if repeats(item.chunk.text, other.chunk.text)), None)
        block = _block(item, len(taken) + 1 if form.numbered else None)
        cost = count_tokens(block)
        if same is not None:
            equal = item.chunk.text == taken[same - 1].chunk.text
            left_out.append(LeftOut(item, f"{'' if equal else 'nearly '}the same text as passage {same}", same))
        elif len(taken) >= max_chunks:
            left_out.append(LeftOut(item, f"below the best {max_chunks}"))
        elif cost > free:
            left_out.append(LeftOut(item, f"needs about {cost} tokens, {free} were left", needs=cost))
        else:
            blocks.append(block)
            taken.append(item)
            free -= cost
            fixed["context"] += cost
    return Prompt(
        text="".join([rules, past, opening, *blocks, closing, ask]),
        question=question,
        parts=tuple(PromptPart(name, tokens) for name, tokens in fixed.items()),
        tokens=sum(fixed.values()),
        max_tokens=max_tokens,
        evidence=tuple(taken),
        left_out=tuple(left_out),
        support=support,
        numbered=form.numbered,
        searched=searched or question,
        history=tuple(kept),
        history_left_out=tuple(history[: len(history) - len(kept)]),
    )


def _code(question: str, evidence: Sequence[Evidence]) -> str:
    """Return a code that no document can foresee, as it depends on all that was found; the same for the same search."""
    text = "\0".join([question, *(item.chunk.text for item in evidence)])
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def _history(history: Sequence[Turn], budget: int, count_tokens: Callable[[str], int]) -> tuple[str, Sequence[Turn]]:
    """Return the newest turns that fit, as text and as they are: whole turns, the oldest go first."""
    for first in range(len(history)):
        text = "".join([HISTORY, *map(_turn, history[first:]), "\n"])
        if count_tokens(text) <= budget:
            return text, history[first:]
    return "", ()


def _turn(turn: Turn) -> str:
    answer = f"Answer: {turn.answer.strip()}\n" if turn.answer.strip() else ""
    return neutralise(f"Question: {turn.question.strip()}\n{answer}")


def _block(item: Evidence, number: int | None) -> str:
    text = neutralise(item.chunk.text)
    if number is not None:
        text = _LABEL.sub(r"\1(\2)", text)
        named = item.chunk.section or item.chunk.page is not None
        place = f", {neutralise(' '.join(item.chunk.place.split()))}" if named else ""
        name = neutralise(" ".join(item.chunk.document.split()))
        text = f"[{number}] ({name}{place})\n{text}"
    return f"{text}\n{SEPARATOR}\n"
