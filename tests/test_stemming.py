"""Stemming: a question finds a word in whatever form a document has it, and the two never disagree."""

from __future__ import annotations

import threading

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autocontext.stemming import _STEMMERS, _WITHOUT_STEMMER, detect_language, index_terms, question_terms
from autocontext.tokenizing import tokenize

LANGUAGES = [*_STEMMERS, *_WITHOUT_STEMMER, ""]
TEXTS = {
    "en": "The houses were melting quickly, said Blendergast's daughters; see INV-2024-017 and auth_token.",
    "de": "Die Häuser schmolzen, größere Straßen führten über Brücken nach Grauenbühl.",
    "fr": "Les chevaux mangeaient de l'herbe près des vieilles églises d'Orléans.",
    "es": "Los niños corrían por las calles antiguas de la ciudad.",
    "ru": "Кошки спали в старых домах у реки, и ёлки стояли в снегу.",
    "el": "Τα σπίτια ήταν μεγάλα και οι γάτες κοιμόντουσαν.",
    "tr": "Evlerimizdeki kediler İstanbul'un sokaklarında uyuyordu.",
    "ar": "كانت البيوت كبيرة والقطط تنام في الشوارع.",
    "hi": "घरों में बिल्लियाँ सोती थीं और लड़के खेलते थे।",
    "vi": "Những ngôi nhà cũ nằm bên bờ sông Hồng.",
    "th": "แมวนอนหลับทั้งวันในบ้านเก่าริมแม่น้ำ",
    "zh": "猫整天在河边的老房子里睡觉。",
    "ja": "猫は一日中、川のそばの古い家で眠っている。",
    "ko": "고양이는 강가의 오래된 집에서 하루 종일 잔다.",
}
WORDS = st.sampled_from(sorted({word for text in TEXTS.values() for word in text.split()})) | st.text(
    "abcßäéıİσςяйλ한글猫ไทยहिर्ن١23'’-_.#+", min_size=1, max_size=14
)


# --- a question and a document never disagree ---


@given(
    words=st.lists(WORDS, min_size=1, max_size=12),
    language=st.sampled_from(LANGUAGES),
    others=st.lists(st.sampled_from(LANGUAGES), max_size=4),
)
@example(words=["ss"], language="hu", others=[])
@example(words=["'s"], language="en", others=["vi"])
@settings(max_examples=300)
def test_every_word_of_a_document_asked_verbatim_has_a_term_in_it(words, language, others):
    indexed = set(index_terms(" ".join(words), language))
    collection = [*others, language]
    for word in words:
        for group in question_terms(tokenize(word), collection):
            assert indexed.intersection(group), (word, group)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_whole_document_asked_verbatim_has_every_term_in_it(language):
    for text in TEXTS.values():
        indexed = set(index_terms(text, language))
        groups = question_terms(tokenize(text), [language], text)
        assert groups
        assert all(indexed.intersection(group) for group in groups)


@given(words=st.lists(WORDS, max_size=12), languages=st.lists(st.sampled_from(LANGUAGES), max_size=5))
@settings(max_examples=100)
def test_no_term_is_empty_and_no_group_comes_twice(words, languages):
    groups = question_terms(words, languages, " ".join(words))
    assert len(set(groups)) == len(groups)
    assert all(groups)
    assert all(term for word, group in zip(words, groups, strict=False) for term in group if word)
    assert all(len(set(group)) == len(group) for group in groups)


@given(words=st.lists(WORDS, max_size=8))
@settings(max_examples=60)
def test_the_order_of_the_languages_changes_no_set_of_terms(words):
    tokens = tokenize(" ".join(words))
    there, back = (question_terms(tokens, languages) for languages in (["en", "de", "tr"], ["tr", "de", "en"]))
    assert set(map(frozenset, there)) == set(map(frozenset, back))


# --- forms ---


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "houses", "house"), ("en", "melting", "melts"), ("en", "quickly", "quick"), ("de", "Häuser", "Haus"),
        ("de", "Straßen", "Straße"), ("fr", "mangeaient", "manger"), ("es", "niños", "niño"),
        ("ru", "кошки", "кошка"), ("el", "σπίτια", "σπίτι"), ("tr", "evlerimiz", "evler"), ("hi", "लड़के", "लड़का"),
        ("nl", "boeken", "boek"), ("it", "gatti", "gatto"), ("pt", "meninos", "menino"), ("sv", "husen", "huset"),
    ],
)  # fmt: skip
def test_two_forms_of_a_word_are_one_term(language, one, other):
    assert index_terms(one, language) == index_terms(other, language)
    assert index_terms(one, "") != index_terms(other, "")


def test_a_question_has_each_form_that_the_collections_languages_give():
    assert question_terms(["singing", "berlin"], ["en", "de"]) == [("sing", "singing"), ("berlin",)]
    assert question_terms(["singing"], ["de", "en"]) == [("singing", "sing")]
    assert question_terms(["house", "houses"], ["en"]) == [("hous",)]
    assert question_terms(["houses"], []) == question_terms(["houses"], [""]) == [("houses",)]
    assert question_terms([], ["en", "vi"], "") == []


