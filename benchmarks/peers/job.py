"""What every peer does: index the job's chunks, say how long it took, then answer questions line by line.

A peer is ``serve(index)``, where ``index(chunks)`` returns ``search(question)``, which returns the texts found. What
the peer imports and loads before that is not counted.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

JOB: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text("utf-8"))
MODEL: str = JOB.get("model", "")
TOP = 10
Search = Callable[[str], Sequence[str]]


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def serve(index: Callable[[list[str]], Search]) -> None:
    """Index, then search until there are no more questions."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the libraries print is not an answer
    before, started = _megabytes(), time.perf_counter()
    search = index(JOB["chunks"])
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "before": before, "peak": _megabytes()}), file=out, flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        started = time.perf_counter()
        found = search(question)
        print(json.dumps({"seconds": time.perf_counter() - started, "found": list(found)}), file=out, flush=True)
