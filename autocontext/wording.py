"""How things are said, for pages and messages alike."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return for example ``"1 document"`` or ``"1,000 documents"``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
