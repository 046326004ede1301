"""Every chunk explains itself: ranks, scores, weights and contributions, from the search that made the prompt."""

from __future__ import annotations

import csv
import io
import json

import pytest

from autocontext.datatypes import Chunk
from autocontext.explanation import (
    NOT_RETURNED,
    Opinion,
    Row,
    sentence_closeness,
    to_csv,
    to_json,
    to_records,
)
from tests.conftest import HashEncoder

FILES = {
    "salt.txt": "Salt melts at 801 degrees.",
    "copy.txt": "Salt melts at 801 degrees.",
    "sugar.txt": "Sugar melts sooner than salt.",
    "sea.txt": "The sea holds salt, and fish, and much else that nobody has counted yet.",
    "cats.txt": "Cats sleep all day long.",
}
QUESTION = "At how many degrees does salt melt?"


@pytest.fixture
def ac(make_context):
    return make_context(FILES)


@pytest.mark.parametrize("limits", [(None, None), (1, None), (2, 100), (None, 120), (5, 3000), (50, 90)])
@pytest.mark.parametrize("fusion", ["scores", "ranks", "union"])
def test_the_explanation_is_of_the_prompt_itself(make_context, limits, fusion):
    ac = make_context(FILES, fusion=fusion)
    explained = ac.explain(QUESTION, *limits)

    assert explained.prompt == ac.get_prompt(QUESTION, *limits)
    inside = {row.number: row.chunk for row in explained.rows if row.number is not None}
    assert inside == {number: item.chunk for number, item in enumerate(explained.prompt.evidence, start=1)}
    for row in explained.rows:
        assert (row.reason == "") == (row.number is not None)
    assert [row.chunk for row in explained.rows] == [item.chunk for item in ac.search(QUESTION, 100)]


def test_the_contributions_add_up_to_the_score_and_what_is_not_returned_is_none_not_last(ac):
    rows = ac.explain(QUESTION).rows
    for row in rows:
        assert row.score == pytest.approx(sum(said.contribution or 0.0 for said in row.opinions), abs=1e-9)
        for said in row.opinions:
            assert (said.rank is None) == (said.score is None) == (said.contribution is None)
            assert (said.rank is not None) == (said.retriever in row.found_by)
    cats = ac.explain("Which cats melt?").rows
    by_name = {row.chunk.document: {said.retriever: said.rank for said in row.opinions} for row in cats}
    assert by_name["cats.txt"]["bm25"] == 1
    assert by_name.get("sea.txt", {"bm25": None})["bm25"] is None


def test_the_weights_are_those_after_trust(make_context):
    ac = make_context(FILES, weights={"bm25": 3.0, "dense": 1.0})
    bm25, dense = ac.explain("salt").weighings
    assert (bm25.setting, dense.setting) == (3.0, 1.0)
    assert (bm25.trust, dense.trust) == (1.0, 1.0)
    assert (bm25.weight, dense.weight) == (0.75, 0.25)
    bm25, dense = ac.explain("salt quantum entanglement of photons").weighings
    assert bm25.trust < 1
    assert bm25.weight / dense.weight == pytest.approx(3 * bm25.trust)


def test_a_retriever_that_is_off_changes_its_own_columns_only(make_context):
    both = {row.chunk.document: row for row in make_context(FILES).explain(QUESTION).rows}
    alone = {row.chunk.document: row for row in make_context(FILES, retrievers=("bm25",)).explain(QUESTION).rows}
    assert alone.keys() <= both.keys()
    for name, row in alone.items():
        (only,) = row.opinions
        bm25 = both[name].opinions[0]
        assert (only.retriever, only.rank, only.score) == ("bm25", bm25.rank, bm25.score)


def test_every_reason_to_be_left_out_is_told(ac):
    reasons = {row.chunk.document: row.reason for row in ac.explain(QUESTION, 2).rows}
    assert reasons["salt.txt"] == reasons["sugar.txt"] == ""
    assert reasons["copy.txt"] == "the same text as passage 1"
    assert reasons["sea.txt"] == "below the best 2"
    tight = ac.explain(QUESTION, 5, 90)
    assert any(row.reason.startswith("needs about") for row in tight.rows)
    assert any(left.needs is not None and left.copy_of is None for left in tight.left_out)


def test_each_step_is_timed_in_its_order(ac):
    steps = ["index", "question's vector", "bm25", "dense", "fusion", "verdict", "prompt"]
    explained = ac.explain(QUESTION)
    assert list(explained.seconds) == steps
    assert all(seconds >= 0 for seconds in explained.seconds.values())


def test_nothing_is_found_in_nothing(make_context):
    explained = make_context().explain(QUESTION)
    assert explained.rows == ()
    assert (to_records([]), to_csv([]), json.loads(to_json([]))) == ([], "", [])


# ---- what is exported ------------------------------------------------------------------------------------------------


def row(text="Salt.", document="a.txt"):
    chunk = Chunk(0, document, text, 0, len(text), 1)
    said = (Opinion("bm25", 2, 1.5, 0.6, 0.25), Opinion("dense", None, None, 0.4, None))
    return Row(1, chunk, 0.25, said, None, "below the best 1")


def test_a_record_has_every_column_and_says_what_was_not_returned():
    assert to_records([row()]) == [
        {
            "place": 1,
            "prompt": "below the best 1",
            "document": "a.txt",
            "where": "line 1",
            "heading": "",
            "text": "Salt.",
            "score": 0.25,
            "bm25 rank": 2,
            "bm25 score": 1.5,
            "bm25 weight": 0.6,
            "bm25 contribution": 0.25,
            "dense rank": NOT_RETURNED,
            "dense score": NOT_RETURNED,
            "dense weight": 0.4,
            "dense contribution": NOT_RETURNED,
        }
    ]


def test_csv_and_json_hold_the_same_records(ac):
    rows = ac.explain(QUESTION).rows
    records = to_records(rows)
    assert json.loads(to_json(rows)) == records
    read = list(csv.DictReader(io.StringIO(to_csv(rows))))
    assert read == [{name: str(value) for name, value in record.items()} for record in records]


@pytest.mark.parametrize("text", ['=HYPERLINK("http://evil")', "+1", "-1", "@SUM(A1)", "\t=1", "＝1"])
def test_no_text_is_a_formula_to_a_spreadsheet(text):
    (read,) = csv.DictReader(io.StringIO(to_csv([row(text, document=text)])))
    assert read["text"] == read["document"] == f"'{text}"
    assert json.loads(to_json([row(text)]))[0]["text"] == text


def test_the_nearest_sentence_is_told_with_its_place():
    text = "Cats sleep. Salt melts at 801 degrees."
    near = sentence_closeness(HashEncoder(), "salt melts", text)
    assert [text[start:end] for start, end, _ in near] == ["Cats sleep.", "Salt melts at 801 degrees."]
    assert near[1][2] > near[0][2]
    assert sentence_closeness(HashEncoder(), " ", text) == []


def test_a_retrievers_own_ranking_goes_as_deep_as_one_asks(ac):
    ranking = ac.ranking("bm25", "salt", 100)
    assert [hit.rank for _, hit in ranking] == [1, 2, 3, 4]
    assert {chunk.document for chunk, _ in ranking} == set(FILES) - {"cats.txt"}
    assert ac.ranking("tfidf", "salt", 1)[0][1].retriever == "tfidf"
