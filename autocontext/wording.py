"""How things are said, for pages and messages alike."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return for example ``"1 document"`` or ``"1,000 documents"``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


# What the verdict on a question's documents is called: in a word or two, and in a sentence.
SUPPORT = {
    "strong": ("probably there", "The answer is probably in your documents."),
    "weak": ("may be missing", "The answer may not be in your documents."),
    "none": ("probably not there", "The answer is probably not in your documents."),
}
