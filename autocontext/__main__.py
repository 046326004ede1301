"""The command line: ``python -m autocontext --help``.

Results go to stdout, everything else to stderr. Exit code 0: done; 1: an error, told in a sentence; 2: wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence

from autocontext.answer import Answer
from autocontext.datatypes import Prompt
from autocontext.encoders import generate_embeddings
from autocontext.engine import AutoContext
from autocontext.errors import AutoContextError
from autocontext.prompt import TEMPLATES
from autocontext.settings import ChunkOptions, Settings

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
    collection.add_argument(
        "--retrievers", nargs="+", default=["bm25", "dense"], metavar="NAME", help="bm25, dense or both (default)"
    )
    collection.add_argument("--sentences", type=int, default=3, metavar="N", help="sentences a chunk (3)")
    collection.add_argument(
        "--num-results", type=int, default=5, metavar="N", help="passages in the prompt at most (5)"
    )
    collection.add_argument(
        "--max-tokens", type=int, default=3000, metavar="N", help="token budget of the prompt (3000)"
    )
    collection.add_argument("--template", default="default", choices=sorted(TEMPLATES), help="form of the prompt")

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

    embed = commands.add_parser("embed", help="turn text lines on stdin into a JSON array of vectors on stdout")
    embed.set_defaults(run=_embed)
    return parser


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)  # noqa: T201


def _put(text: str, end: str = "\n") -> None:
    print(text, end=end, flush=True)  # noqa: T201


def _open(parsed: argparse.Namespace) -> AutoContext:
    settings = Settings(
        retrievers=tuple(parsed.retrievers),
        chunking=ChunkOptions(sentences=parsed.sentences),
        num_results=parsed.num_results,
        max_tokens=parsed.max_tokens,
        template=parsed.template,
    )
    ac = AutoContext(settings=settings, store=parsed.store)
    report = ac.add_folder(parsed.folder, progress=_progress if sys.stderr.isatty() else None)
    for row in report:
        if row.status == "failed" or (row.status != "skipped" and row.reason):
            _tell(f"{row.name}: {row.status}: {row.reason}")
    for warning in ac.warnings:
        _tell(f"autocontext: {warning}")
    _tell(f"{parsed.folder}: {report.summary}; {len(ac.chunks)} chunks")
    if not ac.chunks:
        raise AutoContextError(f"Nothing to read in {parsed.folder}: it holds no .txt, .md or .pdf file with text.")
    return ac


def _progress(label: str, done: int, total: int) -> None:
    end = "\n" if done == total and label != "Pages" else ""  # pages of one file are a line that is written over
    print(f"\r{label} {done} of {total}  ", end=end, file=sys.stderr, flush=True)  # noqa: T201


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
