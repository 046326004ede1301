"""Measure settings on questions of one's own: how early is the answer found, and what does that cost in tokens.

An answer is a quote of a document (``autocontext.questions``); a passage is relevant if it holds letters or digits of
it, so a quote that lies over two passages has two relevant ones. What is counted for a question:

- rank: of the first relevant passage among the best `DEPTH`.
- recall@k: the share of the quote's letters and digits that the best k passages hold. 0 or 1 where the quote lies in
  one passage; where documents are cut makes no difference.
- MRR@10: 1 / rank, 0 beyond the tenth.
- nDCG@10: each passage gains the letters that those before it do not hold, discounted by log2(rank + 1), divided by
  the same for the best possible order (the richest passage first).
- tokens: of the prompt, in the form of the settings, with the passages down to the one that completes the quote.

Where several places answer a question, each figure is that of the best one: any of them will do. Figures of several
questions are means, tokens a median (of an even number the lower one), with the intervals of ``autocontext.metrics``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from autocontext import loaders
from autocontext.datatypes import Chunk, Document, Evidence, Support
from autocontext.engine import AutoContext
from autocontext.errors import QuestionError, SettingsError
from autocontext.indexing import Progress
from autocontext.metrics import CUTOFF, Figure, auroc_figure, mean_figure, median_figure, score_place, sign_test
from autocontext.prompt import build_prompt
from autocontext.protocols import Encoder, ReadingEncoder, Vectors
from autocontext.questions import Place, Question, locate
from autocontext.sentences import split_into_sentences
from autocontext.settings import Settings
from autocontext.support import LOOKED_AT
from autocontext.tokens import count_tokens

PRESENT = "present settings"
DEPTH = 100
RECALL_AT = (1, 3, 5, 10)
_NO_BUDGET = 10**9
_GROUP = 25  # questions that are searched before their verdicts are made
_ALIKE = 1e-9  # floating point


@dataclass(frozen=True, slots=True)
class Score:
    """What one question got; see the module for each figure.

    Attributes
    ----------
    rank, tokens
        None if the answer, or all of it, is not among the best `DEPTH` passages.
    recall
        By k, for each of `RECALL_AT`.
    """

    id: str
    question: str
    rank: int | None
    tokens: int | None
    recall: Mapping[int, float]
    mrr: float
    ndcg: float


@dataclass(frozen=True, slots=True)
class Verdicts:
    """How well the verdict on a search tells questions apart.

    Attributes
    ----------
    auroc
        Chance that an answerable question has more support than one that nothing answers; a tie counts half.
    warned
        Share of the answerable ones that are told "probably not in your documents".
    caught
        The same share of those that nothing answers.
    """

    auroc: Figure | None
    warned: float
    caught: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """A question answered earlier or later than by the present settings: its ranks and tokens there and here."""

    id: str
    question: str
    is_win: bool
    ranks: tuple[int | None, int | None]
    tokens: tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One system against the present settings, question by question.

    Attributes
    ----------
    by
        What decides a question: ``"nDCG@10"`` where documents are cut alike, else ``"tokens"``, because longer passages
        have better ranks by themselves.
    changes
        The wins and losses, in the questions' order.
    p_value
        Of the two-sided sign test: how likely are wins and losses so uneven if both are equally good.
    difference
        Of nDCG@10, paired by question.
    """

    by: str
    wins: int
    losses: int
    ties: int
    p_value: float
    difference: Figure
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """One system: a retriever alone, the present settings, or others.

    Attributes
    ----------
    figures
        ``"recall@1"``, ..., ``"MRR@10"``, ``"nDCG@10"``, ``"tokens"``.
    comparison
        None for the present settings.
    """

    name: str
    settings: Settings
    n_chunks: int
    figures: Mapping[str, Figure]
    verdicts: Verdicts
    scores: tuple[Score, ...]
    comparison: Comparison | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What was measured.

    Attributes
    ----------
    results
        The present settings first. Where it was stopped, those that were done by then.
    left_out
        A sentence on each question that could not be measured, for example because its document is not there.
    """

    n_answerable: int
    n_absent: int
    results: tuple[Result, ...]
    left_out: tuple[str, ...] = ()
    stopped: bool = False


@dataclass(frozen=True)
class _Case:
    """A question with the letters of each place that answers it; none for one that nothing answers."""

    id: str
    question: str
    places: tuple[tuple[Place, frozenset[int]], ...] = ()


class _StoppedError(Exception):
    """Ends what has no other way to be stopped."""


# --- running ----------------------------------------------------------------------------------------------------------


def evaluate(
    ac: AutoContext,
    questions: Sequence[Question],
    settings: Mapping[str, Settings] | None = None,
    *,
    alone: bool = True,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Evaluation:
    """Measure the present settings of a collection, each of their retrievers alone, and other settings by their names.

    The documents are those of now, whatever is added meanwhile. Nothing of the collection changes.

    Parameters
    ----------
    alone
        Whether each retriever is measured alone, if more than one is in use.
    progress
        Called with what is going on, what is done and the whole.
    should_stop
        Asked between two questions; True ends it, and what was measured by then is returned.

    Raises
    ------
    QuestionError
        If there is no question with an answer in the documents: figures of nothing would be zeros.
    SettingsError
        If settings name what there is not, or a name is taken by a system of ours.
    """
    stop, tell = should_stop or (lambda: False), progress or (lambda _what, _done, _total: None)
    cases, left_out = _cases(questions, ac.documents)
    answerable = [case for case in cases if case.places]
    if not answerable:
        told = " ".join(left_out[:3]) or "Mark the answer of at least one question first."
        raise QuestionError(f"No question has its answer in the documents, so nothing can be measured. {told}")
    systems = _systems(ac, settings or {}, alone=alone)
    results: list[Result] = []
    total = len(cases) * len(systems)

    def step(what: str, done: int, whole: int) -> None:
        if stop():
            raise _StoppedError
        tell(what, done, whole)

    def measuring(name: str, before: int, done: int) -> None:
        step(f"Measuring {name}", before + done, total)

    is_stopped = False
    try:
        step("Reading the questions", 0, total)
        remembering = _remembering(ac.encoder)
        if remembering is not None and "dense" in ac.retrievers:
            remembering.encode([case.question for case in cases])
        base = ac.variant(ac.settings, encoder=remembering)
        for name, chosen in systems.items():
            system = (base if chosen.encoder == ac.settings.encoder else ac).variant(chosen)
            system.warm_up(step)
            measured = _measure(system, cases, partial(measuring, name, len(results) * len(cases)))
            result = _summed_up(name, system, measured)
            if results:
                result = replace(result, comparison=_compare(results[0], result, alike=system.chunks == base.chunks))
            results.append(result)
        tell("Measured", total, total)
    except _StoppedError:
        is_stopped = True
    return Evaluation(len(answerable), len(cases) - len(answerable), tuple(results), tuple(left_out), is_stopped)


def _systems(ac: AutoContext, given: Mapping[str, Settings], *, alone: bool) -> dict[str, Settings]:
    systems = {PRESENT: ac.settings}
    if alone and len(ac.retrievers) > 1:
        systems |= {f"{name} alone": replace(ac.settings, retrievers=(name,), weights={}) for name in ac.retrievers}
    for name in given:
        if name in systems:
            raise SettingsError(f"The name {name!r} is taken; give these settings another one.")
    return {**systems, **given}


def _cases(questions: Sequence[Question], documents: Mapping[str, Document]) -> tuple[list[_Case], list[str]]:
    """Return the questions with their places, and a sentence on each answer that is not found."""
    lines: dict[str, list[Question]] = {}
    for question in questions:
        lines.setdefault(question.id, []).append(question)
    cases: list[_Case] = []
    problems: list[str] = []
    for id_, same in lines.items():
        places: list[tuple[Place, frozenset[int]]] = []
        for line in same:
            if line.document is None:
                continue
            try:
                place = locate(line, documents)
                places.append((place, _letters(documents[place.document].text, place)))
            except QuestionError as error:
                problems.append(f"{line.id}: {error}")
        if places or all(line.document is None for line in same):
            cases.append(_Case(id_, loaders.clean_text(same[0].question)[0], tuple(places)))
    return cases, problems


def _letters(text: str, place: Place) -> frozenset[int]:
    """Return where the quote's letters and digits stand; of one without any, all that is no blank."""
    inside = range(place.start, place.end)
    return frozenset(n for n in inside if text[n].isalnum()) or frozenset(n for n in inside if not text[n].isspace())


