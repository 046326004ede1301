"""Commands on a folder's index: ``sync``, ``embed``."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import closing
from typing import Any

from autocontext.commands.common import Parents, add_folder, collection_of, put, tell, tell_ending
from autocontext.encoders import generate_embeddings
from autocontext.engine import AutoContext
from autocontext.errors import AutoContextError, SettingsError, StoreError
from autocontext.folders import changes

_LONGEST_INTERVAL = 86_400  # a day


def add_to(commands: Any, parents: Parents) -> None:
    """Add the commands to the parser."""
    sync = commands.add_parser(
        "sync",
        parents=[parents.collection],
        help="bring a store in step with a folder: a line a file that was added, changed, removed or could not be read",
        epilog="Started again after a crash, it goes on where it was.",
    )
    sync.add_argument("--watch", action="store_true", help="go on, and do it again whenever a file changes")
    sync.add_argument("--interval", type=float, default=2.0, metavar="S", help="seconds between two looks (2)")
    sync.add_argument("--json", action="store_true", help="print each line as JSON")
    sync.set_defaults(run=_sync)

    embed = commands.add_parser("embed", help="turn text lines on stdin into a JSON array of vectors on stdout")
    embed.set_defaults(run=_embed)


def _sync(parsed: argparse.Namespace) -> int:
    if not parsed.store:
        raise StoreError("sync keeps its index in a file: name it with --store FILE.")
    if not 0 < parsed.interval <= _LONGEST_INTERVAL:
        raise SettingsError(f"--interval is a number of seconds above 0, up to {_LONGEST_INTERVAL:,}.")
    with closing(collection_of(parsed)) as ac:
        looks = changes(parsed.folder, parsed.interval)
        next(looks)  # from here on it sees what changes, also while the first sync goes on
        _sync_once(ac, parsed)
        if parsed.watch:
            tell(f"Watching {parsed.folder}; Ctrl+C ends.")
            for _ in looks:
                try:
                    _sync_once(ac, parsed)
                except AutoContextError as error:  # the store is busy, a drive was taken out: the next change may do
                    tell(f"autocontext: {error}")
    return 0


def _sync_once(ac: AutoContext, parsed: argparse.Namespace) -> None:
    report = add_folder(ac, parsed)
    for row in report:
        if row.status != "unchanged" and parsed.json:
            put(json.dumps({"status": row.status, "name": row.name, "reason": row.reason}, ensure_ascii=False))
        elif row.status != "unchanged":
            put(f"{row.status}\t{row.name}\t{row.reason}".rstrip("\t"))
    tell_ending(ac, parsed, report)


def _embed(_parsed: argparse.Namespace) -> int:
    lines = [line.rstrip("\r\n") for line in sys.stdin]
    put(json.dumps([[round(float(x), 7) for x in row] for row in generate_embeddings(lines)]))
    return 0
