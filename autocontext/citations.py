"""What an answer rests on: the passages it cites or matches, and what of it stands in none of them.

No model is asked. A sentence is compared with the prompt's passages by its facts (``facts.py``): numbers with their
units, dates, codes and names must stand there, each of them; ordinary words may be paraphrased, so they count only when
most of a sentence's are missing. Words of the question prove nothing and are left out. Where the passages are in
another language or script than the sentence, only what survives a translation is compared. What this finds and what it
cannot find: docs/decisions/006-checked-answers.md.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from autocontext.datatypes import Citation, Evidence, Prompt
from autocontext.facts import Fact, find_facts
from autocontext.sentences import sentence_spans
from autocontext.tokenizing import fold, tokenize

SentenceStatus = Literal["cited", "matched", "unmatched", "nothing to check", "not in the documents"]

CITATION = re.compile(r"\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")
_MATCHED_FROM = 0.5  # share of what a sentence's facts weigh that one passage holds
_MANY_WORDS_MISSING = 0.5
_STEM = 0.7  # so much of a word's beginning stands for it: teach, teaches, teaching
_SHORTEST_STEM = 4
_HARD = ("number", "date", "code", "name")
# What answers say about themselves and their sources.
_OF_ANSWERS = frozenset(
    tokenize(
        "according based context document documents passage passages text texts source sources information answer "
        "question mention mentions mentioned state states stated note notes provided following given also additionally "
        "specifically therefore however thus both while because since called named known used takes taken place "
        "one ones become became made make makes took there section described describes located contains contain "
        "laut dokument dokumente dokumenten kontext text textes abschnitt quelle antwort frage angegeben jedoch "
        "außerdem selon contexte passage texte réponse question également según contexto documento respuesta también"
    )
)
_NOT_IN_DOCUMENTS = re.compile(
    "|".join(
        (
            r"not (?:\w+ ){0,2}in (?:the|your|these|any of the) (?:\w+ )?(?:documents?|context|passages?|texts?)",
            r"(?:documents?|context|passages?|texts?|information|notes)(?: \w+){0,2} (?:do(?:es)? not|doesn.t|don.t) "
            r"(?:\w+ ){0,2}(?:contain|mention|say|state|provide|include|specify|give|answer|tell|cover|indicate)",
            r"(?:cannot|can.t|could not|unable to) (?:be )?(?:find|found|answer|determine)",
            r"nicht (?:\w+ ){0,3}(?:dokument|kontext|text|unterlagen|passagen)",
            r"(?:dokumente?|kontext|text|unterlagen) (?:\w+ ){0,4}(?:nicht|keine)",
            r"(?:pas|aucune) (?:\w+ ){0,4}(?:documents?|contexte|textes?|passages?)",
            r"(?:documents?|contexte|textes?) (?:\w+ ){0,2}ne (?:\w+ ){0,3}pas",
            r"no (?:\w+ ){0,4}(?:documentos?|contexto|textos?|pasajes)|(?:documentos?|contexto|textos?) no ",
            r"(?:文書|文脈|資料|コンテキスト).{0,12}(?:ありません|ない|ません)|(?:文档|上下文|资料).{0,8}(?:没有|未)",
        )
    )
)
_LANGUAGES = {
    "en": "the of and is was are were in to that for with from by on at it they there has have be not",
    "de": "der die das und ist war sind waren den dem ein eine nicht wurde mit von für auf des zu sich er sie es",
    "fr": "le la les et est était sont des du une dans pour avec par sur au aux qui que il elle ne pas ce",
    "es": "el los las y es fue son del una en para con por al que se su no lo como era",
}
_MARKERS = {name: frozenset(fold(words).split()) for name, words in _LANGUAGES.items()}


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """One sentence of an answer and what it rests on.

    Attributes
    ----------
    start, end
        Where it stands in the answer.
    status
        ``"cited"``: it names its passages itself; ``"matched"``: it names none, but one fits; ``"unmatched"``: none
        does; ``"nothing to check"``: it says nothing of its own; ``"not in the documents"``: it says that.
    passages
        The numbers of the passages it cites or matches, those that exist.
    not_found
        Offsets in the answer of what stands in no passage of the prompt.
    elsewhere
        Offsets of what does not stand in the cited passages, but in others, with the numbers of those.
    """

    start: int
    end: int
    status: SentenceStatus
    passages: tuple[int, ...] = ()
    not_found: tuple[tuple[int, int], ...] = ()
    elsewhere: tuple[tuple[int, int, tuple[int, ...]], ...] = ()

    @property
    def flagged(self) -> bool:
        """Whether something in it stands in no passage, or no passage fits it at all."""
        return bool(self.not_found) or self.status == "unmatched"


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """What was found about a whole answer.

    Attributes
    ----------
    text
        The answer.
    sentences
        In order; what lies between them is blank.
    citations
        Each passage number that it cites, once, in order of first mention.
    """

    text: str
    sentences: tuple[CheckedSentence, ...]
    citations: tuple[Citation, ...]

    @property
    def says_not_in_documents(self) -> bool:
        """Whether the answer is only that the documents do not hold one."""
        stated = [sentence for sentence in self.sentences if sentence.status != "nothing to check"]
        return bool(stated) and all(sentence.status == "not in the documents" for sentence in stated)

    @property
    def not_found(self) -> tuple[str, ...]:
        """What stands in no passage, each once, in order."""
        found = [self.text[start:end] for sentence in self.sentences for start, end in sentence.not_found]
        return tuple(dict.fromkeys(found))

    @property
    def unmatched(self) -> tuple[str, ...]:
        """The sentences that cite nothing and fit no passage."""
        return tuple(self.text[s.start : s.end] for s in self.sentences if s.status == "unmatched")

    @property
    def findings(self) -> tuple[str, ...]:
        """All there is to tell, each as a sentence; empty for an answer whose every fact stands where it says."""
        told = [
            f"[{c.number}] is no passage of the prompt: the model made it up." for c in self.citations if not c.evidence
        ]
        if self.not_found:
            told.append(f"Not found in the passages: {', '.join(self.not_found)}.")
        for sentence in self.sentences:
            for start, end, others in sentence.elsewhere:
                cited = ", ".join(f"[{n}]" for n in sentence.passages)
                there = ", ".join(f"[{n}]" for n in others)
                told.append(
                    f"{self.text[start:end]!r} does not stand in {cited}, which is cited for it, but in {there}."
                )
        told += [f"No passage matches: {' '.join(sentence.split())}" for sentence in self.unmatched]
        if matched := [s for s in self.sentences if s.status == "matched"]:
            numbers = dict.fromkeys(n for sentence in matched for n in sentence.passages)
            told.append(f"Matched, not cited: {', '.join(f'[{n}]' for n in numbers)}.")
        return tuple(told)


def find_citations(text: str, prompt: Prompt) -> tuple[Citation, ...]:
    """Return the passages that `text` cites as ``[n]`` or ``[n, m]``; a number without a passage has no evidence.

    Nothing is a citation where the prompt does not number its passages.
    """
    if not prompt.numbered:
        return ()
    numbers = dict.fromkeys(n for match in CITATION.finditer(text) for n in cited_numbers(match))
    count = len(prompt.evidence)
    return tuple(Citation(n, prompt.evidence[n - 1] if 1 <= n <= count else None) for n in numbers)


def cited_numbers(match: re.Match[str]) -> list[int]:
    """Return the numbers in one match of `CITATION`."""
    return [int(number) for number in re.findall(r"\d+", match.group(1))]


def strip_citations(text: str) -> str:
    """Return `text` without its ``[n]``, for a place where the numbers mean nothing."""
    return re.sub(rf"[^\S\n]*{CITATION.pattern}", "", text)


def check_answer(text: str, prompt: Prompt, asked: Iterable[str] = ()) -> AnswerCheck:
    """Compare each sentence of an answer with the passages of its prompt.

    Parameters
    ----------
    asked
        What the user said besides the prompt's question, for example earlier in a conversation.

    Examples
    --------
    See ``tests/test_citations.py``; ``Answer.check`` is this for an answer of ``AutoContext.ask``.
    """
    passages = [_Passage.read(f"{e.chunk.document}\n{e.chunk.heading}\n{e.chunk.text}") for e in prompt.evidence]
    known = _Passage.read("\n".join([prompt.question, *asked]))
    weights = _weights(passages)
    spans = _checkable_spans(text)
    cited = _citations_by_sentence(text, spans, len(passages)) if prompt.numbered else [()] * len(spans)
    bare = CITATION.sub(lambda match: " " * len(match.group()), text) if prompt.numbered else text
    sentences = tuple(
        _check_sentence(bare, span, numbers, prompt.evidence, passages, known, weights)
        for span, numbers in zip(spans, cited, strict=True)
    )
    return AnswerCheck(text, sentences, find_citations(text, prompt))


@dataclass(frozen=True, slots=True)
class _Passage:
    """What of a passage is compared."""

    forms: frozenset[str]
    units: Mapping[str, frozenset[str]]  # of a number's form; "" where it stands without one
    words: frozenset[str]
    stems: frozenset[str]
    language: str
    is_latin: bool

    @staticmethod
    def read(text: str) -> _Passage:
        forms: set[str] = set()
        units: dict[str, set[str]] = {}
        for fact in find_facts(text):
            forms |= fact.forms
            forms |= {f"m:{form[2:].partition('-')[0]}" for form in fact.forms if form.startswith("d:")}
            forms |= {_bare_code(form) for form in fact.forms if form.startswith("c:")}
            for form in fact.forms if fact.kind == "number" else ():
                units.setdefault(form, set()).add(fact.unit)
        words = frozenset(tokenize(text))
        stems = {word[:n] for word in words for n in range(_SHORTEST_STEM, len(word) + 1)}
        letters = [char for char in text if char.isalpha()]
        latin = sum(char < "\u0250" for char in letters)
        return _Passage(
            frozenset(forms),
            {form: frozenset(found) for form, found in units.items()},
            words,
            frozenset(stems),
            _language(words),
            latin * 2 > len(letters),
        )

    def holds(self, fact: Fact) -> bool:
        """Tell whether the fact stands here in one of its forms."""
        if fact.kind == "word":
            return any(w in self.words or w in self.forms or _stem(w) in self.stems for w in fact.forms)
        if fact.kind == "name":
            return any(self._holds_name(name) for name in fact.forms)
        if fact.kind == "code":
            return any(form in self.forms or _bare_code(form) in self.forms for form in fact.forms)
        shared = fact.forms & self.forms
        if fact.kind == "number" and fact.unit and shared:
            units = set().union(*(self.units.get(form, {""}) for form in shared))
            return fact.unit in units or "" in units
        return bool(shared)

    def _holds_name(self, name: str) -> bool:
        parts = re.split(r"[-_./:@\u2010\u2011]", name)
        return all(
            {part, f"{part}s", part.removesuffix("s"), part.removesuffix("es")} & self.words for part in parts if part
        )


def _stem(word: str) -> str:
    return word[: max(_SHORTEST_STEM, math.ceil(len(word) * _STEM))]


def _bare_code(form: str) -> str:
    return "c:" + re.sub(r"[^\w]|_", "", form[2:])


def _language(words: Iterable[str]) -> str:
    """Return the language whose function words are most among `words`; "" if there are none, or as many of another."""
    found = set(words)
    counts = Counter({name: len(markers & found) for name, markers in _MARKERS.items()})
    (best, most), (_, second) = counts.most_common(2)
    return best if most > second else ""


def _weights(passages: Sequence[_Passage]) -> Counter[str]:
    """Return in how many passages each word and form stands."""
    return Counter(form for passage in passages for form in passage.forms | passage.words)


def _checkable_spans(text: str) -> list[tuple[int, int]]:
    """Return the sentences of `text`, also those of a line of a table or list, without code fences' marks."""
    return [(start, end) for start, end in sentence_spans(text) if any(char.isalnum() for char in text[start:end])]


