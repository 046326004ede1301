"""The commands that explain: the same figures as the library, readable and as JSON."""

from __future__ import annotations

import csv
import io
import json

import pytest

from autocontext import AutoContext, Settings
from autocontext.__main__ import main
from autocontext.explanation import to_records
from autocontext.statistics import collection_statistics

QUESTION = "At how many degrees does salt melt?"
BM25 = ["--retrievers", "bm25"]


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "salt.txt").write_text("Salt melts at 801 degrees. It tastes salty.")
    (folder / "sugar.txt").write_text("Sugar melts sooner than salt.")
    (folder / "cats.txt").write_text("Cats sleep all day long.")
    return str(folder)


@pytest.fixture
def ac(notes):
    ac = AutoContext(Settings(retrievers=("bm25",)))
    ac.add_folder(notes)
    return ac


@pytest.fixture
def run(capsys):
    """Return a runner of one command that gives what it prints."""

    def command(*arguments: str) -> str:
        assert main(arguments) == 0
        return capsys.readouterr().out

    return command


def test_search_lists_the_passages_best_first(run, notes):
    lines = run("search", notes, QUESTION, *BM25).splitlines()
    assert lines[0] == "1. 1.0000  notes/salt.txt, line 1"
    assert lines[1] == "   Salt melts at 801 degrees. It tastes salty."
    assert lines[2].startswith("2. ")


def test_search_explains_each_passage(run, notes, ac):
    out = run("search", notes, QUESTION, "--explain", "--num-results", "1", *BM25)
    first, second = ac.explain(QUESTION, 1).rows
    assert f"BM25    #1, score {first.opinions[0].score:.4f}, weight 1.0000, contribution 1.0000" in out
    assert "in the prompt as [1]" in out
    assert f"#2, score {second.opinions[0].score:.4f}" in out
    assert "not in the prompt: below the best 1" in out
    assert out.splitlines()[-1].startswith("Milliseconds: index ")


def test_search_as_json_and_csv_has_the_records_of_the_library(run, notes, ac):
    records = to_records(ac.explain(QUESTION).rows)
    found = json.loads(run("search", notes, QUESTION, "--json", *BM25))
    assert found["passages"] == records
    assert found["weights"] == {"bm25": {"setting": 1.0, "trust": 1.0, "weight": 1.0}}
    table = list(csv.DictReader(io.StringIO(run("search", notes, QUESTION, "--csv", *BM25))))
    assert table == [{name: str(value) for name, value in record.items()} for record in records]
    assert len(json.loads(run("search", notes, QUESTION, "--json", "-n", "1", *BM25))["passages"]) == 1


def test_why_tells_what_kept_a_sentence_out(run, notes):
    out = run("why", notes, QUESTION, "Sugar melts sooner than salt.", "--num-results", "1", *BM25)
    lines = out.splitlines()
    assert lines[0] == "number of passages"
    assert "- With 2 passages in the prompt it would be in." in lines
    assert lines[-2:] == ["notes/sugar.txt, line 1:", "Sugar melts sooner than salt."]
    record = json.loads(run("why", notes, QUESTION, "No document says this.", "--json", *BM25))
    assert record["verdict"] == "not in the documents"


def test_stats_prints_the_figures(run, notes, ac):
    figures = collection_statistics(ac)
    out = run("stats", notes, *BM25)
    assert f"chunks                   {figures.chunks}\n" in out
    assert f"tokens                   {figures.tokens} (counted by all-MiniLM-L6-v2)\n" in out
    assert f"shortest: {figures.shortest[0].tokens} tokens, notes/" in out
    assert json.loads(run("stats", notes, "--json", *BM25)) == json.loads(json.dumps(figures.to_record()))


def test_prompt_as_json_has_all_that_is_known_of_it(run, notes, ac):
    prompt = ac.get_prompt(QUESTION, 5, 3000)
    found = json.loads(run("prompt", notes, QUESTION, "--json", *BM25))
    assert found["prompt"] == str(prompt)
    assert sum(found["parts"].values()) == found["tokens"] == prompt.tokens
    assert [item["document"] for item in found["passages"]] == ["notes/salt.txt", "notes/sugar.txt"]
    assert found["passages"][0]["hits"]["bm25"]["rank"] == 1
    assert found["support"]["level"] == prompt.support.level


def test_tfidf_can_be_used_beside_the_others(run, notes):
    found = json.loads(run("search", notes, QUESTION, "--json", "--retrievers", "bm25", "tfidf"))
    assert found["passages"][0]["tfidf rank"] == 1
