"""Commands that ask: ``prompt``, ``ask``, ``chat``, ``models``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from autocontext.answer import Answer
from autocontext.commands.common import KEY_VARIABLE, Parents, open_folder, options_of, put, put_json, tell
from autocontext.datatypes import Evidence, ModelOptions, Prompt
from autocontext.engine import AutoContext
from autocontext.errors import AutoContextError, SettingsError
from autocontext.model_server import list_models
from autocontext.records import to_plain
from autocontext.transcript import to_markdown
from autocontext.wording import SUPPORT


def add_to(commands: Any, parents: Parents) -> None:
    """Add the commands to the parser."""
    prompt = commands.add_parser(
        "prompt", parents=[parents.collection, parents.size], help="print the prompt for a question"
    )
    prompt.add_argument("question", metavar="QUESTION")
    prompt.add_argument(
        "--json", action="store_true", help="print it as JSON, with its parts, passages and the verdict"
    )
    prompt.set_defaults(run=_prompt)

    ask = commands.add_parser(
        "ask",
        parents=[parents.collection, parents.model, parents.size],
        help="ask a language model",
        epilog=f"A key is read from {KEY_VARIABLE} or the provider's own variable, never from the command line.",
    )
    ask.add_argument("question", metavar="QUESTION")
    ask.add_argument(
        "--model", required=True, metavar="NAME", help="litellm's name: ollama/gemma3, openai/gpt-5-mini, ..."
    )
    ask.add_argument("--json", action="store_true", help="print the whole as JSON, when the answer has come")
    ask.set_defaults(run=_ask)

    chat = commands.add_parser(
        "chat",
        parents=[parents.collection, parents.model, parents.size],
        help="ask one question after the other; quit ends it",
        epilog="Without --model each answer is the prompt itself, to be pasted elsewhere.",
    )
    chat.add_argument("--model", metavar="NAME", help="litellm's name of a model")
    chat.add_argument(
        "--rewrite", action="store_true", help="let the model put follow-up questions in full before they are searched"
    )
    chat.add_argument("--export", metavar="FILE", help="write the conversation with its sources to a Markdown file")
    chat.add_argument("--json", action="store_true", help="print each answer as a line of JSON")
    chat.set_defaults(run=_chat)

    models = commands.add_parser("models", parents=[parents.model], help="list the models of a server")
    models.add_argument("kind", nargs="?", default="ollama", choices=["ollama", "openai"], help="its protocol (ollama)")
    models.add_argument("--json", action="store_true", help="print them as JSON")
    models.set_defaults(run=_models)


def _judged(prompt: Prompt) -> Prompt:
    tell(
        f"about {prompt.tokens} of {prompt.max_tokens} tokens; "
        f"passages: {len(prompt.evidence)} in, {len(prompt.left_out)} left out"
    )
    tell(", ".join(f"{part.name} {part.tokens}" for part in prompt.parts))
    for left in prompt.left_out:
        chunk = left.evidence.chunk
        tell(f"left out: {chunk.document}, {chunk.place}: {left.reason}")
    if prompt.support.level != "strong":
        tell(f"{SUPPORT[prompt.support.level][1]} {' '.join(prompt.support.reasons)}")
    return prompt


def _prompt(parsed: argparse.Namespace) -> int:
    prompt = _judged(_get_prompt(open_folder(parsed), parsed.question, parsed))
    if parsed.json:
        put_json(_record(prompt))
    else:
        put(str(prompt))
    return 0


def _record(prompt: Prompt) -> dict[str, Any]:
    return {
        "prompt": prompt.text,
        "question": prompt.question,
        "tokens": prompt.tokens,
        "max_tokens": prompt.max_tokens,
        "parts": {part.name: part.tokens for part in prompt.parts},
        "passages": [_passage(item) for item in prompt.evidence],
        "left_out": [{**_passage(left.evidence), "reason": left.reason} for left in prompt.left_out],
        "support": to_plain(prompt.support),
    }


def _passage(item: Evidence) -> dict[str, Any]:
    return {
        "document": item.chunk.document,
        "where": item.chunk.place,
        "text": item.chunk.text,
        "start": item.chunk.start,
        "end": item.chunk.end,
        "score": item.score,
        "hits": {name: {"rank": hit.rank, "score": hit.score} for name, hit in item.hits.items()},
    }


def _get_prompt(ac: AutoContext, question: str, parsed: argparse.Namespace) -> Prompt:
    budget = ac.plan(options_of(parsed))
    if budget.note:
        tell(budget.note)
    return ac.get_prompt(question, ac.settings.num_results, budget.max_tokens)


def _ask(parsed: argparse.Namespace) -> int:
    ac = open_folder(parsed)
    answer = ac.ask(parsed.question, model=parsed.model, options=options_of(parsed))
    _print_answer(ac, answer, parsed)
    if parsed.json:
        put_json(_answer_record(answer))
    return 0


def _answer_record(answer: Answer) -> dict[str, Any]:
    return {
        "answer": answer.text,
        "complete": answer.complete,
        "citations": [
            {"number": citation.number, **(_passage(citation.evidence) if citation.evidence is not None else {})}
            for citation in answer.citations
        ],
        "findings": [*answer.check.findings, *([answer.unseen] if answer.unseen else [])],
        "model": answer.options.model,
        "usage": to_plain(answer.usage) if answer.usage is not None else None,
        **_record(answer.prompt),
    }


def _export(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise AutoContextError(f"The conversation cannot be written to {path}: {error.strerror or error}.") from error


def _print_answer(ac: AutoContext, answer: Answer, parsed: argparse.Namespace) -> None:
    if answer.prompt.max_tokens < ac.settings.max_tokens:
        tell(ac.plan(options_of(parsed)).note)
    _judged(answer.prompt)
    try:
        for piece in answer:
            if not parsed.json:
                put(piece, end="")
    finally:
        if answer.text and not parsed.json:
            put("")
    for citation in answer.citations:
        if citation.evidence is not None:
            tell(f"[{citation.number}] {citation.evidence.chunk.document}, {citation.evidence.chunk.place}")
    for finding in answer.check.findings:
        tell(finding)
    if answer.unseen:
        tell(answer.unseen)
    if not answer.complete:
        tell("The answer is not complete: it reached its length. Allow a longer one with --answer-tokens.")
    if answer.usage is not None:
        tell(answer.usage.told(answer.options.model))


def _chat(parsed: argparse.Namespace) -> int:
    ac = open_folder(parsed)
    talk: list[Answer] = []
    tell("Ask a question; quit ends.")
    while True:
        if sys.stdin.isatty():
            put("> ", end="")
        line = sys.stdin.readline()
        question = line.strip()
        if not line or question.casefold() in ("quit", "exit"):
            return 0
        if not question:
            continue
        try:
            _chat_turn(ac, question, talk, parsed)
        except AutoContextError as error:  # the talk goes on
            tell(f"autocontext: {error}")
        if parsed.export:
            _export(parsed.export, to_markdown(talk))


def _chat_turn(ac: AutoContext, question: str, talk: list[Answer], parsed: argparse.Namespace) -> None:
    """Answer one question and add it to the talk, also if its answer breaks off."""
    history = [answer.turn for answer in talk]
    searched = None
    if parsed.rewrite and parsed.model:
        searched = ac.rewrite(question, history, model=parsed.model, options=options_of(parsed))
    answer = ac.ask(
        question,
        model=parsed.model or "",
        options=options_of(parsed),
        history=history,
        searched=searched,
    )
    talk.append(answer)
    prompt = answer.prompt
    if prompt.searched != prompt.question:
        tell(f"searched for: {prompt.searched}")
    if prompt.history_left_out:
        tell(f"{len(prompt.history_left_out)} of {len(history)} earlier turns do not fit into the prompt.")
    if parsed.model:
        _print_answer(ac, answer, parsed)
    else:
        _judged(prompt)
    if parsed.json:
        put(json.dumps(_answer_record(answer) if parsed.model else _record(prompt), ensure_ascii=False))
    elif not parsed.model:
        put(str(prompt))


def _models(parsed: argparse.Namespace) -> int:
    options = ModelOptions(
        model=f"{parsed.kind}/", api_base=parsed.api_base, api_key=os.environ.get(KEY_VARIABLE) or None
    )
    if parsed.kind == "openai" and not parsed.api_base:
        raise SettingsError("Give the server's address: --api-base http://localhost:1234/v1")
    names = list_models(options)
    if parsed.json:
        put_json(names)
    else:
        for name in names:
            put(name)
    return 0
