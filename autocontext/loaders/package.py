"""Files that are zip packages of XML (Word, OpenDocument, EPUB), opened so that none can fill the memory."""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote

from autocontext.errors import LoadError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_PART = 64_000_000  # bytes of one XML file in it
MAX_TAGS = 4_000_000  # elements take far more memory than their bytes
MAX_WHOLE = 400_000_000
_PASSWORD = "it needs a password; save a copy without one"


class Package:
    """The parts of one file.

    Raises
    ------
    LoadError
        If the file is damaged or too large inside.
    """

    def __init__(self, name: str, data: bytes, kind: str) -> None:
        self.name = name
        self._damaged = f"it is damaged or not {kind}; open it in its program and save it again"
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self._sizes = {info.filename: info.file_size for info in self._zip.infolist()}
        except Exception as error:  # zipfile raises many kinds for damaged files
            raise LoadError(name, self._damaged) from error
        if sum(self._sizes.values()) > MAX_WHOLE:
            raise self.too_large()

    def __contains__(self, part: str) -> bool:
        return part in self._sizes

    def __iter__(self) -> Iterator[str]:
        return iter(self._sizes)

    def too_large(self) -> LoadError:
        """Return the error for a file that would unpack to more than is read."""
        return LoadError(self.name, "it unpacks to far more than a document holds; it is not read")

    def damaged(self) -> LoadError:
        """Return the error for a file that is not what it should be."""
        return LoadError(self.name, self._damaged)

    def size(self, part: str) -> int:
        """Return the bytes of a part when unpacked."""
        return self._sizes[part]

    def read(self, part: str) -> bytes:
        """Return the bytes of a part, never more than it says to hold.

        Raises
        ------
        LoadError
            If it is not there, too large, damaged or encrypted.
        """
        if part not in self._sizes:
            raise self.damaged()
        if self._sizes[part] > MAX_PART:
            raise self.too_large()
        if self._zip.getinfo(part).flag_bits & 1:
            raise LoadError(self.name, _PASSWORD)
        try:
            return self._zip.read(part)
        except Exception as error:
            raise self.damaged() from error

    def xml(self, part: str) -> Element:
        """Return the root of an XML part; one that declares entities is refused: they have no use here but harm."""
        from defusedxml.ElementTree import fromstring

        data = self.read(part)
        if data.count(b"<") > MAX_TAGS:
            raise self.too_large()
        try:
            root: Element = fromstring(data)
        except Exception as error:
            raise self.damaged() from error
        return root

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """Return the kind and the part of each relation of an Office part, by its id."""
        folder, _, file = part.rpartition("/")
        listed = f"{folder}/_rels/{file}.rels".lstrip("/")
        if listed not in self._sizes:
            return {}
        found: dict[str, tuple[str, str]] = {}
        for relation in self.xml(listed):
            target = unquote(relation.get("Target", ""))
            path = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
            found[relation.get("Id", "")] = (relation.get("Type", "").rpartition("/")[2], path)
        return found


def local(element: Element) -> str:
    """Return the name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]


def attribute(element: Element, name: str) -> str | None:
    """Return an attribute by its name without namespace."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return value
    return None