def _citations_by_sentence(text: str, spans: Sequence[tuple[int, int]], count: int) -> list[tuple[int, ...]]:
    """Return the existing passages that each sentence cites.

    A citation at the very beginning of a sentence belongs to the one before, unless that has one already.
    """
    found: list[list[int]] = [[] for _ in spans]
    for match in CITATION.finditer(text):
        place = next((n for n, (_, end) in enumerate(spans) if match.start() < end), len(spans) - 1)
        if place < 0:
            break
        between = CITATION.sub("", text[spans[place][0] : match.start()])
        leads = match.start() >= spans[place][0] and not any(char.isalnum() for char in between)
        if (leads or match.start() < spans[place][0]) and place > 0 and (leads_on := not found[place - 1]):
            place -= leads_on
        found[place] += [number for number in cited_numbers(match) if 1 <= number <= count]
    return [tuple(dict.fromkeys(numbers)) for numbers in found]


def _check_sentence(
    text: str,
    span: tuple[int, int],
    cited: tuple[int, ...],
    evidence: Sequence[Evidence],
    passages: Sequence[_Passage],
    known: _Passage,
    weights: Counter[str],
) -> CheckedSentence:
    start, end = span
    sentence = text[start:end]
    if _NOT_IN_DOCUMENTS.search(fold(sentence)):
        return CheckedSentence(start, end, "not in the documents", cited)
    facts = [fact for fact in find_facts(sentence) if not fact.forms <= _OF_ANSWERS]
    own = [fact for fact in facts if not known.holds(fact)]
    best = None if cited else _best_passage(facts, own, sentence, passages, weights)
    sources = cited or ((best,) if best else ())
    near = [passages[n - 1] for n in _with_neighbours(sources, evidence)] or passages
    checked = _comparable(own, sentence, near)
    holding = [tuple(n for n, passage in enumerate(passages, start=1) if passage.holds(fact)) for fact in checked]
    missing = [fact for fact, numbers in zip(checked, holding, strict=True) if not numbers]
    told = _worth_telling(checked, missing)
    elsewhere = [
        (start + fact.start, start + fact.end, others)
        for fact, others in zip(checked, holding, strict=True)
        if cited and fact.kind in _HARD and others and not any(passage.holds(fact) for passage in near)
    ]
    if not own and not cited and not best:
        status: SentenceStatus = "nothing to check"
    else:
        status = "cited" if cited else "matched" if best else "unmatched"
    return CheckedSentence(
        start,
        end,
        status,
        sources,
        tuple((start + fact.start, start + fact.end) for fact in told),
        tuple(elsewhere),
    )


