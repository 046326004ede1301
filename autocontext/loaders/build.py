"""A text put together from the parts of a file, with the sections that they make."""

from __future__ import annotations

from collections.abc import Sequence

from autocontext.datatypes import Document, Section, TextEncoding
from autocontext.errors import LoadError
from autocontext.loaders.base import MAX_TEXT, clean_text, content_hash, unsafe_note
from autocontext.loaders.outline import one_line

_MOST_NOTES = 10


class Builder:
    r"""Collects blocks of text, a blank line between them; headings and places begin sections.

    Examples
    --------
    >>> build = Builder("a.pptx")
    >>> build.place("slide 1")
    >>> build.heading(1, "Salt")
    >>> build.add("It melts.")
    >>> document = build.document(b"")
    >>> document.text
    'Salt\n\nIt melts.'
    >>> document.sections
    (Section(start=0, heading='Salt', place='slide 1', apart=True),)

    Attributes
    ----------
    notes
        Sentences on what was left out, for the document.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._pieces: list[str] = []
        self._length = 0
        self._sections: list[Section] = []
        self._path: list[tuple[int, str]] = []
        self._place = ""
        self._begins: bool | None = None  # whether the next block begins a section, and one held apart
        self._after_heading = False
        self._unsafe = 0
        self.notes: list[str] = []

    def add(self, text: str) -> None:
        """Add a block; one without letters is left out."""
        text, unsafe = clean_text(text)
        self._unsafe += unsafe
        text = text.strip("\n").rstrip()
        if not text.strip():
            return
        joint = "\n\n" if self._pieces else ""
        start = self._length + len(joint)
        self._length = start + len(text)
        if self._length > MAX_TEXT:
            raise LoadError(self.name, f"it holds more than {MAX_TEXT:,} characters; split it")
        self._pieces += (joint, text)
        if self._begins is not None:
            names = " > ".join(title for _, title in self._path)
            self._sections.append(Section(start, names, self._place, self._begins))
            self._begins = None
        self._after_heading = False

    def heading(self, level: int, title: str, *, shown: bool = True) -> None:
        """Begin what stands under a heading; level 1 is the highest. It is a block itself if `shown`."""
        title = one_line(clean_text(title)[0], 1000)
        if not title:
            return
        self._path = [*((above, name) for above, name in self._path if above < level), (level, one_line(title))]
        self._begins = self._begins or not self._after_heading
        if shown:
            self.add(title)
            self._after_heading = True

    def under(self, headings: Sequence[str]) -> None:
        """Begin what stands under these headings, if that is another place than before; no chunk has to end there."""
        path = list(enumerate(headings, start=1))
        if path != self._path:
            self._path = path
            self._begins = bool(self._begins)

    def place(self, label: str, *, apart: bool = True, within: bool = False) -> None:
        """Begin another place, for example ``"slide 3"``; headings end there unless it is `within` them."""
        self._place = one_line(clean_text(label)[0])
        if not within:
            self._path = []
        self._begins = bool(self._begins) or (apart and not (within and self._after_heading))

    @property
    def length(self) -> int:
        """Characters added so far."""
        return self._length

    def document(self, data: bytes, notes: tuple[str, ...] = (), encoding: TextEncoding | None = None) -> Document:
        """Return the document; `data` are the bytes of its file."""
        told = list(dict.fromkeys(self.notes))
        if len(told) > _MOST_NOTES:
            told[_MOST_NOTES:] = [f"{len(told) - _MOST_NOTES:,} more remarks of this kind."]
        return Document(
            name=self.name,
            text="".join(self._pieces),
            content_hash=content_hash(data),
            notes=(*notes, *told, *unsafe_note(self._unsafe)),
            sections=tuple(self._sections),
            encoding=encoding,
        )
