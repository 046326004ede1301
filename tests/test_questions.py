"""Questions of one's own: read line by line, written as they were, and their answers found again in the documents."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocontext import AutoContext, Settings
from autocontext.collections import Collections
from autocontext.datatypes import Document
from autocontext.errors import QuestionError
from autocontext.questions import (
    MOST_QUESTIONS,
    Place,
    Question,
    lines_of,
    locate,
    merged,
    read_questions,
    with_answer,
    with_no_answer,
    write_questions,
)
from autocontext.settings import EncoderOptions
from tests.conftest import DATA, HashEncoder

SALT = Question("q01", "When does salt melt?", "a.txt", "Salt melts at 801 degrees.")
NOTHING = Question("q02", "Who is the king?")


def line(**changes) -> str:
    return json.dumps({"id": "a", "question": "Who?", "document": "d.txt", "quote": "Me.", "page": None} | changes)


def documents(**texts: str) -> dict[str, Document]:
    return {f"{name}.txt": Document(f"{name}.txt", text, "0" * 64) for name, text in texts.items()}


# ---- reading and writing ---------------------------------------------------------------------------------------------


def test_the_questions_of_the_sample_are_read_and_written_to_the_byte():
    data = (DATA / "questions.jsonl").read_bytes()
    questions, problems = read_questions(data)
    assert (len(questions), problems) == (53, ())
    assert questions[0] == Question(
        "q01",
        "Who says that economics is bullshit?",
        "data/economics.txt",
        "Pauli Blendergast says that economics is bullshit.",
        None,
    )
    assert write_questions(questions).encode() == data


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ("Who?", "is no JSON object."),
        ("[1]", "is no JSON object."),
        ("[" * 100_000, "is no JSON object."),
        ('{"id": "a", "question": "Who?"}', "has no 'document'."),
        (line(colour="red"), "has an unknown field 'colour'."),
        (line(quote=7), "has a value that is no text."),
        (line(document=0), "has a value that is no text."),
        (line(id=None), "has a value that is no text."),
        (line(question=" "), "has an empty id or question."),
        (line(quote=None), "needs both a document and a quote, or neither: null means that nothing answers it."),
        (line(quote=" \n"), "has an empty document or quote."),
        (line(page=0), "has a page that is no number from 1 on."),
        (line(page=True), "has a page that is no number from 1 on."),
        (line(quote="x" * 20_000), "is longer than 20,000 letters."),
        (line(quote="\ud800"), "holds half of a letter."),
    ],
)
def test_a_bad_line_is_named_with_its_number_and_the_rest_is_taken(bad, problem):
    questions, problems = read_questions("\n".join([line(id="before"), "", bad, line(id="after")]))
    assert [question.id for question in questions] == ["before", "after"]
    assert problems == (f"Line 3 {problem}",)


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        (line(question="Where?"), "gives the id 'a' to a second question."),
        (line(page=2), "repeats a line before."),
        (line(document=None, quote=None), "says of 'a' both that something and that nothing answers it."),
    ],
)
def test_a_line_that_contradicts_one_before_is_named(second, problem):
    assert read_questions(f"{line()}\n{second}")[1] == (f"Line 2 {problem}",)


def test_several_lines_of_one_id_are_several_places_that_answer_one_question():
    questions, problems = read_questions(f"{line()}\n{line(quote='You.')}")
    assert ([question.quote for question in questions], problems) == (["Me.", "You."], ())


def test_bytes_may_begin_with_a_mark_and_must_be_utf8():
    assert len(read_questions(b"\xef\xbb\xbf" + line().encode())[0]) == 1
    with pytest.raises(QuestionError, match="no UTF-8 text"):
        read_questions(line(quote="ä").replace("\\u00e4", "ä").encode("latin-1"))


def test_ten_thousand_questions_are_taken_and_the_others_named():
    text = "\n".join(line(id=str(n)) for n in range(MOST_QUESTIONS + 1))
    questions, problems = read_questions(text)
    assert len(questions) == 10_000
    assert problems == ("Line 10001 is beyond the 10,000 questions that are taken.",)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@given(st.lists(st.tuples(TEXT, TEXT, TEXT, st.none() | st.integers(1, 9)), max_size=5))
def test_what_is_written_is_read_again(rows):
    questions = tuple(Question(f"q{n}", *row) for n, row in enumerate(rows))
    assert read_questions(write_questions(questions)) == (questions, ())


# ---- changing --------------------------------------------------------------------------------------------------------


def test_an_answer_is_added_to_the_question_however_it_is_spelled():
    once = with_answer([], "When does salt melt?", "a.txt", "At 801.", None)
    twice = with_answer(once, " when does  SALT melt? ", "b.txt", "Salt: 801.", 3)
    assert [(q.id, q.question, q.document, q.page) for q in twice] == [
        ("q01", "When does salt melt?", "a.txt", None),
        ("q01", "When does salt melt?", "b.txt", 3),
    ]
    assert with_answer(twice, "When does salt melt?", "a.txt", "At 801.", None) == twice
    assert lines_of(twice, "WHEN does salt melt?") == twice


def test_nothing_answers_it_takes_the_place_of_answers_and_the_other_way_round():
    nothing = with_no_answer([SALT, NOTHING], SALT.question)
    assert nothing == [NOTHING, Question("q01", SALT.question)]
    assert with_answer(nothing, SALT.question, "a.txt", SALT.quote, None) == [NOTHING, SALT]


def test_two_lists_become_one_with_distinct_ids_and_nothing_twice():
    theirs = [
        Question("q01", "Who is the queen?", "b.txt", "Ada is."),
        Question("q02", "when does SALT melt?", "b.txt", "801"),
        Question("q07", "When does salt melt?", "a.txt", SALT.quote),
        Question("q09", "When does salt melt?"),
        Question("q10", NOTHING.question, "b.txt", "Bob is."),
    ]
    result = merged([SALT, NOTHING], theirs)
    assert [(q.id, q.question, q.quote) for q in result] == [
        ("q01", "When does salt melt?", "Salt melts at 801 degrees."),
        ("q03", "Who is the queen?", "Ada is."),
        ("q01", "when does SALT melt?", "801"),
        ("q02", "Who is the king?", "Bob is."),
    ]


# ---- finding ---------------------------------------------------------------------------------------------------------


def test_a_quote_is_found_exactly_or_by_its_words():
    salt = documents(a="Wie ist es?\nDas  Café öffnet um 8\u00a0Uhr. Ende.")
    assert locate(Question("1", "?", "a.txt", "öffnet um"), salt) == Place("a.txt", 22, 31)
    found = locate(Question("1", "?", "a.txt", "das cafe\u0301 öffnet um 8 Uhr!"), salt)
    assert found == Place("a.txt", 12, 37, exact=False)
    assert salt["a.txt"].text[12:37] == "Das  Café öffnet um 8\u00a0Uhr"


def test_the_page_decides_where_a_quote_stands_twice():
    paged = {"p.pdf": Document("p.pdf", "It is so. And it is so.", "0" * 64, page_starts=(0, 10))}
    assert locate(Question("1", "?", "p.pdf", "is so", 2), paged) == Place("p.pdf", 17, 22)
    assert locate(Question("1", "?", "p.pdf", "is so"), paged) == Place("p.pdf", 3, 8)


def test_a_file_that_came_in_another_folder_is_found_by_its_name():
    elsewhere = {"mine/a.txt": Document("mine/a.txt", "Salt melts.", "0" * 64)}
    assert locate(Question("1", "?", "notes/a.txt", "Salt"), elsewhere) == Place("mine/a.txt", 0, 4)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        (Question("1", "?", "b.txt", "Salt"), "b.txt is not among the documents. Add it, or correct its name."),
        (Question("1", "?", "a.txt", "Tea"), "The quote is not in the text of a.txt any more. Mark the answer again."),
        (Question("1", "?", "a.txt", "!?!"), "The quote is not in the text of a.txt any more. Mark the answer again."),
        (NOTHING, "Nothing answers this question."),
    ],
)
def test_an_answer_that_is_not_there_is_told(question, told):
    with pytest.raises(QuestionError) as error:
        locate(question, documents(a="Salt melts."))
    assert str(error.value) == told


@given(st.text(min_size=1), st.text(), st.text())
def test_every_quote_of_a_text_is_found_in_it(quote, before, after):
    text = before + quote + after
    if quote.strip():
        place = locate(Question("1", "?", "a.txt", quote), documents(a=text))
        assert place.exact
        assert text[place.start : place.end] == quote.strip()


# ---- kept with a collection ------------------------------------------------------------------------------------------


def test_questions_and_named_settings_are_kept_with_the_collection_copied_and_exported(tmp_path):
    collections = Collections(tmp_path)
    ac = AutoContext(encoder=HashEncoder())
    ac.add("a.txt", b"Salt melts at 801 degrees.")
    ac.set_questions([SALT, NOTHING])
    ac.save_settings("Ranks", Settings(fusion="ranks", encoder=EncoderOptions(model="x", folder=tmp_path)))
    assert (ac.questions, list(ac.saved_settings)) == ((SALT, NOTHING), ["Ranks"])

    id_ = collections.keep("Kitchen", ac)
    imported = collections.import_file("x.db", collections.export(id_))

    for each in (id_, collections.duplicate(id_, "Copy"), imported):
        opened = collections.open(each, HashEncoder())
        assert opened.questions == (SALT, NOTHING)
        assert opened.saved_settings["Ranks"].fusion == "ranks"
        is_foreign = each == imported
        assert (opened.saved_settings["Ranks"].encoder == EncoderOptions()) == is_foreign
        opened.close()


def test_named_settings_can_be_replaced_and_forgotten(make_context):
    ac = make_context()
    ac.save_settings("a", Settings(num_results=3))
    ac.save_settings("a", Settings(num_results=4))
    ac.save_settings("b", Settings())
    ac.save_settings("b", None)
    assert {name: one.num_results for name, one in ac.saved_settings.items()} == {"a": 4}
