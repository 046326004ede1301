"""Judge, before any model is asked, whether the documents seem to hold the answer.

Two signals, measured to tell apart answerable questions from off-topic ones: how near the best chunk is to the question
in meaning, and how much of the question's weighty words the best passages hold. The second alone where the encoder
cannot read the question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autocontext.datatypes import Evidence, Support, SupportLevel
from autocontext.tokenizing import content_words, tokenize

# Below the first a question is called unanswerable, below the second doubtful: see docs/decisions/004-support.md.
NONE_BELOW, STRONG_FROM = 0.44, 0.56
_LOOKED_AT = 5


def judge(
    question: str,
    evidence: Sequence[Evidence],
    *,
    weight_of: Mapping[str, float],
    unknown_weight: float,
    trust: float,
) -> Support:
    """Judge a question by what was found for it.

    Parameters
    ----------
    evidence
        What was found, best first.
    weight_of
        Inverse document frequency of each word of the collection.
    unknown_weight
        The same for a word that the collection does not hold.
    trust
        How well the encoder reads the question, 0 to 1; 0 without an encoder.
    """
    if not evidence:
        return Support("none", 0.0, ("Nothing was found for this question.",))
    words = content_words(tokenize(question))
    weights = {word: weight_of.get(word, unknown_weight) for word in words}
    held = [set(tokenize(item.chunk.text)) for item in evidence[:_LOOKED_AT]]
    best = max(held, key=lambda tokens: sum(weight for word, weight in weights.items() if word in tokens))
    total = sum(weights.values())
    share = sum(weight for word, weight in weights.items() if word in best) / total if total else 0.0
    cosine = max((hit.score for item in evidence if (hit := item.hits.get("dense"))), default=0.0)
    score = share * (1 - trust / 2) + min(cosine, 1.0) * trust / 2
    level: SupportLevel = "none" if score < NONE_BELOW else "weak" if score < STRONG_FROM else "strong"
    reasons = [f"One passage holds {share:.0%} of what the question's words weigh."]
    missing = [word for word in words if all(word not in tokens for tokens in held)]
    if missing:
        reasons.append(f"Not in the best passages: {', '.join(missing[:6])}{', …' if len(missing) > 6 else ''}.")
    if trust > 0:
        reasons.append(f"The nearest passage has a cosine of {cosine:.2f} to the question.")
    else:
        reasons.append("The embedding model cannot read this question: judged by its words alone.")
    return Support(level, round(score, 4), tuple(reasons))
