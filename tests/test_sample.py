"""The sample collection with the real embedding model: what a newcomer sees first has to be right."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from autocontext import AutoContext, Settings
from tests.conftest import DATA

QUESTIONS = [json.loads(line) for line in (DATA / "questions.jsonl").read_text("utf-8").splitlines()]
ANSWERED = [row for row in QUESTIONS if row["document"]]
ABSENT = [row for row in QUESTIONS if not row["document"]]


def holds(ac: AutoContext, row: dict, item) -> bool:
    start = ac.documents[row["document"]].text.index(row["quote"])
    chunk = item.chunk
    return chunk.document == row["document"] and chunk.start < start + len(row["quote"]) and start < chunk.end


def test_there_are_enough_questions():
    assert len(ANSWERED) >= 25
    assert len(ABSENT) >= 8
    assert len({row["id"] for row in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize("row", ANSWERED, ids=lambda row: row["id"])
def test_every_quote_stands_once_in_its_document(sample, row):
    document = sample.documents[row["document"]]
    assert document.text.count(row["quote"]) == 1
    assert document.page_at(document.text.index(row["quote"])) == row["page"]


def test_who_says_that_economics_is_bullshit(sample):
    best = sample.search("who says that economics is bullshit?")[0]
    assert "Pauli Blendergast says that economics is bullshit" in best.chunk.text
    assert {name: hit.rank for name, hit in best.hits.items()} == {"bm25": 1, "dense": 1}
    assert "Pauli Blendergast" in sample.get_prompt("who says that economics is bullshit?").text


def test_the_prompt_has_the_seeds_form_to_the_byte():
    ac = AutoContext(settings=Settings(template="seed"))
    ac.add_folder(DATA)
    prompt = ac.get_prompt("who says that economics is bullshit?", num_results=2)
    first, second = (item.chunk.text for item in prompt.evidence)
    assert str(prompt) == (
        "Based on the following context, please answer the question:\n"
        "who says that economics is bullshit?\n"
        "\n"
        "--- CONTEXT ---\n"
        f"{first}\n"
        "---\n"
        f"{second}\n"
        "---\n"
        "--- END CONTEXT ---\n"
        "\n"
        "Question: who says that economics is bullshit?\n"
        "Answer:"
    )


def found_within(ac: AutoContext, k: int) -> int:
    return sum(any(holds(ac, row, item) for item in ac.search(row["question"], k)) for row in ANSWERED)


def with_retrievers(*names: str) -> AutoContext:
    ac = AutoContext(settings=Settings(retrievers=names))
    ac.add_folder(DATA)
    return ac


def test_the_answer_is_among_the_five_passages_of_nine_questions_in_ten(sample):
    assert found_within(sample, 5) >= 0.9 * len(ANSWERED)


def test_the_first_passage_holds_the_answer_of_two_questions_in_three(sample):
    assert found_within(sample, 1) >= 0.66 * len(ANSWERED)


def test_the_weaker_retriever_does_not_spoil_the_hybrid(sample):
    """A third of the questions share few words with the text on purpose, so the dense retriever is the better half."""
    hybrid, words, meaning = (found_within(ac, 3) for ac in (sample, with_retrievers("bm25"), with_retrievers("dense")))
    assert words < meaning
    assert hybrid >= meaning - 1


@pytest.mark.parametrize("language", ["日本語メモ", "kapitel_wald"])
def test_a_language_the_encoder_reads_badly_is_still_found(sample, language):
    rows = [row for row in ANSWERED if language in row["document"]]
    assert len(rows) >= 3
    for row in rows:
        assert any(holds(sample, row, item) for item in sample.search(row["question"], 3)), row


def test_questions_on_other_topics_are_called_unanswerable(sample):
    off_topic = ABSENT[:6]
    assert [sample.get_prompt(row["question"]).support.level for row in off_topic] == ["none"] * 6


def test_few_answerable_questions_are_called_unanswerable(sample):
    """Only questions in wholly other words than their answer's."""
    warned = [row["id"] for row in ANSWERED if sample.get_prompt(row["question"]).support.level == "none"]
    assert len(warned) <= 0.28 * len(ANSWERED), warned


def test_the_verdicts_are_as_they_were_measured(sample):
    """Exact figures on purpose: whoever changes retrieval or the verdict sees here what it did to both kinds.

    Answerable: 11 of 43 are called "none", all of them written in wholly other words than their answer's. Absent: the
    six on other topics are told; the four that are near the topic, and name what the documents speak of, are not.
    """
    levels = {row["id"]: sample.get_prompt(row["question"]).support.level for row in QUESTIONS}
    assert Counter(levels[row["id"]] for row in ANSWERED) == {"strong": 28, "weak": 3, "none": 12}
    assert Counter(levels[row["id"]] for row in ABSENT) == {"none": 6, "strong": 4}


def test_the_languages_of_the_sample_are_told(sample):
    others = {name: code for name, code in sample._snapshot.languages.items() if code != "en"}
    assert others == {"data/kapitel_wald.txt": "de", "data/日本語メモ.txt": "ja"}


def test_no_chunk_of_the_sample_is_longer_than_the_encoder_takes(sample):
    encoder = sample._encoder
    assert max(encoder.count_tokens([chunk.text for chunk in sample.chunks])) <= encoder.max_tokens == 254


def test_the_verdict_separates_the_two_kinds(sample):
    def mean(rows: list[dict]) -> float:
        return sum(sample.get_prompt(row["question"]).support.score for row in rows) / len(rows)

    assert mean(ANSWERED) > mean(ABSENT[:6]) + 0.2
