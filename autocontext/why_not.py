"""Why a passage that one expected is not in the prompt: where it stands, its ranks, and what kept it out.

The text is looked for as the search sees it: words in order, whatever lies between them. Where it is not found so, the
nearest place is taken, by the words and pairs of neighbouring words that it shares.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from autocontext import loaders
from autocontext.datatypes import Chunk, Document, LeftOut
from autocontext.duplicates import repeats
from autocontext.engine import AutoContext
from autocontext.errors import SettingsError
from autocontext.explanation import LABELS, Explanation, Row
from autocontext.tokenizing import word_spans

Verdict = Literal[
    "in the prompt",
    "partly in the prompt",
    "number of passages",
    "budget",
    "duplicate",
    "others are better",
    "nothing in common",
    "not in the documents",
]
LONGEST = 5_000
"""Characters of a text that is looked for, at most."""
_NEARLY = 0.5  # of the words and pairs: from here on it is the same sentence, with small differences
_NEAREST = 0.2  # below this there is nothing to compare
_LOOKED_AT = 50  # chunks that share most of the words
_MOST_TRIED = 100  # passages in a prompt
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text stands.

    Attributes
    ----------
    document
        Name of the document.
    start, end
        Offsets into its text, end exclusive.
    share
        How much of the text's words and pairs of words stand there: 1 for all of it.
    """

    document: str
    start: int
    end: int
    share: float


@dataclass(frozen=True, slots=True)
class Standing:
    """How one retriever ranks the passage, as deep as it goes.

    Attributes
    ----------
    rank, score
        None if the retriever does not return it at all.
    returned
        How many chunks it returns at all.
    best
        The score of its first hit; None if it returns none.
    """

    retriever: str
    rank: int | None
    score: float | None
    returned: int
    best: float | None


@dataclass(frozen=True)
class WhyNot:
    """What kept a passage out of a prompt.

    Attributes
    ----------
    verdict
        The reason in a word.
    sentences
        The reason, what would help, and how each retriever ranks it.
    place
        Where the text stands; where it does not, the nearest place, if any comes near.
    chunk
        The chunk that holds it, or most of it; None if no document does.
    row
        What the search says of that chunk; None if it is not among the candidates.
    standings
        One a retriever in use; empty if no document holds the text.
    explanation
        The search that this is about.
    """

    verdict: Verdict
    sentences: tuple[str, ...]
    place: Place | None
    chunk: Chunk | None
    row: Row | None
    standings: tuple[Standing, ...]
    explanation: Explanation

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "verdict": self.verdict,
            "sentences": list(self.sentences),
            "document": self.place.document if self.place else None,
            "start": self.place.start if self.place else None,
            "end": self.place.end if self.place else None,
            "share": round(self.place.share, 4) if self.place else None,
            "chunk": self.chunk.text if self.chunk else None,
            "where": self.chunk.place if self.chunk else None,
            "place": self.row.place if self.row else None,
            "retrievers": [
                {"retriever": said.retriever, "rank": said.rank, "score": said.score, "returned": said.returned}
                for said in self.standings
            ],
        }


def why_not(
    ac: AutoContext, question: str, text: str, num_results: int | None = None, max_tokens: int | None = None
) -> WhyNot:
    """Tell why a text is not in the prompt for a question.

    Parameters
    ----------
    text
        A sentence or passage, as one remembers it.
    num_results, max_tokens
        As in `AutoContext.get_prompt`.

    Raises
    ------
    SettingsError
        If the question or the text has no words, or the text is longer than `LONGEST`.
    BudgetError
        As in `AutoContext.get_prompt`.
    """
    text = loaders.clean_text(text)[0].strip()
    words = [tokens[0] for _, _, tokens in word_spans(text)]
    if not words:
        raise SettingsError("Paste the sentence that you expected: it needs at least one word.")
    if len(text) > LONGEST:
        raise SettingsError(f"Paste a passage of at most {LONGEST:,} characters; this one has {len(text):,}.")
    if not question.strip():
        raise SettingsError("Ask a question first: a passage is in a prompt, or not, for a question.")
    explanation = ac.explain(question, num_results, max_tokens)
    places = _find(ac, text, words)
    rows = {_identity(row.chunk): row for row in explanation.rows}
    found = [place for place in places if place.share >= _NEARLY]
    if not found:
        return _not_in_the_documents(ac, explanation, places[0] if places else None)
    judged = [_Judged(place, chunks, rows) for place in found if (chunks := _chunks_at(ac, place))]
    if not judged:  # its document was removed meanwhile
        return _not_in_the_documents(ac, explanation, None)
    best = min(judged, key=lambda item: item.order)
    standings = tuple(_standing(ac, name, question, best.chunk) for name in explanation.retrievers)
    verdict, sentences = _judge(ac, explanation, best, standings)
    return WhyNot(
        verdict,
        (*sentences, *_on_the_place(best, len(found)), *(_told(said) for said in standings), *ac.warnings),
        best.place,
        best.chunk,
        best.row,
        standings,
        explanation,
    )


