"""A collection in one SQLite file: documents, their chunks, and the vectors of the chunks' texts by model."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from autocontext.datatypes import Chunk, Document
from autocontext.errors import StoreError
from autocontext.protocols import Kept, Vectors
from autocontext.records import known_fields, to_plain
from autocontext.stores.vectors import as_blob, as_vector

P = ParamSpec("P")
R = TypeVar("R")

APPLICATION_ID = 0x41435458  # "ACTX": what `file` and we know a collection by
SCHEMA_VERSION = 3
BUSY_SECONDS = 10.0
SCHEMA = """
create table meta (key text primary key, value text not null) without rowid;
create table documents (
    id integer primary key, name text not null unique, content_hash text not null, text text not null,
    extra text not null, original blob
);
create table chunks (
    document integer not null references documents (id) on delete cascade, ordinal integer not null,
    start integer not null, end integer not null, text_hash blob not null, extra text not null,
    primary key (document, ordinal)
) without rowid;
create index chunks_by_text on chunks (text_hash);
create table words (
    document integer primary key references documents (id) on delete cascade, language text not null,
    counts blob not null
);
create table models (id integer primary key, name text not null unique, dim integer not null);
create table vectors (
    model integer not null references models (id), text_hash blob not null, vector blob not null,
    unique (model, text_hash)
);
"""
_PAUSE = 0.02  # seconds between two attempts
_State = tuple[int, str, int, int]
_BATCH = 500  # well below SQLite's limit of bound values
_IN_DOCUMENT_ROW = frozenset({"name", "content_hash", "text"})
_IN_CHUNK_ROW = frozenset({"number", "document", "text", "start", "end"})
_IN_CHUNK = {"line": int, "page": int, "heading": str, "section": str}
_CURES = {
    sqlite3.SQLITE_BUSY: "Another program is writing to it. Try again when that one is done, or close it.",
    sqlite3.SQLITE_LOCKED: "Another program is writing to it. Try again when that one is done, or close it.",
    sqlite3.SQLITE_FULL: "The disk is full. What was kept before is as it was; free some space and try again.",
    sqlite3.SQLITE_IOERR: "The disk did not take it (full, or taken away). What was kept before is as it was.",
    sqlite3.SQLITE_READONLY: "It may not be written to. Allow it, or copy the file to a folder of your own.",
    sqlite3.SQLITE_CANTOPEN: "It is not there, or its folder may not be written to.",
    sqlite3.SQLITE_CORRUPT: "The file is damaged. Take a copy from a backup, or add the files to a new one.",
    sqlite3.SQLITE_NOTADB: "This is no collection, or a damaged one.",
}


def sentence_of(error: sqlite3.Error, path: str) -> str:
    """Return what SQLite's error means for the user, with a cure."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return f"The collection file {path} cannot be used. {_CURES.get(code, f'SQLite says: {error}.')}"


