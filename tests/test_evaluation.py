"""Settings measured on questions of one's own: exact figures on small collections, the sample's table, stop, errors."""

from __future__ import annotations

import json
import math
import random

import pytest

from autocontext import AutoContext, ChunkOptions, Settings
from autocontext.__main__ import main
from autocontext.errors import QuestionError, SettingsError
from autocontext.evaluation import PRESENT, Evaluation, evaluate
from autocontext.metrics import Figure
from autocontext.questions import Question, read_questions
from autocontext.settings import BM25Options, EncoderOptions
from autocontext.tuning import best_of, is_clear, settings_to_try
from tests.conftest import DATA, HashEncoder
from tests.shown import same_line

TEXTS = {
    "salt.txt": "Salt melts at 801 degrees.",
    "bread.txt": "Bread bakes at 230 degrees.",
    "tea.txt": "Tea steeps for three minutes.",
}
SALT = Question("q1", "Which salt melts at 801 degrees?", "salt.txt", "Salt melts at 801 degrees.")
TEA = Question("q2", "How long does tea steep?", "tea.txt", "three minutes")
MISSED = Question("q3", "Which salt melts at 801 degrees??", "tea.txt", "Tea steeps for three minutes.")
NOTHING = Question("q4", "Who is the king of Norway?")


def plain(evaluation: Evaluation) -> dict[str, dict[str, float | None]]:
    return {
        result.name: {title: figure.value for title, figure in result.figures.items()} for result in evaluation.results
    }


# ---- exact figures ---------------------------------------------------------------------------------------------------


def test_questions_that_are_answered_first_and_not_at_all(make_context):
    ac = make_context(TEXTS, retrievers=("bm25",))
    evaluation = evaluate(ac, [SALT, TEA, MISSED, NOTHING])

    assert (evaluation.n_answerable, evaluation.n_absent, evaluation.left_out) == (3, 1, ())
    (result,) = evaluation.results
    assert (result.name, result.n_chunks, result.comparison) == (PRESENT, 3, None)
    assert [(score.id, score.rank, score.mrr, score.ndcg) for score in result.scores] == [
        ("q1", 1, 1.0, 1.0),
        ("q2", 1, 1.0, 1.0),
        ("q3", None, 0.0, 0.0),
    ]
    two_thirds = pytest.approx(2 / 3)
    assert {title: figure.value for title, figure in result.figures.items() if title != "tokens"} == dict.fromkeys(
        ("recall@1", "recall@3", "recall@5", "recall@10", "MRR@10", "nDCG@10"), two_thirds
    )


def test_tokens_are_those_of_the_prompt_down_to_the_passage_that_completes_the_quote(make_context):
    ac = make_context({"a.txt": "Salt melts. Salt melts at 801. Salt is white."}, retrievers=("bm25",))
    ac.change_settings(Settings(retrievers=("bm25",), chunking=ChunkOptions(sentences=1, sentence_tokens=0)))
    question = Question("q", "What melts at 801, and is white?", "a.txt", "Salt melts at 801. Salt is white.")
    ranking = [item.chunk.text for item in ac.search(question.question)]
    wanted = {"Salt melts at 801.", "Salt is white."}
    completed_at = max(rank for rank, text in enumerate(ranking, start=1) if text in wanted)

    score = evaluate(ac, [question]).results[0].scores[0]

    assert score.tokens == ac.get_prompt(question.question, completed_at).tokens
    assert score.rank == min(rank for rank, text in enumerate(ranking, start=1) if text in wanted)


def test_of_several_places_that_answer_a_question_the_best_one_counts(make_context):
    ac = make_context(TEXTS, retrievers=("bm25",))
    alone = evaluate(ac, [MISSED])
    both = evaluate(ac, [MISSED, Question("q3", MISSED.question, "salt.txt", "801 degrees")])
    assert (alone.results[0].scores[0].rank, both.results[0].scores[0].rank) == (None, 1)
    assert (both.n_answerable, both.results[0].figures["recall@1"]) == (1, Figure(1.0, 1.0, 1.0))


