"""What an answer rests on: the passages it cites or matches, and what of it stands in none of them.

No model is asked. A sentence is compared with the prompt's passages by its facts (``facts.py``): numbers with their
units, dates, codes and names must stand there, each of them; ordinary words may be paraphrased, so they count only when
most of a sentence's are missing. Words of the question prove nothing and are left out. Where the passages are in
another language or script than the sentence, only what survives a translation is compared. What this finds and what it
cannot find: docs/decisions/013-checked-answers.md.
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

_FENCED = re.compile(r"^[^\S\n]*(```|~~~).*?(?:^[^\S\n]*\1|\Z)", re.M | re.S)
CITATION = re.compile(r"\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")
_MATCHED_FROM = 0.5  # share of what a sentence's facts weigh that one passage holds
_MANY_WORDS_MISSING = 0.5
_ANCHORS = 2  # so many numbers and names in the passages of a sentence tie it to them, whatever its words
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
        "up all each before after through into over under out off between during only more most other such very well "
        "even any every "
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
    def passages(self) -> tuple[int, ...]:
        """The passages that it cites or matches, each once, in order."""
        return tuple(dict.fromkeys(number for sentence in self.sentences for number in sentence.passages))

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
    def elsewhere(self) -> tuple[tuple[str, str, str], ...]:
        """What stands only in other passages than those cited for it: it, the cited ones, the others."""
        return tuple(
            (self.text[start:end], _listed(sentence.passages), _listed(others))
            for sentence in self.sentences
            for start, end, others in sentence.elsewhere
        )

    @property
    def findings(self) -> tuple[str, ...]:
        """All there is to tell, each as a sentence; empty for an answer whose every fact stands where it says."""
        told = [f"[{c.number}] is not in the prompt: the model made it up." for c in self.citations if not c.evidence]
        if self.not_found:
            told.append(f"Not found in the passages: {', '.join(self.not_found)}.")
        told += [f"{text!r} does not stand in {cited}, but in {others}." for text, cited, others in self.elsewhere]
        told += [f"No passage matches: {' '.join(sentence.split())}" for sentence in self.unmatched]
        if matched := [s for s in self.sentences if s.status == "matched"]:
            numbers = dict.fromkeys(n for sentence in matched for n in sentence.passages)
            told.append(f"Matched, not cited: {_listed(numbers)}.")
        return tuple(told)


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(f"[{number}]" for number in numbers)


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


def check_answer(text: str, prompt: Prompt) -> AnswerCheck:
    """Compare each sentence of an answer with the passages of its prompt; never fails, whatever the text is.

    What the user said, now and earlier in the conversation, is no claim of the answer.
    """
    passages = [_Passage.read(f"{e.chunk.document}\n{e.chunk.heading}\n{e.chunk.text}") for e in prompt.evidence]
    known = _Passage.read("\n".join([prompt.question, prompt.searched, *(turn.question for turn in prompt.history)]))
    weights = _weights(passages)
    prose = _blank(_FENCED, text)  # code is no claim
    spans = _checkable_spans(prose)
    cited = _citations_by_sentence(prose, spans, len(passages)) if prompt.numbered else [()] * len(spans)
    bare = _blank(CITATION, prose) if prompt.numbered else prose
    language = _language(tokenize(bare))
    read = [_Sentence.read(bare, span, known, language) for span in spans]
    sentences = tuple(
        _check_sentence(sentence, numbers, prompt.evidence, passages, weights)
        for sentence, numbers in zip(read, cited, strict=True)
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
        return _Passage(
            frozenset(forms),
            {form: frozenset(found) for form, found in units.items()},
            words,
            frozenset(stems),
            _language(words),
            _is_latin(text),
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


@dataclass(frozen=True, slots=True)
class _Sentence:
    """What of a sentence is compared; `own` are the facts that the question does not hold already."""

    start: int
    end: int
    facts: Sequence[Fact]
    own: Sequence[Fact]
    language: str
    is_latin: bool
    says_no: bool

    @staticmethod
    def read(text: str, span: tuple[int, int], known: _Passage, language: str) -> _Sentence:
        sentence = text[slice(*span)]
        facts = [fact for fact in find_facts(sentence) if not fact.forms <= _OF_ANSWERS]
        own = [fact for fact in facts if not known.holds(fact)]
        said = _language(tokenize(sentence)) or language
        says_no = _NOT_IN_DOCUMENTS.search(fold(sentence)) is not None
        return _Sentence(*span, facts, own, said, _is_latin(sentence), says_no)

    def comparable(self, facts: Sequence[Fact], near: Sequence[_Passage]) -> list[Fact]:
        """Return the facts that `near` would hold in the same form: names need the same script, words the language."""
        same_script = [passage for passage in near if passage.is_latin == self.is_latin]
        same_language = any(not self.language or passage.language in ("", self.language) for passage in same_script)
        return [
            fact
            for fact in facts
            if fact.kind in ("number", "date", "code") or (fact.kind == "name" and same_script) or same_language
        ]


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


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """Return `text` with blanks where the pattern matches, all offsets as they were."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def _checkable_spans(text: str) -> list[tuple[int, int]]:
    """Return the sentences of `text`, also those of a line of a table or list; not what holds nothing but ``[n]``."""
    said = _blank(CITATION, text)
    return [(start, end) for start, end in sentence_spans(text) if any(char.isalnum() for char in said[start:end])]


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
    sentence: _Sentence,
    cited: tuple[int, ...],
    evidence: Sequence[Evidence],
    passages: Sequence[_Passage],
    weights: Counter[str],
) -> CheckedSentence:
    start, end = sentence.start, sentence.end
    if sentence.says_no:
        return CheckedSentence(start, end, "not in the documents", cited)
    best = None if cited else _best_passage(sentence, passages, weights)
    sources = cited or ((best,) if best else ())
    near = [passages[n - 1] for n in _with_neighbours(sources, evidence)] or passages
    checked = sentence.comparable(sentence.own, near)
    holding = [tuple(n for n, passage in enumerate(passages, start=1) if passage.holds(fact)) for fact in checked]
    missing = [fact for fact, numbers in zip(checked, holding, strict=True) if not numbers]
    anchored = _anchored(checked, near)
    told = _worth_telling(checked, missing, words_count=bool(sources) and not anchored)
    elsewhere = tuple(
        (start + fact.start, start + fact.end, others)
        for fact, others in zip(checked, holding, strict=True)
        if cited and fact.kind in _HARD and others and not any(passage.holds(fact) for passage in near)
    )
    status: SentenceStatus = "cited" if cited else "matched" if best else "unmatched"
    if status == "unmatched" and not sentence.own:
        status = "nothing to check"
    spans = tuple((start + fact.start, start + fact.end) for fact in told)
    return CheckedSentence(start, end, status, sources, spans, elsewhere)