@dataclass(frozen=True)
class _Measured:
    """What one question came to; `score` is None for one that nothing answers."""

    score: Score | None
    support: Support


def _measure(system: AutoContext, cases: Sequence[_Case], tell: Callable[[int], None]) -> list[_Measured]:
    by_document: dict[str, list[Chunk]] = {}
    for chunk in system.chunks:
        by_document.setdefault(chunk.document, []).append(chunk)
    measured: list[_Measured] = []
    for first in range(0, len(cases), _GROUP):
        group = cases[first : first + _GROUP]
        rankings = []
        for case in group:
            tell(len(measured))
            rankings.append(system.search(case.question, DEPTH))
        _embed_sentences(system, rankings)
        for case, found in zip(group, rankings, strict=True):
            tell(len(measured))
            support = system.judge(case.question, found)
            score = _score(case, found, by_document, system.settings, support) if case.places else None
            measured.append(_Measured(score, support))
    return measured


def _embed_sentences(system: AutoContext, rankings: Sequence[Sequence[Evidence]]) -> None:
    """Embed what the verdicts will look at in one go: much faster than a few sentences a question."""
    encoder = system.encoder
    if isinstance(encoder, _Remembering) and "dense" in system.retrievers:
        best = {item.chunk.text for found in rankings for item in found[:LOOKED_AT]}
        encoder.encode([sentence for text in sorted(best) for sentence in split_into_sentences(text)])


