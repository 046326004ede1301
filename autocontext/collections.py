"""The kept collections of this user: one SQLite file each, in one folder, and the vectors that they share."""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import sys
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from autocontext.engine import AutoContext
from autocontext.errors import SettingsError, StoreError
from autocontext.naming import label
from autocontext.protocols import Encoder
from autocontext.settings import EncoderOptions, Settings, settings_from_json, settings_to_json, without_places
from autocontext.stores.foreign import import_collection
from autocontext.stores.sqlite import SQLiteStore, sentence_of
from autocontext.stores.vectors import VectorFile

SUFFIX = ".db"
MAX_NAME = 80
_ID = re.compile("[a-z0-9][a-z0-9-]{0,60}")


def data_folder() -> Path:
    """Return where this system keeps a user's data; the variable ``AUTOCONTEXT_DATA`` names another folder."""
    if chosen := os.environ.get("AUTOCONTEXT_DATA"):
        return Path(chosen).expanduser().absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "AutoContext"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "AutoContext"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "autocontext"


def shared_vectors(folder: Path | None = None) -> VectorFile:
    """Return the cache of vectors in the data folder; ``AUTOCONTEXT_CACHE_MB`` sets its size (500)."""
    try:
        megabytes = float(os.environ.get("AUTOCONTEXT_CACHE_MB") or 500)
    except ValueError:
        megabytes = 500
    return VectorFile((folder or data_folder()) / "cache" / "vectors.db", megabytes)


def open_collection(
    path: str | Path, *, encoder: Encoder | None = None, cache: VectorFile | None = None
) -> AutoContext:
    """Open a collection's file with the settings that are kept in it; what they cannot be is in the engine's notes.

    Raises
    ------
    StoreError
        If the file is no collection, or does not answer.
    """
    store = SQLiteStore(path)
    settings, problems = settings_from_json(store.get("settings") or "{}")
    try:
        engine = AutoContext(settings, encoder, store, cache)
    except SettingsError as error:
        problems = (*problems, f"{error} The collection was opened with the usual settings.")
        engine = AutoContext(Settings(), encoder, store, cache)
    engine.notes = (*engine.notes, *problems)
    return engine


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """One collection of the list: `id` is its file's name without suffix, `problem` why it cannot be opened, or ""."""

    id: str
    name: str
    n_documents: int
    megabytes: float
    problem: str = ""


