"""The verdict before any model call: its levels and figures on small examples."""

from __future__ import annotations

import pytest

from autocontext.datatypes import Chunk, Evidence, Hit, Support
from autocontext.support import NONE_BELOW, STRONG_FROM, judge

# Of 54 chunks: so salt weighs ln 27 and melt ln 3, three to one.
FREQUENCIES = {"salt": 3, "melt": 51}
BY_WORDS = "Judged by the words alone: no embedding model reads this question."


def found(text, cosine=None):
    hits = {} if cosine is None else {"dense": Hit("dense", 0, 1, cosine)}
    return Evidence(Chunk(0, "a.txt", text, 0, len(text), 1), 1.0, hits, ())


def judged(question, *evidence, trust=0.0):
    return judge(question, evidence, document_frequency=lambda word: FREQUENCIES.get(word, 0), n_chunks=54, trust=trust)


def test_no_evidence_means_no_support():
    assert judged("When does salt melt?") == Support("none", 0.0, ("Nothing was found for this question.",))


@pytest.mark.parametrize(
    ("text", "share", "missing", "score", "level"),
    [
        ("Salt will melt.", "100%", "", 1.0, "strong"),
        ("Salt is white.", "75%", "melt", 0.95, "strong"),
        ("They melt.", "25%", "salt", 0.45, "weak"),
        ("Gold shines.", "0%", "salt, melt", 0.0, "none"),
    ],
)
def test_without_trust_the_weight_of_the_words_found_decides(text, share, missing, score, level):
    reasons = [f"One passage holds {share} of what the question's words weigh."]
    reasons += [f"Not in the best passages: {missing}."] if missing else []
    assert judged("When does salt melt?", found(text, 0.9)) == Support(level, score, (*reasons, BY_WORDS))


def test_with_full_trust_the_nearest_cosine_counts_as_well():
    support = judged("When does salt melt?", found("Salt is white.", 0.2), found("They melt.", 0.5), trust=1.0)
    assert support == Support(
        "strong",
        0.6,
        (
            "One passage holds 75% of what the question's words weigh.",
            "The nearest passage has a cosine of 0.50 to the question.",
        ),
    )


@pytest.mark.parametrize(("trust", "score"), [(1.0, 0.36), (0.5, 0.655), (0.1, 0.891), (0.0, 0.95)])
def test_the_less_the_encoder_reads_the_less_its_cosine_counts(trust, score):
    assert judged("When does salt melt?", found("Salt is white.", 0.1), trust=trust).score == score


@pytest.mark.parametrize(
    ("score", "level"),
    [
        (NONE_BELOW - 0.001, "none"),
        (NONE_BELOW + 0.001, "weak"),
        (STRONG_FROM - 0.001, "weak"),
        (STRONG_FROM, "strong"),
    ],
)
def test_the_levels_meet_at_their_bounds(score, level):
    support = judged("Salt?", found("Salt.", (score - 0.4) / 0.6), trust=1.0)
    assert (support.score, support.level) == (pytest.approx(score, abs=1e-4), level)


def test_words_spread_over_passages_do_not_add_up():
    support = judged("When does salt melt?", found("They melt."), found("Salt is white."))
    assert support.reasons == ("One passage holds 75% of what the question's words weigh.", BY_WORDS)


def test_only_the_five_best_passages_are_read():
    assert judged("When does salt melt?", *[found("They melt.")] * 5, found("Salt.")).score == 0.45


def test_six_of_the_missing_words_are_named():
    support = judged("salt " + " ".join(f"word{n}" for n in range(7)), found("Salt."))
    assert support.reasons[1] == "Not in the best passages: word0, word1, word2, word3, word4, word5, …."
    support = judged("salt " + " ".join(f"word{n}" for n in range(6)), found("Salt."))
    assert support.reasons[1] == "Not in the best passages: word0, word1, word2, word3, word4, word5."


def test_a_question_of_function_words_is_judged_by_them():
    support = judged("To be or not to be?", found("To be is to do."))
    assert (support.score, support.level) == (0.7, "strong")
    assert support.reasons[:2] == (
        "One passage holds 50% of what the question's words weigh.",
        "Not in the best passages: or, not.",
    )


def test_a_question_without_words_is_judged_by_its_cosine_alone():
    assert judged("?!", found("Salt.", 0.3)).score == 0.0
    assert judged("?!", found("Salt.", 0.3), trust=1.0).score == 0.18


def test_the_engine_judges_a_known_and_an_unknown_question(make_context):
    ac = make_context({"a.txt": "Salt melts at 801 degrees.", "b.txt": "Water boils."}, retrievers=("bm25",))
    assert ac.get_prompt("Where melts salt?").support == Support(
        "strong", 1.0, ("One passage holds 100% of what the question's words weigh.", BY_WORDS)
    )
    assert ac.get_prompt("Who won the football cup?").support.level == "none"
