"""What an answer rests on: cited, matched, not found; for any text whatever."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocontext.citations import check_answer, strip_citations
from autocontext.datatypes import Prompt
from scripts.check_answers import SETS, check, read
from tests.conftest import HashEncoder

FILES = {
    "a.txt": "Pauli Blendergast says that economics is bullshit. He tracked 1,312 receipts from 47 bakeries in 1994.",
    "b.txt": "The seminar meets on Thursdays from 16:15 in room B-207. It has places for 24 people.",
}


@pytest.fixture(scope="module")
def prompt() -> Prompt:
    from autocontext import AutoContext

    ac = AutoContext(encoder=HashEncoder())
    ac.add_files([(name, text.encode()) for name, text in FILES.items()])
    made = ac.get_prompt("Who says that economics is bullshit and where does the seminar meet?")
    assert [item.chunk.document for item in made.evidence] == ["a.txt", "b.txt"]
    return made


def told(text: str, prompt: Prompt) -> list[tuple[str, tuple[int, ...], list[str]]]:
    return [
        (sentence.status, sentence.passages, [text[start:end] for start, end in sentence.not_found])
        for sentence in check_answer(text, prompt).sentences
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It was Pauli Blendergast [1].", [("cited", (1,), [])]),
        ("It was Pauli Blendergast. [1]", [("cited", (1,), [])]),
        ("He counted 1312 receipts in 1994.", [("matched", (1,), [])]),
        ("He counted 1312 receipts in 2018 [1].", [("cited", (1,), ["2018"])]),
        ("He tracked 1,312 receipts from forty-seven bakeries.", [("matched", (1,), [])]),
        ("It meets at 4:15 pm in B-208.", [("unmatched", (), ["B-208"])]),
        ("There are places for 24 minutes [2].", [("cited", (2,), [])]),
        ("He was born in Michigan [1].", [("cited", (1,), ["Michigan"])]),
        ("Cats purr loudly when somebody strokes their fur.", [("unmatched", (), [])]),
        ("Not in the documents.", [("not in the documents", (), [])]),
        ("The context does not mention this.", [("not in the documents", (), [])]),
        ("Das steht nicht in den Dokumenten.", [("not in the documents", (), [])]),
        ("Economics is bullshit.", [("matched", (1,), [])]),
        ("Yes.", [("unmatched", (), [])]),
        ("", []),
        ("[1]", []),
        ("```\nx = 2018\n```", []),
    ],
)
def test_each_sentence_is_told_what_it_rests_on(prompt: Prompt, text: str, expected) -> None:
    assert told(text, prompt) == expected


def test_a_unit_that_the_passages_give_otherwise_is_not_found(make_context) -> None:
    prompt = make_context({"a.txt": "The guarantee of seven years is void without service."}).get_prompt(
        "How long is the guarantee?"
    )
    assert check_answer("It lasts 7 years.", prompt).not_found == ()
    assert check_answer("It lasts 7 months.", prompt).not_found == ("7",)


def test_what_stands_in_another_passage_than_the_cited_one_is_told(prompt: Prompt) -> None:
    check = check_answer("It is held in B-207 [1].", prompt)
    assert check.not_found == ()
    assert check.elsewhere == (("B-207", "[1]", "[2]"),)
    assert check.findings == ("'B-207' does not stand in [1], but in [2].",)


def test_the_findings_are_sentences(prompt: Prompt) -> None:
    check = check_answer("He tracked 1,312 receipts. It was in Toledo in 2018 [9].", prompt)
    assert check.findings == (
        "[9] is not in the prompt: the model made it up.",
        "Not found in the passages: Toledo, 2018.",
        "No passage matches: It was in Toledo in 2018 [9].",
        "Matched, not cited: [1].",
    )


def test_an_answer_that_only_says_so_is_recognised(prompt: Prompt) -> None:
    assert check_answer("Not in the documents.", prompt).says_not_in_documents
    assert not check_answer("Not in the documents. It is Canberra.", prompt).says_not_in_documents
    assert not check_answer("", prompt).says_not_in_documents


def test_the_questions_own_words_are_no_claims(make_context) -> None:
    prompt = make_context(FILES).get_prompt("Why was the thesis printed in Toledo in 2018?")
    assert check_answer("It was printed in Toledo in 2018.", prompt).not_found == ()


def test_an_answer_in_another_language_is_held_to_its_numbers_and_names(make_context) -> None:
    prompt = make_context(FILES).get_prompt("Who says that economics is bullshit?")
    check = check_answer("Pauli Blendergast hat 1.312 Quittungen aus 47 Bäckereien ausgewertet [1].", prompt)
    assert check.not_found == ()
    assert check_answer("Es waren 1.313 Quittungen aus der Stadt [1].", prompt).not_found == ("1.313",)


def test_nothing_is_cited_where_the_prompt_does_not_number(make_context) -> None:
    prompt = make_context(FILES, template="seed").get_prompt("Who says that economics is bullshit?")
    (sentence,) = check_answer("Pauli Blendergast says so, in [1994].", prompt).sentences
    assert (sentence.status, sentence.passages) == ("matched", (1,))


def test_citations_are_stripped_where_they_mean_nothing() -> None:
    assert strip_citations("It is so [1], [2, 3]. a[0]") == "It is so,. a"


@given(st.text())
def test_any_text_can_be_checked(prompt: Prompt, text: str) -> None:
    check = check_answer(text, prompt)
    spans = [(sentence.start, sentence.end) for sentence in check.sentences]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(
        sentence.start <= start < end <= sentence.end
        for sentence in check.sentences
        for start, end in sentence.not_found
    )
    assert all(1 <= number <= 2 for number in check.passages)
    assert all(isinstance(finding, str) for finding in check.findings)


@given(
    st.lists(
        st.sampled_from(["[1]", "[2]", "[9]", "[1,2]", " ", "\n", ".", "B-207", "Pauli", "2018", "|", "```", "é", "一"])
    )
)
def test_any_mix_of_citations_and_facts_can_be_checked(prompt: Prompt, pieces: list[str]) -> None:
    check = check_answer("".join(pieces), prompt)
    assert {citation.number for citation in check.citations} <= {1, 2, 9}


# ---- the labelled answers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "least_caught", "most_wronged"), [("tuning", 0.92, 0.0), ("unseen", 0.9, 0.0)])
def test_the_check_is_as_good_as_the_note_says(sample, name: str, least_caught: float, most_wronged: float) -> None:
    pairs = []
    for case in read(name):
        _, flagged = check(case, sample.get_prompt(case.question))
        pairs += [pair for pair in zip(case.made_up, flagged, strict=True) if pair[1] is not None]
    caught = [flag for made_up, flag in pairs if made_up]
    wronged = [flag for made_up, flag in pairs if not made_up]
    assert sum(caught) / len(caught) >= least_caught
    assert sum(wronged) / len(wronged) <= most_wronged


def test_the_labelled_answers_are_enough_and_of_every_kind() -> None:
    rows = [
        json.loads(line) for name in SETS for line in (Path("tests/answers") / f"{name}.jsonl").read_text().splitlines()
    ]
    kinds = [(any(row["made_up"]), all(row["made_up"])) for row in rows]
    assert len({row["id"] for row in rows}) == len(rows) == 60
    assert min(kinds.count((False, False)), kinds.count((True, True)), kinds.count((True, False))) >= 14