# --- where it stands --------------------------------------------------------------------------------------------------


def _find(ac: AutoContext, text: str, words: Sequence[str]) -> list[Place]:
    """Return all places that hold the whole text, of those that share most words with it; else the nearest one."""
    documents = ac.documents
    nearest: Place | None = None
    whole: dict[tuple[str, int], Place] = {}
    for chunk, _ in ac.ranking("bm25", text, _LOOKED_AT):
        document = documents.get(chunk.document)
        place = _nearest_place(document, chunk, text, words) if document is not None else None
        if place is None:
            continue
        if place.share == 1:
            whole[place.document, place.start] = place
        elif nearest is None or place.share > nearest.share:
            nearest = place
    if not whole:
        whole = {(place.document, place.start): place for place in _letter_by_letter(ac, text)}
    return list(whole.values()) or ([nearest] if nearest is not None and nearest.share >= _NEAREST else [])


def _letter_by_letter(ac: AutoContext, text: str) -> Iterator[Place]:
    """Yield where each document has the very letters: also a piece that begins or ends inside of a word."""
    pattern = re.compile(r"\s+".join(map(re.escape, text.split())), re.I)
    for name, document in ac.documents.items():
        if match := pattern.search(document.text):
            yield Place(name, match.start(), match.end(), 1.0)


def _nearest_place(document: Document, chunk: Chunk, text: str, words: Sequence[str]) -> Place | None:
    """Return the part of a chunk and what is around it that shares most with the text; None where no word stands."""
    margin = 2 * len(text) + 100
    first = max(0, chunk.start - margin)
    spans = [
        (first + start, first + end, tokens[0])
        for start, end, tokens in word_spans(document.text[first : chunk.end + margin])
    ]
    if not spans:  # it was found by its document's title
        return None
    there = [word for _, _, word in spans]
    if (start := _position(words, there)) is not None:
        return Place(document.name, spans[start][0], spans[start + len(words) - 1][1], 1.0)
    (start, end), share = _densest(words, there)
    return Place(document.name, spans[start][0], spans[end - 1][1], share)


def _position(words: Sequence[str], there: Sequence[str]) -> int | None:
    """Return where `words` stand one after the other, or None."""
    wanted = list(words)
    for start in range(len(there) - len(wanted) + 1):
        if there[start] == wanted[0] and list(there[start : start + len(wanted)]) == wanted:
            return start
    return None


def _densest(words: Sequence[str], there: Sequence[str]) -> tuple[Span, float]:
    """Return the run of words, somewhat longer than `words`, that shares most with them, and how much: 0 to 1."""
    wanted: set[Any] = {*words, *pairwise(words)}
    length = len(words) * 5 // 4 + 2
    features: list[list[Any]] = [[there[0]]]
    features += [[word, (before, word)] for before, word in pairwise(there)]
    held: Counter[Any] = Counter()
    best, best_end = 0, 1
    for end, entering in enumerate(features, start=1):
        held.update(feature for feature in entering if feature in wanted)
        if end > length:
            for feature in features[end - length - 1]:
                if held[feature] > 1:
                    held[feature] -= 1
                else:
                    held.pop(feature, None)
        if len(held) > best:
            best, best_end = len(held), end
    start, end = _without_repetition(wanted, there, max(0, best_end - length), best_end)
    return (start, end), min(best / len(wanted), 0.999)


def _without_repetition(wanted: set[Any], there: Sequence[str], start: int, end: int) -> Span:
    """Return the shortest run within another that has as much of what is wanted."""

    def held(first: int, last: int) -> int:
        run = there[first:last]
        return len(wanted & {*run, *pairwise(run)})

    most = held(start, end)
    while end - start > 1 and held(start + 1, end) == most:
        start += 1
    while end - start > 1 and held(start, end - 1) == most:
        end -= 1
    return start, end


