"""Plain text, in whatever encoding it comes; also what the other loaders of texts are built on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from autocontext.datatypes import Document
from autocontext.loaders.base import clean_text, content_hash, unsafe_note
from autocontext.loaders.encoding import decode
from autocontext.loaders.outline import Heading, sections

IS_TEXT = True
SUFFIXES = (".txt", ".text", ".log", ".asc", ".nfo", ".adoc", ".asciidoc", ".textile", ".wiki")


def load(name: str, data: bytes, encoding: str | None = None, declared: str | None = None) -> Document:
    """Decode a text file; `encoding` and `declared` as in `decode`.

    Raises
    ------
    LoadError
        If the bytes are not text.
    """
    decoded = decode(name, data, encoding, declared)
    text, unsafe = clean_text(decoded.text)
    notes = (*decoded.notes, *unsafe_note(unsafe))
    return Document(name=name, text=text, content_hash=content_hash(data), notes=notes, encoding=decoded.encoding)


def with_sections(document: Document, find: Callable[[str], Iterable[Heading]]) -> Document:
    """Return the document with the sections under the headings that `find` finds in its text."""
    return replace(document, sections=sections(document.text, find(document.text)))
