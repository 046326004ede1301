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
from pathlib import Path

from autocontext.answer import Answer
from autocontext.collections import open_collection, shared_vectors
from autocontext.datatypes import ModelOptions, Prompt, Report
from autocontext.encoders import generate_embeddings
from autocontext.engine import AutoContext
from autocontext.errors import AutoContextError, SettingsError, StoreError
from autocontext.folders import changes
from autocontext.model_server import list_models
from autocontext.settings import Settings
from autocontext.templates import TEMPLATES, read_template
from autocontext.transcript import to_markdown

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
    collection.add_argument("folder", metavar="FOLDER", help="folder of documents; searched with all folders in it")
    collection.add_argument(
        "--store",
        metavar="FILE",
        help="SQLite file to keep the folder's index in: the next run embeds only what is new",
    )
    collection.add_argument("--retrievers", nargs="+", metavar="NAME", help="bm25, dense or both (default)")
    collection.add_argument("--sentences", type=int, metavar="N", help="sentences a chunk (3)")
    collection.add_argument("--num-results", type=int, metavar="N", help="passages in the prompt at most (5)")
    collection.add_argument("--max-tokens", type=int, metavar="N", help="token budget of the prompt (3000)")
    collection.epilog = "A store keeps the settings that it was made with; options given here change them."
    form = collection.add_mutually_exclusive_group()
    form.add_argument("--template", choices=sorted(TEMPLATES), help="form of the prompt")
    form.add_argument(
        "--template-file",
        metavar="FILE",
        help="form of your own: a text with {query}, and {context} where the passages go (or {bare_context}: without "
        "their numbers); {marker} is a code that the lines around the passages carry, {doubt} a sentence where the "
        "answer is probably not there",
    )

    size = argparse.ArgumentParser(add_help=False)
    size.add_argument(
        "--context-size",
        type=int,
        metavar="N",
        help="tokens that the model takes in all, prompt and answer, if Ollama or litellm's table does not know",
    )
    size.add_argument(
        "--answer-tokens",
        type=int,
        default=512,
        metavar="N",
        help="tokens kept for the answer, its length at most (512)",
    )
    size.add_argument(
        "--max-num-ctx", type=int, default=32_768, metavar="N", help="largest context size to ask Ollama for (32768)"
    )

    model = argparse.ArgumentParser(add_help=False)
    model.add_argument(
        "--api-base", metavar="URL", help="address of the model's server, if it is not the provider's own"
    )

    prompt = commands.add_parser("prompt", parents=[collection, size], help="print the prompt for a question")
    prompt.add_argument("question", metavar="QUESTION")
    prompt.set_defaults(run=_prompt)

    ask = commands.add_parser(
        "ask",
        parents=[collection, model, size],
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
        parents=[collection, model, size],
        help="ask one question after the other; quit ends it",
        epilog="Without --model each answer is the prompt itself, to be pasted elsewhere.",
    )
    chat.add_argument("--model", metavar="NAME", help="litellm's name of a model")
    chat.add_argument(
        "--rewrite", action="store_true", help="let the model put follow-up questions in full before they are searched"
    )
    chat.add_argument("--export", metavar="FILE", help="write the conversation with its sources to a Markdown file")
    chat.set_defaults(run=_chat)

    models = commands.add_parser("models", parents=[model], help="list the models of a server")
    models.add_argument("kind", nargs="?", default="ollama", choices=["ollama", "openai"], help="its protocol (ollama)")
    models.set_defaults(run=_models)

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
        raise AutoContextError(f"Nothing to read in {parsed.folder}: it holds no file with text.")
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
    if parsed.template_file:
        given["template"] = read_template(parsed.template_file)
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
        looks = changes(parsed.folder, parsed.interval)
        next(looks)  # from here on it sees what changes, also while the first sync goes on
        _sync_once(ac, parsed)
        if parsed.watch:
            _tell(f"Watching {parsed.folder}; Ctrl+C ends.")
            for _ in looks:
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
    end = "\n" if done == total and label != "Pages" else ""  # pages of one file are a line that is written over
    print(f"\r{label} {done} of {total}  ", end=end, file=sys.stderr, flush=True)  # noqa: T201


def _judged(prompt: Prompt) -> Prompt:
    _tell(
        f"about {prompt.tokens} of {prompt.max_tokens} tokens; "
        f"passages: {len(prompt.evidence)} in, {len(prompt.left_out)} left out"
    )
    _tell(", ".join(f"{part.name} {part.tokens}" for part in prompt.parts))
    for left in prompt.left_out:
        chunk = left.evidence.chunk
        _tell(f"left out: {chunk.document}, {chunk.place}: {left.reason}")
    if prompt.support.level != "strong":
        word = "probably not" if prompt.support.level == "none" else "perhaps not"
        _tell(f"The answer is {word} in these documents. {' '.join(prompt.support.reasons)}")
    return prompt