def _chunks_at(ac: AutoContext, place: Place) -> list[Chunk]:
    return [
        chunk
        for chunk in ac.chunks
        if chunk.document == place.document and chunk.start < place.end and chunk.end > place.start
    ]


def _identity(chunk: Chunk) -> tuple[str, int, int]:
    """Return what stays the same when documents come and go meanwhile."""
    return chunk.document, chunk.start, chunk.end


class _Judged:
    """One place with its chunks: which of them counts, and how well it does."""

    def __init__(self, place: Place, chunks: Sequence[Chunk], rows: dict[tuple[str, int, int], Row]) -> None:
        self.place, self.chunks = place, chunks
        self.rows = [rows.get(_identity(chunk)) for chunk in chunks]
        inside = [(c.start, c.end) for c, row in zip(chunks, self.rows, strict=True) if row and row.number is not None]
        self.covered = sum(max(0, min(end, place.end) - max(start, place.start)) for start, end in _merged(inside))
        self.numbers = [row.number for row in self.rows if row is not None and row.number is not None]
        main = max(
            range(len(chunks)),
            key=lambda n: (
                min(chunks[n].end, place.end) - max(chunks[n].start, place.start),
                -(row.place if (row := self.rows[n]) else len(rows) + 1),
            ),
        )
        self.chunk, self.row = chunks[main], self.rows[main]
        self.order = (-self.covered, self.row.place if self.row else len(rows) + 1)

    @property
    def is_in(self) -> bool:
        held = sum(
            max(0, min(end, self.place.end) - max(start, self.place.start))
            for start, end in _merged([(c.start, c.end) for c in self.chunks])
        )
        return self.covered >= held


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Return the spans, ascending, with those that overlap made one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            start, end = merged[-1][0], max(end, merged.pop()[1])
        merged.append((start, end))
    return merged


# --- what kept it out -------------------------------------------------------------------------------------------------


def _judge(
    ac: AutoContext, explanation: Explanation, best: _Judged, standings: Sequence[Standing]
) -> tuple[Verdict, list[str]]:
    row, prompt = best.row, explanation.prompt
    numbers = " and ".join(f"[{number}]" for number in best.numbers)
    if best.is_in:
        return "in the prompt", [f"It is in the prompt, in passage {numbers}."]
    if best.numbers:
        return "partly in the prompt", [
            f"A part of it is in the prompt, in passage {numbers}; the rest stands in a passage that is not.",
            "Larger passages may hold all of it: raise the number of sentences a passage.",
        ]
    text = best.chunk.text
    for number, item in enumerate(prompt.evidence, start=1):
        if repeats(text, item.chunk.text):
            nearly = "" if text == item.chunk.text else "nearly "
            return "duplicate", [f"It is {nearly}the same text as passage [{number}], which is in the prompt already."]
    left = _left_out(explanation, row)
    if left is not None and left.needs is not None:
        return "budget", [
            f"The token budget of {prompt.max_tokens:,} was full: it {left.reason}.",
            _budget_cure(ac, explanation, best, left.needs),
        ]
    if row is not None:
        more_would_do, cure = _number_cure(ac, explanation, best, row)
        taken = f"the prompt takes the best {explanation.num_results}"
        better = f"{row.place - 1:,} other passage{' is' if row.place == 2 else 's are'} better"
        told = f"{better}; {taken}, this one comes {_th(row.place)}."
        verdict: Verdict = "number of passages" if more_would_do else "others are better"
        return verdict, [told, *_behind(explanation, row), cure]
    if any(said.rank is not None for said in standings):
        return "others are better", [
            f"No retriever has it among its best {explanation.depth:,}, so it was no candidate.",
            "Ask in words that are nearer to it, or raise the number of candidates in the settings.",
        ]
    return "nothing in common", ["It shares no word with the question, and is not near to it in meaning."]


def _left_out(explanation: Explanation, row: Row | None) -> LeftOut | None:
    if row is None:
        return None
    return next((left for left in explanation.left_out if left.evidence.chunk is row.chunk), None)


