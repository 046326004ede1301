"""Where a sentence that one expected stands, and what kept it out of the prompt."""

from __future__ import annotations

import pytest

from autocontext import ChunkOptions
from autocontext.errors import SettingsError
from autocontext.why_not import LONGEST, why_not
from tests.pdf_files import drawn

SALT = "Salt melts at 801 degrees."
FILES = {
    "salt.txt": SALT,
    "sugar.txt": "Sugar melts sooner than salt does, as every cook knows who has burnt it.",
    "sea.txt": "The sea holds salt, and fish, and much else that nobody has counted yet.",
    "cats.txt": "Cats sleep all day long.",
}
QUESTION = "At how many degrees does salt melt?"


@pytest.fixture
def ac(make_context):
    return make_context(FILES, retrievers=("bm25",))


def test_what_is_in_the_prompt_is_told_with_its_number(ac):
    told = why_not(ac, QUESTION, SALT)
    assert (told.verdict, told.sentences[0]) == ("in the prompt", "It is in the prompt, in passage [1].")
    assert (told.place.document, told.place.start, told.place.end, told.place.share) == ("salt.txt", 0, 25, 1.0)
    assert (told.standings[0].rank, told.row.number) == (1, 1)


def test_too_few_passages_are_told_with_the_number_that_would_do(ac):
    told = why_not(ac, QUESTION, "Sugar melts sooner than salt does", 1)
    assert told.verdict == "number of passages"
    assert told.row.place == 2
    assert told.sentences[0] == "1 other passage is better; the prompt takes the best 1, this one comes 2nd."
    assert "With 2 passages in the prompt it would be in." in told.sentences
    assert "sugar.txt" in {item.chunk.document for item in ac.get_prompt(QUESTION, 2, 3000).evidence}


def test_a_full_budget_is_told_with_the_budget_that_would_do(ac):
    budget = ac.get_prompt(QUESTION, 1, 3000).tokens + 5
    told = why_not(ac, QUESTION, FILES["sugar.txt"], 5, budget)
    assert told.verdict == "budget"
    assert told.sentences[0].startswith(f"The token budget of {budget} was full: it needs about ")
    (cure,) = (sentence for sentence in told.sentences if sentence.startswith("With a budget of "))
    enough = int(cure.split()[4].replace(",", ""))
    assert "sugar.txt" in {item.chunk.document for item in ac.get_prompt(QUESTION, 5, enough).evidence}


def test_a_copy_names_the_passage_that_it_repeats(make_context):
    ac = make_context({"a.txt": f"{SALT} It is white as snow.", "b.txt": f"{SALT} It is white as snow!"})
    second = ac.get_prompt(QUESTION).left_out[0].evidence.chunk
    told = why_not(ac, QUESTION, second.text)
    assert told.verdict == "in the prompt"  # the other place has the same words
    assert "It stands in 2 places; the one that does best is told of." in told.sentences

    ac = make_context({"a.txt": f"{SALT} It is white as snow.", "b.txt": f"{SALT} It is very white as snow."})
    told = why_not(ac, QUESTION, "It is very white as snow.")
    assert told.verdict == "duplicate"
    assert told.sentences[0] == "It is nearly the same text as passage [1], which is in the prompt already."
    assert why_not(ac, QUESTION, "It is very white as snow.", 1).verdict == "duplicate"  # more passages would not help


def test_what_has_nothing_in_common_with_the_question_is_told(ac):
    told = why_not(ac, QUESTION, "Cats sleep all day long.")
    assert told.verdict == "nothing in common"
    assert told.row is None
    assert told.standings[0].rank is None
    assert told.sentences[-1] == "BM25 does not return it: they share no word."


def test_a_passage_beyond_the_candidates_is_ranked_all_the_same(make_context):
    files = {f"{n:02}.txt": f"Salt {'salt ' * (9 - n)}note {n}." for n in range(9)}
    ac = make_context(files, retrievers=("bm25",), candidates=3, num_results=2)
    told = why_not(ac, "salt", "Salt note 8.")
    assert told.verdict == "others are better"
    assert told.row is None
    assert told.standings[0].rank > 3
    assert told.standings[0].returned == 9
    assert told.sentences[0] == "No retriever has it among its best 3, so it was no candidate."