@pytest.mark.parametrize("language", _STEMMERS)
@pytest.mark.parametrize("code", ["f-13", "inv-2024-017", "2024s", "v2.0.1s", "e205", "404ing", "3.14", "b-207"])
def test_codes_with_digits_are_left_as_they_are(language, code):
    assert code in index_terms(code, language)
    assert question_terms([code], [language]) == [(code,)]


@pytest.mark.parametrize("language", ["", "th", "zh", "ja", "ko", "he", "uk", "xx"])
def test_without_a_stemmer_the_terms_are_the_tokens(language):
    for text in TEXTS.values():
        assert index_terms(text, language) == tokenize(text)


def test_thai_has_no_stemmer_and_is_found_by_its_pairs():
    assert "th" not in _STEMMERS
    assert index_terms("แมวนอน", "th") == ["แม", "มว", "วน", "นอ", "อน"]


def test_vietnamese_words_are_pairs_of_syllables_as_well():
    assert index_terms("Ngôi nhà cũ", "vi") == ["ngoi", "nha", "cu", "ngoi nha", "nha cu"]
    assert index_terms("Ngôi nhà cũ", "en") == ["ngoi", "nha", "cu"]
    assert index_terms("nhà", "vi") == ["nha"]
    syllables = [("nha",), ("cu",)]
    assert question_terms(["nha", "cu"], ["vi"], "Nhà nào cũ?") == [*syllables, ("nha nao",), ("nao cu",)]
    assert question_terms(["nha", "cu"], ["vi"], "nha nao cu?") == syllables, "plain ASCII is no Vietnamese"
    assert question_terms(["nha", "cu"], ["th"], "Nhà nào cũ?") == syllables


def test_a_pair_tells_apart_what_the_same_syllables_mean_in_another_order(make_context):
    files = {
        "a.txt": "Nhà nước quản lý rừng và biển ở miền Bắc.",
        "b.txt": "Nước trong nhà đã cạn từ đêm qua ở miền Bắc.",
    }
    ac = make_context(files, retrievers=("bm25",))
    assert {detect_language(text) for text in files.values()} == {"vi"}
    assert ac.search("nhà nước")[0].chunk.document == "a.txt"


def test_a_collection_of_two_languages_finds_each_in_any_form(make_context):
    files = {
        "en.txt": "Three houses stand on the hill, and the people of the village like them very much.",
        "de.txt": "Drei Häuser stehen am See, und die Leute aus dem Dorf mögen sie sehr gern.",
        "other.txt": "The cat sleeps on the warm stones and dreams of fish.",
    }
    ac = make_context(files, retrievers=("bm25",))
    for question, names in (
        ("house", ["en.txt"]),
        ("Haus", ["de.txt"]),
        ("Häuser", ["de.txt"]),
        ("sleeping", ["other.txt"]),
    ):
        assert [item.chunk.document for item in ac.search(question)] == names


# --- the language of a document ---


@pytest.mark.parametrize("language", TEXTS)
def test_the_language_of_a_sentence_is_told(language):
    assert detect_language(TEXTS[language]) == language


@pytest.mark.parametrize("text", ["", " \n", "123 456.78", "?! … —", "😀", "2024-03-14 | 17:45"])
def test_a_text_without_letters_has_no_language(text):
    assert detect_language(text) == ""


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("def add(a, b):\n    return a + b  # the sum", "en"),
        ("import numpy as np\nclass A:\n    def __init__(self): self.x = 1", "en"),
        ("你好", "zh"), ("猫が来た。", "ja"), ("한국어", "ko"), ("สวัสดี", "th"), ("Привет, как дела?", "ru"),
    ],
)  # fmt: skip
def test_short_texts_of_a_script_and_code_are_told(text, language):
    assert detect_language(text) == language


@given(st.text(max_size=80))
@settings(max_examples=100)
def test_any_text_has_a_known_language_or_none_and_always_the_same(text):
    assert detect_language(text) == detect_language(text) in LANGUAGES


def test_a_document_is_told_by_its_first_two_thousand_characters():
    english = TEXTS["en"] * 30
    assert len(english) > 2000
    assert detect_language(english + TEXTS["ru"] * 300) == "en"


# --- threads ---


def test_eight_threads_at_once_get_what_one_gets_alone():
    work = [(text, language) for text in TEXTS.values() for language in ("en", "de", "ru", "fr", "tr", "ar")]
    alone = [(index_terms(*item), detect_language(item[0])) for item in work]
    start = threading.Barrier(8)
    wrong: list[object] = []

    def run(offset):
        start.wait(20)
        for turn in range(4 * len(work)):
            number = (turn * 5 + offset * 7) % len(work)
            if (index_terms(*work[number]), detect_language(work[number][0])) != alone[number]:
                wrong.append(work[number])

    threads = [threading.Thread(target=run, args=(offset,)) for offset in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []
