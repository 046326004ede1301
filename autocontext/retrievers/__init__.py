"""Retrievers by name: a module of this folder with ``build(corpus) -> Retriever`` is one, under its file name."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from autocontext.errors import SettingsError
from autocontext.protocols import Retriever
from autocontext.retrievers.base import Corpus


def available() -> list[str]:
    """Return the names of all retrievers, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "base")


def build(name: str, corpus: Corpus) -> Retriever:
    """Build the retriever `name` over `corpus`.

    Raises
    ------
    SettingsError
        If there is no retriever of this name.
    """
    if name not in available():
        raise SettingsError(f"There is no retriever {name!r}; choose from {', '.join(available())}.")
    retriever: Retriever = import_module(f"{__name__}.{name}").build(corpus)
    return retriever
