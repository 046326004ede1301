"""Commands that explain: ``search``, ``why``, ``stats``."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from autocontext.commands.common import Parents, open_folder, progress, put, put_json
from autocontext.explanation import LABELS, NOT_RETURNED, Explanation, Row, to_csv, to_records
from autocontext.statistics import Statistics, collection_statistics
from autocontext.why_not import why_not

_BAR = 40  # characters of the longest one


def add_to(commands: Any, parents: Parents) -> None:
    """Add the commands to the parser."""
    search = commands.add_parser(
        "search",
        parents=[parents.collection],
        help="list the passages for a question; --explain tells who found each, and what it gave",
    )
    search.add_argument("question", metavar="QUESTION")
    search.add_argument("-n", type=int, default=10, metavar="N", help="passages to list (10); 0 for all that was found")
    search.add_argument(
        "--explain",
        action="store_true",
        help="tell each retriever's rank, score, weight and contribution, and why a passage is not in the prompt",
    )
    form = search.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print all that is known, as JSON")
    form.add_argument("--csv", action="store_true", help="print the same as a table")
    search.set_defaults(run=_search)

    why = commands.add_parser(
        "why", parents=[parents.collection], help="tell why a sentence is not in the prompt for a question"
    )
    why.add_argument("question", metavar="QUESTION")
    why.add_argument("sentence", metavar="SENTENCE", help="as you remember it: it need not be word for word")
    why.add_argument("--json", action="store_true", help="print it as JSON")
    why.set_defaults(run=_why)

    stats = commands.add_parser(
        "stats", parents=[parents.collection], help="tell how the documents were cut, and what is not good about it"
    )
    stats.add_argument("--json", action="store_true", help="print it as JSON, with every place")
    stats.set_defaults(run=_stats)


def _search(parsed: argparse.Namespace) -> int:
    ac = open_folder(parsed)
    explanation = ac.explain(parsed.question, ac.settings.num_results, ac.settings.max_tokens)
    rows = explanation.rows[: parsed.n] if parsed.n > 0 else explanation.rows
    if parsed.json:
        weighings = {
            said.retriever: {"setting": said.setting, "trust": said.trust, "weight": said.weight}
            for said in explanation.weighings
        }
        passages = to_records(rows)
        seconds = dict(explanation.seconds)
        put_json({"question": parsed.question, "weights": weighings, "seconds": seconds, "passages": passages})
    elif parsed.csv:
        put(to_csv(rows), end="")
    else:
        for row in rows:
            _put_row(row, explain=parsed.explain)
        if parsed.explain:
            _put_steps(explanation)
    return 0


def _put_row(row: Row, *, explain: bool) -> None:
    put(f"{row.place}. {row.score:.4f}  {row.chunk.document}, {row.chunk.place}")
    if explain:
        for said in row.opinions:
            name = f"   {LABELS.get(said.retriever, said.retriever):7}"
            if said.rank is None:
                put(f"{name} {NOT_RETURNED}")
            else:
                put(
                    f"{name} #{said.rank}, score {said.score:.4f}, weight {said.weight:.4f}, "
                    f"contribution {said.contribution:.4f}"
                )
        put(f"   in the prompt as [{row.number}]" if row.number is not None else f"   not in the prompt: {row.reason}")
    put("   " + " ".join(row.chunk.text.split()))


def _put_steps(explanation: Explanation) -> None:
    steps = (f"{LABELS.get(name, name)} {1000 * seconds:.1f}" for name, seconds in explanation.seconds.items())
    put(f"Milliseconds: {', '.join(steps)}")


def _why(parsed: argparse.Namespace) -> int:
    ac = open_folder(parsed)
    verdict = why_not(ac, parsed.question, parsed.sentence, ac.settings.num_results, ac.settings.max_tokens)
    if parsed.json:
        put_json(verdict.to_record())
        return 0
    put(verdict.verdict)
    for sentence in verdict.sentences:
        put(f"- {sentence}")
    if verdict.chunk is not None:
        put(f"{verdict.chunk.document}, {verdict.chunk.place}:")
        put(verdict.chunk.text)
    return 0


def _stats(parsed: argparse.Namespace) -> int:
    ac = open_folder(parsed)
    figures = collection_statistics(ac, progress if sys.stderr.isatty() else None)
    if parsed.json:
        put_json(figures.to_record())
    else:
        _put_figures(figures)
    return 0


def _put_figures(figures: Statistics) -> None:
    put(f"documents                {figures.documents:,}")
    put(f"chunks                   {figures.chunks:,}")
    put(f"tokens                   {figures.tokens:,} (counted by {figures.counter})")
    put(f"tokens a chunk           {figures.mean:.0f} on average, median {figures.median:.0f}, at most {figures.limit}")
    put(f"ending inside a sentence {len(figures.mid_sentence):,}, of them inside a word {len(figures.mid_word):,}")
    put(f"copies of another        {len(figures.exact_copies):,} exact, {len(figures.near_copies):,} nearly")
    put(f"only a heading           {len(figures.only_headings):,}")
    pages = sum(map(len, figures.empty_pages.values()))
    put(f"without text             {len(figures.without_text):,} documents, {pages:,} pages")
    if figures.unreadable is not None:
        put(f"unreadable to the model  {figures.unreadable:.0%} of the chunks")
    most = max((of.chunks for of in figures.histogram), default=0) or 1
    for of in figures.histogram:
        put(f"{of.first:>5}-{of.last:<5} {of.chunks:>7,} {'#' * (-(-_BAR * of.chunks // most))}".rstrip())
    for word, sized in (("longest", figures.longest), ("shortest", figures.shortest)):
        for item in sized:
            put(f"{word}: {item.tokens} tokens, {item.chunk.document}, {item.chunk.place}")
    for warning in figures.warnings:
        put(f"! {warning}")
