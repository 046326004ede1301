"""A collection in one SQLite file: documents, their chunks, and vectors by model and text."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from autocontext.datatypes import Chunk, Document, Section, TextEncoding
from autocontext.errors import StoreError
from autocontext.protocols import Vectors

P = ParamSpec("P")
R = TypeVar("R")

SCHEMA_VERSION = "2"
_SCHEMA = """
create table if not exists meta (key text primary key, value text not null) without rowid;
create table if not exists documents (
    id integer primary key, name text not null unique, content_hash text not null, text text not null,
    page_starts text not null, notes text not null, details text not null
);
create table if not exists chunks (
    document integer not null references documents (id) on delete cascade, ordinal integer not null,
    start integer not null, end integer not null, line integer not null, page integer, heading text not null,
    primary key (document, ordinal)
) without rowid;
create table if not exists vectors (
    model text not null, text_hash blob not null, vector blob not null, primary key (model, text_hash)
) without rowid;
"""
_BATCH = 500  # well below SQLite's limit of bound values


def _told(method: Callable[Concatenate[SQLiteStore, P], R]) -> Callable[Concatenate[SQLiteStore, P], R]:
    """Turn SQLite's errors into ours."""

    @wraps(method)
    def wrapper(self: SQLiteStore, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except sqlite3.Error as error:
            cure = "Close the program that uses it, or open the collection again."
            raise StoreError(f"The collection file did not answer: {error}. {cure}") from error

    return wrapper


class SQLiteStore:
    """One file; safe against a crash (write-ahead log), never pickle: a shared file cannot run code.

    Raises
    ------
    StoreError
        If the file cannot be opened, is no SQLite file, or was written by another version.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        try:
            self._connection = sqlite3.connect(self._path, check_same_thread=False, timeout=30)
            tables = {name for (name,) in self._connection.execute("select name from sqlite_master")}
            if tables and "meta" not in tables:
                self.close()
                raise StoreError(f"{self._path} is the database of another program, not a collection.")
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute("pragma foreign_keys = on")
            self._connection.executescript(_SCHEMA)
            version = self.get("schema")
            if version is None:
                self.put("schema", SCHEMA_VERSION)
        except sqlite3.Error as error:
            raise StoreError(f"{self._path} cannot be opened as a collection: {error}.") from error
        if version not in (None, SCHEMA_VERSION):
            self.close()
            raise StoreError(f"{self._path} was written by another version (schema {version}); index the files again.")

    @_told
    def load(self) -> list[tuple[Document, tuple[Chunk, ...]]]:
        """Return all documents with their chunks, in the order they were first added; chunk numbers are 0."""
        places: dict[int, list[tuple[int, int, int, int | None, str]]] = {}
        for document, *place in self._connection.execute(
            "select document, start, end, line, page, heading from chunks order by document, ordinal"
        ):
            places.setdefault(document, []).append(tuple(place))
        loaded: list[tuple[Document, tuple[Chunk, ...]]] = []
        for id_, name, content_hash, text, page_starts, notes, details in self._connection.execute(
            "select id, name, content_hash, text, page_starts, notes, details from documents order by id"
        ):
            pages = tuple(json.loads(page_starts))
            document = Document(name, text, content_hash, pages, tuple(json.loads(notes)), **_from_json(details))
            chunks = (
                Chunk(0, name, text[start:end], start, end, line, page, heading, _place(document, start))
                for start, end, line, page, heading in places.get(id_, ())
            )
            loaded.append((document, tuple(chunks)))
        return loaded

    @_told
    def save(self, items: Iterable[tuple[Document, tuple[Chunk, ...]]]) -> None:
        """Insert, or replace the documents of the same names in their places."""
        with self._connection:
            for document, chunks in items:
                (id_,) = self._connection.execute(
                    "insert into documents (name, content_hash, text, page_starts, notes, details) "
                    "values (?, ?, ?, ?, ?, ?) "
                    "on conflict (name) do update set content_hash = excluded.content_hash, text = excluded.text, "
                    "page_starts = excluded.page_starts, notes = excluded.notes, details = excluded.details "
                    "returning id",
                    (
                        document.name,
                        document.content_hash,
                        document.text,
                        json.dumps(document.page_starts),
                        json.dumps(document.notes),
                        _to_json(document),
                    ),
                ).fetchone()
                self._connection.execute("delete from chunks where document = ?", (id_,))
                self._connection.executemany(
                    "insert into chunks values (?, ?, ?, ?, ?, ?, ?)",
                    ((id_, n, c.start, c.end, c.line, c.page, c.heading) for n, c in enumerate(chunks)),
                )

    @_told
    def remove(self, names: Iterable[str]) -> None:
        """Forget these documents; their vectors stay, so that adding them again embeds nothing."""
        with self._connection:
            self._connection.executemany("delete from documents where name = ?", ((name,) for name in names))

    @_told
    def vectors(self, model: str, hashes: Sequence[bytes]) -> Mapping[bytes, Vectors]:
        """Return the known vectors by SHA-256 of the text."""
        found: dict[bytes, Vectors] = {}
        for first in range(0, len(hashes), _BATCH):
            batch = hashes[first : first + _BATCH]
            marks = ",".join("?" * len(batch))
            rows = self._connection.execute(
                f"select text_hash, vector from vectors where model = ? and text_hash in ({marks})",
                (model, *batch),
            )
            found.update((text_hash, np.frombuffer(vector, dtype="<f4")) for text_hash, vector in rows)
        return found

    @_told
    def add_vectors(self, model: str, rows: Mapping[bytes, Vectors]) -> None:
        """Keep vectors; a known hash is left as it is."""
        with self._connection:
            self._connection.executemany(
                "insert or ignore into vectors values (?, ?, ?)",
                ((model, text_hash, np.asarray(vector, dtype="<f4").tobytes()) for text_hash, vector in rows.items()),
            )

    @_told
    def get(self, key: str) -> str | None:
        """Return a value kept with the collection."""
        row = self._connection.execute("select value from meta where key = ?", (key,)).fetchone()
        return row[0] if row else None

    @_told
    def put(self, key: str, value: str) -> None:
        """Keep a value with the collection."""
        with self._connection:
            self._connection.execute("insert or replace into meta values (?, ?)", (key, value))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _to_json(document: Document) -> str:
    """Return the sections and the encoding of a document as JSON; `_from_json` is the way back."""
    encoding = document.encoding
    kept = encoding and [encoding.name, encoding.source, base64.b64encode(encoding.data).decode("ascii")]
    return json.dumps({"sections": [astuple(section) for section in document.sections], "encoding": kept})


def _from_json(details: str) -> dict[str, Any]:
    kept = json.loads(details)
    encoding = None
    if kept["encoding"]:
        name, source, data = kept["encoding"]
        encoding = TextEncoding(name, source, base64.b64decode(data))
    return {"sections": tuple(Section(*section) for section in kept["sections"]), "encoding": encoding}


def _place(document: Document, offset: int) -> str:
    section = document.section_at(offset)
    return section.place if section else ""