def _behind(explanation: Explanation, row: Row) -> list[str]:
    """Tell how far it is behind the last passage of the prompt, in all and by retriever."""
    inside = [other for other in explanation.rows if other.number is not None]
    if not inside:
        return []
    last = inside[-1]
    lost = [
        f"{_name(own.retriever)} gives it {own.contribution or 0:.2f}, the other {theirs.contribution or 0:.2f}"
        for own, theirs in zip(row.opinions, last.opinions, strict=True)
    ]
    return [f"Its score is {row.score:.2f}, that of the prompt's last passage {last.score:.2f}: {'; '.join(lost)}."]


def _is_in(ac: AutoContext, explanation: Explanation, best: _Judged, num_results: int, max_tokens: int) -> bool:
    prompt = ac.get_prompt(explanation.prompt.question, num_results, max_tokens)
    return _identity(best.chunk) in {_identity(item.chunk) for item in prompt.evidence}


def _number_cure(ac: AutoContext, explanation: Explanation, best: _Judged, row: Row) -> tuple[bool, str]:
    """Return whether more passages would bring it in, tried out, and a sentence on what helps."""
    words = "Ask in words that are nearer to it"
    if row.place > _MOST_TRIED:
        return False, f"{words}."
    if _is_in(ac, explanation, best, row.place, explanation.prompt.max_tokens):
        return True, f"With {row.place} passages in the prompt it would be in."
    budget = f"with {row.place} passages, where it would be its turn, the token budget would be full before"
    return False, f"{words}: {budget}."


def _budget_cure(ac: AutoContext, explanation: Explanation, best: _Judged, needs: int) -> str:
    enough = explanation.prompt.max_tokens + needs
    if _is_in(ac, explanation, best, explanation.num_results, enough):
        return f"With a budget of {enough:,} tokens it would be in."
    return "A larger budget would hold more passages."


def _on_the_place(best: _Judged, times: int) -> list[str]:
    told = []
    if best.place.share < 1:
        told.append(
            f"It does not stand there word for word: {best.place.share:.0%} of its words and pairs of words do."
        )
    if len(best.chunks) > 1:
        told.append(f"It runs over {len(best.chunks)} passages; the one with most of it is told of.")
    if times > 1:
        told.append(f"It stands in {times} places; the one that does best is told of.")
    return told


def _standing(ac: AutoContext, retriever: str, question: str, chunk: Chunk) -> Standing:
    ranking = ac.ranking(retriever, question, len(ac.chunks))
    best = ranking[0][1].score if ranking else None
    for other, hit in ranking:
        if _identity(other) == _identity(chunk):
            return Standing(retriever, hit.rank, hit.score, len(ranking), best)
    return Standing(retriever, None, None, len(ranking), best)


def _told(said: Standing) -> str:
    name = _name(said.retriever)
    if said.rank is None:
        why = "it is not near to the question in meaning" if said.retriever == "dense" else "they share no word"
        return f"{name} does not return it: {why}."
    return f"{name} has it {_th(said.rank)} of {said.returned:,}, with {said.score:.2f}; its first has {said.best:.2f}."


def _name(retriever: str) -> str:
    return LABELS.get(retriever, retriever)


def _th(number: int) -> str:
    teen = 10 <= number % 100 <= 20
    return f"{number:,}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _not_in_the_documents(ac: AutoContext, explanation: Explanation, nearest: Place | None) -> WhyNot:
    told = ["It is not in the text of any document."]
    if nearest is not None:
        told.append(
            f"The nearest place is in {nearest.document}: {nearest.share:.0%} of its words and pairs are there."
        )
    scans = {name: document.empty_pages for name, document in ac.documents.items() if document.empty_pages}
    if scans:
        pages = "; ".join(f"{name}: {_listed(numbers)}" for name, numbers in list(scans.items())[:5])
        more = f" and {len(scans) - 5:,} more documents" if len(scans) > 5 else ""
        told.append(
            f"Pages without text, where it may stand in a picture: {pages}{more}. Text recognition may read them."
        )
    unread = [row.name for row in ac.unread]
    if unread:
        told.append(f"Files that could not be read, where it may stand: {_listed(unread)}.")
    if not scans and not unread:
        told.append("Look whether its file was added, on the Documents page.")
    return WhyNot("not in the documents", tuple(told), nearest, None, None, (), explanation)


def _listed(items: Sequence[object], most: int = 5) -> str:
    more = f" and {len(items) - most:,} more" if len(items) > most else ""
    return f"{', '.join(map(str, items[:most]))}{more}"
