"""Which way of cutting documents and telling words apart a collection was used with.

Found from what it does, so that nobody need count it up.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.metadata import version

from autocontext.chunking import chunk_spans, index_text
from autocontext.datatypes import Chunk, Document
from autocontext.settings import ChunkOptions
from autocontext.stemming import index_terms
from autocontext.tokenizing import content_words, tokenize

_PROBE = (
    "Don't re-read INV-2024-017, Café C++ and Straße: fly, flies, flying, 3.14 don’t AuthManagerBuilder a/b "
    'user@example.org "Acme"\'s FY2022 1,234.5 U.S. '
    "量子计算の論文 データ สวัสดี 한국어의 हिन्दी Привет ёлка αβγ العَرَبِيَّة the of and"
)
_TEXT = (
    "# Pumps\n\nDr. Low opened valve No. 5 at 3.30 p.m. on Monday. Nobody knew why!\n\n- one item\n- another one\n\n"
    "## Valves\n\nThe pump feeds the reservoir when the valve is open, and it stops as soon as the valve is closed; "
    "this sentence goes on and on, so that it must be cut in two, between words. 猫が来た。「早い。」と言った。\n\n"
    "    # no heading\n\n"
    "The code of the pump has been checked by two people. It is old. Yes."
)
_LANGUAGES = ("", "en", "de", "ru", "hi", "vi")


@lru_cache(maxsize=1)
def passage_version() -> str:
    """Return a short hash of how documents are cut into passages, and of what is indexed of these."""
    spans = chunk_spans(_TEXT, ChunkOptions(sentences=2, sentence_tokens=8, max_tokens=40))
    chunks = [Chunk(0, "Notes_2024.md", _TEXT[a:b], a, b, 1, heading="Pumps > Valves") for a, b in spans]
    told = [index_text(Document("Notes_2024.md", _TEXT, ""), chunk) for chunk in chunks]
    return _short_hash("\n\n".join(told))


@lru_cache(maxsize=1)
def tokenizer_version() -> str:
    """Return a short hash of what tokenizer and stemmers make of a text in many scripts and languages."""
    tokens = tokenize(_PROBE)
    stems = [term for language in _LANGUAGES for term in index_terms(_PROBE, language)]
    packages = [version(name) for name in ("py3langid", "PyStemmer")]  # asked for, not loaded
    return _short_hash("\n".join([*tokens, "", *content_words(tokens), "", *stems, "", *packages]))


def _short_hash(told: str) -> str:
    return hashlib.sha256(told.encode("utf-8")).hexdigest()[:16]
