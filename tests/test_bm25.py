"""BM25 scores against a plain reading of the formula, and against rank_bm25 itself."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from autocontext import BM25Index, Settings
from autocontext.datatypes import Chunk
from autocontext.retrievers.base import Corpus
from autocontext.retrievers.bm25 import PassageIndex, build
from autocontext.settings import BM25Options

CORPUS = [
    "salt melts at 801 degrees".split(),
    "salt salt salt and salt again and again until nobody can see the sea for all the salt".split(),
    "water boils".split(),
    "salt".split(),
    [],
]
WORDS = st.sampled_from("salt water melts boils sea".split())
CORPORA = st.lists(st.lists(WORDS, max_size=6), max_size=6)
K1, B = st.floats(0, 5), st.floats(0, 1)


def plain_scores(corpus, query, k1, b):
    """Read the formula word by word, as it stands in Robertson and Zaragoza with the idf of the docstring."""
    mean = sum(map(len, corpus)) / len(corpus) if corpus else 0.0
    scores = []
    for chunk in corpus:
        score = 0.0
        for word in query:
            n = sum(word in other for other in corpus)
            tf = chunk.count(word)
            idf = math.log(1 + (len(corpus) - n + 0.5) / (n + 0.5))
            if tf:
                score += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(chunk) / mean))
        scores.append(score)
    return scores


@given(corpus=CORPORA, query=st.lists(WORDS, max_size=5), k1=K1, b=B)
@settings(max_examples=150)
def test_scores_are_those_of_the_formula(corpus, query, k1, b):
    index = BM25Index(corpus, k1=k1, b=b)
    assert index.get_scores(query).tolist() == pytest.approx(plain_scores(corpus, query, k1, b))


# With k1 = 0 or b = 1 rank_bm25 divides 0 by 0 for an empty chunk.
@given(corpus=CORPORA.filter(any), query=st.lists(WORDS, max_size=5), k1=st.floats(0.01, 5), b=st.floats(0, 0.99))
@settings(max_examples=150)
def test_scores_are_those_of_rank_bm25_with_this_idf(corpus, query, k1, b):
    index, okapi = BM25Index(corpus, k1=k1, b=b), BM25Okapi(corpus, k1=k1, b=b)
    assert (index.corpus_size, index.avgdl, index.doc_len) == (okapi.corpus_size, okapi.avgdl, okapi.doc_len)
    okapi.idf = index.idf
    assert index.get_scores(query).tolist() == pytest.approx(okapi.get_scores(query).tolist())


def test_known_scores():
    top = BM25Index([["salt", "water"], ["sugar"]]).get_top_n(["salt"], 5)
    assert top == [(pytest.approx(math.log(2) * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 2 / 1.5))), 0)]


@pytest.mark.parametrize("corpus", [[["salt"]], [["salt"], ["salt"]], [["salt", "salt"], ["salt", "sea"]]])
def test_a_word_in_every_chunk_of_a_tiny_collection_is_still_found(corpus):
    top = BM25Index(corpus).get_top_n(["salt"], 5)
    assert sorted(chunk for _, chunk in top) == list(range(len(corpus)))
    assert all(score > 0 for score, _ in top)


@pytest.mark.parametrize("corpus", [[], [[]], [[], []]])
def test_nothing_is_found_where_there_are_no_words(corpus):
    index = BM25Index(corpus)
    assert index.get_scores(["salt"]).tolist() == [0.0] * len(corpus)
    assert index.get_top_n(["salt"], 5) == []
    assert index.idf_of(0) > 0


@pytest.mark.parametrize("query", [[], ["unheard"]])
def test_an_unknown_word_finds_nothing(query):
    assert BM25Index(CORPUS).get_top_n(query, 5) == []


def test_a_rare_word_outweighs_a_common_one():
    corpus = [["salt", "and"], ["sea", "and"], ["and"], ["and"]]
    assert [chunk for _, chunk in BM25Index(corpus).get_top_n(["and", "sea"], 1)] == [1]


def test_a_word_asked_twice_counts_twice():
    index = BM25Index(CORPUS)
    assert index.get_scores(["salt", "salt"]).tolist() == pytest.approx((2 * index.get_scores(["salt"])).tolist())


@pytest.mark.parametrize(
    ("k1", "b", "order"),
    [
        pytest.param(1.5, 0.75, [3, 1, 0], id="default"),
        pytest.param(1.5, 0.0, [1, 0, 3], id="length does not count"),
        pytest.param(0.0, 0.75, [0, 1, 3], id="repetition does not count"),
        pytest.param(100.0, 0.3, [1, 3, 0], id="repetition counts"),
    ],
)
def test_k1_and_b_change_the_order(k1, b, order):
    assert [chunk for _, chunk in BM25Index(CORPUS, k1=k1, b=b).get_top_n(["salt"], 5)] == order


def test_ties_keep_chunk_order_also_where_n_cuts_through_them():
    index = BM25Index([["sea"], ["salt"], ["salt"], ["salt"]])
    assert [chunk for _, chunk in index.get_top_n(["salt"], 2)] == [1, 2]


def test_the_settings_reach_the_index(make_context):
    files = {f"{n}.txt": " ".join(words) for n, words in enumerate(CORPUS) if words}
    for b, best in ((0.75, "3.txt"), (0.0, "1.txt")):
        ac = make_context(files, retrievers=("bm25",), bm25=BM25Options(b=b))
        assert ac.search("salt")[0].chunk.document == best
    assert Settings().bm25 == BM25Options(k1=1.5, b=0.75)


# --- passages, read with their neighbours ---

NEAR = 0.4  # what a word of a neighbour counts


def passages(*documents, languages=None, **options):
    """Make the index of documents, each a list of passages that stand one after the other."""
    chunks: list[Chunk] = []
    for number, texts in enumerate(documents):
        start = 0
        for text in texts:
            chunks.append(Chunk(len(chunks), f"{number}.txt", text, start, start + len(text), 1))
            start += len(text) + 1
    return PassageIndex(Corpus(chunks, Settings(bm25=BM25Options(**options)), languages=languages or {}))


def plain_passage_scores(documents, question, k1, b, reach=4):
    """Read the formula word by word: own counts and 0.4 of the neighbours', lengths alike, idf of the own counts."""
    chunks = [
        (number, place, text.split()) for number, texts in enumerate(documents) for place, text in enumerate(texts)
    ]

    def with_neighbours(chunk, value):
        number, place, words = chunk
        near = [o for o in chunks if o[0] == number and 0 < abs(o[1] - place) <= reach]
        return value(words) + NEAR * sum(value(other) for _, _, other in near)

    lengths = [with_neighbours(chunk, len) for chunk in chunks]
    mean = sum(lengths) / len(lengths)
    scores = []
    for chunk, length in zip(chunks, lengths, strict=True):
        score = 0.0
        for word in dict.fromkeys(question):
            n = sum(word in words for *_, words in chunks)
            tf = with_neighbours(chunk, lambda words, word=word: words.count(word))
            if tf:
                idf = math.log(1 + (len(chunks) - n + 0.5) / (n + 0.5))
                score += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean))
        scores.append(score if set(question) & set(chunk[2]) else 0.0)
    return scores


