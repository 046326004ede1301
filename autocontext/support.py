"""Judge, before any model is asked, whether the documents seem to hold the answer.

Two signals, measured to tell answerable questions from off-topic ones: how near the nearest chunk is to the question in
meaning (cosine), and how much of the question's weighty words one of the best passages holds (share). Where the encoder
cannot read the question, the share alone. Figures: docs/decisions/004-support.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from autocontext.datatypes import Evidence, Support, SupportLevel
from autocontext.tokenizing import content_words, tokenize

NONE_BELOW, STRONG_FROM = 0.42, 0.50
_COSINE_WEIGHT, _SHARE_WEIGHT = 0.6, 0.4
# A share alone runs lower than the two together: 0.22 of it is as doubtful as 0.42 of both.
_SHARE_ALONE = 0.2
_LOOKED_AT = 5
# In a handful of chunks every word is rare or everywhere: words are weighed as if so many other chunks lacked them.
_BACKGROUND = 50


def judge(
    question: str,
    evidence: Sequence[Evidence],
    *,
    document_frequency: Callable[[str], int],
    n_chunks: int,
    trust: float,
) -> Support:
    """Judge a question by what was found for it.

    Parameters
    ----------
    evidence
        What was found, best first.
    document_frequency
        How many of the collection's `n_chunks` hold a word.
    trust
        How well the encoder reads the question, 0 to 1; 0 without an encoder.
    """
    if not evidence:
        return Support("none", 0.0, ("Nothing was found for this question.",))
    words = content_words(tokenize(question))
    weights = {word: math.log(1 + (n_chunks + _BACKGROUND) / (document_frequency(word) + 1)) for word in words}
    held = [set(tokenize(item.chunk.text)) for item in evidence[:_LOOKED_AT]]
    total = sum(weights.values())
    share = max(sum(weights[word] for word in words if word in tokens) for tokens in held) / total if total else 0.0
    cosine = max((hit.score for item in evidence if (hit := item.hits.get("dense"))), default=0.0)
    both = _COSINE_WEIGHT * min(cosine, 1.0) + _SHARE_WEIGHT * share
    alone = min(1.0, share + _SHARE_ALONE) if share else 0.0
    score = trust * both + (1 - trust) * alone
    level: SupportLevel = "none" if score < NONE_BELOW else "weak" if score < STRONG_FROM else "strong"
    reasons = [f"One passage holds {share:.0%} of what the question's words weigh."]
    missing = [word for word in words if all(word not in tokens for tokens in held)]
    if missing:
        reasons.append(f"Not in the best passages: {', '.join(missing[:6])}{', …' if len(missing) > 6 else ''}.")
    if trust > 0:
        reasons.append(f"The nearest passage has a cosine of {cosine:.2f} to the question.")
    else:
        reasons.append("Judged by the words alone: no embedding model reads this question.")
    return Support(level, round(score, 4), tuple(reasons))