def _score(
    case: _Case, found: Sequence[Evidence], by_document: Mapping[str, list[Chunk]], settings: Settings, support: Support
) -> Score:
    ranking = [item.chunk for item in found]
    places = [
        score_place(ranking, place.document, letters, by_document.get(place.document, []))
        for place, letters in case.places
    ]
    ranks = [place.rank for place in places if place.rank is not None]
    complete = [place.complete for place in places if place.complete is not None]
    first = min(ranks, default=None)
    return Score(
        id=case.id,
        question=case.question,
        rank=first,
        tokens=_prompt_tokens(case.question, found[: min(complete)], settings, support) if complete else None,
        recall={k: max(place.recall(k) for place in places) for k in RECALL_AT},
        mrr=1 / first if first is not None and first <= CUTOFF else 0.0,
        ndcg=max(place.ndcg for place in places),
    )


def _prompt_tokens(question: str, found: Sequence[Evidence], settings: Settings, support: Support) -> int:
    """Return the tokens of the prompt with these passages; copies among them take no place, as in any prompt."""
    prompt = build_prompt(
        question,
        found,
        support=support,
        template=settings.template,
        max_chunks=len(found),
        max_tokens=_NO_BUDGET,
        count_tokens=count_tokens,
    )
    return prompt.tokens


# --- figures of many questions ----------------------------------------------------------------------------------------


def _summed_up(name: str, system: AutoContext, measured: Sequence[_Measured]) -> Result:
    scores = tuple(one.score for one in measured if one.score is not None)
    columns = {f"recall@{k}": [score.recall[k] for score in scores] for k in RECALL_AT}
    columns |= {f"MRR@{CUTOFF}": [score.mrr for score in scores], f"nDCG@{CUTOFF}": [score.ndcg for score in scores]}
    figures = {title: mean_figure(values) for title, values in columns.items()}
    figures["tokens"] = median_figure([score.tokens for score in scores])
    return Result(name, system.settings, len(system.chunks), figures, _verdicts(measured), scores)


def _verdicts(measured: Sequence[_Measured]) -> Verdicts:
    here = [one.support for one in measured if one.score is not None]
    absent = [one.support for one in measured if one.score is None]
    warned = _share_of_none(here)
    if not absent:
        return Verdicts(None, warned, None)
    auroc = auroc_figure([support.score for support in here], [support.score for support in absent])
    return Verdicts(auroc, warned, _share_of_none(absent))


def _share_of_none(verdicts: Sequence[Support]) -> float:
    return sum(support.level == "none" for support in verdicts) / len(verdicts)


def _compare(before: Result, after: Result, *, alike: bool) -> Comparison:
    changes: list[Change] = []
    for old, new in zip(before.scores, after.scores, strict=True):
        gain = new.ndcg - old.ndcg if alike else (old.tokens or math.inf) - (new.tokens or math.inf)
        if math.isnan(gain) or abs(gain) < _ALIKE:  # of tokens: found by neither
            continue
        changes.append(Change(new.id, new.question, gain > 0, (old.rank, new.rank), (old.tokens, new.tokens)))
    wins = sum(change.is_win for change in changes)
    differences = [new.ndcg - old.ndcg for old, new in zip(before.scores, after.scores, strict=True)]
    return Comparison(
        by=f"nDCG@{CUTOFF}" if alike else "tokens",
        wins=wins,
        losses=len(changes) - wins,
        ties=len(before.scores) - len(changes),
        p_value=sign_test(wins, len(changes) - wins),
        difference=mean_figure(differences),
        changes=tuple(changes),
    )


# --- the encoder ------------------------------------------------------------------------------------------------------


class _Remembering:
    """An encoder that embeds a text once: systems share questions, and the sentences that the verdict looks at."""

    def __init__(self, encoder: Encoder) -> None:
        self.name = encoder.name
        self._encoder = encoder
        self._rows: dict[str, Vectors] = {}

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return shape (len(texts), dim)."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if missing:
            self._rows.update(zip(missing, self._encoder.encode(missing), strict=True))
        return np.stack([self._rows[text] for text in texts]) if len(texts) else self._encoder.encode([])


class _RememberingReading(_Remembering):
    """The same of an encoder that tells what it can read."""

    def __init__(self, encoder: ReadingEncoder) -> None:
        super().__init__(encoder)
        self.max_tokens = encoder.max_tokens
        self.count_tokens = encoder.count_tokens
        self.readability = encoder.readability


def _remembering(encoder: Encoder | None) -> _Remembering | None:
    if isinstance(encoder, ReadingEncoder):
        return _RememberingReading(encoder)
    return _Remembering(encoder) if encoder is not None else None
