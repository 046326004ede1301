"""Why a prompt has the passages that it has: a row a chunk that was found, as it is shown, written and downloaded.

The rows come from the very search that made the prompt, never from a second one.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from autocontext.datatypes import Chunk, Evidence, LeftOut, Prompt
from autocontext.protocols import Encoder
from autocontext.sentences import sentence_spans

LABELS = {"bm25": "BM25", "dense": "Dense", "tfidf": "TF-IDF"}
"""How the retrievers are called in texts."""
NOT_RETURNED = "not returned"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # what a spreadsheet may run


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one retriever says of one chunk.

    Attributes
    ----------
    rank, score, contribution
        As in `Hit` and `Contribution`; None if the retriever did not return the chunk, which is not the last rank.
    weight
        The retriever's weight for this question; see `Weighing`.
    """

    retriever: str
    rank: int | None
    score: float | None
    weight: float
    contribution: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """One chunk that was found.

    Attributes
    ----------
    place
        In the fused ranking, 1 is best.
    score
        The fused score: the sum of the contributions.
    opinions
        One a retriever in use, in the settings' order.
    number
        The chunk is passage ``[number]`` of the prompt; None if it is not in it.
    reason
        Why it is not in the prompt; "" if it is.
    """

    place: int
    chunk: Chunk
    score: float
    opinions: tuple[Opinion, ...]
    number: int | None
    reason: str

    @property
    def found_by(self) -> tuple[str, ...]:
        """The retrievers that returned it."""
        return tuple(opinion.retriever for opinion in self.opinions if opinion.rank is not None)


@dataclass(frozen=True, slots=True)
class Weighing:
    """A retriever's weight for one question.

    Attributes
    ----------
    setting
        The weight of the settings.
    trust
        How far the retriever can judge this question, 0 to 1.
    weight
        What comes of both: what a contribution is scaled by. For the fusion "scores" all add up to 1.
    """

    retriever: str
    setting: float
    trust: float
    weight: float


@dataclass
class Trace:
    """What is noted while a search goes on: the seconds of each step, and how each retriever was weighed."""

    seconds: dict[str, float] = field(default_factory=dict)
    weighings: tuple[Weighing, ...] = ()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure what is done within."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class Explanation:
    """How a prompt came about.

    Attributes
    ----------
    prompt
        The prompt itself.
    evidence
        All that was found, best first.
    left_out
        What was tried for the prompt and did not get in, with the reasons.
    num_results
        Passages in the prompt at most.
    depth
        How many hits each retriever was asked for.
    weighings
        One a retriever in use, in the settings' order.
    seconds
        By step, in the order of the steps: what an index, the question's vector, each retriever, the fusion, the
        verdict and the prompt took. What is at hand from the same question before takes nothing.
    """

    prompt: Prompt
    evidence: tuple[Evidence, ...]
    left_out: tuple[LeftOut, ...]
    num_results: int
    depth: int
    weighings: tuple[Weighing, ...]
    seconds: Mapping[str, float]

    @property
    def retrievers(self) -> tuple[str, ...]:
        """The retrievers in use."""
        return tuple(weighing.retriever for weighing in self.weighings)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """A row a chunk that was found, best first."""
        numbers = {item.chunk.number: number for number, item in enumerate(self.prompt.evidence, start=1)}
        reasons = {left.evidence.chunk.number: left.reason for left in self.left_out}
        rows = []
        for place, item in enumerate(self.evidence, start=1):
            number = numbers.get(item.chunk.number)
            reason = reasons.get(item.chunk.number, f"below the best {self.num_results}")
            rows.append(
                Row(place, item.chunk, item.score, self._opinions(item), number, "" if number is not None else reason)
            )
        return tuple(rows)

    def _opinions(self, item: Evidence) -> tuple[Opinion, ...]:
        shares = {given.retriever: given.share for given in item.contributions}
        return tuple(
            Opinion(name, hit.rank, hit.score, weighing.weight, shares[name])
            if (hit := item.hits.get(name := weighing.retriever)) is not None
            else Opinion(name, None, None, weighing.weight, None)
            for weighing in self.weighings
        )


def to_records(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the rows as flat records with the same columns each; what a retriever did not return says so."""
    return [_record(row) for row in rows]


def _record(row: Row) -> dict[str, Any]:
    record = {
        "place": row.place,
        "prompt": f"[{row.number}]" if row.number is not None else row.reason,
        "document": row.chunk.document,
        "where": row.chunk.place,
        "heading": row.chunk.heading,
        "text": row.chunk.text,
        "score": row.score,
    }
    for said in row.opinions:
        record[f"{said.retriever} rank"] = said.rank if said.rank is not None else NOT_RETURNED
        record[f"{said.retriever} score"] = said.score if said.score is not None else NOT_RETURNED
        record[f"{said.retriever} weight"] = said.weight
        record[f"{said.retriever} contribution"] = said.contribution if said.contribution is not None else NOT_RETURNED
    return record


def to_json(rows: Sequence[Row]) -> str:
    """Return the records as JSON."""
    return json.dumps(to_records(rows), ensure_ascii=False, indent=2)


def to_csv(rows: Sequence[Row]) -> str:
    """Return the records as CSV with a line of column names.

    A text that a spreadsheet would take for a formula has an apostrophe before it: a document may hold anything.
    """
    records = to_records(rows)
    out = io.StringIO()
    if records:
        writer = csv.DictWriter(out, list(records[0]))
        writer.writeheader()
        writer.writerows({name: _harmless(value) for name, value in record.items()} for record in records)
    return out.getvalue()


def _harmless(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_STARTS) else value


def sentence_closeness(encoder: Encoder, question: str, text: str) -> list[tuple[int, int, float]]:
    """Return ``(start, end, cosine)`` of each sentence of a passage: how near it is to the question in meaning."""
    spans = sentence_spans(text)
    if not spans or not question.strip():
        return []
    asked, *rows = encoder.encode([question, *(text[start:end] for start, end in spans)])
    return [(start, end, float(row @ asked)) for (start, end), row in zip(spans, rows, strict=True)]
