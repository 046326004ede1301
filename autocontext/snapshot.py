"""One state of a collection, never changed: what a search needs, each part made when it is first asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from autocontext.chunking import index_text
from autocontext.datatypes import Chunk, Document
from autocontext.protocols import Retriever
from autocontext.stemming import detect_language


@dataclass(frozen=True)
class Entry:
    """One document of the collection."""

    document: Document
    chunks: tuple[Chunk, ...]  # numbered from 0 within the document, or all 0

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """What each chunk is indexed by and embedded from."""
        return tuple(index_text(self.document, chunk) for chunk in self.chunks)

    @cached_property
    def hashes(self) -> tuple[bytes, ...]:
        """SHA-256 of each of these texts: what its vector is kept under."""
        return tuple(hashlib.sha256(text.encode("utf-8")).digest() for text in self.texts)

    @cached_property
    def language(self) -> str:
        """ISO 639 code of the document's language; "" where it has no letters."""
        return detect_language(self.document.text)


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
        listed = (chunk for entry in self.entries.values() for chunk in entry.chunks)
        return tuple(replace(chunk, number=number) for number, chunk in enumerate(listed))

    @cached_property
    def texts(self) -> list[str]:
        """What each chunk is indexed by, in the chunks' order."""
        return [text for entry in self.entries.values() for text in entry.texts]

    @cached_property
    def languages(self) -> Mapping[str, str]:
        """The documents' languages by name."""
        return {name: entry.language for name, entry in self.entries.items()}

    @cached_property
    def hashes(self) -> list[bytes]:
        """The hash of each of these texts, in the chunks' order."""
        return [text_hash for entry in self.entries.values() for text_hash in entry.hashes]

    def retriever(self, name: str, build: Callable[[], Retriever]) -> Retriever:
        """Return the retriever `name`, built on first use; not to be called by two threads at once."""
        if name not in self._retrievers:
            self._retrievers[name] = build()
        return self._retrievers[name]
