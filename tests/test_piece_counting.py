"""Counting word by word gives what counting in full does."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from autocontext.encoders import default_encoder
from autocontext.piece_counting import PieceCounter


def in_full(texts):
    encodings = default_encoder()._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    return [len(encoding.ids) for encoding in encodings]


COUNTER = PieceCounter(in_full)


@given(texts=st.lists(st.text(max_size=60), max_size=4))
@example(
    texts=[
        "Don't re-read INV-2024-017!",
        "量子计算の論文 データ",
        "สวัสดี",
        "a\x0cb",
        "a\x85b c",
        "x" * 300,
        "[SEP] a",
        "",
    ]
)
@example(texts=["e\u0301 \u0301a", "ΑΣ ΣΑΣ", "a\u00a0b\u3000c", "\u200bzero width", "😀 👩‍👩‍👧"])
@settings(max_examples=300)
def test_counts_are_exact_for_the_product_s_model(texts):
    assert COUNTER(texts) == in_full(texts)


def test_a_known_word_is_not_counted_again():
    asked: list[str] = []

    def count(texts):
        asked.extend(texts)
        return [len(text) for text in texts]

    counter = PieceCounter(count)
    assert counter(["salt and sea", "sea"]) == [10, 3]
    assert counter(["sea and more salt"]) == [14]
    assert sorted(asked) == ["and", "more", "salt", "sea"]
