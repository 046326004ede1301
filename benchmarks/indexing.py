"""Measure indexing 1,000 notes all in, beside the embedding alone and beside other libraries' hybrid pipelines.

    python benchmarks/indexing.py                # 1,000 notes of about three chunks, 3 runs of each, alternating
    python benchmarks/indexing.py --quick        # 150 notes, one run
    python benchmarks/indexing.py --float32      # AutoContext as on a processor without bfloat16

All embed the same chunks with the same files of all-MiniLM-L6-v2. Each run is a fresh process; its imports and the
loading of the model are not counted. AutoContext's time has everything in it: finding and reading the files,
splitting, tokenizing, BM25, embedding (with each document's title), keeping all in a SQLite file. The others are given
the chunks ready in memory and keep their indexes there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from common import (
    Peer,
    Row,
    Table,
    alternate,
    make_files,
    make_questions,
    median,
    memory_megabytes,
    model_folder,
    parser,
    report,
    run_child,
    scratch,
    seconds_of,
    show,
    write_folder,
)

from autocontext import AutoContext, EncoderOptions, Settings
from autocontext.encoders.runtimes import import_openvino

OURS, PLAIN = "AutoContext, all in", "SentenceTransformer.encode alone"
PEERS = {
    PLAIN: "sentence_transformer",
    "LangChain": "langchain_hybrid",
    "LlamaIndex": "llamaindex_hybrid",
    "Haystack": "haystack_hybrid",
    "txtai": "txtai_hybrid",
}
SENTENCES = 15  # a note


class Watch:
    """Notes when an encoder's `encode` runs, and what it is given; the encoder stays what it is."""

    def __init__(self, encoder: Any) -> None:
        self.texts: list[str] = []
        self._spans: list[tuple[float, float]] = []
        encode = encoder.encode

        def watched(texts: Sequence[str], *args: Any, **options: Any) -> Any:
            started = time.perf_counter()
            rows = encode(texts, *args, **options)
            self._spans.append((started, time.perf_counter()))
            self.texts += texts
            return rows

        encoder.encode = watched

    @property
    def calls(self) -> int:
        """How often it was called."""
        return len(self._spans)

    def seconds(self) -> float:
        """Return how long at least one call went on."""
        total, reached = 0.0, 0.0
        for start, end in sorted(self._spans):
            total += max(0.0, end - max(start, reached))
            reached = max(reached, end)
        return total


def child(folder: Path, questions_file: Path, *, float32: bool) -> dict[str, Any]:
    """Index the folder, ask, index it again; return seconds and megabytes."""
    from autocontext.encoders import default_encoder

    if float32:
        openvino = import_openvino()
        openvino.Core.get_property = lambda *_: openvino.Type.f32
    encoder = default_encoder()
    encoder.encode(["warm up"])
    watch = Watch(encoder)
    with scratch() as place:
        store = Path(place) / "notes.db"
        before, started = memory_megabytes(), time.perf_counter()
        ac = AutoContext(encoder=encoder, store=store)
        rows = ac.add_folder(folder)
        ac.warm_up()  # all that a search needs is there
        seconds = time.perf_counter() - started
        peak = memory_megabytes()["peak"]
        encoding, texts = watch.seconds(), list(watch.texts)
        asked, hits = [], []
        for question, chunk in json.loads(questions_file.read_text("utf-8")):
            found: list[Any] = []
            asked.append(seconds_of(partial(_ask, ac, question, found)))
            hits.append(any(item.chunk.text == chunk for item in found))
        calls = watch.calls
        unchanged = seconds_of(lambda: ac.add_folder(folder))
        ac.close()

        def again() -> None:
            opened = AutoContext(encoder=encoder, store=store)
            opened.add_folder(folder)
            opened.close()

        reopened = seconds_of(again)
        calls = watch.calls - calls
        alone = seconds_of(lambda: encoder.encode(texts))
    return {
        "seconds": seconds,
        "encoding": encoding,
        "encoder_alone": alone,
        "unchanged": unchanged,
        "reopened": reopened,
        "calls_again": calls,
        "queries": asked,
        "found": sum(hits) / len(hits),
        "chunks": len(texts),
        "added": sum(row.status == "added" for row in rows),
        "before": before["resident"],
        "peak": peak,
        "encoder": encoder.description,
    }


def _ask(ac: AutoContext, question: str, found: list[Any]) -> None:
    found += ac.search(question, num_results=10)


