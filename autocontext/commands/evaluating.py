"""Commands that measure on questions of one's own: ``eval``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from autocontext.commands.common import Parents, open_folder, progress, put, put_json, tell
from autocontext.errors import QuestionError, SettingsError
from autocontext.evaluation import Evaluation, Result, evaluate
from autocontext.metrics import Figure
from autocontext.questions import Question, read_questions
from autocontext.records import to_plain
from autocontext.settings import Settings
from autocontext.settings_file import read_settings_file

_WITH_INTERVAL = ("nDCG@10", "tokens")  # in the table, which has to fit
_DIGITS = 4  # of a figure in JSON: what another processor computes alike


def add_to(commands: Any, parents: Parents) -> None:
    """Add the command to the parser."""
    evaluation = commands.add_parser(
        "eval",
        parents=[parents.folder],
        help="measure how early your own questions find their answers: each retriever, all together, other settings",
        epilog="A store keeps the settings that it was made with; options given here change them. Figures in brackets "
        "are 95 %% intervals (those of all figures with --json); wins and losses are counted against the present "
        "settings, by nDCG@10 where passages are cut alike, else by tokens until the answer is in the prompt.",
    )
    evaluation.add_argument(
        "questions",
        metavar="QUESTIONS",
        nargs="?",
        help="JSONL file, a line an answer: id, question, document, quote, page (document and quote null: nothing "
        "answers it); left out: the questions kept with --store",
    )
    evaluation.add_argument("--settings", nargs="+", default=[], metavar="FILE", help="settings to compare, in TOML")
    evaluation.add_argument("--json", action="store_true", help="write all figures, also of each question, as JSON")
    evaluation.set_defaults(run=_evaluate)


def _evaluate(parsed: argparse.Namespace) -> int:
    given = _read_settings(parsed.settings)
    read = _read(parsed.questions) if parsed.questions else None
    ac = open_folder(parsed)
    questions = ac.questions if read is None else read
    measured = evaluate(ac, questions, given, progress=progress if sys.stderr.isatty() else None)
    for sentence in measured.left_out:
        tell(f"not measured: {sentence}")
    if parsed.json:
        put_json(_rounded(to_plain(measured)))
    else:
        put(_table(measured))
    return 0


def _read(path: str) -> tuple[Question, ...]:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise QuestionError(f"The questions in {path} cannot be read: {error.strerror or error}.") from error
    questions, problems = read_questions(data)
    for problem in problems:
        tell(f"{path}: {problem}")
    return questions


def _read_settings(paths: list[str]) -> dict[str, Settings]:
    names = [Path(path).stem for path in paths]
    if len(set(names)) < len(names):
        names = paths
    if len(set(names)) < len(names):
        raise SettingsError("A file of settings is named twice.")
    return {name: read_settings_file(path) for name, path in zip(names, paths, strict=True)}


def _table(measured: Evaluation) -> str:
    titles = list(measured.results[0].figures)
    rows = [["", *titles, "wins", "losses", "p", "AUROC", "warned", "caught"]]
    rows += [_row(result) for result in measured.results]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    counts = f"{measured.n_answerable} questions with an answer, {measured.n_absent} that nothing answers"
    return "\n".join([*lines, "", counts])


def _row(result: Result) -> list[str]:
    comparison, verdicts = result.comparison, result.verdicts
    against = ["", "", ""]
    if comparison is not None:
        against = [str(comparison.wins), str(comparison.losses), f"{comparison.p_value:.3f}"]
    auroc = _cell(verdicts.auroc) if verdicts.auroc is not None else "-"
    caught = f"{verdicts.caught:.0%}" if verdicts.caught is not None else "-"
    figures = [
        _cell(figure) if title in _WITH_INTERVAL else _number(figure.value) for title, figure in result.figures.items()
    ]
    return [result.name, *figures, *against, auroc, f"{verdicts.warned:.0%}", caught]


def _cell(figure: Figure) -> str:
    return f"{_number(figure.value)} [{_number(figure.low)}-{_number(figure.high)}]"


def _number(value: float | None) -> str:
    """Return it as it is printed; None: most answers are not among the best passages."""
    return "none" if value is None else f"{value:.3f}" if isinstance(value, float) else f"{value:,}"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round(value, _DIGITS) if isinstance(value, float) else value
