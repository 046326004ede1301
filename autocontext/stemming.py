"""Word forms made one: "melts", "melting" and "melt" are the same index term.

A document's words are stemmed by Snowball in the document's language. A question is too short to tell its language, so
its words are stemmed in every language of the collection, and a chunk holds a word if it holds one of these forms: the
two can never disagree. Snowball: https://snowballstem.org
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from autocontext.tokenizing import tokenize

if TYPE_CHECKING:
    from Stemmer import Stemmer

# ISO 639 code: Snowball's name. The languages without a stemmer are told apart, so that none is stemmed as another.
_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali",
    "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip
_WITHOUT_STEMMER = ("bg", "bn", "he", "ja", "ko", "ml", "mr", "sw", "te", "th", "tl", "uk", "ur", "vi", "zh")
_LANGUAGE_SAMPLE = 400  # bytes of a document that tell its language, as well as more of them do
_HAS_DIGIT = re.compile(r"\d")
_lock = threading.Lock()
_loading = threading.Lock()


def detect_language(text: str) -> str:
    """Return the ISO 639 code of the language that `text` seems to be in, from its beginning.

    By py3langid (Lui and Baldwin, "langid.py", ACL 2012), among the languages that matter here. "" for no letters.
    """
    sample = text[:_LANGUAGE_SAMPLE].encode("utf-8", "ignore")[:_LANGUAGE_SAMPLE].decode("utf-8", "ignore")
    if not any(map(str.isalpha, sample)):
        return ""
    with _loading:  # a third of a second: once is enough
        identify = _identify()
    return identify(sample)


@lru_cache(maxsize=1)
def _identify() -> Callable[[str], str]:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages([*_STEMMERS, *_WITHOUT_STEMMER])
    return lambda text: str(identifier.classify(text)[0])


def index_terms(text: str, language: str) -> list[str]:
    """Return the terms that a chunk of `text` is found by, in order, once for each place.

    Examples
    --------
    >>> index_terms("Salt melts at 801 degrees.", "en")
    ['salt', 'melt', 'at', '801', 'degre']
    """
    if language == "vi":
        syllables = tokenize(text)
        return [*syllables, *_pairs(syllables)]
    return _stems(tokenize(text), language)


def question_terms(words: Iterable[str], languages: Iterable[str], question: str = "") -> list[tuple[str, ...]]:
    """Return for each word of a question the terms that it may be indexed by; words with the same terms once.

    Parameters
    ----------
    words
        Tokens of the question.
    languages
        The languages of the collection's documents.
    question
        Its text, for Vietnamese: there words are pairs of syllables that stand apart.

    Examples
    --------
    >>> question_terms(["singing", "berlin"], ["en", "de"])
    [('sing', 'singing'), ('berlin',)]
    """
    words = list(words)
    languages = list(languages) or [""]
    by_language = [_stems(words, language) for language in languages]
    groups = [dict.fromkeys(stems[number] for stems in by_language) for number in range(len(words))]
    if "vi" in languages and not question.isascii():
        groups += [{pair: None} for pair in _pairs(tokenize(question))]
    return list(dict.fromkeys(map(tuple, groups)))


def _pairs(syllables: Sequence[str]) -> list[str]:
    return [f"{one} {next_one}" for one, next_one in itertools.pairwise(syllables)]


def _stems(tokens: Sequence[str], language: str) -> list[str]:
    name = _STEMMERS.get(language)
    return list(tokens) if name is None else [_stem(token, name) for token in tokens]


@lru_cache(maxsize=1 << 17)
def _stem(token: str, name: str) -> str:
    if _HAS_DIGIT.search(token):
        return token
    with _lock:  # a stemmer must not be used by two threads at once
        return _stemmer(name).stemWord(token) or token


@cache
def _stemmer(name: str) -> Stemmer:
    from Stemmer import Stemmer

    return Stemmer(name)
