"""What loaders share: the identity of a file's bytes, and text that is safe to keep and to show."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from autocontext.settings import PdfOptions

MAX_TEXT = 50_000_000  # characters of one document

# Control characters but tab and newline cut strings in databases and prompts; lone surrogates cannot be stored.
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Reading:
    """How one file is read: what a loader may use that can take long.

    Attributes
    ----------
    progress
        To be called with the parts (pages) that are done and the whole.
    should_stop
        To be asked often; if True the loader raises `LoadStoppedError`.
    pdf
        The limits of PDF files.
    """

    progress: Callable[[int, int], None] = lambda _done, _total: None
    should_stop: Callable[[], bool] = lambda: False
    pdf: PdfOptions = field(default_factory=PdfOptions)


def content_hash(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def clean_text(text: str) -> tuple[str, int]:
    r"""Return `text` with ``\n`` line ends and each unsafe character replaced by a blank, and how many there were."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSAFE.subn(" ", text)


def unsafe_note(count: int) -> tuple[str, ...]:
    """Return the sentence on replaced characters; nothing if there were none."""
    return (f"{count} control character{'s' if count > 1 else ''} replaced by blanks.",) if count else ()
