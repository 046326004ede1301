"""Measure how follow-up questions are searched, on small dialogues about the sample collection.

    python -m scripts.check_dialogues                   # the figures of docs/decisions/014-follow-up-questions.md
    python -m scripts.check_dialogues --show            # and each question with its ranks

Each line of ``tests/dialogues.jsonl`` is a talk; each turn has a question, the answer that was given and a quote of the
passage that answers it. "follow" questions need the talk; "new" ones change the topic and must be searched as they are;
"open" ones may be searched either way. The rank is that of the best passage that holds the quote, among ten.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from autocontext import AutoContext, Turn

ROOT = Path(__file__).parents[1]
DEPTH = 10


def rank(ac: AutoContext, searched: str, quote: str) -> int | None:
    """Return the rank of the first passage that holds the quote; None if it is not among the best."""
    texts = [" ".join(item.chunk.text.split()) for item in ac.search(searched, DEPTH)]
    return next((n for n, text in enumerate(texts, start=1) if quote in text), None)


def measure(ac: AutoContext, *, show: bool) -> dict[str, list[tuple[int | None, int | None, bool]]]:
    """Return by kind: the rank of the question alone, with the talk, and whether the talk changed the search."""
    found: dict[str, list[tuple[int | None, int | None, bool]]] = {}
    for line in (ROOT / "tests" / "dialogues.jsonl").read_text("utf-8").splitlines():
        history: list[Turn] = []
        for turn in json.loads(line)["turns"]:
            prompt = ac.get_prompt(turn["question"], history=history)
            before, after = rank(ac, turn["question"], turn["quote"]), rank(ac, prompt.searched, turn["quote"])
            changed = prompt.searched != turn["question"]
            found.setdefault(turn["kind"], []).append((before, after, changed))
            if show:
                print(f"{turn['kind']:6} {before or '-':>2} -> {after or '-':>2}  {prompt.searched}")
            holding = [e for e in prompt.evidence if turn["quote"] in " ".join(e.chunk.text.split())]
            history.append(Turn(turn["question"], turn["answer"], tuple(holding or prompt.evidence[:1])))
    return found


def described(ranks: list[int | None]) -> str:
    """Return how often the passage comes first and into the prompt, and the mean reciprocal rank."""
    first, in_prompt = sum(n == 1 for n in ranks), sum(n is not None and n <= 5 for n in ranks)
    return f"first {first}, in the prompt {in_prompt}, MRR {sum(1 / n for n in ranks if n) / len(ranks):.3f}"


def main() -> None:
    """Print the figures by kind."""
    parser = argparse.ArgumentParser(description="Measure the search for follow-up questions.")
    parser.add_argument("--show", action="store_true", help="print each question as it was searched")
    show = parser.parse_args().show
    ac = AutoContext()
    ac.add_folder(ROOT / "data")
    for kind, rows in measure(ac, show=show).items():
        changed = sum(row[2] for row in rows)
        print(f"{kind}: {len(rows)} questions, {changed} searched with the topic of the talk")
        print(f"  alone:         {described([row[0] for row in rows])}")
        print(f"  with the talk: {described([row[1] for row in rows])}")


if __name__ == "__main__":
    main()
