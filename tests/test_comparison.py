"""One question under several settings: what is compared, what moved, and that it is always the same."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocontext import AutoContext, Settings
from autocontext.__main__ import main
from autocontext.comparison import (
    ComparisonStoppedError,
    Move,
    Place,
    Variants,
    bm25_choices,
    compare,
    meaning_of,
    method_choices,
    model_choices,
    retriever_choices,
    size_choices,
    weigh,
    with_present,
)
from autocontext.datatypes import Chunk, Hit
from autocontext.errors import SettingsError
from autocontext.explanation import to_records
from autocontext.fusion import fuse
from autocontext.settings import BM25Options, ChunkOptions
from autocontext.why_not import why_not
from tests.conftest import DATA, ROOT

QUESTION = "When was Blendergast born?"
GOLDEN = ROOT / "tests" / "golden" / "comparison.txt"
WORDS_ONLY = Settings(retrievers=("bm25",))
# Short: says "salt" once among few words. Long: says it three times among many. k1 and b decide which is better.
SALT = {
    "short.txt": "Salt melts.",
    "long.txt": "Salt and salt and salt are kept in the big blue jar on the shelf beside the window of the kitchen.",
    "other.txt": "Bread bakes in the oven, says the cook.",
}


def settings_of(choices) -> dict[str, Settings]:
    return {choice.label: choice.settings for choice in choices}


def order(ac: AutoContext, settings: Settings, question: str = "salt") -> list[str]:
    return [item.chunk.document for item in ac.variant(settings).search(question)]


# ---- what is compared ------------------------------------------------------------------------------------------------


def test_the_usual_pairs_of_k1_and_b_each_say_what_they_favour():
    choices = bm25_choices(Settings())
    assert [(choice.label, choice.settings.bm25) for choice in choices] == [
        ("k1 1.2, b 0.5", BM25Options(k1=1.2, b=0.5)),
        ("k1 1.5, b 0.75", BM25Options(k1=1.5, b=0.75)),
        ("k1 2, b 1", BM25Options(k1=2.0, b=1.0)),
    ]
    assert "long passages" in choices[0].note
    assert "short passages" in choices[2].note
    assert all(choice.note.endswith(".") for choice in choices)


def test_k1_and_b_reorder_a_fixture(make_context):
    ac = make_context(SALT, retrievers=("bm25",))
    by_pair = [
        order(ac, choice.settings)[0] for choice in bm25_choices(ac.settings, [(0.0, 0.0), (2.0, 0.0), (2.0, 1.0)])
    ]
    assert by_pair == ["short.txt", "long.txt", "short.txt"]


def test_one_three_and_five_sentences_are_other_cuts_of_the_same_text(sample):
    compared = compare(sample, QUESTION, settings_of(size_choices(sample.settings)))
    assert [outcome.n_chunks for outcome in compared.outcomes] == [159, 77, 55]
    assert compared.base == "3 sentences"
    assert compared.outcomes[1].prompt == sample.get_prompt(QUESTION)
    for outcome in compared.outcomes:
        assert "born in 1961" in outcome.prompt.text


def test_an_overlap_that_is_too_large_for_a_size_is_made_smaller():
    settings = Settings(chunking=ChunkOptions(sentences=3, overlap=2))
    assert [c.settings.chunking.overlap for c in size_choices(settings)] == [0, 2, 2]


def test_the_present_settings_are_always_among_the_choices():
    settings = Settings()
    assert [c.label for c in with_present(settings, bm25_choices(settings))][1] == "k1 1.5, b 0.75"
    other = replace(settings, bm25=BM25Options(k1=3.0))
    first, *_ = with_present(other, bm25_choices(other))
    assert (first.label, first.settings) == ("As it is now", other)


# ---- the traps of other systems --------------------------------------------------------------------------------------


def test_weights_change_the_ranking(sample):
    rankings = {
        share: [item.chunk.number for item in sample.variant(weigh(sample.settings, share)).search(QUESTION)]
        for share in (0.0, 0.5, 1.0)
    }
    assert len({tuple(ranking) for ranking in rankings.values()}) == 3


def test_the_ends_of_the_slider_are_one_retriever_alone_and_not_swapped(sample):
    for meaning, name in ((0.0, "bm25"), (1.0, "dense")):
        alone = replace(sample.settings, retrievers=(name,))
        at_the_end = sample.variant(weigh(sample.settings, meaning))
        assert at_the_end.retrievers == (name,)
        found = [(item.chunk.number, list(item.hits)) for item in at_the_end.search(QUESTION)]
        assert found == [(item.chunk.number, [name]) for item in sample.variant(alone).search(QUESTION)]


def test_a_weight_of_0_removes_a_retriever(sample):
    found = sample.variant(replace(sample.settings, weights={"dense": 0.0})).search(QUESTION, 50)
    assert {name for item in found for name in item.hits} == {"bm25"}


@pytest.mark.parametrize("method", ["scores", "ranks"])
def test_the_order_of_the_retrievers_does_not_matter(sample, method):
    settings = replace(sample.settings, fusion=method)
    ways = [replace(settings, retrievers=order) for order in itertools.permutations(settings.retrievers)]
    first, *others = [[(i.chunk.number, i.score) for i in sample.variant(way).search(QUESTION, 82)] for way in ways]
    assert others == [first] * len(others)


@given(
    scores=st.dictionaries(
        st.sampled_from(["bm25", "dense", "tfidf"]),
        st.dictionaries(st.integers(0, 8), st.floats(0.001, 50)),
        min_size=3,
    ),
    weights=st.tuples(*[st.floats(0.01, 3)] * 3),
    method=st.sampled_from(["scores", "ranks"]),
)
def test_three_retrievers_give_the_same_to_the_last_bit_in_any_order(scores, weights, method):
    chunks = [Chunk(n, "a.txt", "", 0, 0, 1) for n in range(9)]
    results = []
    for names in itertools.permutations(scores):
        rankings = {}
        for name in names:
            best = sorted(scores[name].items(), key=lambda item: (-item[1], item[0]))
            rankings[name] = [Hit(name, chunk, rank, score) for rank, (chunk, score) in enumerate(best, start=1)]
        given_weights = dict(zip(sorted(scores), weights, strict=True))
        fused = fuse(rankings, chunks, method=method, weights=given_weights, trust={}, depth=300)
        results.append([(item.chunk.number, item.score) for item in fused])
    assert all(result == results[0] for result in results)


def test_the_slider_keeps_the_shares_of_several_word_retrievers():
    settings = Settings(weights={"bm25": 3.0, "dense": 1.0})
    assert weigh(settings, 0.25).weights == {"bm25": 0.75, "dense": 0.25}
    assert meaning_of(weigh(settings, 0.4)) == 0.4
    assert meaning_of(Settings()) == pytest.approx(0.65 / 1.65)
    assert weigh(Settings(retrievers=("dense",)), 0.5).retrievers == ("bm25", "dense")
    assert weigh(Settings(retrievers=("bm25",)), 0.5).retrievers == ("bm25", "dense")
    with pytest.raises(SettingsError, match="between 0 and 1, not 40"):
        weigh(settings, 40)


def test_the_page_and_the_prompt_use_the_same_chunks(sample):
    """For each choice, what is shown as in the prompt is what `get_prompt` puts in under these settings."""
    compared = compare(sample, QUESTION, settings_of(method_choices(sample.settings)), num_results=4, max_tokens=400)
    for outcome in compared.outcomes:
        fresh = AutoContext(settings=outcome.settings)
        fresh.add_folder(DATA)
        assert outcome.prompt == fresh.get_prompt(QUESTION, 4, 400)


# ---- what moved ------------------------------------------------------------------------------------------------------


def test_what_moved_is_one_list_with_each_passage_once(sample):
    compared = compare(sample, QUESTION, settings_of(retriever_choices(sample.settings, ["bm25", "dense"])))
    assert compared.base == "All together"
    assert len({(row.chunk.document, row.chunk.start) for row in compared.rows}) == len(compared.rows) == 6
    assert compared.rows[3].places == {"bm25": Place(6), "dense": Place(3, (3,)), "All together": Place(4, (4,))}
    assert compared.rows[5].places == {"bm25": Place(4, (4,)), "dense": Place(6), "All together": Place(6)}
    moves = [[compared.move(compared.rows[n], outcome.label) for outcome in compared.outcomes] for n in (3, 5)]
    assert moves == [[Move("gone"), Move("up", 1), Move("same")], [Move("new"), Move("out"), Move("out")]]
    assert compared.shared("bm25") == (4, 6)
    assert compared.overlap("bm25") == pytest.approx(4 / 6)
    assert (compared.shared("dense"), compared.overlap("dense")) == ((5, 5), 1.0)
    assert compared.overlap(compared.base) == 1.0


def test_passages_of_another_size_stand_in_the_line_of_the_text_they_hold(sample):
    compared = compare(sample, QUESTION, settings_of(size_choices(sample.settings)))
    rows = [[row.places[outcome.label].numbers for outcome in compared.outcomes] for row in compared.rows]
    assert rows == [
        [(1, 3, 4), (1,), (1,)],
        [(2, 5), (2,), (2,)],
        [(), (3,), (2,)],
        [(), (4,), (3,)],
        [(), (5,), (4,)],
        [(), (), (5,)],
    ]
    moves = [compared.move(row, "5 sentences") for row in compared.rows]
    assert moves == [Move("same"), Move("same"), Move("up", 1), Move("up", 1), Move("up", 1), Move("new")]
    assert compared.rows[2].places["1 sentence"] == Place(rank=6)
    assert compared.move(compared.rows[2], "1 sentence") == Move("gone")
    assert compared.move(compared.rows[5], "1 sentence") == Move("out")
    assert (compared.shared("1 sentence"), compared.shared("5 sentences")) == ((2, 5), (5, 6))


@pytest.mark.parametrize("sentences", [(1, 3), (3, 1), (2, 5), (1, 2, 3, 5)])
def test_no_number_of_a_prompt_is_missing_in_the_list(sample, sentences):
    kept = Variants()  # each cut is embedded once
    for question in ("What does fault code F-13 mean?", "Who is the dean?", "Wann wurde der Wald gepflanzt?"):
        compared = compare(sample, question, settings_of(size_choices(sample.settings, sentences)), kept=kept)
        for outcome in compared.outcomes:
            listed = {n for row in compared.rows for n in row.places[outcome.label].numbers}
            assert listed == set(range(1, len(outcome.prompt.evidence) + 1))


def test_a_question_without_a_match_moves_nothing(make_context):
    compared = compare(make_context(SALT, retrievers=("bm25",)), "zebra", settings_of(bm25_choices(WORDS_ONLY)))
    assert compared.rows == ()
    assert [outcome.prompt.evidence for outcome in compared.outcomes] == [(), (), ()]
    assert compared.overlap("k1 2, b 1") == 1.0


# ---- how it is made --------------------------------------------------------------------------------------------------


def test_every_record_calls_the_place_of_a_passage_where(sample):
    place = sample.search(QUESTION)[0].chunk.place
    explained = sample.explain(QUESTION)
    records = [
        compare(sample, QUESTION, settings_of(bm25_choices(sample.settings))).to_plain()["moved"][0],
        to_records(explained.rows)[0],
        why_not(sample, QUESTION, explained.evidence[0].chunk.text).to_record(),
    ]
    assert [record["where"] for record in records] == [place] * 3


def test_a_comparison_leaves_the_collection_as_it_was(make_context, encoder):
    ac = make_context(SALT)
    before = (ac.settings, ac.chunks, ac.get_prompt("salt"))
    compare(ac, "salt", settings_of(size_choices(ac.settings)))
    assert (ac.settings, ac.chunks, ac.get_prompt("salt")) == before
    assert ac.chunks is before[1]


def test_settings_without_another_index_embed_and_build_nothing(make_context, encoder):
    ac = make_context(SALT)
    ac.warm_up()
    kept = Variants()
    encoded = encoder.texts_encoded
    compare(ac, "salt", settings_of(method_choices(ac.settings)), kept=kept)
    assert len(kept) == 0
    assert encoder.texts_encoded - encoded <= 1 + 3 * 5  # the question, and sentences of what was found

    sharing = ac.variant(replace(ac.settings, fusion="ranks"))
    assert sharing._snapshot is ac._snapshot


def test_what_was_made_is_kept_and_only_the_last_ones(make_context, encoder):
    ac = make_context({"a.txt": "Salt melts. " * 9})
    sizes = settings_of(size_choices(ac.settings, [1, 2, 4, 5]))
    kept = Variants(most=3)
    compare(ac, "salt", sizes, kept=kept)
    assert len(kept) == 3
    encoded = encoder.texts_encoded
    compare(ac, "salt", {label: sizes[label] for label in list(sizes)[1:]}, kept=kept)
    assert encoder.texts_encoded - encoded <= 1
    assert not kept.holds(ac, sizes["1 sentence"])
    assert kept.holds(ac, sizes["5 sentences"])

    ac.add("b.txt", b"Tea is hot.")
    assert not kept.holds(ac, sizes["5 sentences"])
    assert compare(ac, "tea", sizes, kept=kept).rows[0].chunk.document == "b.txt"


def test_progress_tells_which_choice_is_made_ready_and_stop_ends_it(make_context):
    ac = make_context({"a.txt": "Salt melts at 801 degrees. " * 200})
    told = []
    sizes = settings_of(size_choices(ac.settings, [1]))
    compare(ac, "salt", sizes, progress=lambda *args: told.append(args))
    n_chunks = len(ac.variant(sizes["1 sentence"]).chunks)
    assert told[-1] == ("1 sentence", n_chunks, n_chunks)

    kept = Variants()
    with pytest.raises(ComparisonStoppedError):
        compare(ac, "salt", sizes, kept=kept, should_stop=lambda: True)
    assert len(kept) == 0


def test_a_model_that_is_not_there_says_so_and_the_others_go_on(sample, tmp_path):
    choices = with_present(sample.settings, model_choices(sample.settings, ["no-such-model", str(tmp_path)]))
    compared = compare(sample, QUESTION, settings_of(choices))
    assert [outcome.problem for outcome in compared.outcomes] == [
        "",
        "The embedding model no-such-model is not on this machine. Give a folder that holds it.",
        f"The folder {tmp_path} holds no embedding model (no config.json and no tokenizer.json).",
    ]
    assert compared.outcomes[0].prompt == sample.get_prompt(QUESTION)
    assert list(compared.rows[0].places) == ["As it is now"]


@pytest.mark.parametrize("folder", ["~nobody-of-this-name/model", f"/{'a' * 300}"])
def test_a_folder_that_can_be_none_is_a_sentence(sample, folder):
    (choice,) = model_choices(sample.settings, [folder])
    problem = compare(sample, QUESTION, {choice.label: choice.settings}).outcomes[0].problem
    assert problem == f"The folder {folder} holds no embedding model (no config.json and no tokenizer.json)."


def test_a_broken_model_is_a_sentence(sample, tmp_path):
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    (choice,) = model_choices(sample.settings, [str(tmp_path)])
    problem = compare(sample, QUESTION, {choice.label: choice.settings}).outcomes[0].problem
    assert "cannot be loaded" in problem


def test_a_budget_that_is_too_small_costs_its_own_choice_only(make_context):
    ac = make_context(SALT, retrievers=("bm25",))
    compared = compare(ac, "salt", {"small": replace(ac.settings, max_tokens=5), "own": ac.settings})
    assert "raise the token budget" in compared.outcomes[0].problem
    assert compared.base == "own"
    assert len(compared.rows) == 2


def test_there_has_to_be_something_to_compare(make_context):
    with pytest.raises(SettingsError, match="nothing to compare"):
        compare(make_context(SALT), "salt", {})


# ---- always the same -------------------------------------------------------------------------------------------------


def golden_table() -> str:
    """Return the comparison of all questions as text, of BM25 alone: no machine's arithmetic of vectors matters."""
    ac = AutoContext(settings=WORDS_ONLY)
    ac.add_folder(DATA)
    kept, lines = Variants(), []
    for line in (DATA / "questions.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        choices = [*bm25_choices(ac.settings), *size_choices(ac.settings, [1, 5])]
        compared = compare(ac, row["question"], settings_of(choices), kept=kept)
        shares = " ".join(f"{compared.overlap(outcome.label):.4f}" for outcome in compared.outcomes)
        lines.append(f"{row['id']} {shares}")
        for each in compared.rows:
            places = (each.places[outcome.label] for outcome in compared.outcomes)
            cells = " ".join(",".join(map(str, place.numbers)) or f"({place.rank or '-'})" for place in places)
            lines.append(f"  {each.chunk.document}:{each.chunk.start}-{each.chunk.end} {cells}")
    return "\n".join(lines) + "\n"


def test_the_comparison_of_the_samples_questions_is_exactly_the_recorded_one():
    """To record another one on purpose: ``python -m tests.test_comparison``."""
    assert golden_table() == GOLDEN.read_text("utf-8")


def test_the_same_comparison_gives_the_same_json(sample):
    choices = settings_of([*size_choices(sample.settings), *method_choices(sample.settings)])
    first, second = (json.dumps(compare(sample, QUESTION, choices).to_plain()) for _ in range(2))
    assert first == second


# ---- the command line ------------------------------------------------------------------------------------------------


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in SALT.items():
        (folder / name).write_text(text)
    return folder


def test_compare_bm25_prints_each_prompt_and_what_moved(notes, capsys):
    pairs = ["--pairs", "2,0", "2,1", "2,0.0"]
    assert main(["compare-bm25", str(notes), "salt", "--retrievers", "bm25", *pairs]) == 0
    out = capsys.readouterr().out
    assert out.count("Question: salt\nAnswer:") == 3
    assert "=== As it is now (the others are held against it) ===" in out
    table = out[out.index("=== What moved ===") :].splitlines()
    assert table[1].split() == ["As", "it", "is", "now", "k1", "2,", "b", "0", "k1", "2,", "b", "1", "passage"]
    assert len(table) == 4


def test_choices_that_differ_in_a_late_digit_have_names_of_their_own(make_context):
    choices = bm25_choices(make_context(SALT).settings, [(1.2, 0.5), (1.2000001, 0.5)])
    assert [choice.label for choice in choices] == ["k1 1.2, b 0.5", "k1 1.2000001, b 0.5"]


def test_compare_chunks_as_json_has_chunks_prompt_and_passages_of_each(notes, capsys):
    assert main(["compare-chunks", str(notes), "salt", "--retrievers", "bm25", "--sizes", "1", "5", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["base"] == "As it is now"
    assert [variant["label"] for variant in plain["variants"]] == ["As it is now", "1 sentence", "5 sentences"]
    for variant in plain["variants"]:
        assert variant["chunks"] == 3
        assert variant["prompt"].endswith("Answer:")
        assert [passage["document"] for passage in variant["passages"]] == ["notes/short.txt", "notes/long.txt"]
    assert [row["places"]["1 sentence"]["move"] for row in plain["moved"]] == ["same", "same"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["compare-bm25", "--pairs", "1.2"],
            "A pair is k1 and b with a comma between, for example 1.2,0.5; not '1.2'.",
        ),
        (["compare-bm25", "--pairs", "1,2"], "b must lie between 0 and 1, not 2.0."),
        (["compare-chunks", "--sizes", "0"], "A passage needs at least 1 sentence, not 0."),
    ],
)
def test_a_value_that_cannot_work_is_told_before_anything_is_read(arguments, sentence, capsys):
    command, *options = arguments
    assert main([command, "no-such-folder", "salt", *options]) == 1
    assert capsys.readouterr().err == f"autocontext: {sentence}\n"


if __name__ == "__main__":
    GOLDEN.write_text(golden_table(), "utf-8")
