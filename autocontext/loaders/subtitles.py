"""Subtitles (SubRip, WebVTT), as they are written; the time at which a line is spoken is its place."""

from __future__ import annotations

import re
from dataclasses import replace

from autocontext.datatypes import Document, Section
from autocontext.loaders import text as plain

IS_TEXT = True
SUFFIXES = (".srt", ".vtt", ".sbv")

_CUE = re.compile(r"^(?:\d+[ \t]*\n)?((?:\d+:)?\d{1,2}:\d\d)(?:[.,]\d{1,3})?[ \t]*(?:-->|,)[ \t]*\d", re.M)


def load(name: str, data: bytes, encoding: str | None = None) -> Document:
    """Decode the file; each cue is a section."""
    document = plain.load(name, data, encoding)
    cues = tuple(
        Section(match.start(), place=f"at {match.group(1)}", apart=False) for match in _CUE.finditer(document.text)
    )
    return replace(document, sections=cues)
