"""The verdict before any model call: its levels and figures on small examples."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocontext import AutoContext, Settings, retrievers
from autocontext.datatypes import Chunk, Evidence, Support
from autocontext.retrievers.base import Corpus
from autocontext.support import LOOKED_AT, NONE_BELOW, STRONG_FROM, judge
from tests.conftest import HashEncoder

# Of 54 chunks: so salt weighs ln 27 and melt ln 3, three to one.
FREQUENCIES = {"salt": 3, "melt": 51}
BOTH_WORDS = math.log(81)
QUESTION = "When does salt melt?"
BY_WORDS = "Judged by the words alone: no embedding model reads this question."


def found(text, document="a.txt"):
    return Evidence(Chunk(0, document, text, 0, len(text), 1), 1.0, {}, ())


def judged(question, *evidence, closeness=(), coverage=0.0, trust=1.0, languages=None):
    return judge(
        question,
        evidence,
        closeness=closeness,
        coverage=coverage,
        word_frequency=lambda terms: max((FREQUENCIES.get(term, 0) for term in terms), default=0),
        n_chunks=54,
        languages={"a.txt": "en"} if languages is None else languages,
        trust=trust,
    )


def weighed(near, part, whole=BOTH_WORDS):
    """0.6 of the cosine and 0.4 of the words' share, as if there were one more word of weight 4, found nowhere."""
    return round(0.6 * near + 0.4 * part / (whole + 4), 4)


def test_no_evidence_means_no_support():
    assert judged(QUESTION, coverage=1.0) == Support("none", 0.0, ("Nothing was found for this question.",))


@pytest.mark.parametrize(
    ("text", "share", "missing", "part", "level"),
    [
        ("Salt will melt.", "100%", "", math.log(81), "strong"),
        ("The salts are melting.", "100%", "", math.log(81), "strong"),
        ("Salt is white.", "75%", "melt", math.log(27), "strong"),
        ("They melt.", "25%", "salt", math.log(3), "weak"),
        ("Gold shines.", "0%", "salt, melt", 0.0, "none"),
    ],
)
def test_the_weight_of_the_words_found_counts_beside_the_cosine(text, share, missing, part, level):
    reasons = [f"One passage holds {share} of what the question's words weigh."]
    reasons += [f"Not in the best passages: {missing}."] if missing else []
    reasons += ["The nearest sentence has a cosine of 0.70 to the question."]
    support = judged(QUESTION, found(text), closeness=[0.7], coverage=0.9)
    assert support == Support(level, weighed(0.7, part), tuple(reasons))


def test_cosine_and_words_are_those_of_one_passage():
    white, melts = found("Salt is white."), found("They melt.")
    support = judged(QUESTION, white, melts, closeness=[0.2, 0.5])
    assert support.score == weighed(0.5, math.log(3)) > weighed(0.2, math.log(27))
    assert support.reasons == (
        "One passage holds 75% of what the question's words weigh.",
        "The nearest sentence has a cosine of 0.50 to the question.",
    )
    assert judged(QUESTION, white, melts, closeness=[0.5, 0.5]).score == weighed(0.5, math.log(27))


def test_words_spread_over_passages_do_not_add_up():
    support = judged(QUESTION, found("They melt."), found("Salt is white."), closeness=[0.0, 0.0])
    assert support.score == weighed(0, math.log(27))
    assert support.reasons[0] == "One passage holds 75% of what the question's words weigh."


def test_only_the_three_best_passages_are_read():
    assert LOOKED_AT == 3
    support = judged(QUESTION, *[found("They melt.")] * 3, found("Salt."), closeness=[0.1] * 3)
    assert support.score == weighed(0.1, math.log(3))
    assert support.reasons[1] == "Not in the best passages: salt."


# --- what the encoder cannot read ---


@pytest.mark.parametrize(("trust", "score"), [(1.0, 0.217), (0.5, 0.4485), (0.1, 0.6337), (0.0, 0.68)])
def test_the_less_the_encoder_reads_the_more_the_words_alone_decide(trust, score):
    assert weighed(0.1, math.log(27)) == 0.217
    assert judged(QUESTION, found("Salt is white."), closeness=[0.1], coverage=0.2, trust=trust).score == score


