"""A collection file that somebody gave us, read without trusting it.

Nothing of the file itself is taken over: its texts and vectors are read, each checked, and written into a new file.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from autocontext.datatypes import Document
from autocontext.errors import StoreError
from autocontext.naming import label
from autocontext.protocols import Kept
from autocontext.questions import read_questions, write_questions
from autocontext.records import known_fields
from autocontext.settings import without_places
from autocontext.stores.sqlite import APPLICATION_ID, SCHEMA, SCHEMA_VERSION, SQLiteStore
from autocontext.stores.vectors import as_vector

_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0d\x0e-\x1f\x7f\ud800-\udfff]")
_GROUP = 500
_DAMAGED = "This file is damaged, or was made by another program. Nothing was imported."


def import_collection(path: Path, store: SQLiteStore) -> tuple[str, str]:
    """Copy documents, vectors, questions and named settings of the file at `path` into an empty store.

    Its name and settings are returned, unchecked. The passages are cut again when the store is opened: what the file
    says of them is not believed.

    Raises
    ------
    StoreError
        If it is no collection of this version, or anything in it is not as it must be.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as file:
            _check(file)
            for kept in _documents(file):
                store.save([kept])
            for model, dim in file.execute("select name, dim from models where typeof(name) = 'text'").fetchall():
                _copy_vectors(file, store, model, dim)
            meta = dict(file.execute("select key, value from meta").fetchall())
            _copy_own(meta, store)
    except sqlite3.Error as error:
        raise StoreError(_DAMAGED) from error
    name, settings = meta.get("name"), meta.get("settings")
    return (name if isinstance(name, str) else ""), (settings if isinstance(settings, str) else "{}")


def _copy_own(meta: Mapping[str, object], store: SQLiteStore) -> None:
    """Take over the questions and the named settings that can be used, without places of another machine."""
    questions, saved = meta.get("questions"), meta.get("saved_settings")
    if isinstance(questions, str):
        store.put("questions", write_questions(read_questions(questions)[0]))
    if isinstance(saved, str):
        store.put("saved_settings", without_places(saved))


def _check(file: sqlite3.Connection) -> None:
    file.execute("pragma trusted_schema = off")
    file.execute("pragma cell_size_check = on")
    if file.execute("pragma application_id").fetchone() != (APPLICATION_ID,):
        raise StoreError("This file is no collection of AutoContext. Nothing was imported.")
    if file.execute("pragma user_version").fetchone() != (SCHEMA_VERSION,):
        raise StoreError(
            "This collection was written by another version of AutoContext. Open it with that version and export it "
            "after an update; nothing was imported."
        )
    ours = {_bare(statement) for statement in SCHEMA.split(";\n") if statement.strip()}
    theirs = {_bare(sql) for (sql,) in file.execute("select sql from sqlite_master where sql is not null")}
    if theirs != ours:  # another table, a view, a trigger: nothing of ours makes one
        raise StoreError(_DAMAGED)
    if file.execute("pragma integrity_check").fetchone() != ("ok",):
        raise StoreError(_DAMAGED)


def _bare(sql: object) -> str:
    return "".join(str(sql).split()).rstrip(";").lower()


def _documents(file: sqlite3.Connection) -> Iterator[Kept]:
    names: set[str] = set()
    query = "select name, content_hash, text, extra, original from documents order by id"
    for name, content_hash, text, extra, original in file.execute(query):
        document = _document(name, content_hash, text, extra)
        if document.name in names:
            raise StoreError(_DAMAGED)
        names.add(document.name)
        is_original = isinstance(original, bytes) and hashlib.sha256(original).hexdigest() == content_hash
        yield Kept(document, (), (), original if is_original else None)


def _document(name: object, content_hash: object, text: object, extra: object) -> Document:
    if not (
        isinstance(name, str) and isinstance(content_hash, str) and isinstance(text, str) and isinstance(extra, str)
    ):
        raise StoreError(_DAMAGED)
    if _UNSAFE.search(text) or not re.fullmatch("[0-9a-f]{64}", content_hash):
        raise StoreError(_DAMAGED)
    try:
        fields, _ = known_fields(Document, json.loads(extra))
        document = replace(Document(label(name), text, content_hash), **{**fields, "name": label(name)})
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(_DAMAGED) from error
    if document.encoding is not None and not _is_text_encoding(document.encoding.name):
        document = replace(document, encoding=None)
    sections = (
        replace(
            section,
            heading=label(section.heading) if section.heading else "",
            place=label(section.place) if section.place else "",
        )
        for section in document.sections
    )
    document = replace(document, sections=tuple(sections))
    starts = document.page_starts
    if document.text != text or list(starts) != sorted(starts) or any(not 0 <= start <= len(text) for start in starts):
        raise StoreError(_DAMAGED)
    return document


def _is_text_encoding(name: str) -> bool:
    try:
        return bool("a".encode(name))
    except (LookupError, ValueError, TypeError):
        return False


def _copy_vectors(file: sqlite3.Connection, store: SQLiteStore, model: str, dim: object) -> None:
    if not isinstance(dim, int) or not 0 < dim <= 100_000:
        raise StoreError(_DAMAGED)
    rows = file.execute(
        "select text_hash, vector from vectors where model = (select id from models where name = ?)", (model,)
    )
    while group := rows.fetchmany(_GROUP):
        vectors = {text_hash: as_vector(blob, dim) for text_hash, blob in group if isinstance(text_hash, bytes)}
        store.add_vectors(model, {text_hash: row for text_hash, row in vectors.items() if row is not None})
