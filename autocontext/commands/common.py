"""What the commands share: where results and remarks go, and the collection of a folder."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass, replace
from typing import Any

from autocontext.collections import open_collection, shared_vectors
from autocontext.datatypes import ModelOptions, Report
from autocontext.engine import AutoContext
from autocontext.errors import AutoContextError, SettingsError
from autocontext.settings import Settings
from autocontext.settings_file import read_settings_file
from autocontext.templates import TEMPLATES, read_template

KEY_VARIABLE = "AUTOCONTEXT_API_KEY"


@dataclass(frozen=True, slots=True)
class Parents:
    """Options that several commands have.

    Attributes
    ----------
    folder
        The folder, its store, and single settings: for a command with a ``--settings`` of its own.
    collection
        The same, and ``--settings FILE``.
    size, model
        Of a model's context, and of its server.
    """

    folder: argparse.ArgumentParser
    collection: argparse.ArgumentParser
    size: argparse.ArgumentParser
    model: argparse.ArgumentParser


def parents() -> Parents:
    """Return the shared options."""
    folder = argparse.ArgumentParser(add_help=False)
    folder.add_argument("folder", metavar="FOLDER", help="folder of documents; searched with all folders in it")
    folder.add_argument(
        "--store",
        metavar="FILE",
        help="SQLite file to keep the folder's index in: the next run embeds only what is new",
    )
    folder.add_argument("--retrievers", nargs="+", metavar="NAME", help="bm25, dense, tfidf (bm25 and dense)")
    folder.add_argument("--sentences", type=int, metavar="N", help="sentences a chunk (3)")
    folder.add_argument("--num-results", type=int, metavar="N", help="passages in the prompt at most (5)")
    folder.add_argument("--max-tokens", type=int, metavar="N", help="token budget of the prompt (3000)")
    form = folder.add_mutually_exclusive_group()
    form.add_argument("--template", choices=sorted(TEMPLATES), help="form of the prompt")
    form.add_argument(
        "--template-file",
        metavar="FILE",
        help="form of your own: a text with {query}, and {context} where the passages go (or {bare_context}: without "
        "their numbers); {marker} is a code that the lines around the passages carry, {doubt} a sentence where the "
        "answer is probably not there",
    )

    collection = argparse.ArgumentParser(add_help=False, parents=[folder])
    collection.add_argument(
        "--settings",
        metavar="FILE",
        help="TOML file of settings, as the Settings page exports it; what it does not name has its default",
    )
    collection.epilog = "A store keeps the settings that it was made with; options given here change them."

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
    return Parents(folder, collection, size, model)


def tell(message: str) -> None:
    """Say something that is no result: to stderr."""
    print(message, file=sys.stderr, flush=True)  # noqa: T201


def put(text: str, end: str = "\n") -> None:
    """Write a result: to stdout."""
    print(text, end=end, flush=True)  # noqa: T201


def put_json(value: Any) -> None:
    """Write a result as JSON."""
    put(json.dumps(value, ensure_ascii=False, indent=2))


def open_folder(parsed: argparse.Namespace) -> AutoContext:
    """Return the collection of a folder, in step with it.

    Raises
    ------
    AutoContextError
        If there is no text in it.
    """
    ac = collection_of(parsed)
    report = add_folder(ac, parsed)
    for row in report:
        if row.status == "failed" or (row.status != "skipped" and row.reason):
            tell(f"{row.name}: {row.status}: {row.reason}")
    tell_ending(ac, parsed, report)
    if not ac.chunks:
        raise AutoContextError(f"Nothing to read in {parsed.folder}: it holds no file with text.")
    return ac


def collection_of(parsed: argparse.Namespace) -> AutoContext:
    """Open the store, or make a collection in memory, with the settings given on the command line."""
    ac = open_collection(parsed.store, cache=shared_vectors()) if parsed.store else None
    base = ac.settings if ac is not None else Settings()
    if isinstance(file := getattr(parsed, "settings", None), str):
        base = read_settings_file(file)
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
        tell(f"autocontext: {note}")
    return ac


def add_folder(ac: AutoContext, parsed: argparse.Namespace) -> Report:
    """Bring the collection in step with the folder, with progress if somebody looks."""
    return ac.add_folder(parsed.folder, progress=progress if sys.stderr.isatty() else None)


def tell_ending(ac: AutoContext, parsed: argparse.Namespace, report: Report) -> None:
    """Tell what became of the files; raise what ended the batch early."""
    for sentence in (*report.notes, *ac.warnings):
        tell(f"autocontext: {sentence}")
    tell(f"{parsed.folder}: {report.summary}; {len(ac.chunks)} chunks")
    if report.error is not None:
        raise report.error


def progress(label: str, done: int, total: int) -> None:
    """Write how far it is over the same line."""
    end = "\n" if done == total and label != "Pages" else ""  # pages of one file are a line that is written over
    print(f"\r{label} {done} of {total}  ", end=end, file=sys.stderr, flush=True)  # noqa: T201


def options_of(parsed: argparse.Namespace) -> ModelOptions:
    """Return the model of the command line."""
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
