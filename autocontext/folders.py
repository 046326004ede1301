"""A folder of this machine: its files with their names, and whether anything in it has changed since the last look."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from autocontext.errors import LoadError
from autocontext.naming import is_hidden, label

Signature = frozenset[tuple[str, int, int, int]]


@dataclass(frozen=True, slots=True)
class Listing:
    """What a folder holds.

    Attributes
    ----------
    files
        Each file's name under the folder (with ``/``, composed) and path, sorted by name.
    unread
        Names of the folders in it that could not be listed; what they hold is not known. "" is the folder itself.
    notes
        Sentences on what was left alone.
    """

    files: tuple[tuple[str, Path], ...]
    unread: tuple[str, ...]
    notes: tuple[str, ...]


def list_folder(folder: str | Path) -> Listing:
    """List every file under `folder`; hidden files and folders, and symbolic links, are left alone and counted.

    Raises
    ------
    LoadError
        If `folder` is not a folder.
    """
    root = folder_path(folder)
    files: list[tuple[str, Path]] = []
    unread: list[str] = []
    hidden = links = 0
    for entry in _walk(root, unread):
        hidden += is_hidden(entry.name)
        links += not is_hidden(entry.name) and entry.is_symlink()
        if not is_hidden(entry.name) and _is_file(entry):
            files.append((_name(root, entry.path), Path(entry.path)))
    counted = (
        (hidden, "hidden file or folder", "hidden files and folders"),
        (links, "symbolic link", "symbolic links"),
    )
    left = [f"{count:,} {one if count == 1 else many}" for count, one, many in counted if count]
    notes = [f"{' and '.join(left)} left alone."] if left else []
    notes += [f"The folder {name or root.name} could not be listed; what it held before stays." for name in unread]
    return Listing(tuple(sorted(files)), tuple(unread), tuple(notes))


def at_home(folder: str | Path) -> Path:
    """Return a path with its ``~`` replaced by the home folder; as it is where there is no such user."""
    path = Path(folder)
    with suppress(RuntimeError):
        path = path.expanduser()
    return path


def folder_path(folder: str | Path) -> Path:
    """Return the folder as an absolute path; LoadError if it is none."""
    root = at_home(folder).resolve()
    if not root.is_dir():
        raise LoadError(label(str(folder)), "this is not a folder")
    return root


def signature_of(folder: str | Path) -> Signature:
    """Return path, size, time and inode of every file: another signature, and something may have changed.

    It reads no file, so it is what can be looked at every few seconds. Whether a file has really changed is told by its
    content alone: a file may be written twice within one tick of its clock, or have its time set back.
    """
    found = []
    for entry in _walk(folder_path(folder), []):
        try:
            about = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if not is_hidden(entry.name) and stat.S_ISREG(about.st_mode):
            found.append((entry.path, about.st_size, about.st_mtime_ns, about.st_ino))
    return frozenset(found)


def changes(folder: str | Path, seconds: float = 2.0) -> Iterator[None]:
    """Yield at once, then each time when something in a folder has changed since and come to rest; never ends.

    It looks every few seconds. A folder that is not there (a drive that was taken out) is waited for.
    """
    synced = last = _signature_or_none(folder)
    yield
    while True:
        time.sleep(seconds)
        now = _signature_or_none(folder)
        if now is not None and now != synced and now == last:  # not in the middle of being written
            synced = now
            yield
        last = now


def _signature_or_none(folder: str | Path) -> Signature | None:
    try:
        return signature_of(folder)
    except LoadError:
        return None


def _walk(root: Path, unread: list[str]) -> Iterator[os.DirEntry[str]]:
    """Yield all that is in `root` but folders; hidden folders too, but not what is in them."""
    folders = [str(root)]
    while folders:
        here = folders.pop()
        try:
            with os.scandir(here) as entries:
                listed = list(entries)
        except OSError:
            unread.append("" if here == str(root) else _name(root, here))
            continue
        for entry in listed:
            if entry.is_dir(follow_symlinks=False) and not is_hidden(entry.name):
                folders.append(entry.path)
            else:
                yield entry


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Tell files from links, pipes and devices; what cannot be looked at counts as a file, so that it gets a row."""
    try:
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return True


def _name(root: Path, path: str) -> str:
    return label(Path(path).relative_to(root).as_posix())
