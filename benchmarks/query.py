"""Measure questions at 100,000 chunks, beside rank_bm25 with numpy and beside bm25s with FAISS' exact index.

    python benchmarks/query.py                  # 100,000 chunks in 4,000 documents, 50 questions
    python benchmarks/query.py --quick          # 10,000 chunks, 20 questions

All systems have the same chunks and the same vectors, drawn at random, and answer question after question in turn.
A question's vector is given too, so its embedding is not in the times, but for the row that says so. AutoContext's
time is that of `search` on a kept collection: 300 candidates of each retriever, word forms, neighbours, fusion.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from common import (
    DrawnEncoder,
    Peer,
    Table,
    large_settings,
    make_files,
    make_questions,
    parser,
    percentile,
    report,
    scratch,
    seconds_of,
)
from numpy.typing import NDArray

from autocontext import AutoContext, generate_embeddings
from autocontext.chunking import index_text

A_FILE = 25  # chunks
WARM = 3  # questions that are not counted
PEERS = {"rank_bm25 + numpy": "rank_bm25_numpy", "bm25s + FAISS": "bm25s_faiss"}
OURS = "AutoContext.search"
EMBEDDED = "AutoContext.search, with the question's embedding"
PROMPT = "AutoContext.get_prompt, without any embedding"


class AskingEncoder(DrawnEncoder):
    """Draws vectors, and takes the time of the real model for a question if `real` is set."""

    real = False

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return drawn vectors."""
        if self.real:
            generate_embeddings(texts)
        return super().encode(texts)


def main() -> None:
    """Index, ask all in turn, print the table."""
    options = parser(__doc__)
    options.add_argument("--chunks", type=int, metavar="N", help="100,000; quick: 10,000")
    args = options.parse_args()
    started = time.perf_counter()
    n_chunks = args.chunks or (10_000 if args.quick else 100_000)
    n_questions = args.rounds or (20 if args.quick else 50)
    encoder = AskingEncoder()
    with scratch() as place:
        ac = AutoContext(large_settings(), encoder, Path(place) / "notes.db")
        ac.add_files(make_files(n_chunks // A_FILE, 3 * A_FILE))
        ac.warm_up()
        chunks = [chunk.text for chunk in ac.chunks]
        asked = make_questions(chunks, 3 * (WARM + n_questions))
        plain, embedded, prompted = asked[::3], asked[1::3], asked[2::3]
        questions = [question for question, _ in plain]
        folder = Path(place)
        np.save(folder / "v.npy", encoder.encode([index_text(ac.documents[c.document], c) for c in ac.chunks]))
        np.save(folder / "q.npy", encoder.encode(questions))
        job = {"chunks": chunks, "questions": questions, "candidates": ac.settings.candidates}
        job |= {"vectors": str(folder / "v.npy"), "question_vectors": str(folder / "q.npy")}
        (folder / "job.json").write_text(json.dumps(job), "utf-8")
        peers = [Peer(file, folder / "job.json") for file in PEERS.values()]
        seconds: dict[str, list[float]] = {name: [] for name in (OURS, *PEERS, EMBEDDED, PROMPT)}
        hits = dict.fromkeys((OURS, *PEERS), 0)
        for number, (question, chunk) in enumerate(plain):
            print(f"question {number + 1} of {len(plain)}", file=sys.stderr, flush=True)
            answers = {OURS: _ask(ac, question)}
            answers |= {name: peer.ask(question) for name, peer in zip(PEERS, peers, strict=True)}
            answers[PROMPT] = (seconds_of(partial(ac.get_prompt, prompted[number][0])), [])
            for name, (taken, found) in answers.items():
                if number >= WARM:
                    seconds[name].append(taken)
                    if name in hits:
                        hits[name] += chunk in found
        indexing = {name: peer.index["seconds"] for name, peer in zip(PEERS, peers, strict=True)}
        for peer in peers:
            peer.close()
        encoder.real = True  # only now: torch's threads go on turning for a while after each call
        seconds[EMBEDDED] = [_ask(ac, question)[0] for question, _ in embedded][WARM:]
        ac.close()
    rows = []
    for name, values in seconds.items():
        share = f"{hits[name] / n_questions:.0%}" if name in hits else ""
        rows.append([*_row(name, values, seconds[OURS]), share])
    title = f"A question at {len(chunks):,} chunks, {n_questions} questions"
    columns = ["", "p50 ms", "p95 ms", "times AutoContext's p50", "times its p95", "chunk of the question found"]
    figures = {"seconds": seconds, "indexing_peers": indexing}
    report(args, started, [Table(title, columns, rows)], {"chunks": len(chunks), **figures})


def _ask(ac: AutoContext, question: str) -> tuple[float, list[str]]:
    started = time.perf_counter()
    found = ac.search(question, num_results=10)
    return time.perf_counter() - started, [item.chunk.text for item in found]


def _row(name: str, seconds: Sequence[float], ours: Sequence[float]) -> list[str | float]:
    p50, p95 = (percentile(seconds, share) for share in (50, 95))
    return [name, 1000 * p50, 1000 * p95, p50 / percentile(ours, 50), p95 / percentile(ours, 95)]


if __name__ == "__main__":
    main()
