"""The command line: ``python -m autocontext --help``.

Results go to stdout, everything else to stderr. Exit code 0: done; 1: an error, told in a sentence; 2: wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from autocontext.answer import Answer
from autocontext.collections import open_collection, shared_vectors
from autocontext.datatypes import Prompt, Report
from autocontext.encoders import generate_embeddings
from autocontext.engine import AutoContext
from autocontext.errors import AutoContextError, StoreError
from autocontext.folders import changes
from autocontext.prompt import TEMPLATES
from autocontext.settings import Settings

KEY_VARIABLE = "AUTOCONTEXT_API_KEY"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    parsed = _parser().parse_args(arguments)
    try:
        code: int = parsed.run(parsed)
    except AutoContextError as error:
        _tell(f"autocontext: {error}")
        return 1
    except KeyboardInterrupt:
        _tell("autocontext: stopped")
        return 130
    except BrokenPipeError:  # the reader of our output has gone, for example `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m autocontext", description="A folder of notes and a question make a small, honest prompt."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    collection = argparse.ArgumentParser(add_help=False)
    collection.add_argument(
        "folder", metavar="FOLDER", help="folder of .txt, .md and .pdf files; searched with all folders in it"
    )
    collection.add_argument(
        "--store",
        metavar="FILE",
        help="SQLite file to keep the folder's index in: the next run embeds only what is new",
    )
    collection.add_argument("--retrievers", nargs="+", metavar="NAME", help="bm25, dense or both (default)")
    collection.add_argument("--sentences", type=int, metavar="N", help="sentences a chunk (3)")
    collection.add_argument("--num-results", type=int, metavar="N", help="passages in the prompt at most (5)")
    collection.add_argument("--max-tokens", type=int, metavar="N", help="token budget of the prompt (3000)")
    collection.add_argument("--template", choices=sorted(TEMPLATES), help="form of the prompt")
    collection.epilog = "A store keeps the settings that it was made with; options given here change them."

    model = argparse.ArgumentParser(add_help=False)
    model.add_argument(
        "--api-base", metavar="URL", help="address of the model's server, if it is not the provider's own"
    )

    prompt = commands.add_parser("prompt", parents=[collection], help="print the prompt for a question")
    prompt.add_argument("question", metavar="QUESTION")
    prompt.set_defaults(run=_prompt)

    ask = commands.add_parser(
        "ask",
        parents=[collection, model],
        help="ask a language model",
        epilog=f"A key is read from {KEY_VARIABLE} or the provider's own variable, never from the command line.",
    )
    ask.add_argument("question", metavar="QUESTION")
    ask.add_argument(
        "--model", required=True, metavar="NAME", help="litellm's name: ollama/gemma3, openai/gpt-5-mini, ..."
    )
    ask.set_defaults(run=_ask)

    chat = commands.add_parser(
        "chat",
        parents=[collection, model],
        help="ask one question after the other; quit ends it",
        epilog="Without --model each answer is the prompt itself, to be pasted elsewhere.",
    )
    chat.add_argument("--model", metavar="NAME", help="litellm's name of a model")
    chat.set_defaults(run=_chat)

    sync = commands.add_parser(
        "sync",
        parents=[collection],
        help="bring a store in step with a folder: a line a file that was added, changed, removed or could not be read",
        epilog="Started again after a crash, it goes on where it was.",
    )
    sync.add_argument("--watch", action="store_true", help="go on, and do it again whenever a file changes")
    sync.add_argument("--interval", type=float, default=2.0, metavar="S", help="seconds between two looks (2)")
    sync.set_defaults(run=_sync)

    embed = commands.add_parser("embed", help="turn text lines on stdin into a JSON array of vectors on stdout")
    embed.set_defaults(run=_embed)
    return parser


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)  # noqa: T201


def _put(text: str, end: str = "\n") -> None:
    print(text, end=end, flush=True)  # noqa: T201


def _open(parsed: argparse.Namespace) -> AutoContext:
    ac = _collection(parsed)
    report = _add_folder(ac, parsed)
    for row in report:
        if row.status == "failed" or (row.status != "skipped" and row.reason):
            _tell(f"{row.name}: {row.status}: {row.reason}")
    _tell_ending(ac, parsed, report)
    if not ac.chunks:
        raise AutoContextError(f"Nothing to read in {parsed.folder}: it holds no .txt, .md or .pdf file with text.")
    return ac


def _collection(parsed: argparse.Namespace) -> AutoContext:
    """Open the store, or make a collection in memory, with the settings given on the command line."""
    ac = open_collection(parsed.store, cache=shared_vectors()) if parsed.store else None
    base = ac.settings if ac is not None else Settings()
    given = {
        name: getattr(parsed, name)
        for name in ("num_results", "max_tokens", "template")
        if getattr(parsed, name) is not None
    }
    if parsed.retrievers is not None:
        given["retrievers"] = tuple(parsed.retrievers)
    if parsed.sentences is not None:
        given["chunking"] = replace(base.chunking, sentences=parsed.sentences)
    settings = replace(base, **given)
    if ac is None:
        return AutoContext(settings)
    if settings != ac.settings:
        ac.change_settings(settings)
    for note in ac.notes:
        _tell(f"autocontext: {note}")
    return ac


def _add_folder(ac: AutoContext, parsed: argparse.Namespace) -> Report:
    return ac.add_folder(parsed.folder, progress=_progress if sys.stderr.isatty() else None)


def _tell_ending(ac: AutoContext, parsed: argparse.Namespace, report: Report) -> None:
    for sentence in (*report.notes, *ac.warnings):
        _tell(f"autocontext: {sentence}")
    _tell(f"{parsed.folder}: {report.summary}; {len(ac.chunks)} chunks")
    if report.error is not None:
        raise report.error


def _sync(parsed: argparse.Namespace) -> int:
    if not parsed.store:
        raise StoreError("sync keeps its index in a file: name it with --store FILE.")
    with closing(_collection(parsed)) as ac:
        _sync_once(ac, parsed)
        if parsed.watch:
            _tell(f"Watching {parsed.folder}; Ctrl+C ends.")
            for _ in changes(parsed.folder, parsed.interval):
                try:
                    _sync_once(ac, parsed)
                except AutoContextError as error:  # the store is busy, a drive was taken out: the next change may do
                    _tell(f"autocontext: {error}")
    return 0


def _sync_once(ac: AutoContext, parsed: argparse.Namespace) -> None:
    report = _add_folder(ac, parsed)
    for row in report:
        if row.status != "unchanged":
            _put(f"{row.status}\t{row.name}\t{row.reason}".rstrip("\t"))
    _tell_ending(ac, parsed, report)


def _progress(label: str, done: int, total: int) -> None:
    end = "\n" if done == total else ""
    print(f"\r{label} {done} of {total}", end=end, file=sys.stderr, flush=True)  # noqa: T201


def _judged(prompt: Prompt) -> Prompt:
    _tell(
        f"about {prompt.tokens} of {prompt.max_tokens} tokens; "
        f"passages: {len(prompt.evidence)} in, {len(prompt.left_out)} left out"
    )
    if prompt.support.level != "strong":
        word = "probably not" if prompt.support.level == "none" else "perhaps not"
        _tell(f"The answer is {word} in these documents. {' '.join(prompt.support.reasons)}")
    return prompt


def _prompt(parsed: argparse.Namespace) -> int:
    _put(str(_judged(_open(parsed).get_prompt(parsed.question))))
    return 0


def _ask(parsed: argparse.Namespace) -> int:
    _answer(_open(parsed), parsed.question, parsed)
    return 0


def _answer(ac: AutoContext, question: str, parsed: argparse.Namespace) -> None:
    answer = ac.ask(
        question, model=parsed.model, api_base=parsed.api_base, api_key=os.environ.get(KEY_VARIABLE) or None
    )
    _judged(answer.prompt)
    try:
        for piece in answer:
            _put(piece, end="")
    finally:
        if answer.text:
            _put("")
    _tell_sources(answer)


def _tell_sources(answer: Answer) -> None:
    for citation in answer.citations:
        if citation.evidence is None:
            _tell(f"[{citation.number}] is not in the prompt: the model made it up.")
        else:
            chunk = citation.evidence.chunk
            _tell(f"[{citation.number}] {chunk.document}, {chunk.place}")


def _chat(parsed: argparse.Namespace) -> int:
    ac = _open(parsed)
    _tell("Ask a question; quit ends.")
    while True:
        if sys.stdin.isatty():
            _put("> ", end="")
        line = sys.stdin.readline()
        question = line.strip()
        if not line or question.casefold() in ("quit", "exit"):
            return 0
        if not question:
            continue
        try:
            if parsed.model:
                _answer(ac, question, parsed)
            else:
                _put(str(_judged(ac.get_prompt(question))))
        except AutoContextError as error:  # the talk goes on
            _tell(f"autocontext: {error}")


def _embed(_parsed: argparse.Namespace) -> int:
    lines = [line.rstrip("\r\n") for line in sys.stdin]
    _put(json.dumps([[round(float(x), 7) for x in row] for row in generate_embeddings(lines)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