def _with_neighbours(numbers: Sequence[int], evidence: Sequence[Evidence]) -> list[int]:
    """Return passages and those that go on where one of them ends, or end where it begins: one text, cut in two."""
    places = {(evidence[n - 1].chunk.document, evidence[n - 1].chunk.number) for n in numbers}
    return [
        n
        for n, item in enumerate(evidence, start=1)
        if any((item.chunk.document, item.chunk.number + step) in places for step in (-1, 0, 1))
    ]


def _comparable(facts: Sequence[Fact], sentence: str, near: Sequence[_Passage]) -> list[Fact]:
    """Return the facts that would stand in `near` in the same form: names need the same script, words the language."""
    language = _language(tokenize(sentence))
    same_script = [passage for passage in near if passage.is_latin == _is_latin(sentence)]
    same_language = any(not language or passage.language in ("", language) for passage in same_script)
    return [
        fact
        for fact in facts
        if fact.kind in ("number", "date", "code") or (fact.kind == "name" and same_script) or same_language
    ]


def _is_latin(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    return sum(char < "\u0250" for char in letters) * 2 > len(letters)


def _worth_telling(checked: Sequence[Fact], missing: Sequence[Fact]) -> list[Fact]:
    """Return what of the missing facts is told: every hard one; words only if most of them are missing."""
    words = [fact for fact in checked if fact.kind == "word"]
    missing_words = [fact for fact in missing if fact.kind == "word"]
    many = len(missing_words) >= 2 and len(missing_words) > _MANY_WORDS_MISSING * len(words)
    return [fact for fact in missing if fact.kind in _HARD or many]


def _best_passage(
    facts: Sequence[Fact],
    own: Sequence[Fact],
    sentence: str,
    passages: Sequence[_Passage],
    weights: Counter[str],
) -> int | None:
    """Return the number of the passage that holds most of what the facts weigh; None if that is too little."""
    best, most = None, 0.0
    for number, passage in enumerate(passages, start=1):
        compared = _comparable(facts, sentence, [passage])
        total = sum(_weight(fact, weights, len(passages)) for fact in compared)
        held = [fact for fact in compared if passage.holds(fact)]
        share = sum(_weight(fact, weights, len(passages)) for fact in held) / total if total else 0.0
        proves = any(fact in own for fact in held) or not own
        if proves and share >= _MATCHED_FROM and share > most:
            best, most = number, share
    return best


def _weight(fact: Fact, weights: Counter[str], count: int) -> float:
    times = max((weights[form] for form in fact.forms), default=0)
    return math.log(1 + (count + 1) / (times + 1)) * (2.0 if fact.kind in _HARD else 1.0)