PASSAGES = st.lists(st.lists(WORDS, min_size=1, max_size=5).map(" ".join), min_size=1, max_size=7)


@given(
    documents=st.lists(PASSAGES, min_size=1, max_size=3),
    question=st.lists(WORDS, min_size=1, max_size=4),
    k1=st.floats(0.01, 5),
    b=st.floats(0, 1),
)
@settings(max_examples=150)
def test_passage_scores_are_those_of_the_formula_with_neighbours(documents, question, k1, b):
    index = passages(*documents, k1=k1, b=b)
    expected = plain_passage_scores(documents, question, k1, b)
    assert index.question_scores(" ".join(question)).tolist() == pytest.approx(expected)


def test_known_passage_scores():
    index = passages(["salt", "salt water", "gold"], ["gold"], b=0.0)
    idf = math.log(1 + 2.5 / 2.5)  # in two of four
    whole = 1 + NEAR  # its own and its neighbour's
    score = pytest.approx(idf * whole * 2.5 / (whole + 1.5))
    assert index.question_scores("salt").tolist() == [score, score, 0.0, 0.0]


@given(
    documents=st.lists(st.lists(WORDS, max_size=6), min_size=1, max_size=6),
    question=st.lists(WORDS, min_size=1, unique=True),
)
@settings(max_examples=100)
def test_without_neighbours_passages_score_as_plain_bm25(documents, question):
    index = passages(*([" ".join(words)] for words in documents))
    plain = BM25Index(documents).get_scores(question)
    assert index.question_scores(" ".join(question)).tolist() == pytest.approx(plain.tolist())