@pytest.mark.parametrize("closeness", [(), [0.0], [0.99]])
def test_without_trust_the_cosine_has_no_say(closeness):
    support = judged(QUESTION, found("Salt is white."), closeness=closeness, coverage=0.2, trust=0.0)
    assert (support.level, support.score, support.reasons[-1]) == ("strong", 0.68, BY_WORDS)


@pytest.mark.parametrize(
    ("coverage", "score", "level"),
    [
        (0.0, 0.0, "none"), (0.13, 0.442, "none"), (0.135, 0.459, "weak"), (0.155, 0.527, "weak"),
        (0.156, 0.5304, "strong"), (0.29, 0.986, "strong"), (0.3, 1.0, "strong"), (1.0, 1.0, "strong"),
    ],
)  # fmt: skip
def test_by_words_alone_the_levels_follow_how_far_the_best_passage_stands_out(coverage, score, level):
    support = judged(QUESTION, found("Salt will melt."), coverage=coverage, trust=0.0)
    assert (support.score, support.level) == (score, level)


class BlindEncoder(HashEncoder):
    """Reads no question at all."""

    max_tokens = 254

    def count_tokens(self, texts):
        return [len(text) // 3 + 1 for text in texts]

    def readability(self, text):
        return 0.0


# Each: notes of a language (two of them), a question on the first, and one on something else.
LANGUAGES = {
    "de": (
        ["Der Speicher fasst 300 Liter Wasser.", "Die Hütte liegt im dunklen Wald.", "Wann fasst der Speicher Wasser?"],
        "Wer gewann die Fußballmeisterschaft?",
    ),
    "ru": (
        ["Соль плавится при 801 градусе.", "Вода кипит при 100 градусах.", "Когда плавится соль?"],
        "Кто написал этот роман?",
    ),
    "ar": (["يذوب الملح عند 801 درجة.", "تغلي المياه عند مئة درجة.", "متى يذوب الملح؟"], "من فاز بكأس العالم؟"),
    "hi": (["नमक 801 डिग्री पर पिघलता है।", "पानी सौ डिग्री पर उबलता है।", "नमक कब पिघलता है?"], "विश्व कप किसने जीता?"),
    "th": (["เกลือละลายที่อุณหภูมิแปดร้อยองศา", "แมวนอนหลับทั้งวันในบ้าน", "เกลือละลายที่อุณหภูมิเท่าไร"], "ใครชนะฟุตบอลโลก"),
    "zh": (["食盐在八百零一度熔化。", "猫整天在家里睡觉。", "食盐在多少度熔化？"], "谁赢得了世界杯足球赛？"),
    "ja": (
        ["食塩は八百一度で溶ける。", "猫は一日中家で眠っている。", "食塩は何度で溶けるか"],
        "ワールドカップで優勝した国",
    ),
    "vi": (
        ["Muối nóng chảy ở tám trăm độ.", "Con mèo ngủ cả ngày trong nhà.", "Muối nóng chảy ở bao nhiêu độ?"],
        "Ai vô địch bóng đá thế giới?",
    ),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_that_the_encoder_cannot_read_is_judged_by_its_words_alone(make_context, language):
    (*notes, known), unknown = LANGUAGES[language]
    files = {f"{n}.txt": text for n, text in enumerate(notes)}
    blind = AutoContext(encoder=BlindEncoder())
    blind.add_files([(name, text.encode()) for name, text in files.items()])
    words = make_context(files, retrievers=("bm25",))
    for question, answered in ((known, True), (unknown, False)):
        support = blind.get_prompt(question).support
        if words.search(question):
            assert support == words.get_prompt(question).support
            assert support.reasons[-1] == BY_WORDS
        assert support.level == ("none" if not answered else "weak" if language == "vi" else "strong")


# --- monotone ---


@given(
    held=st.sets(st.sampled_from(["salt", "melt", "gold", "iron"])),
    more=st.sets(st.sampled_from(["salt", "melt", "gold", "iron"])),
    near=st.floats(-1, 1),
)
@settings(max_examples=60)
def test_a_passage_with_more_of_the_words_is_never_judged_worse(held, more, near):
    question = "salt melt gold iron"

    def score(words):
        return judged(question, found("Stone " + " ".join(sorted(words))), closeness=[near]).score

    assert score(held) <= score(held | more)
    assert score(held) < score(held | more) or held >= more


def test_by_words_alone_each_word_more_that_is_found_is_a_higher_score(make_context):
    words = ["quartz", "violet", "harbour", "lantern", "meadow"]
    scores = []
    for count in range(1, 6):
        filler = {f"{n}.txt": f"The {n} boats sail on the river every day." for n in range(30)}
        note = " ".join(["Stone", *words[:count], *["pebble"] * (5 - count)]) + "."
        ac = make_context({**filler, "note.txt": note}, retrievers=("bm25",))
        scores.append(ac.get_prompt(" ".join(words)).support.score)
    assert scores == sorted(scores)
    assert len(set(scores)) == 5 or scores[-1] == 1.0


# --- the bounds and the words ---


@pytest.mark.parametrize(
    ("score", "level"),
    [
        (NONE_BELOW - 0.001, "none"),
        (NONE_BELOW + 0.001, "weak"),
        (STRONG_FROM - 0.001, "weak"),
        (STRONG_FROM + 0.0001, "strong"),
    ],
)
def test_the_levels_meet_at_their_bounds(score, level):
    words = weighed(0, math.log(27), math.log(27))
    support = judged("Salt?", found("Salt."), closeness=[(score - words) / 0.6])
    assert (support.score, support.level) == (pytest.approx(score, abs=1e-4), level)


def test_six_of_the_missing_words_are_named():
    support = judged("salt " + " ".join(f"word{n}" for n in range(7)), found("Salt."))
    assert support.reasons[1] == "Not in the best passages: word0, word1, word2, word3, word4, word5, …."
    support = judged("salt " + " ".join(f"word{n}" for n in range(6)), found("Salt."))
    assert support.reasons[1] == "Not in the best passages: word0, word1, word2, word3, word4, word5."


def test_a_question_of_function_words_is_judged_by_them():
    support = judged("To be or not to be?", found("To be is to do."), closeness=[0.0])
    each = math.log(105)
    assert support.score == weighed(0, 2 * each, 4 * each)
    assert support.reasons[:2] == (
        "One passage holds 50% of what the question's words weigh.",
        "Not in the best passages: or, not.",
    )


def test_a_question_without_words_is_judged_by_its_cosine_alone():
    assert judged("?!", found("Salt."), closeness=[0.3], trust=0.0).score == 0.0
    assert judged("?!", found("Salt."), closeness=[0.3]) == Support(
        "none",
        0.18,
        (
            "One passage holds 0% of what the question's words weigh.",
            "The nearest sentence has a cosine of 0.30 to the question.",
        ),
    )


def test_a_word_is_found_in_the_form_that_the_documents_language_gives_it():
    languages = {"a.txt": "en", "b.txt": "de"}
    english, german = found("The houses stand."), found("Die Häuser stehen.", "b.txt")
    for question, passage, other in (("A house?", english, german), ("Ein Haus?", german, english)):
        assert judged(question, passage, languages=languages).reasons[0].startswith("One passage holds 100%")
        assert judged(question, other, languages=languages).reasons[0].startswith("One passage holds 0%")


# --- in the engine ---


def test_the_nearest_sentence_beats_its_chunk(encoder):
    sentences = ["Salt melts in the oven.", "Boats sail.", "The cat sleeps all day long."]
    text = " ".join(sentences)
    chunk = Chunk(0, "a.txt", text, 0, len(text), 1)
    dense = retrievers.build("dense", Corpus([chunk], Settings(), encoder, encoder.encode([text])))
    (alone,) = dense.closeness("Boats sail?", {0: []})
    assert 0 < alone < 0.8
    assert dense.closeness("Boats sail?", {0: sentences}) == [pytest.approx(1.0)]
    assert dense.closeness("Boats sail?", {0: sentences[:1]}) == [pytest.approx(alone)]


def test_the_verdict_rests_on_the_nearest_sentence(make_context):
    text = "Salt melts in the oven. Boats sail. The cat sleeps all day long."
    support = make_context({"a.txt": text}).get_prompt("Boats sail?").support
    assert support.level == "strong"
    assert support.reasons[-1] == "The nearest sentence has a cosine of 1.00 to the question."


def test_the_engine_judges_a_known_and_an_unknown_question(make_context):
    ac = make_context({"a.txt": "Salt melts at 801 degrees.", "b.txt": "Water boils."}, retrievers=("bm25",))
    assert ac.get_prompt("Where melts salt?").support == Support(
        "strong", 1.0, ("One passage holds 100% of what the question's words weigh.", BY_WORDS)
    )
    assert ac.get_prompt("Who won the football cup?").support.level == "none"