def test_each_retriever_is_measured_alone_and_other_settings_by_their_names(make_context):
    ac = make_context(TEXTS)
    given = {"words": Settings(retrievers=("bm25",)), "same": ac.settings}
    evaluation = evaluate(ac, [SALT, TEA, NOTHING], given)
    assert [result.name for result in evaluation.results] == [
        "present settings", "bm25 alone", "dense alone", "words", "same",
    ]  # fmt: skip
    by_name = {result.name: result for result in evaluation.results}
    assert by_name["words"].scores == by_name["bm25 alone"].scores
    same = by_name["same"].comparison
    assert (same.wins, same.losses, same.ties, same.p_value, same.difference) == (0, 0, 2, 1.0, Figure(0.0, 0.0, 0.0))
    assert len(evaluate(ac, [SALT], given, alone=False).results) == 3


def test_wins_and_losses_name_the_question_with_its_ranks_there_and_here(make_context):
    """A long text that says the word twice comes first where length is not held back, a short one where it is."""
    texts = {"long.txt": "Tea is tea and " + "much more besides " * 20 + "too.", "short.txt": "Tea is hot."}
    twice, short = (Settings(retrievers=("bm25",), bm25=BM25Options(k1=1.2, b=b)) for b in (0.0, 1.0))
    ac = make_context(texts, retrievers=("bm25",), bm25=twice.bm25)
    question = Question("q1", "tea?", "short.txt", "Tea is hot.")

    there = evaluate(ac, [question], {"short": short}).results[1].comparison
    back = evaluate(ac.variant(short), [question], {"twice": twice}).results[1].comparison

    assert [(c.id, c.question, c.is_win, c.ranks) for c in there.changes] == [("q1", "tea?", True, (2, 1))]
    assert [(c.is_win, c.ranks) for c in back.changes] == [(False, (1, 2))]
    assert (there.by, there.wins, there.losses, there.ties) == ("nDCG@10", 1, 0, 0)
    assert (back.wins, back.losses, back.ties) == (0, 1, 0)
    assert there.difference.value == pytest.approx(1 - 1 / math.log2(3))
    assert back.difference.value == -there.difference.value


def test_passages_of_another_length_are_compared_by_tokens(make_context):
    text = " ".join(f"Sentence {n} speaks of topic{n} and of nothing else." for n in range(30))
    ac = make_context({"a.txt": text}, retrievers=("bm25",), chunking=ChunkOptions(sentences=5, sentence_tokens=0))
    single = Settings(retrievers=("bm25",), chunking=ChunkOptions(sentences=1, sentence_tokens=0))
    question = Question("q", "What of topic7?", "a.txt", "Sentence 7 speaks of topic7")
    result = evaluate(ac, [question], {"single": single}).results[1]
    assert result.n_chunks == 30
    assert (result.comparison.by, result.comparison.wins) == ("tokens", 1)
    (change,) = result.comparison.changes
    assert change.ranks == (1, 1)
    assert change.tokens[0] > change.tokens[1]
    assert best_of(evaluate(ac, [question], {"single": single})) is None  # a trade, left to the user


# ---- errors and stop -------------------------------------------------------------------------------------------------


def test_questions_without_their_documents_are_an_error_not_zeros(make_context):
    ac = make_context({"tea.txt": "Tea is hot."})
    with pytest.raises(QuestionError, match=r"nothing can be measured. q1: salt.txt is not among the documents"):
        evaluate(ac, [SALT, NOTHING])
    with pytest.raises(QuestionError, match="Mark the answer of at least one question first"):
        evaluate(ac, [])


def test_an_answer_that_is_not_found_is_told_and_not_counted_as_a_zero(make_context):
    ac = make_context(TEXTS)
    gone = Question("q9", "Where is it?", "gone.txt", "Here.")
    evaluation = evaluate(ac, [SALT, gone])
    assert evaluation.n_answerable == 1
    assert evaluation.left_out == ("q9: gone.txt is not among the documents. Add it, or correct its name.",)
    assert plain(evaluation) == plain(evaluate(ac, [SALT]))


