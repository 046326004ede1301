"""Zip archives: each file in one is a document of its own, named ``archive.zip/folder/file.txt``.

Nothing is ever written to disk, so a name can do no harm; what is unpacked is bounded in size, number and depth.
"""

from __future__ import annotations

import io
import posixpath
import re
import stat
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from autocontext.errors import LoadError
from autocontext.naming import is_hidden

MAX_MEMBERS = 5_000
MAX_MEMBER = 100_000_000
MAX_UNPACKED = 500_000_000
MAX_RATIO = 200
MAX_DEPTH = 3

_SMALL = 10_000_000  # a ratio tells nothing of small files
_DAMAGED = "it is damaged or not a zip archive; pack it again"


@dataclass(frozen=True, slots=True)
class Member:
    """A file within an archive that is unpacked when it is read."""

    name: str
    _archive: zipfile.ZipFile = field(repr=False)
    _info: zipfile.ZipInfo = field(repr=False)

    @property
    def size(self) -> int:
        """Bytes when unpacked, as the archive says; reading never gives more."""
        return self._info.file_size

    def read(self) -> bytes:
        """Return the bytes.

        Raises
        ------
        LoadError
            If it cannot be unpacked, or only to far more than a document holds.
        """
        info = self._info
        if stat.S_ISLNK(info.external_attr >> 16):
            raise LoadError(self.name, "it is a link, which is not followed")
        if info.flag_bits & 1:
            raise LoadError(self.name, "it needs a password; pack it without one")
        if info.file_size > MAX_MEMBER:
            raise LoadError(self.name, f"it is larger than {MAX_MEMBER // 1_000_000} MB when unpacked")
        if info.file_size > _SMALL and info.file_size > MAX_RATIO * max(info.compress_size, 1):
            raise LoadError(self.name, f"it unpacks to more than {MAX_RATIO} times its size; it is not unpacked")
        try:
            with self._archive.open(info) as stream:
                return stream.read(info.file_size + 1)[: info.file_size]
        except Exception as error:  # damaged archives break zipfile in many ways
            raise LoadError(self.name, "it is damaged within its archive") from error


Source = bytes | Path | Member | LoadError
"""A file of a batch: its bytes, where it is, its place in an archive, or why it cannot be had."""


def unpacked(files: Iterable[tuple[str, bytes | Path]]) -> list[tuple[str, Source]]:
    """Return the files, those in zip archives in the place of these; what cannot be opened stays as its error."""
    listed: list[tuple[str, Source]] = []
    for name, source in files:
        if not name.lower().endswith(".zip"):
            listed.append((name, source))
            continue
        try:
            listed += expand(name, source)
        except LoadError as error:
            listed.append((name, error))
        except OSError:  # told where it is read
            listed.append((name, source))
    return listed


def content(source: Source) -> bytes:
    """Return the bytes of a file, wherever it is; LoadError or OSError if they cannot be had."""
    if isinstance(source, LoadError):
        raise source
    if isinstance(source, Member):
        return source.read()
    return source.read_bytes() if isinstance(source, Path) else source


def size_of(source: Source) -> int:
    """Return the number of bytes that `content` would give; LoadError or OSError as there."""
    if isinstance(source, LoadError):
        raise source
    if isinstance(source, Member):
        return source.size
    return source.stat().st_size if isinstance(source, Path) else len(source)


def expand(name: str, source: bytes | Path) -> list[tuple[str, Member | LoadError]]:
    """Return the files in a zip archive and in archives within it, each by its name, or what is wrong with it.

    Hidden files, folders and the resource files of a Mac are left out.

    Raises
    ------
    LoadError
        If it is no zip archive, or holds no file.
    OSError
        If it cannot be read.
    """
    found: dict[str, Member | LoadError] = {}
    _expand(name, io.BytesIO(source) if isinstance(source, bytes) else source, found, _Room(), 1)
    if not found:
        raise LoadError(name, "the archive holds no file")
    return list(found.items())


class _Room:
    """What an archive, with those in it, may still hold."""

    def __init__(self) -> None:
        self.members = MAX_MEMBERS
        self.bytes = MAX_UNPACKED


def _expand(
    name: str, source: io.BytesIO | Path, found: dict[str, Member | LoadError], room: _Room, depth: int
) -> None:
    try:
        archive = zipfile.ZipFile(source)
    except OSError:
        raise
    except Exception as error:
        raise LoadError(name, _DAMAGED) from error
    for info in archive.infolist():
        inside = _clean(_name(info))
        safe = inside.replace("../", "")
        if info.is_dir() or not inside or is_hidden(safe) or inside.startswith("__MACOSX/"):
            continue
        if room.members <= 0:
            found[name] = LoadError(name, f"it holds more than {MAX_MEMBERS:,} files; the others were left out")
            return
        room.members -= 1
        room.bytes -= min(info.file_size, MAX_MEMBER)
        label = _unused(f"{name}/{safe}", found)
        if safe != inside:
            found[label] = LoadError(label, "its path leads out of the archive; it is not read")
        elif room.bytes < 0:
            found[label] = LoadError(
                label, f"its archive holds more than {MAX_UNPACKED // 1_000_000} MB; unpack it first"
            )
        elif not inside.lower().endswith(".zip"):
            found[label] = Member(label, archive, info)
        elif depth >= MAX_DEPTH:
            found[label] = LoadError(label, f"archives are opened {MAX_DEPTH} deep at most; unpack it first")
        else:
            try:
                _expand(label, io.BytesIO(Member(label, archive, info).read()), found, room, depth + 1)
            except LoadError as error:
                found[label] = error


def _name(info: zipfile.ZipInfo) -> str:
    """Return the name as it was meant: old programs write it in the encoding of their own country."""
    if info.flag_bits & 0x800 or info.filename.isascii():
        return info.filename
    try:
        data = info.filename.encode("cp437")
        return data.decode("utf-8")
    except UnicodeEncodeError:
        return info.filename
    except UnicodeDecodeError:
        from autocontext.loaders.encoding import decode

        try:
            return decode("", data).text
        except LoadError:
            return info.filename


def _clean(name: str) -> str:
    r"""Return a name with ``/`` only, without a drive or a leading slash; ``..`` stays where it leads out."""
    name = re.sub(r"^[A-Za-z]:", "", name.replace("\\", "/")).lstrip("/")
    return posixpath.normpath(name) if name.strip("./") else ""


def _unused(label: str, taken: dict[str, Member | LoadError]) -> str:
    """Return a name that no other file of the archive has."""
    stem, dot, suffix = label.rpartition(".")
    number = 1
    unused = label
    while unused in taken:
        number += 1
        unused = f"{stem} ({number}){dot}{suffix}" if dot else f"{label} ({number})"
    return unused
