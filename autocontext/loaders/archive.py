"""Zip archives: each file in one is a document of its own, named ``archive.zip/folder/file.txt``.

Nothing is ever written to disk, so a name can do no harm; what is unpacked is bounded in size, number and depth.
"""

from __future__ import annotations

import io
import posixpath
import re
import stat
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from autocontext.errors import LoadError
from autocontext.loaders.base import is_hidden

MAX_MEMBERS = 5_000
MAX_MEMBER = 100_000_000
MAX_UNPACKED = 500_000_000
MAX_RATIO = 200
MAX_DEPTH = 3

_SMALL = 10_000_000  # a ratio tells nothing of small files
_DAMAGED = "it is damaged or not a zip archive; pack it again"


class _Budget:
    """What one archive, with those in it, may still unpack to."""

    def __init__(self) -> None:
        self.bytes = MAX_UNPACKED
        self.members = MAX_MEMBERS


@dataclass(frozen=True, slots=True)
class Member:
    """A file within an archive that is unpacked when it is read."""

    name: str
    _archive: zipfile.ZipFile = field(repr=False)
    _info: zipfile.ZipInfo = field(repr=False)
    _budget: _Budget = field(repr=False)

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
        if info.file_size > self._budget.bytes:
            raise LoadError(
                self.name, f"its archive holds more than {MAX_UNPACKED // 1_000_000} MB; unpack it yourself"
            )
        self._budget.bytes -= info.file_size
        try:
            with self._archive.open(info) as stream:
                return stream.read(info.file_size + 1)[: info.file_size]
        except Exception as error:  # damaged archives break zipfile in many ways
            raise LoadError(self.name, "it is damaged within its archive") from error


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
    found = _expand(name, io.BytesIO(source) if isinstance(source, bytes) else source, _Budget(), 1)
    if not found:
        raise LoadError(name, "the archive holds no file")
    return found


def _expand(name: str, source: io.BytesIO | Path, budget: _Budget, depth: int) -> list[tuple[str, Member | LoadError]]:
    try:
        archive = zipfile.ZipFile(source)
    except OSError:
        raise
    except Exception as error:
        raise LoadError(name, _DAMAGED) from error
    found: dict[str, Member | LoadError] = {}
    for info in archive.infolist():
        inside = _clean(_name(info))
        if info.is_dir() or not inside or is_hidden(inside.replace("../", "")) or inside.startswith("__MACOSX/"):
            continue
        if budget.members <= 0:
            found[name] = LoadError(name, f"it holds more than {MAX_MEMBERS:,} files; the others were left out")
            break
        budget.members -= 1
        label = _unused(f"{name}/{inside.replace('../', '')}", found)
        member = Member(label, archive, info, budget)
        if ".." in inside.split("/"):
            found[label] = LoadError(label, "its path leads out of the archive; it is not read")
        elif not inside.lower().endswith(".zip"):
            found[label] = member
        elif depth >= MAX_DEPTH:
            found[label] = LoadError(label, f"archives are opened {MAX_DEPTH} deep at most")
        else:
            try:
                found.update(_expand(label, io.BytesIO(member.read()), budget, depth + 1))
            except LoadError as error:
                found[label] = error
    return list(found.items())


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
