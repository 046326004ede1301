"""The one tokenizer: what counts as the same word in a chunk and in a question."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autocontext.tokenizing import content_words, fold, tokenize, word_spans

ANY_TEXT = st.text(max_size=60) | st.text(
    "aB1 -_.'’/é\u0301\u00adßИй한글\u1112\u1161かガ\u3099ｶﾞ猫नि\u093fไทย", max_size=40
)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        (" ?! … — () \n", []),
        ("The cat, the dog.", ["the", "cat", "the", "dog"]),
        ("see INV-2024-017", ["see", "inv-2024-017", "inv", "2024", "017"]),
        ("F-13", ["f-13", "f", "13"]),
        ("pi is 3.14.", ["pi", "is", "3.14", "3", "14"]),
        ("AUTH_TOKEN", ["auth_token", "auth", "token"]),
        ("notes/a.txt", ["notes/a.txt", "notes", "a", "txt"]),
        ("me@example.org", ["me@example.org", "me", "example", "org"]),
        ("C++, C# or C?", ["c++", "c", "c#", "c", "or", "c"]),
        ("--force -x_ 'quoted'", ["force", "x", "quoted"]),
        ("camelCaseWord", ["camelcaseword", "camel", "case", "word"]),
        ("HTTPServer iPhone15Pro", ["httpserver", "http", "server", "iphone15pro", "i", "phone", "15", "pro"]),
        ("FY2022, COVID19", ["fy2022", "fy", "2022", "covid19", "covid", "19"]),
        ("100km in Q2, F16 3rd", ["100km", "100", "km", "in", "q2", "f16", "3rd"]),
        ("17,606 of $1,234,567.89.", ["17606", "of", "1234567.89", "1234567", "89"]),
        ("(1,2), 1,234,56 or 12,3456", ["1", "2", "1", "234", "56", "or", "12", "3456"]),
        ("the U.S. and N.A.T.O.", ["the", "u.s", "us", "and", "n.a.t.o", "nato"]),
    ],
)
def test_words_and_codes_are_found_whole_and_by_part(text, tokens):
    assert tokenize(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("量子计算", ["量子", "子计", "计算"]),
        ("猫", ["猫"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("한국어", ["한국", "국어"]),
        ("ไทย", ["ไท", "ทย"]),
        ("Python3入門", ["python3", "入門"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("தமிழ் മലയാളം", ["தமிழ்", "മലയാളം"]),
        ("Москва", ["москва"]),
    ],
)
def test_every_script_has_its_words_or_pairs(text, tokens):
    assert tokenize(text) == tokens


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Refund policy:", "refund policy?"),
        ("«Refund» (policy)", "refund, policy!"),
        ("Café déjà", "CAFE DEJA"),
        ("Straße", "STRASSE"),
        ("Ἀθῆναι", "αθηναι"),
        ("ёлка", "ЕЛКА"),
        ("שָׁלוֹם", "שלום"),
        ("مُحَمَّد", "محمد"),
        ("ﬁle Ｒｅｆｕｎｄ", "file refund"),
        ("Dono\u00addampf", "Donodampf"),
        ("INV\u20112024", "INV\u20102024".replace("\u2010", "\u2011")),
        ("क\u093cलम", "\u0958लम"),
        ("ｶﾀｶﾅ ﾎﾟｽﾄ", "カタカナ ポスト"),
        ("5 ㎏", "5 kg"),
        ("Blendergast's", "Blendergast’s"),
    ],
)
def test_two_spellings_of_one_text_give_the_same_tokens(one, other):
    assert tokenize(one) == tokenize(other) != []


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Blendergast's", ["blendergast"]),
        ("don't", ["don"]),
        ("l’eau", ["eau"]),
        ("rock'n'roll", ["rockroll", "rock", "roll"]),
        ("qu'elle", ["quelle", "qu", "elle"]),
        ("'90s", ["90s"]),
        ("they’re", ["they"]),
        ("Pius X's", ["pius", "x"]),
        ("MergeScheduler's", ["mergescheduler", "merge", "scheduler"]),
        ("S&P's", ["s&p", "s", "p"]),
        ('"Acme"\'s and “Acme”’s policy', ["acme", "and", "acme", "policy"]),
        ("an 'S' in 's-Hertogenbosch", ["an", "s", "in", "s-hertogenbosch", "s", "hertogenbosch"]),
    ],
)
def test_the_short_side_of_an_apostrophe_is_dropped(text, tokens):
    assert tokenize(text) == tokens


@given(ANY_TEXT)
@settings(max_examples=150)
def test_decomposed_text_gives_the_tokens_of_composed_text(text):
    assert tokenize(unicodedata.normalize("NFD", text)) == tokenize(unicodedata.normalize("NFC", text))


@given(ANY_TEXT)
@settings(max_examples=150)
def test_folding_twice_is_folding_once(text):
    assert fold(fold(text)) == fold(text)


@given(st.text("abzäöüßéñçøłжяёλω .,-'", max_size=40))
@settings(max_examples=100)
def test_case_and_accents_do_not_matter(text):
    bare = "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))
    assert tokenize(text) == tokenize(text.upper()) == tokenize(bare)


@given(ANY_TEXT)
@example("\u00ad")
@example("a - \u0301 b")
@settings(max_examples=150)
def test_no_token_is_empty(text):
    assert "" not in tokenize(text)


@given(ANY_TEXT)
@settings(max_examples=150)
def test_word_spans_lie_in_the_text_and_ascend(text):
    spans = [(start, end) for start, end, _ in word_spans(text)]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    for (start, end), (next_start, next_end) in pairwise(spans):
        assert start < next_start
        assert end < next_end
        assert end <= next_start + 1  # pairs of an unspaced script share one character


def test_a_word_span_covers_its_word():
    text = "See F-13: 量子计!"
    assert [(text[a:b], tokens) for a, b, tokens in word_spans(text)] == [
        ("See", ("see",)),
        ("F-13", ("f-13", "f", "13")),
        ("量子", ("量子",)),
        ("子计", ("子计",)),
    ]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Where does Pauli teach, and what does Pauli say?", ["pauli", "teach"]),
        ("Was ist der Preis für ein Ticket?", ["preis", "ticket"]),
        ("Où est la gare ?", ["gare"]),
        ("¿Cuándo sale el tren?", ["sale", "tren"]),
        ("To be or not to be", ["to", "be", "or", "not"]),
        ("Which parts, e.g. valves, pumps etc., are in it (i.e. new)?", ["parts", "valves", "pumps", "new"]),
        ("Τι είναι το σπίτι;", ["σπιτι"]),
        ("Что такое соль?", ["такое", "соль"]),
        ("食塩とは何ですか", ["食塩", "塩と", "は何"]),
        ("", []),
    ],
)
def test_content_words_are_the_topic_once_each(question, words):
    assert content_words(tokenize(question)) == words


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Who is the man with the gun?", ["man", "gun"]),
        ("Was the man's son ever born in Rome?", ["man", "son", "born", "rome"]),
        ("Kann man das Brot essen?", ["brot", "essen"]),
        ("Was kostet das Brot?", ["kostet", "brot"]),
        ("Wie alt ist der Turm, und was kann man sehen?", ["turm", "sehen"]),
        ("What does the die show?", ["die"]),
        ("Wo steht die Maschine?", ["steht", "maschine"]),
        ("¿Dónde son las casas?", ["casas"]),
    ],
)
def test_the_questions_own_language_says_which_words_are_dropped(question, words):
    assert content_words(tokenize(question)) == words


@pytest.mark.parametrize("question", ["To be or not to be", "Was ist das?", "¿Quién es?", "Что это?", "是什么"])
def test_a_question_made_only_of_function_words_keeps_them_and_finds(make_context, question):
    words = content_words(tokenize(question))
    assert words == list(dict.fromkeys(tokenize(question)))
    ac = make_context({"a.txt": f"{question}", "b.txt": "Gold 801."}, retrievers=("bm25",))
    assert [item.chunk.document for item in ac.search(question)] == ["a.txt"]


def test_only_questions_lose_their_function_words_never_documents(make_context):
    ac = make_context({"a.txt": "The Who played in Leeds.", "b.txt": "Gold shines in the sun."}, retrievers=("bm25",))
    assert [item.chunk.document for item in ac.search("who")] == ["a.txt"]
    assert [item.chunk.document for item in ac.search("The Who in Leeds")] == ["a.txt"]


def test_vietnamese_questions_keep_their_syllables():
    question = "Ngôi nhà nào là của các bạn?"
    assert content_words(tokenize(question)) == list(dict.fromkeys(tokenize(question)))


@given(
    st.lists(
        st.sampled_from("the is man son was der die das que la et salt haus казак это из 食塩 什么".split()), max_size=9
    )
)
@settings(max_examples=150)
def test_content_words_are_some_of_the_tokens_in_order_and_never_none_of_some(tokens):
    words = content_words(tokens)
    distinct = list(dict.fromkeys(tokens))
    assert words == [token for token in distinct if token in words]
    assert bool(words) == bool(tokens)
    assert content_words(list(reversed(tokens))) == [
        token for token in dict.fromkeys(reversed(tokens)) if token in words
    ]
    assert {"salt", "haus", "食塩"} & set(tokens) <= set(words)
