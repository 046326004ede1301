"""Commands that ask one question under several settings: ``compare-bm25``, ``compare-chunks``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from autocontext.commands.common import Parents, open_folder, progress, put, put_json, tell
from autocontext.comparison import (
    BM25_PAIRS,
    SENTENCES,
    Choice,
    Comparison,
    Outcome,
    Place,
    Row,
    bm25_choices,
    compare,
    size_choices,
    with_present,
)
from autocontext.errors import SettingsError
from autocontext.settings import Settings

_SIGNS = {"same": "=", "up": "↑{}", "down": "↓{}", "new": "new", "gone": "gone", "out": "-"}
_WIDTH = 72


def add_to(commands: Any, parents: Parents) -> None:
    """Add the commands to the parser."""
    bm25 = _add(
        commands,
        parents,
        "compare-bm25",
        "ask a question under several k1 and b of the word search, and show what moved",
    )
    usual = " ".join(f"{k1:g},{b:g}" for k1, b, _ in BM25_PAIRS)
    bm25.add_argument("--pairs", nargs="+", metavar="K1,B", help=f"what to compare ({usual})")
    bm25.set_defaults(run=_compare_bm25)

    chunks = _add(
        commands, parents, "compare-chunks", "ask a question with passages of several sizes, and show what moved"
    )
    sizes = [n for n, _ in SENTENCES]
    chunks.add_argument(
        "--sizes",
        nargs="+",
        type=int,
        default=sizes,
        metavar="N",
        help=f"sentences a passage ({' '.join(map(str, sizes))})",
    )
    chunks.set_defaults(run=_compare_chunks)


def _add(commands: Any, parents: Parents, name: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, parents=[parents.collection], help=text)
    parser.add_argument("question", metavar="QUESTION")
    parser.add_argument("--json", action="store_true", help="print all of it as JSON")
    return parser


def _compare_bm25(parsed: argparse.Namespace) -> int:
    pairs = list(dict.fromkeys(map(_pair, parsed.pairs))) if parsed.pairs else None
    return _run(parsed, lambda settings: bm25_choices(settings, pairs))


def _compare_chunks(parsed: argparse.Namespace) -> int:
    return _run(parsed, lambda settings: size_choices(settings, list(dict.fromkeys(parsed.sizes))))


def _pair(text: str) -> tuple[float, float]:
    try:
        k1, b = (float(number) for number in text.split(","))
    except ValueError:
        raise SettingsError(f"A pair is k1 and b with a comma between, for example 1.2,0.5; not {text!r}.") from None
    return k1, b


def _run(parsed: argparse.Namespace, choices_of: Callable[[Settings], Sequence[Choice]]) -> int:
    choices_of(Settings())  # a value that cannot work is told before the folder is read
    ac = open_folder(parsed)
    choices = with_present(ac.settings, choices_of(ac.settings))
    compared = compare(
        ac,
        parsed.question,
        {choice.label: choice.settings for choice in choices},
        progress=_progress if sys.stderr.isatty() else None,
    )
    if parsed.json:
        notes = {choice.label: choice.note for choice in choices}
        plain = compared.to_plain()
        plain["variants"] = [variant | {"note": notes[variant["label"]]} for variant in plain["variants"]]
        put_json(plain)
    else:
        _print(compared, choices)
    return 1 if all(outcome.prompt is None for outcome in compared.outcomes) else 0


def _progress(label: str, done: int, total: int) -> None:
    if total:
        progress(f"{label}: embedded", done, total)


def _print(compared: Comparison, choices: Sequence[Choice]) -> None:
    for choice, outcome in zip(choices, compared.outcomes, strict=True):
        is_base = outcome.label == compared.base
        put(f"=== {outcome.label}{' (the others are held against it)' if is_base else ''} ===")
        put(choice.note)
        if outcome.prompt is None:
            tell(f"{outcome.label}: {outcome.problem}")
            continue
        put(_summary(compared, outcome))
        put(f"\n{outcome.prompt.text}\n")
    put("=== What moved ===")
    labels = [outcome.label for outcome in compared.outcomes if outcome.prompt is not None]
    widths = [max(len(label), 8) for label in labels]
    put("  ".join(label.ljust(width) for label, width in zip(labels, widths, strict=True)) + "  passage")
    for row in compared.rows:
        cells = [_cell(compared, row, label).ljust(width) for label, width in zip(labels, widths, strict=True)]
        text = " ".join(row.chunk.text.split())
        put(f"{'  '.join(cells)}  {row.chunk.document}, {row.chunk.place}: {text[:_WIDTH]}")


def _summary(compared: Comparison, outcome: Outcome) -> str:
    prompt = outcome.prompt
    if prompt is None:
        return outcome.problem
    both, either = compared.shared(outcome.label)
    same = "" if outcome.label == compared.base else f", {both} of {either} passages in both prompts"
    return (
        f"{outcome.n_chunks:,} chunks in all, {len(prompt.evidence)} in the prompt, about {prompt.tokens:,} tokens, "
        f"support {prompt.support.level}{same}"
    )


def _cell(compared: Comparison, row: Row, label: str) -> str:
    place = row.places.get(label, Place())
    where = ",".join(map(str, place.numbers)) or (f"({place.rank})" if place.rank is not None else "-")
    if label == compared.base:
        return where
    move = compared.move(row, label)
    return f"{where} {_SIGNS[move.kind].format(move.by)}" if where != "-" or move.kind == "gone" else where
