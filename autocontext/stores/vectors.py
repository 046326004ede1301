"""Vectors that were made before, by model and text: in the memory of the process, or in a file that all share."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from autocontext.protocols import Vectors

_FLOAT = "<f4"
_BATCH = 500  # well below SQLite's limit of bound values
_TOUCH_SECONDS = 3600  # how exactly the last use is noted: noting each one would make every look-up a write
_SCHEMA = """
create table if not exists vectors (
    model text not null, text_hash blob not null, dim integer not null, vector blob not null, used integer not null,
    unique (model, text_hash)
);
create index if not exists vectors_by_use on vectors (used);
"""


def as_blob(vector: Vectors) -> bytes:
    """Return a vector as bytes: 4-byte floats, little-endian."""
    return np.asarray(vector, dtype=_FLOAT).tobytes()


def as_vector(blob: object, dim: int) -> Vectors | None:
    """Return the vector, or None if these bytes are none of `dim` numbers and of length 1 (or all zeros)."""
    if not isinstance(blob, bytes) or len(blob) != dim * 4:
        return None
    vector = np.frombuffer(blob, dtype=_FLOAT)
    length = float(np.dot(vector, vector))
    return vector if abs(length - 1.0) < 0.01 or length == 0.0 else None


class MemoryVectors:
    """Keeps vectors until the process ends, the oldest-used dropped first; one may serve many collections."""

    def __init__(self, max_megabytes: float = 200) -> None:
        self.max_megabytes = max_megabytes
        self._rows: OrderedDict[tuple[str, bytes], Vectors] = OrderedDict()
        self._bytes = 0
        self._one_at_a_time = threading.Lock()

    def get(self, model: str, hashes: Sequence[bytes]) -> Mapping[bytes, Vectors]:
        """Return the known ones."""
        with self._one_at_a_time:
            found = {h: self._rows[model, h] for h in hashes if (model, h) in self._rows}
            for text_hash in found:
                self._rows.move_to_end((model, text_hash))
            return found

    def put(self, model: str, rows: Mapping[bytes, Vectors]) -> None:
        """Keep them."""
        with self._one_at_a_time:
            for text_hash, row in rows.items():
                old = self._rows.pop((model, text_hash), None)
                self._bytes += row.nbytes - (old.nbytes if old is not None else 0)
                self._rows[model, text_hash] = row
            while self._bytes > self.max_megabytes * 1e6 and self._rows:
                self._bytes -= self._rows.popitem(last=False)[1].nbytes

    @property
    def size(self) -> tuple[int, int]:
        """How many vectors, and bytes."""
        return len(self._rows), self._bytes

    def clear(self) -> None:
        """Forget all."""
        with self._one_at_a_time:
            self._rows.clear()
            self._bytes = 0


class VectorFile:
    """Keeps vectors in a SQLite file of its own, the oldest-used dropped first; several processes may share it.

    It can only save time: whatever is wrong with the file, a text counts as not known, and nothing else happens.
    """

    def __init__(self, path: str | Path, max_megabytes: float = 500) -> None:
        self.path, self.max_megabytes = Path(path), max_megabytes
        self._one_at_a_time = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def _open(self) -> sqlite3.Connection:
        """Open the file at its first use; one that is damaged is made anew."""
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._connection = self._connected()
            except sqlite3.DatabaseError as error:
                if getattr(error, "sqlite_errorcode", 0) not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                    raise
                self.path.unlink()
                self._connection = self._connected()
        return self._connection

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, check_same_thread=False, timeout=5, isolation_level="IMMEDIATE")
        try:
            connection.execute("pragma auto_vacuum = incremental")
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = normal")
            connection.executescript(_SCHEMA)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def get(self, model: str, hashes: Sequence[bytes]) -> Mapping[bytes, Vectors]:
        """Return the known ones."""
        found: dict[bytes, Vectors] = {}
        with self._one_at_a_time, suppress(sqlite3.Error, OSError):
            connection, now = self._open(), int(time.time())
            stale: list[tuple[int, int]] = []
            for first in range(0, len(hashes), _BATCH):
                batch = hashes[first : first + _BATCH]
                marks = ",".join("?" * len(batch))
                query = f"select rowid, * from vectors where model = ? and text_hash in ({marks})"
                for id_, _, text_hash, dim, blob, used in connection.execute(query, (model, *batch)):
                    vector = as_vector(blob, dim)
                    if vector is not None:
                        found[text_hash] = vector
                    if used < now - _TOUCH_SECONDS:
                        stale.append((now, id_))
            if stale:
                with connection:
                    connection.executemany("update vectors set used = ? where rowid = ?", stale)
        return found

    def put(self, model: str, rows: Mapping[bytes, Vectors]) -> None:
        """Keep them, and drop the oldest-used ones if the file grew too large."""
        with self._one_at_a_time, suppress(sqlite3.Error, OSError):
            connection, now = self._open(), int(time.time())
            with connection:
                connection.executemany(
                    "insert or replace into vectors values (?, ?, ?, ?, ?)",
                    ((model, text_hash, len(row), as_blob(row), now) for text_hash, row in rows.items()),
                )
            if self._bytes(connection) > self.max_megabytes * 1e6:
                with connection:
                    connection.execute(
                        "delete from vectors where rowid in (select rowid from vectors order by used, rowid limit "
                        "(select count(*) / 5 + 1 from vectors))"
                    )
                connection.execute("pragma incremental_vacuum").fetchall()

    @staticmethod
    def _bytes(connection: sqlite3.Connection) -> int:
        pages, free, size = (
            connection.execute(f"pragma {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)

    @property
    def size(self) -> tuple[int, int]:
        """How many vectors, and bytes; (0, 0) if there is no file."""
        with self._one_at_a_time, suppress(sqlite3.Error, OSError):
            if self._connection is None and not self.path.is_file():
                return 0, 0
            connection = self._open()
            return connection.execute("select count(*) from vectors").fetchone()[0], self._bytes(connection)
        return 0, 0

    def clear(self) -> None:
        """Forget all, also in the file."""
        with self._one_at_a_time, suppress(sqlite3.Error, OSError):
            if self._connection is not None or self.path.is_file():
                connection = self._open()
                with connection:
                    connection.execute("delete from vectors")
                connection.execute("vacuum")
                connection.execute("pragma wal_checkpoint(truncate)")

    def close(self) -> None:
        """Close the file."""
        with self._one_at_a_time:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