def _told(method: Callable[Concatenate[SQLiteStore, P], R]) -> Callable[Concatenate[SQLiteStore, P], R]:
    """One thread at a time on the connection, and SQLite's errors as ours."""

    @wraps(method)
    def wrapper(self: SQLiteStore, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._one_at_a_time:
            try:
                return method(self, *args, **kwargs)
            except sqlite3.Error as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
                    self._empty_log()  # its room is enough to remove something
                raise StoreError(sentence_of(error, self.path)) from error

    return wrapper


class SQLiteStore:
    """One file; safe against a crash (write-ahead log), never pickle: a shared file cannot run code.

    Other processes may use the same file: each write is one transaction, a writer waits for another one for at most
    `busy_seconds`, and `changed` tells when another one has written. Removed text is overwritten, not only forgotten.

    Raises
    ------
    StoreError
        If the file cannot be opened, is no collection, or was written by another version.
    """

    def __init__(self, path: str | Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = str(path)
        self._one_at_a_time = threading.RLock()
        self._states: dict[str, _State] = {}  # of each document, as it was last loaded or saved here
        connection: sqlite3.Connection | None = None
        try:
            connection = self._connection = sqlite3.connect(
                self.path, check_same_thread=False, timeout=busy_seconds, isolation_level="IMMEDIATE"
            )
            self._prepare(time.monotonic() + busy_seconds)
            self._seen_version = self._data_version()
        except (sqlite3.Error, StoreError) as error:
            if connection is not None:
                connection.close()
            if isinstance(error, StoreError):
                raise
            raise StoreError(sentence_of(error, self.path)) from error

    def _prepare(self, deadline: float) -> None:
        run = self._connection.execute
        run("pragma trusted_schema = off")
        tables = {name for (name,) in run("select name from sqlite_master where type = 'table'")}
        if tables:
            self._check_kind(tables)
        run("pragma foreign_keys = on")
        run("pragma secure_delete = on")
        self._keep_log(deadline)
        run("pragma synchronous = normal")
        if not tables:
            with self._connection:
                run("begin immediate")
                if not run("select 1 from sqlite_master").fetchone():  # another process may have been first
                    for statement in SCHEMA.split(";\n"):
                        run(statement)
                    run(f"pragma application_id = {APPLICATION_ID}")
                    run(f"pragma user_version = {SCHEMA_VERSION}")

    def _keep_log(self, deadline: float) -> None:
        """Switch to the write-ahead log; SQLite itself does not wait for another one who opens the new file as well."""
        while True:
            try:
                self._connection.execute("pragma journal_mode = wal")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE)
            else:
                return

    def _check_kind(self, tables: set[str]) -> None:
        (application,) = self._connection.execute("pragma application_id").fetchone()
        (version,) = self._connection.execute("pragma user_version").fetchone()
        if application != APPLICATION_ID:
            old = {"meta", "documents", "chunks", "vectors"} <= tables
            what = "a collection of an older version; index the files again" if old else "no collection of AutoContext"
            raise StoreError(f"{self.path} is {what}. It was left as it is.")
        if version == 2:  # it had no words
            with self._connection:
                self._connection.execute("begin immediate")
                if not self._connection.execute("select 1 from sqlite_master where name = 'words'").fetchone():
                    self._connection.execute(next(part for part in SCHEMA.split(";\n") if "table words" in part))
                    self._connection.execute(f"pragma user_version = {SCHEMA_VERSION}")
        elif version != SCHEMA_VERSION:
            cure = "update AutoContext" if version > SCHEMA_VERSION else "index the files again"
            age = "a newer" if version > SCHEMA_VERSION else "an older"
            raise StoreError(
                f"{self.path} was written by {age} version of AutoContext (schema {version}, this one reads "
                f"{SCHEMA_VERSION}): {cure}. It was left as it is."
            )

    # --- documents ---

    @_told
    def load(self) -> list[Kept]:
        """Return all documents with their chunks, in the order they were first added; chunk numbers are 0."""
        self._states = {}
        return self._load_changes()[1]

    @_told
    def load_changes(self) -> tuple[list[str], list[Kept]]:
        """Return the names of all documents in order, and those that are not as they were last loaded or saved here."""
        return self._load_changes()

    def _load_changes(self) -> tuple[list[str], list[Kept]]:
        with self._connection:
            self._connection.execute("begin")  # all tables of one moment
            self._seen_version = self._data_version()
            rows = self._connection.execute(
                "select name, id, content_hash, length(text), extra from documents order by id"
            )
            states = {name: _state(*columns) for name, *columns in rows}
            changed = [state[0] for name, state in states.items() if self._states.get(name) != state]
            batches = (changed[first : first + _BATCH] for first in range(0, len(changed), _BATCH))
            kept = [one for batch in batches for one in self._read(batch)]
        self._states = states
        return list(states), kept

    def _read(self, ids: Sequence[int]) -> list[Kept]:
        marks = ",".join("?" * len(ids))
        places: dict[int, list[tuple[Any, ...]]] = {}
        for id_, *place in self._connection.execute(
            f"select document, start, end, text_hash, extra from chunks where document in ({marks}) "
            "order by document, ordinal",
            ids,
        ):
            places.setdefault(id_, []).append(tuple(place))
        return [
            self._kept(
                Document(name, text, content_hash, **_fields(Document, extra)),
                places.get(id_, []),
                language or "",
                counts or b"",
            )
            for id_, name, content_hash, text, extra, language, counts in self._connection.execute(
                "select id, name, content_hash, text, extra, language, counts from documents "
                f"left join words on words.document = documents.id where id in ({marks}) order by id",
                ids,
            )
        ]

    @staticmethod
    def _kept(document: Document, places: Sequence[tuple[Any, ...]], language: str, words: bytes) -> Kept:
        chunks = tuple(
            Chunk(0, document.name, document.text[start:end], start, end, **{"line": 1, **_chunk_fields(extra)})
            for start, end, _, extra in places
        )
        return Kept(document, chunks, tuple(text_hash for _, _, text_hash, _ in places), None, language, words)

    @_told
    def save(self, items: Iterable[Kept], model: str = "", rows: Mapping[bytes, Vectors] | None = None) -> None:
        """Insert, or replace the documents of the same names in their places, together with vectors; all or nothing.

        Where one was replaced, the value ``"stale"`` is kept until the next `prune`.
        """
        self._require_file()
        states: dict[str, _State] = {}
        with self._connection:
            for kept in items:
                document = kept.document
                extra = json.dumps(to_plain(document, without=_IN_DOCUMENT_ROW))
                (id_,) = self._connection.execute(
                    "insert into documents (name, content_hash, text, extra, original) values (?, ?, ?, ?, ?) "
                    "on conflict (name) do update set content_hash = excluded.content_hash, text = excluded.text, "
                    "extra = excluded.extra, original = excluded.original returning id",
                    (document.name, document.content_hash, document.text, extra, kept.original),
                ).fetchone()
                states[document.name] = _state(id_, document.content_hash, len(document.text), extra)
                if self._connection.execute("delete from chunks where document = ?", (id_,)).rowcount:
                    self._connection.execute("insert or replace into meta values ('stale', '1')")
                self._connection.executemany(
                    "insert into chunks values (?, ?, ?, ?, ?, ?)",
                    (
                        (id_, n, c.start, c.end, text_hash, json.dumps(to_plain(c, without=_IN_CHUNK_ROW)))
                        for n, (c, text_hash) in enumerate(zip(kept.chunks, kept.hashes, strict=True))
                    ),
                )
                self._connection.execute("delete from words where document = ?", (id_,))
                if kept.words:
                    self._connection.execute("insert into words values (?, ?, ?)", (id_, kept.language, kept.words))
            if rows:
                self._insert_vectors(model, rows, "ignore")
        self._states |= states

    @_told
    def remove(self, names: Iterable[str]) -> None:
        """Forget these documents, their chunks and vectors; unknown names are ignored."""
        self._require_file()
        gone = list(names)
        with self._connection:
            self._connection.executemany("delete from documents where name = ?", ((name,) for name in gone))
            self._prune()
        for name in gone:
            self._states.pop(name, None)
        self._empty_log()

    @_told
    def prune(self) -> None:
        """Forget the vectors of texts that no document holds."""
        with self._connection:
            self._connection.execute("begin immediate")
            pruned = self._prune()
        if pruned:
            self._empty_log()

    def _prune(self) -> int:
        self._connection.execute("delete from meta where key = 'stale'")
        return self._connection.execute(
            "delete from vectors where text_hash not in (select text_hash from chunks)"
        ).rowcount

    def _empty_log(self) -> None:
        """Write the log into the file and cut it, so that removed text is in neither; later if another one reads."""
        with suppress(sqlite3.Error):
            self._connection.execute("pragma wal_checkpoint(truncate)")

    @_told
    def original(self, name: str) -> bytes | None:
        """Return the bytes of the file that a document was read from, if they were kept."""
        row = self._connection.execute("select original from documents where name = ?", (name,)).fetchone()
        return row[0] if row else None

    @_told
    def originals(self) -> dict[str, int]:
        """Return the size in bytes of each kept original, by the document's name."""
        query = "select name, length(original) from documents where original is not null"
        return dict(self._connection.execute(query).fetchall())

    # --- vectors ---

    @_told
    def vectors(self, model: str, hashes: Sequence[bytes]) -> Mapping[bytes, Vectors]:
        """Return the known vectors by the hash of the text; a row that can be no vector is left out."""
        row = self._connection.execute("select id, dim from models where name = ?", (model,)).fetchone()
        found: dict[bytes, Vectors] = {}
        for first in range(0, len(hashes) if row else 0, _BATCH):
            batch = hashes[first : first + _BATCH]
            marks = ",".join("?" * len(batch))
            for text_hash, blob in self._connection.execute(
                f"select text_hash, vector from vectors where model = ? and text_hash in ({marks})", (row[0], *batch)
            ):
                vector = as_vector(blob, row[1])
                if vector is not None:
                    found[text_hash] = vector
        return found

    @_told
    def lacks_vectors(self, model: str) -> bool:
        """Tell whether there is a chunk whose text has no vector of this model."""
        query = (
            "select 1 from chunks where text_hash not in (select text_hash from vectors where model = "
            "(select id from models where name = ?)) limit 1"
        )
        return self._connection.execute(query, (model,)).fetchone() is not None

    @_told
    def add_vectors(self, model: str, rows: Mapping[bytes, Vectors]) -> None:
        """Keep vectors; a known hash gets the new one."""
        self._require_file()
        with self._connection:
            self._insert_vectors(model, rows)

    def _insert_vectors(
        self, model: str, rows: Mapping[bytes, Vectors], if_known: Literal["ignore", "replace"] = "replace"
    ) -> None:
        if not rows:
            return
        dim = len(next(iter(rows.values())))
        (id_,) = self._connection.execute(
            "insert into models (name, dim) values (?, ?) on conflict (name) do update set dim = excluded.dim "
            "returning id",
            (model, dim),
        ).fetchone()
        self._connection.executemany(
            f"insert or {if_known} into vectors (model, text_hash, vector) values (?, ?, ?)",
            ((id_, text_hash, as_blob(vector)) for text_hash, vector in rows.items()),
        )

    # --- the file ---

    @_told
    def get(self, key: str) -> str | None:
        """Return a value kept with the collection."""
        row = self._connection.execute("select value from meta where key = ?", (key,)).fetchone()
        return row[0] if row else None

    @_told
    def put(self, key: str, value: str) -> None:
        """Keep a value with the collection."""
        self._require_file()
        with self._connection:
            self._connection.execute("insert or replace into meta values (?, ?)", (key, value))

    @_told
    def changed(self) -> bool:
        """Tell whether another connection has written since the last `load`."""
        self._require_file()
        return self._data_version() != self._seen_version

    def _data_version(self) -> int:
        (version,) = self._connection.execute("pragma data_version").fetchone()
        return int(version)

    def _require_file(self) -> None:
        """Raise if the file was taken away: SQLite would write on into a file without a name."""
        if not Path(self.path).is_file() and self.path != ":memory:":
            raise StoreError(f"The collection file {self.path} was deleted or moved.")

    @_told
    def copy_to(self, path: str | Path) -> None:
        """Write a whole and compact copy into a new file."""
        self._connection.execute("vacuum into ?", (str(path),))

    def close(self) -> None:
        """Close the file; waits for what is being written."""
        with self._one_at_a_time:
            self._connection.close()


def _state(id_: int, content_hash: str, length: int, extra: str) -> _State:
    """Return what changes whenever a document is read in another way or anew; its chunks follow from it."""
    return id_, content_hash, length, hash(extra)


def _fields(kind: type, extra: str) -> dict[str, Any]:
    """Return the fields that are kept as JSON; those of another version are left at their defaults."""
    return known_fields(kind, json.loads(extra))[0]


def _chunk_fields(extra: str) -> dict[str, Any]:
    """Return the same of a chunk: there are very many, and nearly all are as they must be."""
    fields = json.loads(extra)
    is_right = isinstance(fields, dict) and all(type(value) is _IN_CHUNK.get(name) for name, value in fields.items())
    return fields if is_right else _fields(Chunk, extra)
