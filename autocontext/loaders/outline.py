"""Headings of a text into sections."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from autocontext.datatypes import Section

_LONGEST_TITLE = 120


class Heading(NamedTuple):
    """A heading in a text: where its lines start and end, its level (1 is the highest), its words."""

    start: int
    end: int
    level: int
    title: str


def sections(text: str, headings: Iterable[Heading]) -> tuple[Section, ...]:
    """Return a section for each heading, with the path of headings down to it.

    A heading right below another one is not held apart from it: a chunk of headings alone tells nothing.
    """
    path: list[Heading] = []
    found: list[Section] = []
    last_end = 0
    for heading in headings:
        path = [*(above for above in path if above.level < heading.level), heading]
        names = " > ".join(one_line(above.title) for above in path)
        alone = not text[last_end : heading.start].strip()
        found.append(Section(heading.start, names, apart=not (alone and found)))
        last_end = heading.end
    return tuple(found)


def one_line(title: str, longest: int = _LONGEST_TITLE) -> str:
    """Return a title on one line, cut where it is far too long for one."""
    title = re.sub(r"\s+", " ", title).strip()
    return title if len(title) <= longest else title[: longest - 1].rstrip() + "\u2026"