def test_a_name_of_ours_is_refused(make_context):
    with pytest.raises(SettingsError, match="The name 'bm25 alone' is taken"):
        evaluate(make_context(TEXTS), [SALT], {"bm25 alone": Settings()})


def test_a_stop_keeps_the_systems_that_were_done(make_context):
    ac = make_context(TEXTS)
    told: list[str] = []
    evaluation = evaluate(
        ac,
        [SALT, TEA],
        progress=lambda what, _done, _total: told.append(what),
        should_stop=lambda: "Measuring bm25 alone" in told,
    )
    assert (evaluation.stopped, [result.name for result in evaluation.results]) == (True, ["present settings"])
    at_once = evaluate(ac, [SALT], should_stop=lambda: True)
    assert (at_once.stopped, at_once.results) == (True, ())


def test_progress_grows_to_the_whole(make_context):
    seen: list[tuple[int, int]] = []
    evaluate(
        make_context(TEXTS),
        [SALT, TEA],
        progress=lambda what, done, total: seen.append((done, total)) if what.startswith("Measur") else None,
    )
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert set(seen) == {(n, 6) for n in range(7)}


def test_measuring_changes_nothing_and_embeds_each_text_once(make_context, encoder):
    ac = make_context(TEXTS)
    ac.warm_up()
    before, settings, chunks = encoder.texts_encoded, ac.settings, ac.chunks
    evaluate(ac, [SALT, TEA], {"ranks": Settings(fusion="ranks"), "weights": Settings(weights={"dense": 2.0})})
    assert encoder.texts_encoded - before <= 2 + len(TEXTS)  # the questions, and the passages' sentences
    assert (ac.settings, ac.chunks) == (settings, chunks)


def test_the_order_of_questions_and_documents_makes_no_difference(make_context):
    questions, names = [SALT, TEA, MISSED, NOTHING], list(TEXTS)
    random.Random(1).shuffle(names)
    first = evaluate(make_context(TEXTS), questions)
    second = evaluate(make_context({name: TEXTS[name] for name in names}), questions[::-1])
    for one, other in zip(first.results, second.results, strict=True):
        assert sorted(one.scores, key=lambda s: s.id) == sorted(other.scores, key=lambda s: s.id)
        assert {t: pytest.approx(f.value) for t, f in one.figures.items()} == {
            t: f.value for t, f in other.figures.items()
        }


def test_another_embedding_model_can_be_compared(make_context):
    ac = make_context(TEXTS)
    same_words = Settings(encoder=EncoderOptions(allow_download=False))
    evaluation = evaluate(ac, [SALT], {"other model": same_words})
    assert evaluation.results[-1].scores == evaluation.results[0].scores


# ---- what to try, and what to take -----------------------------------------------------------------------------------


def test_settings_to_try_differ_from_the_present_ones_in_one_thing():
    kinds = settings_to_try(Settings())
    assert {kind: len(tried) for kind, tried in kinds.items()} == {
        "Weight of meaning against words": 5,
        "How rankings are put together": 2,
        "How words are weighed (BM25)": 2,
        "Length of the passages": 3,
    }
    assert all(one != Settings() for tried in kinds.values() for one in tried.values())
    assert list(settings_to_try(Settings(retrievers=("dense",)))) == ["Length of the passages"]


def test_the_best_wins_most_and_few_questions_prove_nothing(sample):
    questions, _ = read_questions((DATA / "questions.jsonl").read_text("utf-8"))
    tried = settings_to_try(sample.settings)["Weight of meaning against words"]
    evaluation = evaluate(sample, questions, tried, alone=False)
    best = best_of(evaluation)
    assert best.name == "meaning 70%, words 30%"
    assert (best.comparison.wins, best.comparison.losses) == (7, 0)
    assert is_clear(best, 1)
    assert not is_clear(best, 20)  # nine wins to none, but twenty settings were tried


