"""Measure the check of answers on labelled answers about the sample collection.

    python -m scripts.check_answers                     # the figures of docs/decisions/013-checked-answers.md
    python -m scripts.check_answers --show              # and what was found in each sentence

Each line of ``tests/answers/*.jsonl`` has a question, the sentences of an answer and, for each sentence, whether it was
made up. ``[@quote]`` in a sentence stands for the number of the passage that holds the quote, since numbers depend on
the search; ``[~quote]`` says what a sentence without a citation rests on. A right sentence whose passage is not in the
prompt is left out and counted: then it stands in no passage indeed. An answer counts as made up if a sentence of it is.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autocontext import AutoContext, Prompt
from autocontext.citations import AnswerCheck, check_answer

ROOT = Path(__file__).parents[1]
SETS = ("tuning", "unseen")
_QUOTE = re.compile(r"\[[@~](.*?)\]")


@dataclass(frozen=True)
class Case:
    """One labelled answer."""

    name: str
    question: str
    sentences: tuple[str, ...]
    made_up: tuple[bool, ...]


def read(name: str) -> list[Case]:
    """Return the answers of one set."""
    lines = (ROOT / "tests" / "answers" / f"{name}.jsonl").read_text("utf-8").splitlines()
    rows = map(json.loads, lines)
    return [Case(row["id"], row["question"], tuple(row["answer"]), tuple(row["made_up"])) for row in rows]


def check(case: Case, prompt: Prompt) -> tuple[AnswerCheck, list[bool | None]]:
    """Return the check of a whole answer, and whether each labelled sentence is flagged; None for one left out."""
    passages = [" ".join(item.chunk.text.split()) for item in prompt.evidence]

    def number(quote: str) -> int | None:
        return next((n for n, text in enumerate(passages, start=1) if quote in text), None)

    missing = [any(number(quote) is None for quote in _QUOTE.findall(sentence)) for sentence in case.sentences]
    kept = [sentence for sentence, left_out in zip(case.sentences, missing, strict=True) if not left_out]
    texts = iter(_QUOTE.sub(lambda m: f"[{number(m[1])}]" if m[0][1] == "@" else "", sentence) for sentence in kept)
    text = ""
    spans: list[tuple[int, int] | None] = []
    for left_out in missing:
        if left_out:
            spans.append(None)
            continue
        sentence = next(texts)
        spans.append((len(text), len(text) + len(sentence)))
        text += sentence + " "
    checked = check_answer(text, prompt)
    flagged = [
        None if span is None else any(s.flagged for s in checked.sentences if span[0] <= s.start < span[1])
        for span in spans
    ]
    return checked, flagged


def lines(name: str, ac: AutoContext, *, show: bool) -> Iterator[str]:
    """Yield the report on one set."""
    found = [(case, *check(case, ac.get_prompt(case.question))) for case in read(name)]
    if show:
        for case, checked, flagged in found:
            for sentence, made_up, flag in zip(case.sentences, case.made_up, flagged, strict=True):
                word = "made up" if made_up else "right"
                verdict = "left out" if flag is None else "flagged" if flag else "not flagged"
                yield f"{'   ' if flag in (None, made_up) else '!! '}{case.name} {word}, {verdict}: {sentence}"
            yield from (f"        {finding}" for finding in checked.findings)
    by_sentence = [pair for case, _, flagged in found for pair in zip(case.made_up, flagged, strict=True)]
    by_answer = [(any(case.made_up), any(flagged)) for case, _, flagged in found if flagged != [None] * len(flagged)]
    left_out = sum(flag is None for _, flag in by_sentence)
    by_sentence = [pair for pair in by_sentence if pair[1] is not None]
    for unit, pairs in (("answers", by_answer), ("sentences", by_sentence)):
        made_up = [flag for label, flag in pairs if label]
        right = [flag for label, flag in pairs if not label]
        yield (
            f"{name:7} {unit:9} made up: {sum(made_up)} of {len(made_up)} flagged ({sum(made_up) / len(made_up):.0%}); "
            f"right: {sum(right)} of {len(right)} wrongly flagged ({sum(right) / len(right):.0%})"
        )
    if left_out:
        yield f"{name:7} {left_out} sentences left out: their passage is not in the prompt"


def main() -> None:
    """Print the figures of both sets."""
    parser = argparse.ArgumentParser(description="Measure the check of answers.")
    parser.add_argument("--show", action="store_true", help="print each sentence with what was found")
    parser.add_argument("sets", nargs="*", default=SETS, help="tuning, unseen or both (default)")
    parsed = parser.parse_args()
    ac = AutoContext()
    ac.add_folder(ROOT / "data")
    for name in parsed.sets:
        for line in lines(name, ac, show=parsed.show):
            print(line)


if __name__ == "__main__":
    main()
