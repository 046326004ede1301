"""What a question of a conversation is about, so that "Where was he born?" finds something; no model is asked.

A question that does not stand alone (it has a pronoun whose noun was said earlier, begins with "and", or holds hardly a
word of its own) is searched together with the topic of the talk: the names in the last answers that stand in their
passages, or else the content words of the last question that did stand alone. One that stands alone is searched
as it is, so that an old topic cannot get into a new one. The words are known in English, German, French and Spanish;
elsewhere a few pronouns, and shortness. Figures: docs/decisions/014-follow-up-questions.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from autocontext.datatypes import Turn
from autocontext.facts import Fact, find_facts
from autocontext.sentences import sentence_spans
from autocontext.tokenizing import content_words, fold, tokenize

_MOST_NAMES, _MOST_WORDS = 4, 6


def _folded(words: str) -> frozenset[str]:
    return frozenset(map(fold, words.split()))


# They always stand for somebody or something that was named.
_PERSONAL = _folded(
    "he she him her hers his they them their theirs himself herself themselves "
    "er ihm ihn ihr ihre ihrem ihren ihrer ihres seine seinem seinen seiner seines dessen deren denen "
    "ils elle elles lui leur leurs son sa ses celui celle ceux celles "
    "ella ellos ellas su sus suyo suya ese esa esos esas aquel aquella "
    "он она они его её ему ей их им lei loro suo sua suoi sue ele ela eles elas dele dela hij hem haar hun"
)
# They may also stand for nothing ("it rains"), or point into the question itself.
_NEUTRAL = _folded(
    "it its itself there this these those such former latter same "
    "sie dies diese dieser dieses diesem diesen dort dorthin damit davon dafür daran darin dazu dabei darauf daraus "
    "darüber dadurch derselbe dieselbe dasselbe il cela ça ceci eso esto allí ahí оно это там тогда esso isso isto daar"
)
_UNSPACED_PRONOUN = re.compile("それ|これ|あれ|その|この|あの|そこ|ここ|彼|[他她它]们?|这|那|其|그것|이것|그는|그녀")
_EXPLETIVE = re.compile(
    r"\b(?:is|are|was|were|be) there\b|\bthere (?:is|are|was|were)\b|\bthis (?:year|month|week|morning|evening|time)\b"
    r"|\bil y a\b|\bil faut\b|\by a-t-il\b|\b(?:is|was) it (?:true|possible|allowed)\b|\bwhat time is it\b"
    r"|\b(?:diese[rsnm]?|este|esta|cette) (?:woche|monat|jahr|año|semana|année|semaine)\b"
)
_THAT = re.compile(
    r"\b(?:is|was|did|does|do|about|of|for|after|before|in|at|to|like|with) that\b|\bthat\W*$"
    r"|\b(?:which|first|last|other|new|old) ones?\b"
)
_OPENER = re.compile(
    r"\W*(?:and|but|or|so|also|then|what about|how about|wie (?:sieht|steht) es mit|und|aber|oder|sowie|et|mais"
    r"|ou|alors|y|e|pero|o|entonces)\b"
)
_QUESTION_WORD = _folded(
    "who whom whose what which where when why how wer wen wem wessen was welche welcher welches wo wohin wann warum "
    "wie qui que quoi quel quelle où quand pourquoi comment combien quién qué cuál dónde cuándo cómo cuánto por"
)
_CLAUSE = re.compile(
    r"\b(?:and|or|when|if|because|while|after|before|und|oder|wenn|weil|falls|als|et|ou|si|quand|parce|y|cuando|porque)\b"
    r"|[,;:]"
)
_DEFINITION = re.compile(
    r"\W*(?:(?:what|who) (?:is|are|was|were)|(?:was|wer) (?:ist|sind|war|waren)|qu.est.ce que?|qui est|qu[ei]e?n? es)\b"
)
_SHORT = 4  # tokens
_SHORT_UNSPACED = 8  # characters


def search_question(question: str, history: Sequence[Turn]) -> str:
    """Return what to search for: the question, after the topic of the talk if it does not stand alone.

    Examples
    --------
    >>> talk = [Turn("Who wrote the thesis on bread rolls?", "It was Pauli Blendergast.")]
    >>> search_question("When was the boiler serviced?", talk)
    'When was the boiler serviced?'
    >>> search_question("Where was he born?", talk)
    'wrote thesis bread rolls: Where was he born?'
    """
    if not history or not is_follow_up(question):
        return question
    own = set(tokenize(question))
    terms = [term for term in topic(history) if own.isdisjoint(tokenize(term))]
    return f"{' '.join(terms)}: {question.strip()}" if terms else question


def is_follow_up(question: str) -> bool:
    """Tell whether a question needs what was said before to be understood.

    Examples
    --------
    >>> [is_follow_up(q) for q in ("Where was he born?", "And in 2016?", "Why?", "Where does Pauli teach?")]
    [True, True, True, False]
    """
    low = " ".join(fold(question).split())
    facts = find_facts(question)
    names = [fact for fact in facts if fact.kind in ("name", "code")]
    words = [fact for fact in facts if fact.kind == "word" and not fact.forms & (_PERSONAL | _NEUTRAL)]
    tokens = tokenize(question)
    if _is_unspaced(question):
        return bool(_UNSPACED_PRONOUN.search(question)) or len(question.strip()) <= _SHORT_UNSPACED
    if opener := _OPENER.match(question.lower()):
        whole = names and _QUESTION_WORD & set(tokenize(question[opener.end() :]))
        return not whole and len(words) + len(names) <= _SHORT
    if _points_back(question, names, words):
        return True
    if not words and not names:
        return True
    return not names and len(words) == 1 and len(tokens) <= _SHORT and not _DEFINITION.match(low)


def topic(history: Sequence[Turn]) -> list[str]:
    """Return what a follow-up question may be about: the names since the topic began, else the words it began with."""
    names: dict[str, None] = {}
    for turn in reversed(history):
        names |= dict.fromkeys(_names(turn))
        if not is_follow_up(turn.question):
            return list(names)[:_MOST_NAMES] or _words(turn.question)[:_MOST_WORDS]
    return list(names)[:_MOST_NAMES]


def rewriting_prompt(question: str, history: Sequence[Turn]) -> str:
    """Return the prompt that asks a model to put a question so that it stands alone."""
    said = "".join(f"Question: {turn.question}\nAnswer: {turn.answer}\n" for turn in history[-_MOST_NAMES:])
    return (
        "Rewrite the last question of this conversation so that it can be understood without the rest of it: put the "
        "names in for the pronouns. If it can be understood already, repeat it. Keep its language. Answer with the "
        f"question only.\n\n{said}\nLast question: {question}\nRewritten question:"
    )


def read_rewriting(text: str, question: str) -> str:
    """Return the question in a model's answer to `rewriting_prompt`; the given one if there is none in it."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = re.sub(r"^(?:rewritten question|last question|question)\s*:\s*", "", line, flags=re.I).strip("\"'`*“”„ ")
    return line if line and len(line) <= 20 * max(20, len(question)) else question


def _is_unspaced(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    return sum(char > "\u2e7f" for char in letters) * 2 > len(letters)


def _points_back(question: str, names: Sequence[Fact], words: Sequence[Fact]) -> bool:
    """Tell whether a pronoun stands for something outside of the question."""
    low = question.lower()
    for start, kind in _pronouns(question, low):
        if any(name.start < start for name in names):
            continue  # "Who is Finnemark, and where is her office?"
        if _CLAUSE.search(low, 0, start) and sum(word.start < start for word in words) >= 2:
            clause = max(match.start() for match in _CLAUSE.finditer(low, 0, start))
            if sum(word.start < clause for word in words) >= 2:
                continue  # "When does the boiler switch off, and how is it started?"
        if kind == "personal" or not names:
            return True
    return False


def _pronouns(question: str, low: str) -> Iterator[tuple[int, str]]:
    expletives = [match.span() for match in _EXPLETIVE.finditer(low)]
    for match in re.finditer(r"\w+", question):
        if any(start <= match.start() < end for start, end in expletives):
            continue
        word = fold(match.group())
        if match.group().lower() == "él" or word in _PERSONAL:
            yield match.start(), "personal"
        elif word in _NEUTRAL and match.group() != "Sie":
            yield match.start(), "neutral"
    for match in _THAT.finditer(low):
        yield match.start(), "neutral"


def _names(turn: Turn) -> Iterator[str]:
    """Yield the names of a turn: those of its question, and those of its answer that stand in its passages."""
    yield from _names_in(turn.question)
    passages = [item.chunk.text for item in turn.sources]
    if turn.answer:
        held = {token for text in passages for token in tokenize(text)}
        yield from (name for name in _names_in(turn.answer) if held.issuperset(tokenize(name)[:1]))
    elif passages:
        asked = set(content_words(tokenize(turn.question)))
        text = passages[0]
        sentences = [text[start:end] for start, end in sentence_spans(text)]
        yield from _names_in(max(sentences, key=lambda sentence: len(asked & set(tokenize(sentence))), default=""))


def _words(question: str) -> list[str]:
    """Return the content words of a question; pairs of an unspaced script are put together again."""
    spans: list[tuple[int, int]] = []
    for fact in find_facts(question):
        word = fold(question[fact.start : fact.end])
        if fact.kind == "number" or word in _PERSONAL | _NEUTRAL | _QUESTION_WORD:
            continue
        if spans and fact.start < spans[-1][1]:
            spans[-1] = (spans[-1][0], fact.end)
        else:
            spans.append((fact.start, fact.end))
    return [question[start:end] for start, end in spans]


def _names_in(text: str) -> list[str]:
    return [text[fact.start : fact.end] for fact in find_facts(text) if fact.kind in ("name", "code")]
