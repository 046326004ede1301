"""Count a tokenizer's pieces word by word: words come again and again, so most are known already."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_MOST_KNOWN = 200_000
_LONGEST = 60  # characters of a word that is remembered; text without blanks is one long word
# Blanks to Python, but dropped by BERT's normaliser, so that the words around them are one.
_ODD = re.compile("[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")


class PieceCounter:
    """Counts the pieces of texts for a tokenizer that cuts at blanks first, as BERT's does.

    Parameters
    ----------
    count
        Counts the pieces of texts in full.
    """

    def __init__(self, count: Callable[[Sequence[str]], list[int]]) -> None:
        self._count = count
        self._known: dict[str, int] = {}

    def __call__(self, texts: Sequence[str]) -> list[int]:
        """Return the number of pieces in each text."""
        known = self._known
        if len(known) > _MOST_KNOWN:
            known = self._known = {}
        words = [[text] if _ODD.search(text) else text.split() for text in texts]
        unknown = {word for of_text in words for word in of_text if word not in known}
        counted = dict(zip(unknown, self._count(list(unknown)), strict=True)) if unknown else {}
        known.update((word, count) for word, count in counted.items() if len(word) <= _LONGEST)
        return [sum(known[word] if word in known else counted[word] for word in of_text) for of_text in words]
