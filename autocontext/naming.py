"""Names of documents: labels that are shown and compared, never paths that are opened."""

from __future__ import annotations

import hashlib
import re
import unicodedata

MAX_LENGTH = 400
# Line ends and control characters become blanks. Marks that turn the reading direction ("evil<mark>fdp.txt" looks like
# "eviltxt.pdf"), invisible blanks and lone surrogates become a visible sign.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_DECEIVING = re.compile("[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def label(name: str) -> str:
    r"""Return a document's name as it was given, but composed (NFC), on one line, and of bearable length.

    Macs keep ``é`` as two characters, others as one: both are one name. What a name says about folders stays.

    Examples
    --------
    >>> label("../Cafe\u0301\nmenu.txt")
    '../Café menu.txt'
    """
    clean = _DECEIVING.sub("\ufffd", _CONTROL.sub(" ", unicodedata.normalize("NFC", name)))
    if len(clean) > MAX_LENGTH:  # the hash keeps two long names apart that differ in the middle
        mark = hashlib.sha256(clean.encode("utf-8")).hexdigest()[:8]
        clean = f"{clean[:200]}…{mark}…{clean[-(MAX_LENGTH - 210) :]}"
    return clean if clean.strip() else "unnamed"


def is_hidden(name: str) -> bool:
    """Tell whether a file, or a folder that it is in, is not meant to be seen: ``.git``, or an office's lock file."""
    return any(part.startswith((".", "~$")) for part in name.split("/"))


def relative(name: str) -> str:
    r"""Return the name that a browser sent as a relative path with ``/`` that leads nowhere up.

    Examples
    --------
    >>> relative("..\\..\\etc//notes/./a.txt")
    'etc/notes/a.txt'
    """
    parts = label(name).replace("\\", "/").split("/")
    return "/".join(part for part in parts if part not in ("", ".", "..")) or "unnamed"


def numbered(name: str, number: int) -> str:
    """Return `name` with a number before its suffix: the second ``a.txt`` of one batch is ``a (2).txt``.

    Examples
    --------
    >>> numbered("notes/a.txt", 2), numbered("notes.d/a", 3)
    ('notes/a (2).txt', 'notes.d/a (3)')
    """
    folder, slash, last = name.rpartition("/")
    stem, dot, suffix = last.rpartition(".")
    return f"{folder}{slash}{stem} ({number}){dot}{suffix}" if stem else f"{folder}{slash}{last} ({number})"