class Collections:
    """The collections in a folder. Every method that fails raises StoreError, and leaves all files as they were."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or data_folder()

    @cached_property
    def vectors(self) -> VectorFile:
        """The vectors that all collections share."""
        return shared_vectors(self.folder)

    def listed(self) -> list[CollectionInfo]:
        """Return all of them, by name."""
        files = sorted((self.folder / "collections").glob(f"*{SUFFIX}")) if self.folder.is_dir() else []
        return sorted(
            (_describe(path) for path in files if _ID.fullmatch(path.stem)), key=lambda one: one.name.casefold()
        )

    def path(self, id_: str) -> Path:
        """Return a collection's file; the id may come from anywhere, an address for example."""
        path = self.folder / "collections" / f"{id_}{SUFFIX}"
        if not _ID.fullmatch(id_) or not path.is_file():
            raise StoreError("This collection is not here any more. It was deleted, or is another user's.")
        return path

    def create(self, name: str, settings: Settings | None = None) -> str:
        """Make an empty collection and return its id."""
        with self._new_file(self._free_name(name)) as (id_, store):
            store.put("settings", settings_to_json(settings or Settings()))
        return id_

    def keep(self, name: str, engine: AutoContext) -> str:
        """Make a collection of what an engine holds now, for example in memory only, and return its id."""
        with self._new_file(self._free_name(name)) as (id_, store):
            engine.save_to(store)
        return id_

    def open(self, id_: str, encoder: Encoder | None = None) -> AutoContext:
        """Open one."""
        return open_collection(self.path(id_), encoder=encoder, cache=self.vectors)

    def name(self, id_: str) -> str:
        """Return its name."""
        return _describe(self.path(id_)).name

    def rename(self, id_: str, name: str) -> None:
        """Give it another name; whoever has it open goes on with it."""
        path = self.path(id_)
        if name.strip() == _describe(path).name:
            return
        with closing(SQLiteStore(path)) as store:
            store.put("name", self._free_name(name, besides=id_))

    def duplicate(self, id_: str, name: str) -> str:
        """Make a copy under another name and return its id."""
        path, name = self.path(id_), self._free_name(name)
        with self._new_file(name, copy_of=path) as (copy, _):
            return copy

    def export(self, id_: str) -> bytes:
        """Return the collection as one file, without the paths of this machine."""
        with tempfile.TemporaryDirectory() as folder, closing(SQLiteStore(self.path(id_))) as store:
            copied = Path(folder) / "export.db"
            store.copy_to(copied)
            with closing(SQLiteStore(copied)) as copy:
                copy.put("folders", "{}")
                settings, _ = settings_from_json(copy.get("settings") or "{}")
                copy.put("settings", settings_to_json(replace(settings, encoder=EncoderOptions())))
                copy.put("saved_settings", without_places(copy.get("saved_settings") or "{}"))
                compact = Path(folder) / "compact.db"  # what was overwritten is in no free page of it
                copy.copy_to(compact)
            return compact.read_bytes()

    def import_file(self, file_name: str, data: bytes) -> str:
        """Make a collection of an exported file, which is not trusted, and return its id."""
        with tempfile.TemporaryDirectory() as folder:
            foreign = Path(folder) / "foreign.db"
            foreign.write_bytes(data)
            with self._new_file("import") as (id_, store):
                name, settings_text = import_collection(foreign, store)
                settings, _ = settings_from_json(settings_text)
                store.put("settings", settings_to_json(replace(settings, encoder=EncoderOptions())))
                wanted = label(name or file_name.rpartition("/")[2].removesuffix(SUFFIX)).strip()[:MAX_NAME]
                store.put("name", self._unused_name(wanted or "Imported"))
        return id_

    def delete(self, id_: str) -> None:
        """Delete it; vectors of its texts stay in the shared cache until that is cleared."""
        path = self.path(id_)
        try:
            path.unlink()
        except OSError as error:
            raise StoreError(f"The collection cannot be deleted: {error.strerror}. Close what has it open.") from error
        for ending in ("-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)

    @contextmanager
    def _new_file(self, name: str, copy_of: Path | None = None) -> Iterator[tuple[str, SQLiteStore]]:
        """Lend a new collection; if anything fails meanwhile it is not there."""
        slug = re.sub("[^a-z0-9]+", "-", unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower())
        id_ = f"{slug.strip('-')[:40].strip('-') or 'collection'}-{secrets.token_hex(3)}"
        path = self.folder / "collections" / f"{id_}{SUFFIX}"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(OSError):
                self.folder.chmod(0o700)  # documents are nobody else's business
        except OSError as error:
            cure = "Set AUTOCONTEXT_DATA to a folder that you may write to."
            raise StoreError(f"The folder {path.parent} cannot be made: {error.strerror}. {cure}") from error
        try:
            if copy_of is not None:
                with closing(SQLiteStore(copy_of)) as source:
                    source.copy_to(path)
            with closing(SQLiteStore(path)) as store:
                store.put("name", name)
                yield id_, store
        except BaseException:
            for ending in ("", "-wal", "-shm"):
                Path(f"{path}{ending}").unlink(missing_ok=True)
            raise

    def _free_name(self, name: str, besides: str = "") -> str:
        name = label(name).strip()
        if not name or name == "unnamed":
            raise StoreError("A collection needs a name.")
        if len(name) > MAX_NAME:
            raise StoreError(f"This name is too long: {MAX_NAME} letters at most.")
        if any(one.name.casefold() == name.casefold() and one.id != besides for one in self.listed()):
            raise StoreError("There is a collection of this name already. Take another name.")
        return name

    def _unused_name(self, name: str) -> str:
        taken = {one.name.casefold() for one in self.listed()}
        names = (name if n == 1 else f"{name} ({n})" for n in range(1, len(taken) + 2))
        return next(one for one in names if one.casefold() not in taken)


def _describe(path: Path) -> CollectionInfo:
    log = Path(f"{path}-wal")
    megabytes = (path.stat().st_size + (log.stat().st_size if log.is_file() else 0)) / 1e6
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=2)) as file:
            row = file.execute("select value from meta where key = 'name'").fetchone()
            (count,) = file.execute("select count(*) from documents").fetchone()
        return CollectionInfo(path.stem, label(str(row[0])) if row else path.stem, count, megabytes)
    except sqlite3.Error as error:
        return CollectionInfo(path.stem, path.stem, 0, megabytes, sentence_of(error, path.name))
