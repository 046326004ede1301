"""How fast texts become vectors: by this library, and by plain ``SentenceTransformer.encode``, alternating in one run.

    python benchmarks/encoder.py                        the sample documents, again and again up to 960 passages
    python benchmarks/encoder.py --folder ~/notes --chunks 3000 --rounds 5 --json

Start-up and memory are measured in processes of their own. `--float32` shows a processor without bfloat16.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from autocontext import AutoContext, Settings  # noqa: E402
from autocontext.encoders import LocalEncoder, find_model  # noqa: E402
from autocontext.encoders.runtimes import import_openvino  # noqa: E402
from autocontext.protocols import Vectors  # noqa: E402
from autocontext.settings import EncoderOptions  # noqa: E402

QUESTION = "who says that economics is bullshit?"
PLAIN = "SentenceTransformer.encode, batches of 32"


def passages(folder: Path, count: int) -> list[str]:
    """Return the texts of the passages of a folder's documents, again and again up to `count`."""
    ac = AutoContext(Settings(retrievers=("bm25",)))
    ac.add_folder(folder)
    texts = [chunk.text for chunk in ac.chunks]
    # Another number at each text: nobody may answer from a memory.
    return [f"{text} {number}" for number, text in zip(range(count), itertools.cycle(texts), strict=False)]


def in_calls_of(encode: Callable[[list[str]], Vectors], size: int) -> Callable[[list[str]], Vectors]:
    """Return the same, but called with `size` texts at a time, sorted by length as the engine does."""

    def encode_all(texts: list[str]) -> Vectors:
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        rows: list[Any] = [None] * len(texts)
        for first in range(0, len(texts), size):
            part = order[first : first + size]
            for row, vector in zip(part, encode([texts[row] for row in part]), strict=True):
                rows[row] = vector
        return np.stack(rows)

    return encode_all


def plain_encode() -> Callable[[list[str]], Vectors]:
    """Return what most programs call."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(find_model(EncoderOptions())), device="cpu", local_files_only=True)

    def encode(texts: list[str]) -> Vectors:
        found: Vectors = model.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
        return found

    return encode


def compare(texts: list[str], rounds: int) -> list[dict[str, Any]]:
    """Time each way in turn, `rounds` times after one that is not counted; the median counts."""
    ours = LocalEncoder()
    ways: dict[str, Callable[[list[str]], Vectors]] = {PLAIN: plain_encode()}
    ours.warm_up()
    ways[f"{ours.description}, one call"] = ours.encode
    for size in (32, 64, 128, 256):
        ways[f"{ours.description}, calls of {size}"] = in_calls_of(ours.encode, size)
    torch = LocalEncoder(EncoderOptions(backend="sentence-transformers"))
    torch.warm_up()
    ways[f"{torch.description}, in turns, one call"] = torch.encode
    reference = ways[PLAIN](texts)
    least = {name: float(np.sum(encode(texts) * reference, axis=1).min()) for name, encode in ways.items()}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    waits: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, encode in ways.items():
            begin = time.perf_counter()
            encode(texts)
            seconds[name].append(time.perf_counter() - begin)
            for _ in range(20):
                begin = time.perf_counter()
                encode([QUESTION])
                waits[name].append(time.perf_counter() - begin)
    base = seconds[PLAIN]
    return [
        {
            "way": name,
            "chunks_a_second": round(len(texts) / statistics.median(taken), 1),
            "times_as_fast": round(statistics.median(b / t for b, t in zip(base, taken, strict=True)), 2),
            "best_against_best": round(min(base) / min(taken), 2),
            "question_ms": round(1000 * statistics.median(waits[name]), 1),
            "least_cosine": round(least[name], 6),
        }
        for name, taken in seconds.items()
    ]


def start(backend: str) -> None:
    """In a process of its own: print the seconds to the first vector from the start of Python's imports, and MB."""
    begin = time.perf_counter()
    if backend == "plain":
        plain_encode()([QUESTION])
    else:
        LocalEncoder().encode([QUESTION])
    taken = time.perf_counter() - begin
    print(json.dumps([round(taken, 2), round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)]))


def starts(rounds: int) -> list[dict[str, Any]]:
    """Start each way in turn, `rounds` times; the median counts."""
    found: dict[str, list[list[float]]] = {"plain": [], "autocontext": []}
    for _ in range(rounds):
        for backend, rows in found.items():
            command = [sys.executable, __file__, "--start", backend]
            rows.append(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))
    return [
        {"way": way, "first_vector_seconds": statistics.median(s), "peak_megabytes": statistics.median(m)}
        for way, rows in found.items()
        for s, m in [zip(*rows, strict=True)]
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "data")
    parser.add_argument("--chunks", type=int, default=960)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--start", choices=["plain", "autocontext"], help=argparse.SUPPRESS)
    parser.add_argument("--float32", action="store_true", help="as on a processor without bfloat16")
    options = parser.parse_args()
    if options.start:
        start(options.start)
        return
    if options.float32:
        openvino = import_openvino()
        openvino.Core.get_property = lambda *_: openvino.Type.f32
    texts = passages(options.folder, options.chunks)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    result = {
        "date": date.today().isoformat(),
        "machine": machine,
        "chunks": len(texts),
        "mean_characters": round(statistics.mean(map(len, texts))),
        "starts": starts(options.rounds),
        "encoding": compare(texts, options.rounds),
    }
    if options.json:
        print(json.dumps(result, indent=1))
        return
    print(*(f"{key}: {result[key]}" for key in ("date", "machine", "chunks", "mean_characters")), sep="\n")
    for table in ("starts", "encoding"):
        rows: Any = result[table]
        print(f"\n| {' | '.join(rows[0])} |\n|{'---|' * len(rows[0])}")
        for row in rows:
            print(f"| {' | '.join(map(str, row.values()))} |")


if __name__ == "__main__":
    main()
