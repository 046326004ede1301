"""The command line: ``python -m autocontext --help``.

Results go to stdout, everything else to stderr. Exit code 0: done; 1: an error, told in a sentence; 2: wrong usage.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from autocontext.commands import asking, comparing, evaluating, indexing, inspecting
from autocontext.commands.common import parents, tell
from autocontext.errors import AutoContextError

_GROUPS = (asking, comparing, evaluating, indexing, inspecting)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    parsed = _parser().parse_args(arguments)
    try:
        code: int = parsed.run(parsed)
    except AutoContextError as error:
        tell(f"autocontext: {error}")
        return 1
    except KeyboardInterrupt:
        tell("autocontext: stopped")
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
    shared = parents()
    for group in _GROUPS:
        group.add_to(commands, shared)
    return parser


if __name__ == "__main__":
    sys.exit(main())