def test_a_sentence_over_two_passages_of_which_one_is_in(make_context):
    words, rest = "Salt melts at 801 degrees, as is told in books. ", "Cats sleep all day, says another book."
    one_a_passage = ChunkOptions(sentences=1, sentence_tokens=0)
    ac = make_context({"a.txt": words + rest}, retrievers=("bm25",), num_results=1, chunking=one_a_passage)
    told = why_not(ac, QUESTION, f"{words}{rest}")
    assert told.verdict == "partly in the prompt"
    assert told.sentences[0] == (
        "A part of it is in the prompt, in passage [1]; the rest stands in a passage that is not."
    )


# ---- finding it ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pasted"),
    [
        ("He paid “twenty”\npounds — at the café.", 'he paid "twenty" pounds - at the cafe'),
        ("The ofﬁce is on ﬂoor 3.", "The office is on floor 3."),
        ("Salt   melts\n\tat 801 degrees.", "salt melts at 801 DEGREES"),
        ("水在一百度沸腾。", "一百度沸腾"),
        ("The wavelength is 550 nm.", "avelength is 55"),
    ],
    ids=["quotes", "ligatures", "blanks", "unspaced", "inside of words"],
)
def test_letters_blanks_and_marks_of_other_kinds_do_not_hide_it(make_context, text, pasted):
    told = why_not(make_context({"a.txt": f"Before that. {text} After that."}), "What is told?", pasted)
    assert told.place is not None
    assert told.place.share == 1
    assert told.place.start >= len("Before that. ")
    assert told.place.end <= len(f"Before that. {text}")


def test_a_sentence_that_one_remembers_nearly_is_found_and_its_likeness_told(ac):
    told = why_not(ac, QUESTION, "The sea has salt and fish and much else nobody has counted")
    assert told.place.document == "sea.txt"
    assert 0.5 < told.place.share < 1
    assert any(sentence.startswith("It does not stand there word for word: ") for sentence in told.sentences)


def test_of_several_places_the_one_in_the_prompt_counts(make_context):
    ac = make_context({"a.txt": "Cats sleep. Thanks for reading.", "b.txt": f"{SALT} Thanks for reading."})
    told = why_not(ac, QUESTION, "Thanks for reading.", 1)
    assert (told.verdict, told.place.document) == ("in the prompt", "b.txt")


def test_what_no_document_holds_is_told_with_the_nearest_and_where_it_may_hide(ac):
    ac.add("scan.pdf", drawn("Salt is white, it says on this page.", ""))
    ac.add("broken.pdf", b"%PDF-1.4 no")
    told = why_not(ac, QUESTION, "Copper melts at 1085 degrees.")
    assert told.verdict == "not in the documents"
    assert told.chunk is None
    assert told.standings == ()
    assert told.sentences[0] == "It is not in the text of any document."
    assert told.sentences[1].startswith("The nearest place is in salt.txt: ")
    assert "scan.pdf: 2." in told.sentences[2]
    assert told.sentences[3] == "Files that could not be read, where it may stand: broken.pdf."


@pytest.mark.parametrize("text", ["", "  ", "?!", "x" * (LONGEST + 1)])
def test_what_cannot_be_looked_for_is_refused_in_a_sentence(ac, text):
    with pytest.raises(SettingsError, match=r"^Paste "):
        why_not(ac, QUESTION, text)
    with pytest.raises(SettingsError, match=r"^Ask a question first"):
        why_not(ac, " ", SALT)


def test_an_empty_collection_holds_nothing(make_context):
    assert why_not(make_context(), QUESTION, SALT).verdict == "not in the documents"


def test_the_record_is_json(ac):
    record = why_not(ac, QUESTION, SALT).to_record()
    assert record["verdict"] == "in the prompt"
    assert record["retrievers"] == [
        {"retriever": "bm25", "rank": 1, "score": record["retrievers"][0]["score"], "returned": 3}
    ]


def test_a_passage_without_words_that_its_title_finds_is_no_place(make_context):
    ac = make_context({"salt.txt": "!!! ???"}, retrievers=("bm25",))
    assert [item.chunk.text for item in ac.search("salt")] == ["!!! ???"]
    assert why_not(ac, "salt", "salt").verdict == "not in the documents"
