"""A conversation as Markdown, with its sources; what was said is escaped, so that it shows as it was said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from autocontext.answer import Answer

_SPECIAL = re.compile(r"[\\\\`*_{}\[\]()<>#+\-.!|~:$^=&\"'/@]")


def to_markdown(answers: Sequence[Answer], title: str = "Conversation") -> str:
    """Return the questions and answers, oldest first, each with what was found about it and the passages it rests on.

    An answer without a text is told as a prompt that no model was asked with.
    """
    parts = [f"# {escape(title)}\n"]
    for number, answer in enumerate(answers, start=1):
        parts += [f"## {number}. {escape(answer.prompt.question)}\n", *_told(answer)]
    return "\n".join(parts)


def escape(text: str) -> str:
    """Return one line of Markdown that shows `text` literally."""
    return _SPECIAL.sub(lambda match: f"\\{match.group()}", " ".join(text.split()))


def _told(answer: Answer) -> Iterator[str]:
    prompt = answer.prompt
    if prompt.searched not in ("", prompt.question):
        yield f"Searched for: {escape(prompt.searched)}\n"
    if prompt.support.level != "strong":
        yield f"Support in the documents: {prompt.support.level}. {escape(' '.join(prompt.support.reasons))}\n"
    if answer.text:
        yield _quoted(answer.text)
        how = "" if answer.complete else " (incomplete)"
        yield f"Model: {escape(answer.options.model)}{how}\n"
    else:
        yield "No answer.\n"
    check = answer.check
    if check.findings:
        yield "".join(f"- {escape(finding)}\n" for finding in check.findings)
    numbers = check.passages if answer.text else range(1, len(prompt.evidence) + 1)
    if numbers:
        yield "Sources:\n"
        yield "".join(_source(answer, number) for number in numbers)


def _source(answer: Answer, number: int) -> str:
    chunk = answer.prompt.evidence[number - 1].chunk
    return f"- \\[{number}\\] {escape(chunk.document)}, {escape(chunk.place)}: {escape(chunk.text)}\n"


def _quoted(text: str) -> str:
    """Return `text` as a quotation with its own lines, blanks at their beginnings included."""
    lines = []
    for line in text.strip("\n").splitlines():
        indent = len(line) - len(line.lstrip())
        lines.append(f"> {'&nbsp;' * indent}{escape(line)}")
    return "  \n".join(lines) + "\n"
