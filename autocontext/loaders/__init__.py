"""Loaders by file suffix: a module of this folder with ``SUFFIXES`` and ``load(name, data)`` is one.

A loader that can take long has a third parameter, ``reading``: whom to tell how far it is, whether to stop, its limits.
A loader that can take long has a third parameter, ``reading``: whom to tell how far it is, whether to stop, its limits.
A loader of texts has ``load(name, data, encoding)``, where `encoding` is what the user says, and ``IS_TEXT = True``.
"""

from __future__ import annotations

import inspect
import pkgutil
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from pathlib import PurePosixPath
from types import ModuleType

from autocontext.datatypes import Document
from autocontext.errors import KindError, LoadError
from autocontext.loaders import sniff
from autocontext.loaders.archive import Source, content, expand, size_of, unpacked
from autocontext.loaders.base import MAX_TEXT, Reading, clean_text, content_hash
from autocontext.naming import is_hidden

__all__ = [
    "KINDS",
    "Reading",
    "Source",
    "check_name",
    "clean_text",
    "content",
    "content_hash",
    "expand",
    "is_hidden",
    "load",
    "size_of",
    "suffix_of",
    "suffixes",
    "unpacked",
]

KINDS = (
    "PDF, Word, PowerPoint, Excel, OpenDocument, EPUB, RTF, e-mail, web pages, Markdown and other text, tables, "
    "notebooks, subtitles, source code, and zip archives of these"
)
"""The kinds of files that are read, in words."""

_NAMES = {
    ".pdf": "a PDF",
    ".docx": "a Word document",
    ".xlsx": "an Excel workbook",
    ".pptx": "a PowerPoint presentation",
    ".odt": "an OpenDocument text",
    ".ods": "an OpenDocument table",
    ".odp": "an OpenDocument presentation",
    ".epub": "an EPUB book",
    ".rtf": "an RTF document",
    ".html": "a web page",
    ".mhtml": "a saved web page",
}
_PACKAGES = (".docx", ".xlsx", ".pptx", ".odt", ".epub", ".rtf")
_OLD_OFFICE = {
    ".doc": "an old Word file; save it as .docx",
    ".xls": "an old Excel file; save it as .xlsx",
    ".ppt": "an old PowerPoint file; save it as .pptx",
    ".msg": "an Outlook message; save it as .eml",
}
# Told by their names alone, so that a film is not read to find that it is one.
_UNREAD = {
    "a picture": "bmp gif heic heif ico jpeg jpg png psd tif tiff webp avif raw cr2 nef xcf",
    "a sound": "aac flac m4a mid midi mp3 oga ogg opus wav wma",
    "a film": "avi flv m4v mkv mov mp4 mpeg mpg webm wmv",
    "a program": "a apk app bin class dll dmg dylib exe jar lib msi o obj pyc pyd pyo so wasm",
    "an archive that is not opened (pack it as .zip)": "7z bz2 cab gz iso rar tar tbz tgz txz xz zst",
    "a database": "accdb db mdb parquet pickle pkl sqlite sqlite3",
    "a font": "eot otf ttf woff woff2",
}
_UNREAD_SUFFIXES = {f".{suffix}": kind for kind, names in _UNREAD.items() for suffix in names.split()}


@lru_cache(maxsize=1)
def _loaders() -> dict[str, ModuleType]:
    modules = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return {suffix: module for module in modules for suffix in getattr(module, "SUFFIXES", ())}


def suffixes() -> list[str]:
    """Return the suffixes that have a loader of their own, with their dot, sorted; other texts are read as well."""
    return sorted(_loaders())


def suffix_of(name: str) -> str:
    """Return the suffix of a document's name in lower case, with its dot; "" without one."""
    return PurePosixPath(name).suffix.lower()


def check_name(name: str) -> None:
    """Raise KindError for a file that is not read whatever it holds: a picture, a film, a program."""
    own = suffix_of(name)
    if own in _UNREAD_SUFFIXES:
        raise KindError(name, f"{own} is {_UNREAD_SUFFIXES[own]}: such files are not read")


def load(name: str, data: bytes, encoding: str | None = None, reading: Reading | None = None) -> Document:
    """Read the bytes of one file into a document; its content decides where its suffix is wrong or unknown.

    Parameters
    ----------
    encoding
        How to decode a text file; None to find out.
    reading
        Whom to tell how far it is, whether to stop, and the limits of a PDF.

    Raises
    ------
    LoadError
        If this file cannot be read, or holds no text; KindError if none of its kind can; LoadStoppedError if `reading`
        says so.
    """
    suffix, note = _kind(name, data)
    loader = _loaders().get(suffix, _loaders()[".txt"])
    is_text = getattr(loader, "IS_TEXT", False)
    if encoding is not None and not is_text:
        raise LoadError(name, "only text files have an encoding to choose")
    if not data and not is_text:
        raise LoadError(name, "the file is empty")
    given: tuple[object, ...] = (data,)
    if is_text:
        given = (data, encoding)
    elif "reading" in inspect.signature(loader.load).parameters:
        given = (data, reading)
    document = _loaded(loader, name, given)
    if not document.text.strip():
        raise LoadError(name, "it holds no text")
    if len(document.text) > MAX_TEXT:
        raise LoadError(name, f"it holds more than {MAX_TEXT:,} characters; split it")
    return replace(document, notes=(note, *document.notes)) if note else document


def _loaded(loader: ModuleType, name: str, given: tuple[object, ...]) -> Document:
    """Return what a loader makes of a file; whatever breaks in it becomes a LoadError."""
    try:
        document: Document = loader.load(name, *given)
    except LoadError:
        raise
    except RecursionError:
        raise LoadError(name, "its parts are nested too deeply to be read") from None
    except MemoryError:
        raise LoadError(name, "it needs more memory than there is") from None
    except Exception as error:  # the last net: a strange file costs its own row, never the batch
        raise LoadError(name, "it is damaged or unlike other files of its kind; open it and save it again") from error
    return document


def _kind(name: str, data: bytes) -> tuple[str, str]:
    """Return the suffix to read the file by, and a sentence if that is not its own.

    Raises
    ------
    LoadError
        If it is a binary that is not read.
    """
    check_name(name)
    own = suffix_of(name)
    loader = _loaders().get(own)
    is_package = loader is not None and loader in [_loaders()[suffix] for suffix in _PACKAGES]
    true = sniff.true_suffix(data)
    if true is None and (loader is None or is_package) and own != ".pdf":
        true = sniff.page_suffix(data)
    if true in _NAMES:
        if loader is _loaders()[true]:
            return own, ""
        return true, f"Read as {_NAMES[true]}, which it is."
    if own == ".pdf":  # its loader finds the start of a PDF behind other bytes
        return own, ""
    kind = sniff.binary_kind(data)
    if kind == sniff.OLD_OFFICE:
        if sniff.is_locked_office(data):
            raise LoadError(name, "it needs a password; save a copy without one")
        raise KindError(name, f"it is {_OLD_OFFICE.get(own, 'an old Office file; save it in a newer format')}")
    if is_package and kind is None and sniff.is_plain_text(data):
        return ".txt", "Read as plain text, which it is."
    if kind is not None and not is_package:
        if loader is None:
            raise KindError(name, f"it is {kind}: such files are not read")
        raise LoadError(name, f"it is {kind}, whatever its name says")
    if loader is None and not sniff.seems_text(data):
        raise KindError(name, "it is no text, and files of its kind are not read")
    return own, ""
