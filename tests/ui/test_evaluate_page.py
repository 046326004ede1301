"""The Evaluate page and the mark on passages: what a user clicks, without a browser."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from autocontext import AutoContext, Settings
from autocontext.questions import Question, read_questions, write_questions
from autocontext.settings import BM25Options
from autocontext.ui.evaluate import _other_names
from autocontext.ui.state import SAMPLE, UiState
from tests.fake_llm import FakeLLM
from tests.ui import test_pages
from tests.ui.test_models_page import shown_html
from tests.ui.test_pages import (
    HOSTILE,
    KEY,
    PATIENCE,
    SALT,
    SALT_QUESTION,
    ask,
    captions,
    choose,
    click,
    errors,
    field,
    go,
    run,
    settle,
    state_of,
)

pytestmark = pytest.mark.usefixtures("clean_environment")
session = test_pages.session
EVALUATE = "pages/evaluate.py"
LABELLED = Question("q01", SALT_QUESTION, "notes/salt.txt", "Salt melts at 801 degrees.")
NOTHING = Question("q02", "Who is the king of Norway?")


def open_page(make: Any, *questions: Question, files: Any = SALT) -> AppTest:
    at = make(files)
    state_of(at).engine.set_questions(questions)
    return go(at, EVALUATE)


def questions(at: AppTest) -> tuple[Question, ...]:
    return state_of(at).engine.questions


def press(at: AppTest, key: str) -> AppTest:
    next(button for button in at.button if button.key == key).click()
    return run(at)


def labels(at: AppTest) -> list[str]:
    return [button.label for button in at.button]


def to_results(at: AppTest) -> AppTest:
    at.segmented_control[0].set_value("results")
    return run(at)


def measure(at: AppTest) -> AppTest:
    press(at, "measure")
    deadline = time.monotonic() + PATIENCE
    while state_of(at).evaluating.job.running:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return run(at)


def find(at: AppTest, question: str) -> AppTest:
    field(at, "A question of yours").set_value(question)
    return click(at, "Find passages")


# ---- marking ---------------------------------------------------------------------------------------------------------


def test_one_click_on_the_ask_page_marks_a_passage_as_the_answer_and_another_takes_it_back(session):
    at = ask(session(SALT), SALT_QUESTION)
    press(at, "answers_1")
    assert questions(at) == (LABELLED,)
    assert "Marked as the answer" in labels(at)
    press(at, "answers_1")
    assert questions(at) == ()
    assert "Marked as the answer" not in labels(at)


def test_answers_are_marked_in_the_pages_own_search_and_nothing_answers_it_takes_their_place(session):
    at = find(open_page(session), SALT_QUESTION)
    press(at, "answers_mark_1")
    assert questions(at) == (LABELLED,)
    press(at, "nothing_answers")
    assert questions(at) == (Question("q01", SALT_QUESTION),)
    press(at, "nothing_answers")
    assert questions(at) == ()
    press(at, "undo_questions")
    assert questions(at) == (Question("q01", SALT_QUESTION),)


def test_a_mark_survives_another_way_to_cut_documents(session):
    text = "Salt melts at 801 degrees. It is white. Tea is hot. Bread bakes at 230 degrees."
    at = find(open_page(session, files={"a.txt": text}), "When does salt melt?")
    press(at, "answers_mark_1")
    (marked,) = questions(at)
    assert marked.quote == text
    engine = state_of(at).engine
    engine.change_settings(Settings(chunking=engine.settings.chunking.__class__(sentences=1, sentence_tokens=0)))
    at = measure(to_results(run(at)))
    (result, *_) = state_of(at).evaluating.job.result.results
    assert result.n_chunks == 4
    assert result.figures["recall@10"].value == 1.0


def test_an_answer_that_is_not_shown_is_quoted_and_must_be_in_the_document(session):
    at = find(open_page(session), SALT_QUESTION)
    press(at, "quote_answer")
    at.selectbox(key="edit_document_new").set_value("notes/salt.txt")
    at.text_area(key="edit_quote_new").set_value("Salt freezes.")
    click(at, "Save")
    assert errors(at) == ["The quote is not in the text of notes/salt.txt any more. Mark the answer again."]
    at.text_area(key="edit_quote_new").set_value("melts AT  801")
    click(at, "Save")
    assert questions(at) == (Question("q01", SALT_QUESTION, "notes/salt.txt", "melts at 801"),)


def test_a_line_is_edited_looked_at_and_removed(session):
    at = open_page(session, LABELLED, NOTHING)
    press(at, "edit_q01_0")
    at.text_input(key="edit_question_q01_0").set_value("How hot?")
    at.text_area(key="edit_quote_q01_0").set_value("801 degrees")
    click(at, "Save")
    assert questions(at) == (Question("q01", "How hot?", "notes/salt.txt", "801 degrees"), NOTHING)
    press(at, "look_q01")
    assert field(at, "A question of yours").value == "How hot?"
    press(at, "remove_question_q01")
    assert questions(at) == (NOTHING,)
    press(at, "undo_questions")
    assert len(questions(at)) == 2


def test_files_of_questions_are_imported_with_a_word_on_each_bad_line(session):
    at = open_page(session, LABELLED)
    data = write_questions([LABELLED, NOTHING]) + '{"id": "x"}\n'
    at.file_uploader(key="import_questions_0").upload("mine.jsonl", data.encode(), "application/jsonl")
    run(at)
    assert questions(at) == (LABELLED, NOTHING)
    said = [text.value for text in at.text]
    assert said == ["mine.jsonl: 1 line added, 1 known already.", "Line 3 has no 'question'."]


def test_a_file_that_is_no_text_is_told_once(session):
    at = open_page(session, LABELLED)
    at.file_uploader(key="import_questions_0").upload("mine.jsonl", b"\xff\xfe\x00", "application/jsonl")
    run(at)
    (said,) = [text.value for text in at.text]
    assert said == "mine.jsonl: This file is no UTF-8 text. Save it as UTF-8, a JSON object a line."
    assert questions(at) == (LABELLED,)


def test_an_answer_that_is_gone_is_marked_in_the_list(session):
    at = open_page(session, Question("q01", "Who?", "gone.txt", "Me."))
    assert any("not found" in element.value for element in at.markdown)
    at = to_results(at)
    assert errors(measure(at))[0].startswith("No question has its answer in the documents")


# ---- measuring -------------------------------------------------------------------------------------------------------


def test_answers_are_looked_for_once_in_a_state_of_the_documents(session, monkeypatch):
    looked = []
    monkeypatch.setattr("autocontext.ui.evaluating.locate", lambda line, documents: looked.append(line))
    at = run(open_page(session, LABELLED))
    assert looked == [LABELLED]
    state_of(at).engine.add("more.txt", b"Tea steeps.")
    run(run(at))
    assert looked == [LABELLED, LABELLED]


def test_a_question_that_cannot_be_kept_is_a_sentence(session):
    at = press(find(open_page(session), "Why? " * 5000), "nothing_answers")
    assert [re.sub(r"\\(.)", r"\1", toast.value) for toast in at.toast] == [
        "This question is longer than 20,000 letters."
    ]
    assert questions(at) == ()


def test_without_documents_the_page_says_what_it_is_for(session):
    at = session(page=EVALUATE)
    assert any("Collect questions with the passages that answer them" in text.value for text in at.markdown)
    assert labels(at) == ["Try the sample collection"]


def test_without_an_answer_there_is_nothing_to_measure(session):
    at = to_results(open_page(session, NOTHING))
    assert next(button for button in at.button if button.key == "measure").disabled
    assert any("Mark the answer of a question first" in text for text in captions(at))


def test_the_table_has_every_retriever_and_saved_settings_with_intervals(session):
    at = open_page(session, LABELLED, NOTHING)
    state_of(at).engine.save_settings("By <b>ranks</b>", Settings(fusion="ranks"))
    shown = shown_html(measure(to_results(at)))
    for name in ("Present settings", "BM25 alone", "Dense alone", "By &lt;b&gt;ranks&lt;/b&gt;"):
        assert f"<td>{name}" in shown
    assert "<td>1.00<small>1.00\u20131.00</small></td>" in shown
    assert any("only large differences stand out" in text for text in captions(at))


def long_and_short(encoder: Any) -> AutoContext:
    """Return a collection where a question is answered first only if long texts are held back."""
    ac = AutoContext(Settings(retrievers=("bm25",), bm25=BM25Options(k1=1.2, b=0.0)), encoder)
    texts = {"long.txt": "Tea is tea and " + "much more besides " * 20 + "too.", "short.txt": "Tea is hot."}
    ac.add_files([(name, text.encode()) for name, text in texts.items()])
    ac.set_questions([Question("q1", "tea?", "short.txt", "Tea is hot.")])
    return ac


def test_the_best_settings_are_taken_with_one_click_and_undone(session, encoder):
    at = session()
    at.session_state["autocontext"] = UiState(engine=long_and_short(encoder))
    at = to_results(go(at, EVALUATE))
    before = state_of(at).engine.settings
    at.pills[0].set_value(["How words are weighed (BM25)"])
    at = measure(run(at))
    shown = [text.value for text in at.markdown]
    assert any(text.startswith("**Best: ") and "1 question answered earlier, 0 later" in text for text in shown)
    assert any("may be best by chance alone" in text for text in captions(at))
    assert "2 \u2192 1" in shown_html(at)
    at = click(at, "Use these settings")
    taken = state_of(at).engine.settings
    assert taken.bm25.b > 0
    assert any("Settings, documents or questions have changed" in text.value for text in at.warning)
    at = settle(press(at, "undo_settings"))
    assert state_of(at).engine.settings == before


def test_nothing_better_is_said_so(session):
    at = measure(to_results(open_page(session, LABELLED)))
    assert "**Nothing that was tried is better than the present settings.**" in [text.value for text in at.markdown]


def test_measuring_can_be_stopped(session):
    at = to_results(open_page(session, LABELLED))
    state = state_of(at)
    state.measure({})
    state.evaluating.job.stop()
    deadline = time.monotonic() + PATIENCE
    while state.evaluating.job.running:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    run(at)
    job = state.evaluating.job
    assert job.error is None
    assert job.result is not None


def test_settings_are_saved_by_name_and_forgotten(session):
    at = to_results(open_page(session, LABELLED))
    field(at, "Name for the present settings").set_value("  Mine ")
    click(at, "Save the present settings")
    assert list(state_of(at).engine.saved_settings) == ["Mine"]
    click(at, "Forget")
    assert state_of(at).engine.saved_settings == {}


def test_removed_documents_leave_nothing_of_what_was_measured(session):
    at = measure(to_results(open_page(session, LABELLED)))
    state_of(at).remove(["notes/salt.txt"])
    assert state_of(at).evaluating.job is None


def test_hostile_words_are_shown_as_they_are(session):
    for text in HOSTILE:
        at = open_page(session, Question("q01", text, "notes/salt.txt", "Salt melts at 801 degrees."))
        at = measure(to_results(at))
        for element in [*at.markdown, *at.caption]:
            assert text not in element.value


# ---- suggestions -----------------------------------------------------------------------------------------------------


def test_a_model_suggests_and_each_is_taken_or_left(session, llm: FakeLLM):
    llm.answer = "Question: At what heat does it melt?\nQuote: Salt melts at 801 degrees"
    files = {"notes/salt.txt": "Salt melts at 801 degrees. " + "It is white, and it dissolves well in water. " * 3}
    at = open_page(session, files=files)
    for label, value in (("Model", "openai/ok"), ("Address", llm.openai_base), ("Key", KEY)):
        choose(at, label, value)
    assert llm.chats() == []  # only on a click
    click(at, "Suggest")
    deadline = time.monotonic() + PATIENCE
    while state_of(at).evaluating.suggesting.running:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    run(at)
    assert len(llm.chats()) == 1
    assert questions(at) == ()
    next(f for f in at.text_input if f.key.startswith("suggested_")).set_value("How hot must it be?")
    click(run(at), "Take")
    assert questions(at) == (Question("q01", "How hot must it be?", "notes/salt.txt", "Salt melts at 801 degrees"),)
    assert state_of(at).evaluating.suggesting.found == []


def test_a_models_failure_is_a_sentence(session, litellm):
    files = {"notes/salt.txt": "Salt melts at 801 degrees. " + "It is white, and it dissolves well in water. " * 3}
    at = open_page(session, files=files)
    for label, value in (("Model", "openai/ok"), ("Address", "http://127.0.0.1:1/v1"), ("Key", KEY)):
        choose(at, label, value)
    click(at, "Suggest")
    deadline = time.monotonic() + PATIENCE
    while state_of(at).evaluating.suggesting.running:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert errors(run(at))
    assert KEY not in json.dumps(errors(at))


def test_the_samples_questions_are_taken_by_one_click(session) -> None:
    at = open_page(session, LABELLED)
    assert [button for button in at.button if button.key == "take_sample"] == [], "these are not the sample's documents"

    names = [path for path in SAMPLE.iterdir() if path.suffix in (".txt", ".md", ".pdf")]
    at = open_page(session, files={f"data/{path.name}": path.read_bytes() for path in names})
    click(at, "Take the sample's 53 questions")

    assert questions(at) == read_questions((SAMPLE / "questions.jsonl").read_bytes())[0]
    assert [button for button in at.button if button.key == "take_sample"] == [], "they are there"


def test_saved_settings_of_a_name_that_is_taken_are_measured_beside_the_other() -> None:
    one, two, three = (replace(Settings(), num_results=n) for n in (1, 2, 3))
    saved = {"Present settings": one, "Present settings (saved)": two, "Mine": three}
    assert _other_names(saved, {"Present settings"}) == {
        "Present settings (saved 2)": one,
        "Present settings (saved)": two,
        "Mine": three,
    }
    assert list(_other_names({"a": one}, {"a", "a (saved)"})) == ["a (saved 2)"]