def test_a_chunk_without_any_of_the_words_is_no_hit_however_good_its_neighbours():
    index = passages(["salt salt salt", "gold", "salt melts", "salt"])
    assert index.question_scores("salt melts")[1] == 0.0
    assert [score > 0 for score in index.question_scores("salt melts")] == [True, False, True, True]


def test_a_passage_that_leaves_its_subject_to_the_one_before_beats_one_elsewhere():
    subject = ["the zebra", "it eats much grass"]
    index = passages(subject, ["the horse", "it eats much grass"])
    scores = index.question_scores("zebra eats grass")
    assert scores[1] > scores[3] > 0
    apart = passages([subject[0]], [subject[1]], ["it eats much grass"]).question_scores("zebra eats grass")
    assert apart[1] == apart[2]


def test_the_best_form_of_a_word_counts_once():
    languages = {"0.txt": "en", "1.txt": "de", "2.txt": "en"}
    documents = ["melting melt salt", "melting salz gold", "gold"]
    index = passages(*([text] for text in documents), languages=languages)
    assert (index.document_frequency("melt"), index.document_frequency("melting")) == (1, 1)
    one, other, _ = index.question_scores("melting")
    stems = BM25Index([["melt", "melt", "salt"], ["melting", "salz", "gold"], ["gold"]])
    assert one == pytest.approx(stems.get_scores(["melt"])[0])
    assert other == pytest.approx(stems.get_scores(["melting"])[1])
    assert index.word_frequency(("melt", "melting")) == 1
    assert index.word_frequency(()) == index.word_frequency(("unheard",)) == 0


def test_a_chunk_that_holds_two_forms_of_a_word_has_the_better_one_only():
    both = "melting melting melt salz"  # not stemmed in German, but "melt" is what English makes of the question
    index = passages([both], ["melt"], ["gold"], languages={"0.txt": "de", "1.txt": "en", "2.txt": "en"})
    plain = BM25Index([both.split(), ["melt"], ["gold"]])
    one, other = (plain.get_scores([form])[0] for form in ("melting", "melt"))
    assert index.question_scores("melting")[0] == pytest.approx(max(one, other)) != pytest.approx(one + other)


def test_a_word_asked_twice_counts_once_in_a_question():
    index = passages(["salt water"], ["gold"])
    assert index.question_scores("salt salt Salt").tolist() == index.question_scores("salt").tolist()


@pytest.mark.parametrize("options", [{"k1": 0.0}, {"b": 1.0}, {"k1": 0.0, "b": 1.0}, {"k1": 0.0, "b": 0.0}])
def test_the_ends_of_the_settings_ranges_find_and_judge_as_well(make_context, options):
    files = {
        "a.txt": "Salt melts at 801 degrees.",
        "b.txt": "Miners dig salt.",
        "c.txt": "They sleep.",
        "d.txt": "--- ***",
    }

    def asked(question, **changed):
        ac = make_context(files, retrievers=("bm25",), bm25=BM25Options(**changed))
        found = [(item.chunk.document, item.hits["bm25"].score) for item in ac.search(question)]
        return found, ac.get_prompt(question).support.score

    near = {name: {0.0: 1e-9, 1.0: 1 - 1e-9}[value] for name, value in options.items()}
    for question in ("Do miners melt salt?", "Do football stars melt when trophies glitter brightly?"):
        found, verdict = asked(question, **options)
        other_found, other_verdict = asked(question, **near)
        assert dict(found) == pytest.approx(dict(other_found), rel=1e-6)
        assert "d.txt" not in dict(found) != {}
        assert verdict == pytest.approx(other_verdict, abs=1e-3)


