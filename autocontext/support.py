"""Judge, before any model is asked, whether the documents seem to hold the answer.

Three signals, measured to tell answerable questions from others: how near one of the best passages, or a sentence of
it, is to the question in meaning; how much of the question's weighty words that passage holds; and, where the encoder
cannot read the question, how far the best passage stands out by its words. Figures: docs/decisions/004-support.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

from autocontext.datatypes import Evidence, Support, SupportLevel
from autocontext.stemming import index_terms, question_terms
from autocontext.tokenizing import content_words, tokenize

LOOKED_AT = 3
"""How many of the best passages are looked at."""
NONE_BELOW, STRONG_FROM = 0.45, 0.53
_CLOSENESS_WEIGHT, _SHARE_WEIGHT = 0.6, 0.4
# Words alone: a best passage that reaches 0.13 of the highest possible score more than the others do is as doubtful as
# 0.45 of both.
_COVERAGE_SCALE = 3.4
# A question of few, common words is found anywhere: its share counts as if it had one more word, found nowhere.
_DOUBT = 4.0
# In a handful of chunks every word is rare or everywhere: words are weighed as if so many other chunks lacked them.
_BACKGROUND = 50


def judge(
    question: str,
    evidence: Sequence[Evidence],
    *,
    closeness: Sequence[float],
    coverage: float,
    word_frequency: Callable[[Collection[str]], int],
    n_chunks: int,
    languages: Mapping[str, str],
    trust: float,
) -> Support:
    """Judge a question by what was found for it.

    Parameters
    ----------
    evidence
        What was found, best first.
    closeness
        Of the first `LOOKED_AT` of them: the cosine of the question to the passage or its nearest sentence; empty
        without an encoder.
    coverage
        How far the best chunk stands out by its words, 0 to 1; see ``PassageIndex.coverage``.
    word_frequency
        How many of the collection's `n_chunks` hold a word, given the terms that it may be indexed by.
    languages
        Of the collection's documents, by name.
    trust
        How well the encoder reads the question, 0 to 1; 0 without an encoder.
    """
    if not evidence:
        return Support("none", 0.0, ("Nothing was found for this question.",))
    codes = sorted(set(languages.values()))
    words = content_words(tokenize(question))
    forms = {word: set(question_terms([word], codes, question)[0]) for word in words}
    weights = {word: math.log(1 + (n_chunks + _BACKGROUND) / (word_frequency(forms[word]) + 1)) for word in words}
    total = sum(weights.values())
    looked_at = [item.chunk for item in evidence[:LOOKED_AT]]
    held = [set(index_terms(chunk.text, languages.get(chunk.document, ""))) for chunk in looked_at]
    found = [sum(weights[word] for word in words if forms[word] & terms) for terms in held]
    both = max(
        (
            _CLOSENESS_WEIGHT * min(near, 1.0) + _SHARE_WEIGHT * part / (total + _DOUBT)
            for near, part in zip(closeness, found, strict=False)
        ),
        default=0.0,
    )
    alone = min(1.0, _COVERAGE_SCALE * coverage)
    score = trust * both + (1 - trust) * alone
    level: SupportLevel = "none" if score < NONE_BELOW else "weak" if score < STRONG_FROM else "strong"
    share = max(found) / total if total else 0.0
    reasons = [f"One passage holds {share:.0%} of what the question's words weigh."]
    missing = [word for word in words if not any(forms[word] & terms for terms in held)]
    if missing:
        reasons.append(f"Not in the best passages: {', '.join(missing[:6])}{', …' if len(missing) > 6 else ''}.")
    if trust > 0 and closeness:
        reasons.append(f"The nearest sentence has a cosine of {max(closeness):.2f} to the question.")
    else:
        reasons.append("Judged by the words alone: no embedding model reads this question.")
    return Support(level, round(score, 4), tuple(reasons))
