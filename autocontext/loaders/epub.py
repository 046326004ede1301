"""EPUB books, chapter by chapter in reading order."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urldefrag

from autocontext.datatypes import Document
from autocontext.errors import LoadError
from autocontext.loaders.build import Builder
from autocontext.loaders.encoding import decode
from autocontext.loaders.html_page import add_page, declared_encoding
from autocontext.loaders.package import Package, local

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

SUFFIXES = (".epub",)


def load(name: str, data: bytes) -> Document:
    """Read the chapters; their titles in the table of contents are their places.

    Raises
    ------
    LoadError
        If the file is damaged or its chapters are encrypted.
    """
    package = Package(name, data, "an EPUB book")
    container = package.xml("META-INF/container.xml")
    main = next((unquote(part.get("full-path", "")) for part in container.iter() if local(part) == "rootfile"), "")
    book = package.xml(main)
    folder = posixpath.dirname(main)
    items = {item.get("id", ""): item for item in book.iter() if local(item) == "item"}
    paths = {key: _path(folder, item.get("href", "")) for key, item in items.items()}
    spine = [paths[key] for item in book.iter() if local(item) == "itemref" and (key := item.get("idref", "")) in paths]
    titles = _titles(package, [(items[key], path) for key, path in paths.items() if path in package])
    locked = "META-INF/encryption.xml" in package and any(
        _path("", part.get("URI", "")) in spine
        for part in package.xml("META-INF/encryption.xml").iter()
        if local(part) == "CipherReference"
    )
    if locked:
        raise LoadError(name, "its chapters are encrypted (copy protection); they cannot be read here")
    build = Builder(name)
    missing = 0
    for number, path in enumerate(spine, start=1):
        if path not in package:
            missing += 1
            continue
        page = package.read(path)
        build.place(f"chapter {titles[path]}" if path in titles else f"part {number}")
        add_page(build, decode(name, page, declared=declared_encoding(page)).text)
    return build.document(data, (f"{missing} of {len(spine)} chapters are missing in the file.",) if missing else ())


def _path(folder: str, address: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(urldefrag(address).url))).lstrip("/")


def _titles(package: Package, items: list[tuple[Element, str]]) -> dict[str, str]:
    """Return the first title of each file in the table of contents, new (nav) or old (NCX)."""
    from selectolax.lexbor import LexborHTMLParser

    titles: dict[str, str] = {}
    for item, path in items:
        folder = posixpath.dirname(path)
        if "nav" in item.get("properties", "").split():
            for link in LexborHTMLParser(package.read(path)).css("nav a"):
                titles.setdefault(_path(folder, link.attributes.get("href") or ""), " ".join(link.text().split()))
        elif item.get("media-type") == "application/x-dtbncx+xml":
            for point in _parsed(package, path).iter():
                if local(point) == "navPoint":
                    labels = (" ".join((part.text or "").split()) for part in point.iter() if local(part) == "text")
                    sources = (part.get("src", "") for part in point.iter() if local(part) == "content")
                    titles.setdefault(_path(folder, next(sources, "")), next(labels, ""))
    return {path: title for path, title in titles.items() if title}


def _parsed(package: Package, path: str) -> Element:
    """Return a table of contents, or an empty one: without it a book can be read all the same."""
    from xml.etree.ElementTree import Element as Empty

    try:
        return package.xml(path)
    except LoadError:
        return Empty("nothing")