# --- how far the best chunk stands out ---


def test_coverage_is_the_best_share_of_what_the_words_can_reach_less_the_mean():
    index = passages(["salt melts"], ["gold shines"], ["boats sail"])
    assert index.coverage("unheard words") == index.coverage("") == 0.0
    scores = index.question_scores("salt melts")
    highest = 2.5 * 2 * index.idf_of(1)
    assert index.coverage("salt melts") == pytest.approx((scores.max() - scores.sum() / 53) / highest)
    assert 0 < index.coverage("salt unheard") < index.coverage("salt melts") < 1


def test_the_commoner_the_words_the_smaller_the_coverage():
    found = [
        passages(*(["salt"] for _ in range(count)), *(["gold"] for _ in range(60 - count))).coverage("salt")
        for count in (1, 10, 30, 60)
    ]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == 4


def test_the_best_share_is_that_of_the_highest_score_that_the_words_can_reach():
    index = passages(["salt melts"], ["gold shines"], b=0.0)
    reached = 1 / (1 + 1.5)  # of what a word can give at most, found once
    assert index.best_share("salt melts") == pytest.approx(reached)
    assert index.best_share("salt unheard") == pytest.approx(
        reached * index.idf_of(1) / (index.idf_of(1) + index.idf_of(0))
    )
    assert index.best_share("unheard") == index.best_share("") == 0.0
    assert passages(["salt " * 500], ["gold"]).best_share("salt") == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(
    ("share", "trust"), [(0.0, 0.0), (0.0875, 0.5), (0.35 * 0.81, 0.9), (0.35, 1.0), (0.4, 1.0), (1.0, 1.0)]
)
def test_bm25_trusts_itself_by_how_much_of_the_question_its_best_hit_has(monkeypatch, share, trust):
    chunk = Chunk(0, "a.txt", "salt", 0, 4, 1)
    retriever = build(Corpus([chunk], Settings()))
    monkeypatch.setattr(retriever.index, "best_share", lambda question: share)
    assert retriever.trust("salt") == pytest.approx(trust)


def test_bm25_has_no_trust_in_what_it_does_not_find_and_full_trust_in_a_full_match():
    chunks = [Chunk(n, f"{n}.txt", text, 0, len(text), 1) for n, text in enumerate(("salt salt melts", "gold shines"))]
    retriever = build(Corpus(chunks, Settings()))
    assert retriever.trust("unheard words") == 0.0
    assert 0.0 < retriever.trust("salt unheard words and others") < retriever.trust("salt melts") == 1.0


def test_two_questions_in_turn_have_each_their_own_scores():
    index = passages(["salt"], ["gold"])
    alone = {
        question: passages(["salt"], ["gold"]).question_scores(question).tolist() for question in ("salt", "gold", "")
    }
    for question in ("salt", "gold", "salt", "", "gold", "gold"):
        assert index.question_scores(question).tolist() == alone[question]
        assert index.coverage(question) == passages(["salt"], ["gold"]).coverage(question)


@given(
    documents=st.lists(PASSAGES, max_size=3),
    question=st.lists(WORDS, max_size=4),
    k1=st.floats(0.01, 5),
    b=st.floats(0, 1),
)
@settings(max_examples=80)
def test_coverage_lies_between_0_and_1(documents, question, k1, b):
    assert 0 <= passages(*documents, k1=k1, b=b).coverage(" ".join(question)) <= 1