def run_peer(name: str, job: Path, questions: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Let a peer index the chunks and answer the questions."""
    peer = Peer(name, job)
    answers = [peer.ask(question) for question, _ in questions]
    peer.close()
    hits = [chunk in found for (_, chunk), (_, found) in zip(questions, answers, strict=True)]
    return {**peer.index, "queries": [seconds for seconds, _ in answers], "found": sum(hits) / len(hits)}


def main() -> None:
    """Run all in turn and print the tables."""
    options = parser(__doc__)
    options.add_argument("--notes", type=int, metavar="N", help="notes of about three chunks (1,000; quick: 150)")
    options.add_argument("--only", nargs="+", choices=list(PEERS), help="peers to measure (all)")
    options.add_argument("--float32", action="store_true", help="AutoContext as on a processor without bfloat16")
    options.add_argument("--child", nargs=2, type=Path, help="used by the benchmark itself")
    args = options.parse_args()
    if args.child:
        print(json.dumps(child(*args.child, float32=args.float32)))
        return
    started = time.perf_counter()
    as_asked = ["--float32"] if args.float32 else []
    notes, rounds = args.notes or (150 if args.quick else 1000), args.rounds or (1 if args.quick else 3)
    with scratch() as place:
        folder = write_folder(Path(place), make_files(notes, SENTENCES))
        plain = AutoContext(settings=Settings(retrievers=("bm25",), encoder=EncoderOptions(folder=model_folder())))
        plain.add_folder(folder)
        chunks = [chunk.text for chunk in plain.chunks]
        questions = make_questions(chunks, 20)
        job, asked = Path(place) / "job.json", Path(place) / "questions.json"
        job.write_text(json.dumps({"chunks": chunks, "model": str(model_folder())}), "utf-8")
        asked.write_text(json.dumps(questions), "utf-8")
        peers = {name: PEERS[name] for name in args.only or PEERS}
        calls: dict[str, Callable[[], dict[str, Any]]] = {
            OURS: lambda: run_child(__file__, *as_asked, "--child", str(folder), str(asked))
        }
        calls |= {name: partial(run_peer, file, job, questions) for name, file in peers.items()}
        runs = alternate(calls, rounds)
    words = sum(len(chunk.split()) for chunk in chunks) / len(chunks)
    title = f"Indexing {notes:,} notes: {len(chunks):,} chunks of {words:.0f} words, medians of {rounds}"
    tables = [_against(title, runs, len(chunks)), _ours(f"AutoContext's part of it, {notes:,} notes", runs[OURS])]
    report(args, started, tables, {"notes": notes, "chunks": len(chunks), "words_a_chunk": words, "runs": runs})


def _against(title: str, runs: dict[str, list[dict[str, Any]]], n_chunks: int) -> Table:
    ours = median([run["seconds"] for run in runs[OURS]])
    rows = list[Row]()
    for name, results in runs.items():
        seconds = median([run["seconds"] for run in results])
        asked = 1000 * median([median(run["queries"]) for run in results])
        peak, more = (median([run[key] for run in results]) for key in ("peak", "before"))
        found = median([run["found"] for run in results])
        rows.append([name, seconds, n_chunks / seconds, seconds / ours, peak, peak - more, asked, f"{found:.0%}"])
    columns = ["", "s", "chunks/s", "AutoContext is faster by", "peak MB", "MB over the loaded model", "ms a question"]
    return Table(title, [*columns, "chunk of the question found"], rows)


def _ours(title: str, runs: list[dict[str, Any]]) -> Table:
    def of(key: str) -> float:
        return median([run[key] for run in runs])

    first = of("seconds")
    rows: list[list[str | float]] = [
        ["all in, s", first],
        ["while nothing is embedded, % of it", 100 * median([1 - run["encoding"] / run["seconds"] for run in runs])],
        ["the encoder alone on the same texts, s", of("encoder_alone")],
        ["all in over the encoder alone, ratio", median([run["seconds"] / run["encoder_alone"] for run in runs])],
        ["the unchanged folder again, s", of("unchanged")],
        ["times faster than the first time", median([run["seconds"] / run["unchanged"] for run in runs])],
        ["opened again, and the unchanged folder again, s", of("reopened")],
        ["times faster than the first time, opening included", median([r["seconds"] / r["reopened"] for r in runs])],
        ["calls of the encoder when indexed again", of("calls_again")],
        ["encoder", runs[0]["encoder"]],
    ]
    return Table(title, ["", "AutoContext"], [[label, show(value)] for label, value in rows])


if __name__ == "__main__":
    main()
