"""Which way of telling words apart a collection was used with: found from what it does, so nobody need count it up."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from autocontext.tokenizing import content_words, tokenize

_PROBE = (
    "Don't re-read INV-2024-017, Café C++ and Straße: fly, flies, flying, 3.14 don’t AuthManagerBuilder a/b "
    "user@example.org 量子计算の論文 データ สวัสดี 한국어의 हिन्दी Привет ёлка αβγ العَرَبِيَّة the of and"
)


@lru_cache(maxsize=1)
def tokenizer_version() -> str:
    """Return a short hash of what the tokenizer makes of a text in many scripts."""
    tokens = tokenize(_PROBE)
    return hashlib.sha256("\n".join([*tokens, "", *content_words(tokens)]).encode("utf-8")).hexdigest()[:16]