# ---- the sample ------------------------------------------------------------------------------------------------------

# fmt: off
TABLE = """\
                  recall@1  recall@3  recall@5  recall@10  MRR@10  nDCG@10              tokens         wins  losses  p      AUROC                warned  caught
present settings  0.814     0.953     0.953     1.000      0.887   0.915 [0.856-0.966]  194 [188-204]                       0.770 [0.584-0.928]  28%     60%
bm25 alone        0.744     0.837     0.837     0.837      0.783   0.797 [0.674-0.901]  197 [189-206]  0     10      0.002  0.691 [0.467-0.902]  21%     50%
dense alone       0.767     0.930     0.977     0.977      0.849   0.881 [0.803-0.945]  192 [187-204]  7     7       1.000  0.772 [0.579-0.933]  26%     60%

43 questions with an answer, 10 that nothing answers
"""  # noqa: E501
# fmt: on


def test_the_table_of_the_sample_is_this(capsys):
    assert main(["eval", str(DATA), str(DATA / "questions.jsonl")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert all(map(same_line, TABLE.splitlines(), printed)), "\n".join(printed)
    assert len(printed) == len(TABLE.splitlines())


# ---- the command line ------------------------------------------------------------------------------------------------


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, "utf-8")
    return folder


def write(path, *rows: dict) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def row(question: Question, document: str | None) -> dict:
    return {
        "id": question.id,
        "question": question.question,
        "document": document,
        "quote": question.quote,
        "page": None,
    }


def test_eval_compares_files_of_settings_and_writes_json(notes, tmp_path, capsys):
    (tmp_path / "short.toml").write_text("[chunking]\nsentences = 1\nsentence_tokens = 0\n", "utf-8")
    (tmp_path / "ranks.toml").write_text('fusion = "ranks"\n', "utf-8")
    questions = write(tmp_path / "q.jsonl", row(SALT, "notes/salt.txt"), {"id": "bad"}, row(NOTHING, None))
    files = [str(tmp_path / name) for name in ("short.toml", "ranks.toml")]
    code = main(["eval", str(notes), questions, "--retrievers", "bm25", "--json", "--settings", *files])
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert code == 0
    assert "q.jsonl: Line 2 has no 'question'." in err
    assert [result["name"] for result in found["results"]] == ["present settings", "short", "ranks"]
    assert found["results"][0]["figures"]["recall@1"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert found["results"][1]["settings"] == {"chunking": {"sentences": 1, "sentence_tokens": 0}}
    assert (found["n_answerable"], found["n_absent"]) == (1, 1)


def test_eval_takes_the_questions_of_the_store(notes, tmp_path, capsys):
    store = tmp_path / "notes.db"
    ac = AutoContext(settings=Settings(retrievers=("bm25",)), store=store)
    ac.set_questions([Question("q1", SALT.question, "notes/salt.txt", SALT.quote)])
    ac.close()
    assert main(["eval", str(notes), "--store", str(store), "--retrievers", "bm25"]) == 0
    assert "1 questions with an answer, 0 that nothing answers" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["gone.jsonl", "--retrievers", "bm25"],
            "The questions in gone.jsonl cannot be read: No such file or directory.",
        ),
        (["--retrievers", "bm25"], "Mark the answer of at least one question first."),
        (["--settings", "gone.toml"], "gone.toml"),
    ],
)
def test_eval_says_what_is_wrong(notes, arguments, told, capsys):
    assert main(["eval", str(notes), *arguments]) == 1
    assert told in capsys.readouterr().err


def test_a_session_of_its_own_encoder_reads_nothing_else():
    """An encoder that only embeds, without counting tokens, can be measured too."""
    ac = AutoContext(encoder=HashEncoder())
    ac.add_files([(name, text.encode()) for name, text in TEXTS.items()])
    assert evaluate(ac, [SALT]).results[0].figures["MRR@10"].value == 1.0
