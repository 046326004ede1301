"""A user's own questions with the passages that answer them: read, written, and found again in the documents.

An answer is a quote of a document, never the number of a passage: it survives when documents are cut in another way.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from autocontext.datatypes import Document
from autocontext.errors import QuestionError
from autocontext.tokenizing import fold, word_spans

MOST_QUESTIONS = 10_000
_MOST_LETTERS = 20_000  # of one line: a quote is a passage, not a book


@dataclass(frozen=True, slots=True)
class Question:
    """One line: a question and a place that answers it.

    A question that several places answer has a line for each, with the same id; any of them will do.

    Attributes
    ----------
    id
        Names the question, for example ``"q01"``.
    document
        Name of the document that holds the answer; None: nothing answers it.
    quote
        The answer as it stands in the document; None with `document`.
    page
        Its page, counted from 1, where the document has pages.
    """

    id: str
    question: str
    document: str | None = None
    quote: str | None = None
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a quote stands: ``documents[document].text[start:end]``; not `exact` if blanks, case or marks differ."""

    document: str
    start: int
    end: int
    exact: bool = True


# --- reading and writing ----------------------------------------------------------------------------------------------


def read_questions(data: str | bytes) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """Return the questions of a JSONL text, and a sentence with its number on each line that is not taken over.

    Raises
    ------
    QuestionError
        If the bytes are no UTF-8.

    Examples
    --------
    >>> read_questions('{"id": "a", "question": "Who?", "document": null, "quote": null, "page": null}')[0]
    (Question(id='a', question='Who?', document=None, quote=None, page=None),)
    >>> read_questions("Who?")[1]
    ('Line 1 is no JSON object.',)
    """
    if isinstance(data, bytes):
        try:
            data = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise QuestionError("This file is no UTF-8 text. Save it as UTF-8, a JSON object a line.") from error
    taken: list[Question] = []
    by_id: dict[str, list[Question]] = {}
    problems: list[str] = []
    for number, line in enumerate(data.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            question = _read_line(line)
            _check_against(question, by_id.get(question.id, []), len(taken))
        except QuestionError as error:
            problems.append(f"Line {number} {error}")
            continue
        taken.append(question)
        by_id.setdefault(question.id, []).append(question)
    return tuple(taken), tuple(problems)


def _read_line(line: str) -> Question:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise QuestionError("is no JSON object.")
    missing = [name for name in ("id", "question", "document") if name not in row]
    if missing:
        raise QuestionError(f"has no {missing[0]!r}.")
    unknown = sorted(row.keys() - {field.name for field in fields(Question)})
    if unknown:
        raise QuestionError(f"has an unknown field {unknown[0][:40]!r}.")
    question = Question(**row)
    _check(question)
    return question


def checked(question: Question) -> Question:
    """Return the question as it is; QuestionError if it cannot be one."""
    try:
        _check(question)
    except QuestionError as error:
        raise QuestionError(f"This question {error}") from None
    return question


def _check(question: Question) -> None:
    """Raise QuestionError, whose text goes on after "Line 3 ", if it cannot be one."""
    values = (question.id, question.question, question.document, question.quote)
    if not all(isinstance(value, str) or (value is None and n > 1) for n, value in enumerate(values)):
        raise QuestionError("has a value that is no text.")
    texts = [value or "" for value in values]
    if not question.id.strip() or not question.question.strip():
        raise QuestionError("has an empty id or question.")
    if (question.document is None) != (question.quote is None):
        raise QuestionError("needs both a document and a quote, or neither: null means that nothing answers it.")
    if question.document is not None and not (question.document.strip() and (question.quote or "").strip()):
        raise QuestionError("has an empty document or quote.")
    if question.page is not None and (type(question.page) is not int or question.page < 1):
        raise QuestionError("has a page that is no number from 1 on.")
    if sum(map(len, texts)) > _MOST_LETTERS:
        raise QuestionError(f"is longer than {_MOST_LETTERS:,} letters.")
    if any("\ud800" <= letter <= "\udfff" for text in texts for letter in text):
        raise QuestionError("holds half of a letter.")


def _check_against(question: Question, same: Sequence[Question], n_before: int) -> None:
    """Compare a line with those of the same id before it."""
    if n_before >= MOST_QUESTIONS:
        raise QuestionError(f"is beyond the {MOST_QUESTIONS:,} questions that are taken.")
    if any(other.question != question.question for other in same):
        raise QuestionError(f"gives the id {question.id[:40]!r} to a second question.")
    if any((other.document, other.quote) == (question.document, question.quote) for other in same):
        raise QuestionError("repeats a line before.")
    if any((other.document is None) != (question.document is None) for other in same):
        raise QuestionError(f"says of {question.id[:40]!r} both that something and that nothing answers it.")


def write_questions(questions: Iterable[Question]) -> str:
    """Return the questions as JSONL: what `read_questions` reads."""
    rows = ({field.name: getattr(question, field.name) for field in fields(Question)} for question in questions)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


# --- changing ---------------------------------------------------------------------------------------------------------


def with_answer(
    questions: Sequence[Question], text: str, document: str, quote: str, page: int | None
) -> list[Question]:
    """Return the questions with one more place that answers `text`; "nothing answers it" is not true any more."""
    line = checked(Question(_id_of(questions, text), _known(questions, text), document, quote, page))
    if any((other.id, other.document, other.quote) == (line.id, document, quote) for other in questions):
        return list(questions)
    return [other for other in questions if other.id != line.id or other.document is not None] + [line]


def with_no_answer(questions: Sequence[Question], text: str) -> list[Question]:
    """Return the questions with `text` as one that nothing answers, whatever was said of it before."""
    line = checked(Question(_id_of(questions, text), _known(questions, text)))
    return [other for other in questions if other.id != line.id] + [line]


def merged(questions: Sequence[Question], others: Sequence[Question]) -> list[Question]:
    """Return the questions with those of another list: a known question's lines are added to it, ids stay distinct.

    Where one list says that nothing answers a question and the other names an answer, the answer holds.
    """
    result = list(questions)
    ids = {_key(question.question): question.id for question in reversed(questions)}
    answered = {question.id for question in questions if question.document is not None}
    seen = {(question.id, question.document, question.quote) for question in questions}
    taken = set(ids.values())
    for other in others:
        key = _key(other.question)
        if key not in ids:
            ids[key] = other.id if other.id not in taken else _free_id(taken)
            taken.add(ids[key])
        line = replace(other, id=ids[key])
        if (line.id, line.document, line.quote) in seen or (line.document is None and line.id in answered):
            continue
        if line.document is not None and line.id not in answered:
            result = [one for one in result if one.id != line.id]
            answered.add(line.id)
        seen.add((line.id, line.document, line.quote))
        result.append(line)
    return result


def lines_of(questions: Sequence[Question], text: str) -> list[Question]:
    """Return the lines of one question, by its text."""
    return [question for question in questions if _same(question.question, text)]


def _key(text: str) -> str:
    """Return what two spellings of one question have in common."""
    return fold(" ".join(text.split()))


def _same(text: str, other: str) -> bool:
    return text == other or _key(text) == _key(other)


def _known(questions: Sequence[Question], text: str) -> str:
    return next((other.question for other in questions if _same(other.question, text)), text.strip())


def _id_of(questions: Sequence[Question], text: str) -> str:
    known = (other.id for other in questions if _same(other.question, text))
    return next(known, "") or _free_id({question.id for question in questions})


def _free_id(taken: Collection[str]) -> str:
    return next(name for n in range(1, len(taken) + 2) if (name := f"q{n:02}") not in taken)


# --- finding the answer -----------------------------------------------------------------------------------------------


def locate(question: Question, documents: Mapping[str, Document]) -> Place:
    """Return where a question's answer stands, exactly or but for blanks, case, accents and punctuation.

    Where it stands more than once, the named page decides, else the first place. A document of another folder counts
    if its file has the same name.

    Raises
    ------
    QuestionError
        If the document or the quote is not there, or nothing answers the question.
    """
    if question.document is None or question.quote is None:
        raise QuestionError("Nothing answers this question.")
    file_name = question.document.rpartition("/")[2]
    named = [documents[question.document]] if question.document in documents else []
    others = [d for name, d in documents.items() if name.rpartition("/")[2] == file_name and d not in named]
    for document in [*named, *others]:
        if place := _find(question.quote, question.page, document):
            return place
    if not named and not others:
        raise QuestionError(f"{question.document} is not among the documents. Add it, or correct its name.")
    where = (named or others)[0].name
    raise QuestionError(f"The quote is not in the text of {where} any more. Mark the answer again.")


def _find(quote: str, page: int | None, document: Document) -> Place | None:
    text, wanted = document.text, quote.strip()
    places: list[Place] = []
    start = text.find(wanted) if wanted else -1
    while start >= 0 and len(places) < MOST_QUESTIONS:
        places.append(Place(document.name, start, start + len(wanted)))
        start = text.find(wanted, start + 1)
    if not places and (folded := _find_folded(wanted, document)):
        places.append(folded)
    on_page = (place for place in places if page is not None and document.page_at(place.start) == page)
    return next(on_page, places[0] if places else None)


def _find_folded(quote: str, document: Document) -> Place | None:
    """Find the quote's words, one after the other; other places than the first are not looked for."""
    wanted = [tokens[0] for _, _, tokens in word_spans(quote) if tokens]
    spans = [(start, end, tokens[0]) for start, end, tokens in word_spans(document.text) if tokens]
    words = [word for _, _, word in spans]
    for first in range(len(words) - len(wanted) + 1 if wanted else 0):
        if words[first] == wanted[0] and words[first : first + len(wanted)] == wanted:
            return Place(document.name, spans[first][0], spans[first + len(wanted) - 1][1], exact=False)
    return None
