"""Rich Text Format, through striprtf."""

from __future__ import annotations

import re

from autocontext.datatypes import Document
from autocontext.errors import LoadError
from autocontext.loaders.build import Builder

SUFFIXES = (".rtf",)


def load(name: str, data: bytes) -> Document:
    """Read the text; hidden text is left out.

    Raises
    ------
    LoadError
        If the file is no RTF.
    """
    from striprtf.striprtf import rtf_to_text

    source = data.decode("latin-1")
    if not source.lstrip("\xef\xbb\xbf \t\r\n").startswith("{\\rtf"):
        raise LoadError(name, "it is damaged or not an RTF document; open it in its program and save it again")
    try:
        text = rtf_to_text(source, encoding=_code_page(source), errors="replace")
    except Exception as error:  # a damaged file breaks it in many ways
        raise LoadError(name, "it is damaged; open it in its program and save it again") from error
    build = Builder(name)
    for block in re.split(r"\n\s*\n|\n", text):
        build.add(block)
    return build.document(data)


def _code_page(source: str) -> str:
    found = re.search(r"\\ansicpg(\d+)", source[:10_000])
    return f"cp{found.group(1)}" if found else "cp1252"
