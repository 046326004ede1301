"""What the Inspect page promises: it shows the very search that made the prompt, and its files hold what it shows."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping

import pytest
from streamlit.testing.v1 import AppTest

from autocontext import AutoContext, Settings
from autocontext.explanation import NOT_RETURNED, to_csv, to_json, to_records
from autocontext.ui import charts
from autocontext.ui.inspect import _LOOKS, shown_table
from autocontext.ui.safe import marked_html
from autocontext.ui.state import UiState
from tests.conftest import ROOT, HashEncoder
from tests.pdf_files import drawn
from tests.ui.test_pages import HOSTILE, ask, click, run, settle, state_of

FILES = {
    "notes/salt.txt": "Salt melts at 801 degrees.",
    "notes/copy.txt": "Salt melts at 801 degrees.",
    "notes/sugar.txt": "Sugar melts sooner than salt.",
    "notes/sea.txt": "The sea holds salt, and fish, and much else that nobody has counted yet.",
    "notes/cats.txt": "Cats sleep all day long.",
}
QUESTION = "At how many degrees does salt melt?"
TABS = ("What was found", "Why not?", "How documents were cut")
pytestmark = pytest.mark.usefixtures("clean_environment")


def opened(files: Mapping[str, str | bytes] | None = None, tab: str = TABS[0], **settings) -> AppTest:
    """Open the page in a session with these documents."""
    at = AppTest.from_file(ROOT / "app.py", default_timeout=60)
    engine = AutoContext(Settings(**settings), encoder=HashEncoder())
    at.session_state["autocontext"] = UiState(engine=engine)
    if files:
        engine.add_files([(n, text if isinstance(text, bytes) else text.encode()) for n, text in files.items()])
    at.session_state["inspect_tab"] = tab
    return settle(at.switch_page("pages/inspect.py"))


def chosen(at: AppTest, label: str, value: str) -> AppTest:
    next(box for box in at.selectbox if box.label == label).select(value)
    return run(at)


def shown(at: AppTest) -> list[dict[str, object]]:
    """Return the table's rows as they are shown, empty cells as such."""
    (table,) = at.dataframe
    return [
        {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
        for row in table.value.to_dict("records")
    ]


def explained(at: AppTest):
    return state_of(at).explanation


# ---- what was found --------------------------------------------------------------------------------------------------


def test_it_is_the_search_that_made_the_prompt_of_the_ask_page():
    at = opened(FILES)
    ask(at, QUESTION)
    made = explained(at)
    assert [row.chunk.number for row in made.rows if row.number] == [e.chunk.number for e in made.prompt.evidence]
    settle(at.switch_page("app.py"))
    assert explained(at) is made  # the other page has searched nothing again
    assert at.code[0].value == str(made.prompt)


def test_one_row_a_chunk_with_what_each_retriever_said():
    at = ask(opened(FILES), QUESTION)
    assert shown(at) == shown_table(explained(at).rows)
    first = shown(at)[0]
    assert (first["place"], first["prompt"], first["document"]) == (1, "[1]", "notes/salt.txt")
    assert first["score"] == pytest.approx(first["bm25 contribution"] + first["dense contribution"])


def test_what_was_not_returned_is_said_and_not_shown_as_the_last_rank():
    at = ask(opened(FILES), "Which cats sleep?")
    rows = {row["document"]: row for row in shown(at)}
    assert rows["notes/cats.txt"]["bm25 rank"] == 1
    others = [row for row in rows.values() if row["document"] != "notes/cats.txt"]
    assert others
    assert {row["bm25 rank"] for row in others} == {None}
    assert at.dataframe[0].proto.placeholder == NOT_RETURNED


def test_the_files_hold_the_rows_that_are_shown():
    at = chosen(ask(opened(FILES), QUESTION), "Prompt", "Left out")
    rows = [row for row in explained(at).rows if row.number is None]
    assert shown(at) == shown_table(rows)
    assert [{k: v if v != NOT_RETURNED else None for k, v in r.items()} for r in json.loads(to_json(rows))] == shown(at)
    read = list(csv.DictReader(io.StringIO(to_csv(rows))))
    assert [row["place"] for row in read] == [str(row["place"]) for row in shown(at)]
    assert to_records(rows) == json.loads(to_json(rows))


def test_the_filters():
    at = ask(opened(FILES), QUESTION)
    whole = explained(at).rows
    for label, keeps in {
        "BM25": lambda row: "bm25" in row.found_by,
        "Only Dense": lambda row: row.found_by == ("dense",),
        "Each of them": lambda row: len(row.found_by) == 2,
        "All": lambda row: True,
    }.items():
        chosen(at, "Found by", label)
        wanted = [row.place for row in whole if keeps(row)]
        assert [row["place"] for row in (shown(at) if wanted else [])] == wanted
    chosen(at, "File", "notes/sea.txt")
    assert [row["document"] for row in shown(at)] == ["notes/sea.txt"]
    next(field for field in at.text_input if field.label == "Text has").set_value("no such words")
    run(at)
    assert not at.dataframe
    assert "No passage is left by these filters." in [caption.value for caption in at.caption]


def test_the_chosen_passage_is_marked_and_stands_among_its_neighbours():
    sentences = [
        f"Note {n} tells of plain matters that fill a line of some length, and of little else." for n in range(15)
    ]
    sentences[7] = "Salt melts at 801 degrees, which is told in this very line, and nowhere else in it."
    at = ask(opened({"a.txt": " ".join(sentences)}), QUESTION)
    page = " ".join(element.value for element in at.main.get("html"))
    assert '<div class="passage dim">Note 0 tells' in page
    assert "<mark>Salt</mark>" in page
    assert page.count('class="passage dim"') == 2
    near = "".join(re.findall(r'<span class="near">(.*?)</span>', page))
    assert re.sub("<[^>]*>", "", near) == sentences[7]


def test_a_pdf_can_be_seen_with_the_passage_marked():
    at = ask(opened({"salt.pdf": drawn("Salt melts at 801 degrees.")}), QUESTION)
    assert "Show page" in [button.label for button in at.button]
    click(at, "Show page")
    assert any(caption.value.startswith("Page 1 of 1: the passage is marked") for caption in at.caption)


def test_every_step_is_timed():
    at = ask(opened(FILES), QUESTION)
    told = [text.value for text in at.text]
    assert told[::2] == ["index", "question's vector", "BM25", "Dense", "fusion", "verdict", "prompt"]
    assert all(re.fullmatch(r"[\d,.]+ m?s", text) for text in told[1::2])


def test_one_retriever_alone_needs_no_picture_of_agreement():
    at = ask(opened(FILES, retrievers=("bm25",)), QUESTION)
    assert len(at.main.get("vega_lite_chart")) == 1
    assert len(ask(opened(FILES), QUESTION).main.get("vega_lite_chart")) == 2


def test_a_third_retriever_has_its_own_columns():
    at = ask(opened(FILES, retrievers=("bm25", "dense", "tfidf")), QUESTION)
    assert shown(at)[0]["tfidf rank"] == 1


def test_nothing_of_a_document_becomes_markup_in_the_page_or_a_picture():
    at = ask(opened({"x.txt": f"Salt. {' '.join(HOSTILE)}"}), "salt")
    page = " ".join(element.value for element in at.main.get("html"))
    assert "<img" not in page
    rows, names = explained(at).rows, ("bm25", "dense")
    for spec in (charts.ranks(rows, *names), charts.contributions(rows, names)):
        assert "http://evil" not in json.dumps(spec)  # no picture holds the text of a passage


@pytest.mark.parametrize("files", [{}, {"a.txt": ""}, {"a.txt": "Salt."}])
@pytest.mark.parametrize("tab", TABS)
def test_nothing_one_document_or_no_question_is_no_error(files, tab):
    at = opened(files, tab)
    assert not at.error
    if files == {"a.txt": "Salt."}:
        ask(at, "salt")
        assert not at.error


def test_a_prompt_that_cannot_be_made_is_told_as_on_the_ask_page():
    at = opened(FILES)
    state_of(at).max_tokens = 50
    ask(at, " ".join(["salt"] * 200))
    (error,) = at.error
    assert "budget" in error.value


# ---- why not ---------------------------------------------------------------------------------------------------------


def expect_sentence(at: AppTest, sentence: str) -> AppTest:
    at.text_area[0].set_value(sentence)
    return click(at, "Why not?")


def test_a_sentence_is_looked_for_and_the_verdict_told():
    at = expect_sentence(ask(opened(FILES, TABS[1]), QUESTION), "Sugar melts sooner than salt.")
    verdict = state_of(at).why
    assert verdict.verdict == "in the prompt"
    assert any(_LOOKS["in the prompt"][0] in element.value for element in at.markdown)
    assert "<mark>Sugar melts sooner than salt</mark>." in " ".join(element.value for element in at.main.get("html"))

    expect_sentence(at, "No document says this at all.")
    assert state_of(at).why.verdict == "not in the documents"
    assert any("It is not in the text of any document" in element.value for element in at.markdown)


def test_the_verdict_follows_the_question():
    at = expect_sentence(ask(opened(FILES, TABS[1], retrievers=("bm25",)), QUESTION), "Cats sleep all day long.")
    assert state_of(at).why.verdict == "nothing in common"
    ask(at, "Which cats sleep?")
    assert state_of(at).why.verdict == "in the prompt"


def test_what_was_removed_stays_in_no_verdict():
    at = expect_sentence(ask(opened(FILES, TABS[1]), QUESTION), "Sugar melts sooner than salt.")
    state_of(at).remove(list(FILES))
    state = state_of(at)
    assert (state.why, state.explanation, state.statistics) == (None, None, None)


def test_a_bad_sentence_is_told_and_loses_nothing():
    at = expect_sentence(ask(opened(FILES, TABS[1]), QUESTION), "?!")
    (error,) = at.error
    assert error.value.startswith("Paste the sentence that you expected")
    assert at.text_area[0].value == "?!"


# ---- how documents were cut ------------------------------------------------------------------------------------------


def test_figures_and_warnings_are_shown():
    at = opened(FILES, TABS[2])
    assert [(metric.label, metric.value) for metric in at.metric] == [
        ("Documents", "5"),
        ("Passages", "5"),
        ("Tokens, median", "9"),
        ("Longest, of 254", "25"),
    ]
    assert ["a copy of others" in warning.value for warning in at.warning] == [True]
    assert "1 passage repeats another" in [expander.label for expander in at.expander]
    figures = state_of(at).statistics
    run(at)
    assert state_of(at).statistics is figures
    state_of(at).remove(["notes/copy.txt"])
    assert not run(at).warning


# ---- pieces ----------------------------------------------------------------------------------------------------------


def test_marks_of_two_kinds_may_overlap_and_show_the_text_literally():
    assert marked_html("a <b> c", [(0, 1)], [(0, 5)]) == (
        '<div class="passage"><span class="near"><mark>a</mark></span><span class="near"> &lt;b&gt;</span> c</div>'
    )
    assert marked_html("salt", [(1, 3)], [(2, 4)]) == (
        '<div class="passage">s<mark>a</mark><span class="near"><mark>l</mark></span><span class="near">t</span></div>'
    )
    assert marked_html("", []) == '<div class="passage"></div>'


def test_the_picture_of_ranks_sets_apart_what_was_not_returned(make_context):
    rows = make_context(FILES).explain("Which cats sleep?").rows
    spec = charts.ranks(rows, "bm25", "dense")
    points = {(point["BM25"], point["Dense"]): point for point in spec["data"]["values"]}
    last = max(said.rank or 1 for row in rows for said in row.opinions)
    for (bm25, dense), point in points.items():
        assert (point["x"] > last) == (bm25 == NOT_RETURNED)
        assert (point["y"] > last) == (dense == NOT_RETURNED)
    assert len(spec["data"]["values"]) == len(rows)


def test_the_bars_add_up_to_the_scores(make_context):
    rows = make_context(FILES).explain(QUESTION).rows
    values = charts.contributions(rows, ["bm25", "dense"])["data"]["values"]
    for row in rows:
        own = [value["Contribution"] for value in values if value["passage"].startswith(f"{row.place}. ")]
        assert sum(own) == pytest.approx(row.score)
