"""Tell a passage that only repeats another, so that it takes no place in the prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from autocontext.tokenizing import fold, tokenize

_SAME_PAIRS = 0.8  # of the passage's pairs of neighbouring words: a light edit, not a rewording
_NEGATIONS = frozenset(
    "not no never none nor without cannot nicht kein keine keinen nie ohne ne pas jamais non sans sin nunca нет не ни "
    "без 不 没 沒 无 無 değil yok لا لم لن ليس नहीं μη δεν không".split()
)
_NAME = re.compile(r"\b[^\W\d_a-z]\w*")


def repeats(text: str, other: str) -> bool:
    """Tell whether `text` says nothing that `other` does not: four fifths of its pairs of words are in the other too.

    It does say something if a number or a name is in it alone, or a negation in one of the two: two invoices, or two
    versions of a contract, may differ in one word.

    Examples
    --------
    >>> repeats("Salt melts at 801 degrees, said Anna.", "Salt melts at 801 degrees , said Anna!")
    True
    >>> repeats("Salt melts at 801 degrees, said Anna.", "Salt melts at 802 degrees, said Anna.")
    False
    """
    if text == other:
        return True
    words, others = _words(text), _words(other)
    rest = iter(others)
    numbers_are_there = all(word in rest for word in words if re.search(r"\d", word))  # and in the same order
    if _pairs_in_common(words, others) < _SAME_PAIRS or not numbers_are_there:
        return False
    own = set(words) - set(others)
    return (set(words) ^ set(others)).isdisjoint(_NEGATIONS) and own.isdisjoint(_names(text))


@lru_cache(maxsize=512)
def _words(text: str) -> tuple[str, ...]:
    return tuple(tokenize(text))


def _pairs_in_common(words: Sequence[str], others: Sequence[str]) -> float:
    """Return the share of the pairs of words in `words` that `others` has too; a single word is its own pair."""
    pairs = set(pairwise([*words, words[-1]])) if words else set()
    return len(pairs & set(pairwise([*others, *words[-1:]]))) / len(pairs) if pairs else 0.0


def _names(text: str) -> set[str]:
    """Words with a capital: also those that begin a sentence, which may be names as well."""
    return {fold(match.group()) for match in _NAME.finditer(text) if match.group()[0].isupper()}
