"""Tell whether an output is the one that is shown, on a processor that computes vectors a little otherwise."""

from __future__ import annotations

import re

import pytest

NUMBER = re.compile(r"\d+(?:\.\d+)?")


def same_line(shown: str, printed: str) -> bool:
    """Tell whether two lines are the same but for blanks, and for what processors compute a little otherwise."""
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    return all(map(near, NUMBER.findall(shown), NUMBER.findall(printed)))


def near(one: str, other: str) -> bool:
    """Tell whether two figures are the same: scores to a hundredth, counts to three of a hundred."""
    if "." in one:
        return float(one) == pytest.approx(float(other), rel=0.01, abs=0.01)
    return int(one) == pytest.approx(int(other), rel=0.03)
