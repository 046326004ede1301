"""Measure retrieval: each retriever alone, and the ways to fuse them, side by side on the same chunks.

    python benchmarks/retrieval.py                             # the sample collection's questions
    python benchmarks/retrieval.py --sets xquad/en cranfield   # judged sets, where their folder exists
    python benchmarks/retrieval.py --sets all --json out.json

A judged set is a folder with docs.jsonl (id, title, text), queries.jsonl (id, text), and either qrels.tsv (question,
document, grade) or spans.jsonl (query, doc, start, end). Each set is indexed once, in a file under --cache.

Documents: nDCG@10 by the rank of a document's best chunk, as trec_eval counts. Spans, and the sample: the share of the
quoted characters in the first 5 chunks, and in the first chunks that fit 1,000 tokens of 4 characters.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autocontext import AutoContext, Settings  # noqa: E402
from autocontext.datatypes import Chunk  # noqa: E402

METHODS = {
    "bm25": Settings(retrievers=("bm25",)),
    "dense": Settings(retrievers=("dense",)),
    "seed union": Settings(fusion="union", weights={}),
    "equal RRF": Settings(fusion="ranks", weights={}),
    "hybrid": Settings(),
}
BUDGET = 4000  # characters: about 1,000 tokens
DEPTH = 100


class Span(NamedTuple):
    """A quoted passage: characters `start` to `end` of a document."""

    document: str
    start: int
    end: int


class JudgedSet(NamedTuple):
    """Files, questions by id, and what answers each: graded documents or quoted spans."""

    files: list[tuple[str, bytes]]
    questions: dict[str, str]
    grades: Mapping[str, Mapping[str, int]]
    spans: Mapping[str, Sequence[Span]]


def read_lines(path: Path) -> Iterator[dict]:
    """Yield the objects of a JSONL file."""
    return (json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip())


def read_sample() -> JudgedSet:
    """Return the sample collection with the questions that it answers."""
    paths = sorted(path for path in (ROOT / "data").rglob("*") if path.is_file() and path.suffix != ".jsonl")
    files = [(path.relative_to(ROOT).as_posix(), path.read_bytes()) for path in paths]
    rows = {row["id"]: row for row in read_lines(ROOT / "data" / "questions.jsonl") if row["document"]}
    documents = AutoContext(settings=Settings(retrievers=("bm25",)))
    documents.add_files(files)
    spans = {}
    for number, row in rows.items():
        start = documents.documents[row["document"]].text.index(row["quote"])
        spans[number] = [Span(row["document"], start, start + len(row["quote"]))]
    return JudgedSet(files, {number: row["question"] for number, row in rows.items()}, {}, spans)


def read_set(folder: Path, limit: int) -> JudgedSet:
    """Return a judged set; at most `limit` questions, evenly taken, 0 for all."""
    graded = (folder / "qrels.tsv").exists()
    titled = not (folder / "spans.jsonl").exists()  # spans count characters of the text alone
    files = [
        (f"{row['id']}.txt", (f"{row['title']}\n\n" * bool(titled and row["title"]) + row["text"]).encode())
        for row in read_lines(folder / "docs.jsonl")
        if row["text"].strip()
    ]
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    spans: dict[str, list[Span]] = defaultdict(list)
    if graded:
        for line in filter(None, (folder / "qrels.tsv").read_text("utf-8").split("\n")):
            question, document, grade = line.split("\t")
            if int(grade) > 0:
                grades[question][f"{document}.txt"] = int(grade)
    else:
        for row in read_lines(folder / "spans.jsonl"):
            spans[row["query"]].append(Span(f"{row['doc']}.txt", row["start"], row["end"]))
    rows = list(read_lines(folder / "queries.jsonl"))
    if limit and len(rows) > limit:
        rows = rows[:: max(1, len(rows) // limit)][:limit]
    questions = {row["id"]: row["text"] for row in rows if row["id"] in (grades if graded else spans)}
    return JudgedSet(files, questions, grades, spans)


def ndcg(ranked: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Return the normalised discounted cumulative gain: gain is the grade, the discount log2(rank + 1)."""
    gain = sum(grades.get(document, 0) / math.log2(rank + 1) for rank, document in enumerate(ranked[:depth], start=1))
    best = sorted(grades.values(), reverse=True)[:depth]
    return gain / sum(grade / math.log2(rank + 1) for rank, grade in enumerate(best, start=1))


def coverage(chunks: Sequence[Chunk], spans: Sequence[Span]) -> float:
    """Return the share of the spans' characters that the chunks hold."""
    wanted = {(span.document, n) for span in spans for n in range(span.start, span.end)}
    held = {
        (chunk.document, n)
        for chunk in chunks
        for span in spans
        if span.document == chunk.document
        for n in range(max(span.start, chunk.start), min(span.end, chunk.end))
    }
    return len(held) / len(wanted)


def within_budget(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return the first chunks that fit the budget."""
    taken: list[Chunk] = []
    for chunk in chunks:
        if sum(len(other.text) for other in taken) + len(chunk.text) > BUDGET:
            break
        taken.append(chunk)
    return taken


def measure(context: AutoContext, judged: JudgedSet) -> dict[str, float]:
    """Return the mean of each figure over the questions, and milliseconds a question."""
    figures: dict[str, list[float]] = defaultdict(list)
    started = time.perf_counter()
    for number, question in judged.questions.items():
        chunks = [item.chunk for item in context.search(question, num_results=DEPTH)]
        if judged.grades:
            ranked = list(dict.fromkeys(chunk.document for chunk in chunks))
            figures["nDCG@10"].append(ndcg(ranked, judged.grades[number]))
        else:
            figures["recall@5"].append(coverage(chunks[:5], judged.spans[number]))
            figures["recall in 1,000 tokens"].append(coverage(within_budget(chunks), judged.spans[number]))
    seconds = time.perf_counter() - started
    means = {name: sum(values) / len(values) for name, values in figures.items()}
    return {**means, "ms a question": 1000 * seconds / len(judged.questions)}


def main() -> None:
    """Print one table a set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["sample"], help='"sample", "all", or folders under --judged')
    parser.add_argument("--judged", type=Path, default=ROOT.parent / "shared" / "eval" / "data")
    parser.add_argument("--limit", type=int, default=300, help="questions a set, evenly taken; 0 for all")
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache" / "benchmarks")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    judged = sorted(
        path.parent.relative_to(args.judged).as_posix()
        for path in args.judged.rglob("docs.jsonl")
        if not (path.parent / "pdfs").exists() and "nomatch" not in path.parent.name
    )
    args.cache.mkdir(parents=True, exist_ok=True)
    results: dict[str, dict[str, dict[str, float]]] = {}
    for name in ["sample", *judged] if args.sets == ["all"] else args.sets:
        questions = read_sample() if name == "sample" else read_set(args.judged / name, args.limit)
        results[name] = {}
        for method, settings in METHODS.items():
            context = AutoContext(settings=settings, store=args.cache / f"{name.replace('/', '_')}.db")
            context.add_files(questions.files)
            results[name][method] = measure(context, questions)
            figures = "  ".join(f"{key} {value:.4g}" for key, value in results[name][method].items())
            print(f"{name:22} {method:11} {figures}  ({len(questions.questions)} questions)", flush=True)
            context.close()
    if args.json:
        args.json.write_text(json.dumps(results, indent=1), "utf-8")


if __name__ == "__main__":
    main()
