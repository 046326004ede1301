"""The child process that reads PDFs: ``python -m autocontext.loaders.pdf.worker``; only `client` starts it.

A request is a line of JSON and the bytes of the file; an answer is lines of JSON. It limits its own memory, and ends by
itself if a job takes too long or nobody listens any more.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

_JOBS, _BIG_ENOUGH = (
    500,
    0.5,
)  # after so many files, or when so much of its memory was ever used, a fresh one takes over


def main() -> None:
    """Answer requests until the standard input ends."""
    requests, answers = _own_streams()
    with contextlib.suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends this one
    warnings.simplefilter("ignore")
    done = 0
    while header := requests.readline():
        job: dict[str, Any] = json.loads(header)
        data = requests.read(job["size"])
        _limit_memory(job["memory"])
        faulthandler.dump_traceback_later(job["seconds"] + 10, exit=True, file=sys.stderr)
        for message in _answers(data, job):
            done += "end" in message or "failed" in message
            message["last"] = done >= _JOBS or _peak_memory() > _BIG_ENOUGH * job["memory"]
            answers.write(json.dumps(message).encode("ascii") + b"\n")
            answers.flush()
        faulthandler.cancel_dump_traceback_later()
        del data


def _answers(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    from autocontext.loaders.pdf import page_image, reading

    try:
        yield from page_image.answers(data, job) if job["do"] == "image" else reading.read(data, job)
    except MemoryError:
        yield {"failed": "memory"}
    except Exception as error:  # noqa: BLE001 told, so that the next file need not pay for it
        yield {"failed": "damaged", "detail": type(error).__name__}


def _own_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return what is talked through, and turn what libraries print away from it."""
    answers = os.fdopen(os.dup(1), "wb")
    requests = os.fdopen(os.dup(0), "rb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    return requests, answers


def _limit_memory(limit: int) -> None:
    """Let no allocation go beyond `limit` bytes; where a system knows no such limit, the time limit has to do."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        wanted = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _peak_memory() -> int:
    """Return the most memory ever held, in bytes; 0 where the system does not tell.

    Not by getrusage: what that says of a child begins with its parent's memory.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()