def _prompt(parsed: argparse.Namespace) -> int:
    _put(str(_judged(_get_prompt(_open(parsed), parsed.question, parsed))))
    return 0


def _options(parsed: argparse.Namespace) -> ModelOptions:
    if parsed.answer_tokens < 1 or parsed.max_num_ctx < 1 or (parsed.context_size or 1) < 1:
        raise SettingsError("--answer-tokens, --context-size and --max-num-ctx must be 1 or more.")
    return ModelOptions(
        model=getattr(parsed, "model", None) or "",
        api_base=getattr(parsed, "api_base", None),
        api_key=os.environ.get(KEY_VARIABLE) or None,
        max_tokens=parsed.answer_tokens,
        context_size=parsed.context_size,
        max_num_ctx=parsed.max_num_ctx,
    )


def _get_prompt(ac: AutoContext, question: str, parsed: argparse.Namespace) -> Prompt:
    budget = ac.plan(_options(parsed))
    if budget.note:
        _tell(budget.note)
    return ac.get_prompt(question, ac.settings.num_results, budget.max_tokens)


def _ask(parsed: argparse.Namespace) -> int:
    ac = _open(parsed)
    _print_answer(ac, ac.ask(parsed.question, model=parsed.model, options=_options(parsed)), parsed)
    return 0


def _export(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise AutoContextError(f"The conversation cannot be written to {path}: {error.strerror or error}.") from error


def _print_answer(ac: AutoContext, answer: Answer, parsed: argparse.Namespace) -> None:
    if answer.prompt.max_tokens < ac.settings.max_tokens:
        _tell(ac.plan(_options(parsed)).note)
    _judged(answer.prompt)
    try:
        for piece in answer:
            _put(piece, end="")
    finally:
        if answer.text:
            _put("")
    for citation in answer.citations:
        if citation.evidence is not None:
            _tell(f"[{citation.number}] {citation.evidence.chunk.document}, {citation.evidence.chunk.place}")
    for finding in answer.check.findings:
        _tell(finding)
    if answer.unseen:
        _tell(answer.unseen)
    if not answer.complete:
        _tell("The answer is not complete: it reached its length. Allow a longer one with --answer-tokens.")
    if answer.usage is not None:
        _tell(answer.usage.told(answer.options.model))


def _chat(parsed: argparse.Namespace) -> int:
    ac = _open(parsed)
    talk: list[Answer] = []
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
            _chat_turn(ac, question, talk, parsed)
        except AutoContextError as error:  # the talk goes on
            _tell(f"autocontext: {error}")
        if parsed.export:
            _export(parsed.export, to_markdown(talk))


def _chat_turn(ac: AutoContext, question: str, talk: list[Answer], parsed: argparse.Namespace) -> None:
    """Answer one question and add it to the talk, also if its answer breaks off."""
    history = [answer.turn for answer in talk]
    searched = None
    if parsed.rewrite and parsed.model:
        searched = ac.rewrite(question, history, model=parsed.model, options=_options(parsed))
    answer = ac.ask(
        question,
        model=parsed.model or "",
        options=_options(parsed),
        history=history,
        searched=searched,
    )
    talk.append(answer)
    prompt = answer.prompt
    if prompt.searched != prompt.question:
        _tell(f"searched for: {prompt.searched}")
    if prompt.history_left_out:
        _tell(f"{len(prompt.history_left_out)} of {len(history)} earlier turns do not fit into the prompt.")
    if parsed.model:
        _print_answer(ac, answer, parsed)
    else:
        _put(str(_judged(prompt)))


def _models(parsed: argparse.Namespace) -> int:
    options = ModelOptions(
        model=f"{parsed.kind}/", api_base=parsed.api_base, api_key=os.environ.get(KEY_VARIABLE) or None
    )
    if parsed.kind == "openai" and not parsed.api_base:
        raise SettingsError("Give the server's address: --api-base http://localhost:1234/v1")
    for name in list_models(options):
        _put(name)
    return 0


def _embed(_parsed: argparse.Namespace) -> int:
    lines = [line.rstrip("\r\n") for line in sys.stdin]
    _put(json.dumps([[round(float(x), 7) for x in row] for row in generate_embeddings(lines)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
