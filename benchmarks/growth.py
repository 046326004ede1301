"""Measure how indexing, questions and memory grow with the collection.

    python benchmarks/growth.py                 # 1,000, 10,000 and 100,000 chunks, 3 runs of each, alternating
    python benchmarks/growth.py --large         # and 1,000,000, once
    python benchmarks/growth.py --quick         # 1,000 and 10,000, once

Texts are generated and vectors drawn, so the time of an embedding model is in none of these. A collection is indexed in
one process and asked in another, which has loaded the real model before: memory is what is added to that.
"""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import (
    DrawnEncoder,
    Row,
    Table,
    alternate,
    large_settings,
    make_files,
    make_questions,
    median,
    memory_megabytes,
    parser,
    percentile,
    report,
    run_child,
    scratch,
    seconds_of,
)

from autocontext import AutoContext, generate_embeddings

A_FILE = 25  # chunks
N_QUESTIONS = 50


def index(n_chunks: int, store: Path) -> dict[str, float]:
    """Index generated files into a store; return seconds until all can be asked, and megabytes."""
    files = list(make_files(n_chunks // A_FILE, 3 * A_FILE))
    warm = AutoContext(large_settings(), DrawnEncoder())
    warm.add_files(files[:1])
    warm.warm_up()  # what is loaded on first use does not grow
    before, started = memory_megabytes(), time.perf_counter()
    ac = AutoContext(large_settings(), DrawnEncoder(), store)
    ac.add_files(files)
    ac.warm_up()
    seconds, after = time.perf_counter() - started, memory_megabytes()
    n_found = len(ac.chunks)
    ac.close()
    size = sum(path.stat().st_size for path in store.parent.glob(f"{store.name}*"))
    return {"seconds": seconds, "peak": after["peak"] - before["resident"], "chunks": n_found, "disk": size / 1e6}


def ask(store: Path) -> dict[str, Any]:
    """Open a store and ask; return seconds and megabytes."""
    generate_embeddings(["the model is loaded"])
    before, started = memory_megabytes(), time.perf_counter()
    ac = AutoContext(large_settings(), DrawnEncoder(), store)
    ac.search("The first question of the day", num_results=10)
    first = time.perf_counter() - started
    questions = make_questions([chunk.text for chunk in ac.chunks[:: max(1, len(ac.chunks) // 1000)]], N_QUESTIONS)
    asked = [seconds_of(partial(ac.search, question, num_results=10)) for question, _ in questions]
    after = memory_megabytes()
    matrix, vector = np.ones((len(ac.chunks), 384), np.float32), np.ones(384, np.float32)
    read = [seconds_of(matrix.sum) for _ in range(7)]
    product = [seconds_of(partial(np.dot, matrix, vector)) for _ in range(7)]
    del matrix
    alone = AutoContext(large_settings(), DrawnEncoder())
    name, data = next(make_files(1, 3 * A_FILE, seed=2))
    adding = {}
    for key, context in (("add_alone", alone), ("add", ac)):
        adding[key] = seconds_of(partial(context.add, f"new/{name}", data))
        adding[f"{key}_asked"] = seconds_of(partial(context.search, "What is new since then?", num_results=10))
    ac.close()
    return {
        "first": first,
        "queries": asked,
        "memory": after["resident"] - before["resident"],
        "own": after["own"] - before["own"],
        "read": median(read),
        "product": median(product),
        **adding,
    }


def run(n_chunks: int) -> dict[str, Any]:
    """Index and ask, each in a new process."""
    with scratch() as place:
        store = Path(place) / "notes.db"
        return run_child(__file__, "--index", str(n_chunks), str(store)) | run_child(__file__, "--ask", str(store))


def main() -> None:
    """Run all sizes in turn and print the tables."""
    options = parser(__doc__)
    options.add_argument("--large", action="store_true", help="1,000,000 chunks too, once: needs some 20 GB of memory")
    options.add_argument("--sizes", nargs="+", type=int, metavar="N", help="chunks")
    options.add_argument("--index", nargs=2, help="used by the benchmark itself")
    options.add_argument("--ask", type=Path, help="used by the benchmark itself")
    args = options.parse_args()
    if args.index:
        print(json.dumps(index(int(args.index[0]), Path(args.index[1]))))
        return
    if args.ask:
        print(json.dumps(ask(args.ask)))
        return
    started = time.perf_counter()
    sizes = args.sizes or ([1_000, 10_000] if args.quick else [1_000, 10_000, 100_000])
    rounds = args.rounds or (1 if args.quick else 3)
    runs = alternate({f"{size:,}": partial(run, size) for size in sizes}, rounds)
    if args.large:
        runs |= alternate({"1,000,000": lambda: run(1_000_000)}, 1)
    report(args, started, _tables(runs), {"runs": runs})


def _tables(runs: dict[str, list[dict[str, Any]]]) -> list[Table]:
    def of(size: str, key: str) -> float:
        return median([run[key] for run in runs[size]])

    def asked(size: str, share: float) -> float:
        return 1000 * median([percentile(run["queries"], share) for run in runs[size]])

    indexing, queries, adding, growth = list[Row](), list[Row](), list[Row](), list[Row]()
    for size in runs:
        seconds = of(size, "seconds")
        indexing.append([size, seconds, of(size, "chunks") / seconds, of(size, "peak"), of(size, "disk")])
        read, product, p50 = 1000 * of(size, "read"), 1000 * of(size, "product"), asked(size, 50)
        memory = [of(size, "memory"), of(size, "own")]
        queries.append(
            [size, of(size, "first"), p50, asked(size, 95), read, p50 / read, product, p50 / product, *memory]
        )
        alone, added = (of(size, key) + of(size, f"{key}_asked") for key in ("add_alone", "add"))
        adding.append([size, 1000 * of(size, "add"), 1000 * added, 1000 * alone, added / alone])
    for small, large in zip(list(runs), list(runs)[1:], strict=False):
        factor = of(large, "chunks") / of(small, "chunks")
        slower = of(large, "seconds") / of(small, "seconds") / factor
        growth.append([f"{small} to {large}", factor, factor * slower, slower, asked(large, 50) / asked(small, 50)])
    return [
        Table(
            "Indexing without a model's time",
            ["chunks", "s", "chunks/s", "peak MB over the files", "MB on disk"],
            indexing,
        ),
        Table(
            "Questions without a model's time",
            [
                "chunks",
                "open and first question, s",
                "p50 ms",
                "p95 ms",
                "reading the vectors once (sum), ms",
                "p50 over reading",
                "one product with them, ms",
                "p50 over the product",
                "MB over the app with model",
                "of it not mapped from files",
            ],
            queries,
        ),
        Table(
            f"Adding a file of {A_FILE} chunks, and the first question after it",
            ["chunks", "add, ms", "add and ask, ms", "the same alone, ms", "times as long"],
            adding,
        ),
        Table(
            "Growth",
            ["chunks", "times the chunks", "times the indexing", "over linear (1 is linear)", "times the p50"],
            growth,
        ),
    ]


if __name__ == "__main__":
    main()