def _with_neighbours(numbers: Sequence[int], evidence: Sequence[Evidence]) -> list[int]:
    """Return passages and those that go on where one of them ends, or end where it begins: one text, cut in two."""
    places = {(evidence[n - 1].chunk.document, evidence[n - 1].chunk.number) for n in numbers}
    return [
        n
        for n, item in enumerate(evidence, start=1)
        if any((item.chunk.document, item.chunk.number + step) in places for step in (-1, 0, 1))
    ]


def _is_latin(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    return sum(char < "\u0250" for char in letters) * 2 > len(letters)


def _anchored(checked: Sequence[Fact], near: Sequence[_Passage]) -> bool:
    """Tell whether all hard facts of a sentence stand near, and enough of them to be sure what is spoken of."""
    hard = [fact for fact in checked if fact.kind in _HARD]
    return len(hard) >= _ANCHORS and all(any(passage.holds(fact) for passage in near) for fact in hard)


def _worth_telling(checked: Sequence[Fact], missing: Sequence[Fact], *, words_count: bool) -> list[Fact]:
    """Return what of the missing facts is told: every hard one; words if they count and most are missing."""
    words = [fact for fact in checked if fact.kind == "word"]
    missing_words = [fact for fact in missing if fact.kind == "word"]
    many = words_count and len(missing_words) >= 2 and len(missing_words) > _MANY_WORDS_MISSING * len(words)
    return [fact for fact in missing if fact.kind in _HARD or many]


def _best_passage(sentence: _Sentence, passages: Sequence[_Passage], weights: Counter[str]) -> int | None:
    """Return the number of the passage that holds most of what the facts weigh; None if that is too little."""
    best, most = None, 0.0
    for number, passage in enumerate(passages, start=1):
        compared = sentence.comparable(sentence.facts, [passage])
        held = [fact for fact in compared if passage.holds(fact)]
        total = sum(_weight(fact, weights, len(passages)) for fact in compared)
        share = sum(_weight(fact, weights, len(passages)) for fact in held) / total if total else 0.0
        proves = not sentence.own or any(fact in sentence.own for fact in held)
        if proves and share >= _MATCHED_FROM and share > most:
            best, most = number, share
    return best


def _weight(fact: Fact, weights: Counter[str], count: int) -> float:
    times = max((weights[form] for form in fact.forms), default=0)
    return math.log(1 + (count + 1) / (times + 1)) * (2.0 if fact.kind in _HARD else 1.0)
