"""One state of a collection, never changed: what a search needs, each part made when it is first asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from autocontext.chunking import document_title, index_text
from autocontext.datatypes import Chunk, Document
from autocontext.protocols import Kept, Retriever
from autocontext.retrievers.base import Neighbours
from autocontext.stemming import detect_language, index_terms
from autocontext.words import WordCounts, count_words


@dataclass
class Entry:
    """One document of the collection; what is asked of it is found once.

    Attributes
    ----------
    chunks
        Numbered as in the last snapshot that it was part of.
    """

    document: Document
    chunks: tuple[Chunk, ...]

    @staticmethod
    def of_kept(kept: Kept) -> Entry:
        """Return the entry of a document in a store, with what the store knows of it."""
        entry = Entry(kept.document, kept.chunks)
        entry.__dict__["hashes"] = kept.hashes
        counted = WordCounts.from_bytes(kept.words, len(kept.chunks)) if kept.words else None
        if counted is not None:
            entry.__dict__["language"], entry.__dict__["words"] = kept.language, counted
        return entry

    def kept(self, original: bytes | None = None) -> Kept:
        """Return it as a store keeps it."""
        return Kept(self.document, self.chunks, self.hashes, original, self.language, self.words.to_bytes())

    @property
    def texts(self) -> list[str]:
        """What each chunk is indexed by and embedded from; made anew each time, since it is as long as the document."""
        title = document_title(self.document)
        return [index_text(self.document, chunk, title) for chunk in self.chunks]

    @cached_property
    def hashes(self) -> tuple[bytes, ...]:
        """SHA-256 of each of these texts: what its vector is kept under."""
        return tuple(hashlib.sha256(text.encode("utf-8")).digest() for text in self.texts)

    @cached_property
    def language(self) -> str:
        """ISO 639 code of the document's language; "" where it has no letters."""
        return detect_language(self.document.text)

    @cached_property
    def words(self) -> WordCounts:
        """The index terms of each of these texts."""
        return count_words(index_terms(text, self.language) for text in self.texts)

    def numbered(self, first: int) -> tuple[Chunk, ...]:
        """Return the chunks with the numbers from `first` on."""
        chunks = self.chunks  # read once: another snapshot may be numbering them meanwhile
        if chunks and (chunks[0].number, chunks[-1].number) != (first, first + len(chunks) - 1):
            chunks = tuple(
                Chunk(first + n, c.document, c.text, c.start, c.end, c.line, c.page, c.heading, c.section)
                for n, c in enumerate(chunks)
            )
            self.chunks = chunks
        return chunks


class Snapshot:
    """All that a search needs, for one state of the collection; each part is made when it is first asked for."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self.entries = entries
        self._retrievers: dict[str, Retriever] = {}

    @cached_property
    def documents(self) -> Mapping[str, Document]:
        """By name, in the order they were first added; read-only."""
        return MappingProxyType({name: entry.document for name, entry in self.entries.items()})

    @cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """All chunks, numbered from 0."""
        listed: list[Chunk] = []
        for entry in self.entries.values():
            listed += entry.numbered(len(listed))
        return tuple(listed)

    @cached_property
    def neighbours(self) -> Neighbours:
        """Which chunks stand close to each other."""
        return Neighbours(self.chunks)

    @cached_property
    def languages(self) -> Mapping[str, str]:
        """The documents' languages by name."""
        return {name: entry.language for name, entry in self.entries.items()}

    @cached_property
    def hashes(self) -> list[bytes]:
        """The hash of each chunk's indexed text, in the chunks' order."""
        return [text_hash for entry in self.entries.values() for text_hash in entry.hashes]

    def has_retriever(self, name: str) -> bool:
        """Tell whether the retriever `name` is built."""
        return name in self._retrievers

    def retriever(self, name: str, build: Callable[[], Retriever]) -> Retriever:
        """Return the retriever `name`, built on first use; not to be called by two threads at once."""
        if name not in self._retrievers:
            self._retrievers[name] = build()
        return self._retrievers[name]
