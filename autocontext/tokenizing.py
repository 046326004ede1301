"""The one tokenizer, for chunks and questions alike.

NFKC, case and accents folded, punctuation dropped; codes are found whole and by part (``INV-2024-017`` gives
``inv-2024-017``, ``inv``, ``2024``, ``017``; ``FY2022`` gives ``fy2022``, ``fy``, ``2022``), numbers without the commas
between their thousands; scripts without blanks between words give overlapping pairs of characters. Letters keep the
marks that belong to them, so that Hindi words stay whole.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from autocontext.function_words import FUNCTION_WORDS, NEVER_DROPPED

# Scripts written without blanks, and Hangul, whose endings vary: Thai, Lao, Myanmar, Khmer, kana, Han, Hangul.
_UNSPACED = (
    "\u0e00-\u0e4f\u0e80-\u0edf\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3041-\u3096\u3099-\u309f\u30a1-\u30fa"
    "\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af"
)
# Marks to take off: the accents and points of Latin, Greek, Cyrillic, Hebrew and Arabic.
_ACCENTS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u0730-\u074a"
)
# Signs that are part of a word although \w leaves them out: those of the Indic scripts (vowel signs, viramas), and the
# soft hyphen.
_SIGNS = (
    "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d\u0a81-\u0a83"
    "\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82-\u0bcd\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03"
    "\u0d3b-\u0d4d\u0d81-\u0d83\u0dca-\u0ddf\u0f71-\u0f84\u0f90-\u0fbc\u00ad"
)
_LETTERS = f"(?:[^\\W_{_UNSPACED}]|[{_ACCENTS}{_SIGNS}])+"
# Letters joined by these are one code: F-13, 3.14, AUTH_TOKEN, a/b, user@host; C++ and C# keep their ends.
_JOINERS = "-_.'\u2019/:@&\u2010\u2011"
_NUMBER = r"[0-9](?<![0-9.,].)[0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?(?!,?[0-9])"  # thousands apart: 1,234,567.89
_NOT_LEFT = "(?:(?<!['\u2019][sS])|(?=['\u2019_-]))"  # as the s is that a closing quote leaves of "Acme"'s
_WORD = re.compile(
    f"[{_UNSPACED}]+|{_NUMBER}|{_LETTERS}{_NOT_LEFT}(?:[{_JOINERS}]{_LETTERS})*(?:\\+\\+|#)?"
)  # each way begins with a set of characters: looking around first would be slower
_ENDING = re.compile("['\u2019](?:s|t|d|m|ll|re|ve)\\Z", re.I)  # grammar, not content
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_JOINER = re.compile(f"[{_JOINERS}+#]+")
_ACCENT = re.compile(f"[{_ACCENTS}]")
_CAMEL = re.compile(
    "(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})|(?<=[A-Z]{2})(?=s\\b)"  # camelCase, XMLParser, PDFs
    r"|(?<=[^\W\d_]{2})(?=\d{2})|(?<=\d{2})(?=[^\W\d_]{2})"  # FY2022, 100km; not Q2, H2O, F16
)
_MOST_PARTS = 8  # a longer word is a key or a hash, not a name


def fold(text: str) -> str:
    """Return `text` with compatibility forms, case and accents folded (``"Ｃａｆé"`` gives ``"cafe"``)."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\u00ad", "")
    return unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", folded)))


def word_spans(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield ``(start, end, tokens)`` of each word of `text`, offsets into the text as it is.

    A word of an unspaced script is one run of characters cut into overlapping pairs, one span a pair.
    """
    for match in _WORD.finditer(text):
        word, start = match.group(), match.start()
        if word.isascii() or not _IS_UNSPACED.match(word):
            yield start, match.end(), _word_tokens(word)
        elif len(word) == 1:
            yield start, start + 1, (fold(word),)
        else:
            for i in range(len(word) - 1):
                yield start + i, start + i + 2, (_fold_pair(word[i : i + 2]),)


@lru_cache(maxsize=1 << 16)
def _fold_pair(pair: str) -> str:
    return fold(pair)


@lru_cache(maxsize=1 << 16)
def _word_tokens(word: str) -> tuple[str, ...]:
    word = _ENDING.sub("", word.replace(",", ""))  # a comma stands in numbers only
    whole = fold(word)
    if _INITIALS.fullmatch(whole):  # U.S. is also US, and neither u nor s
        return whole, whole.replace(".", "")
    pieces = [piece for piece in _JOINER.split(whole) if piece]
    if "'" in whole or "\u2019" in whole:  # l'eau, O'Neill: the short end is grammar, not content
        pieces = [piece for piece in pieces if len(piece) > 1] or pieces
        whole = "".join(pieces)
    else:
        parts = [part for piece in _JOINER.split(word) for part in _CAMEL.split(piece) if part != "s"]
        pieces = [*pieces, *map(fold, parts)] if len(parts) <= _MOST_PARTS else pieces
    return tuple(token for token in dict.fromkeys((whole, *pieces)) if token)


def tokenize(text: str) -> list[str]:
    """Return the search tokens of `text`, in order.

    Examples
    --------
    >>> tokenize("Refund policy: see INV-2024-017")
    ['refund', 'policy', 'see', 'inv-2024-017', 'inv', '2024', '017']
    >>> tokenize("量子计算")
    ['量子', '子计', '计算']
    """
    composed = text if text.isascii() else unicodedata.normalize("NFKC", text)  # else Hangul and kana may fall apart
    tokens: list[str] = []
    for word in _WORD.findall(composed):  # as `word_spans`, without the places
        if word.isascii() or not _IS_UNSPACED.match(word):
            tokens += _word_tokens(word)
        elif len(word) == 1:
            tokens.append(fold(word))
        else:
            tokens += [_fold_pair(word[i : i + 2]) for i in range(len(word) - 1)]
    return tokens


@lru_cache(maxsize=1)
def _function_words() -> dict[str, frozenset[str]]:
    return {language: frozenset(tokenize(words)) for language, words in FUNCTION_WORDS.items()}


def content_words(tokens: Sequence[str]) -> list[str]:
    """Return the distinct tokens that say something on the topic, in order; all of them if none does.

    The language is the one that has most of the tokens as function words (of two that tie, what both have is dropped),
    so that the English "man" and "son" are not taken for the German and the French word.

    Examples
    --------
    >>> content_words(tokenize("Where does Pauli's son teach?"))
    ['pauli', 'son', 'teach']
    >>> content_words(tokenize("To be or not to be"))
    ['to', 'be', 'or', 'not']
    """
    distinct = dict.fromkeys(tokens)
    counts = {language: len(words & distinct.keys()) for language, words in _function_words().items()}
    most = max(counts.values())
    if most == 0:
        return list(distinct)
    spoken = [language for language, count in counts.items() if count == most and language not in NEVER_DROPPED]
    dropped = frozenset.intersection(*(_function_words()[language] for language in spoken)) if spoken else frozenset()
    return [token for token in distinct if token not in dropped] or list(distinct)
