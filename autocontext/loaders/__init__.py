"""Loaders by file suffix: a module of this folder with ``SUFFIXES`` and ``load(name, data)`` is one."""

from __future__ import annotations

import pkgutil
from functools import lru_cache
from importlib import import_module
from pathlib import PurePosixPath
from types import ModuleType

from autocontext.datatypes import Document
from autocontext.errors import LoadError
from autocontext.loaders.base import clean_text, content_hash
from autocontext.naming import is_hidden

__all__ = ["clean_text", "content_hash", "is_hidden", "load", "suffix_of", "suffixes"]


@lru_cache(maxsize=1)
def _loaders() -> dict[str, ModuleType]:
    modules = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return {suffix: module for module in modules for suffix in getattr(module, "SUFFIXES", ())}


def suffixes() -> list[str]:
    """Return the suffixes that can be read, with their dot, sorted."""
    return sorted(_loaders())


def suffix_of(name: str) -> str:
    """Return the suffix of a document's name in lower case, with its dot; "" without one."""
    return PurePosixPath(name).suffix.lower()


def load(name: str, data: bytes) -> Document:
    """Read the bytes of one file into a document.

    Raises
    ------
    LoadError
        If its kind cannot be read, or this one cannot, or it holds no text.
    """
    loader = _loaders().get(suffix_of(name))
    if loader is None:
        raise LoadError(name, f"files of this kind are not read; these are: {', '.join(suffixes())}")
    document: Document = loader.load(name, data)
    if not document.text.strip():
        raise LoadError(name, "it holds no text")
    return document
