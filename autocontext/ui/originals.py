"""The PDFs of one session as they were added, so that a page can be shown; the oldest go when they are too many."""

from __future__ import annotations

from pathlib import Path

from autocontext.loaders import content_hash, suffix_of

MAX_MEGABYTES = 200


class Originals:
    """Files by document name: bytes that were uploaded, or where a file lies on this machine."""

    def __init__(self, max_bytes: int = MAX_MEGABYTES * 1_000_000) -> None:
        self._max_bytes = max_bytes
        self._files: dict[str, bytes | Path] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def keep(self, name: str, source: bytes | Path) -> None:
        """Keep a file, if it is of a kind whose pages can be shown and not too large."""
        self._files.pop(name, None)
        if suffix_of(name) != ".pdf" or (isinstance(source, bytes) and len(source) > self._max_bytes):
            return
        self._files[name] = source
        while sum(len(held) for held in self._files.values() if isinstance(held, bytes)) > self._max_bytes:
            self._files.pop(next(held for held, data in self._files.items() if isinstance(data, bytes)))

    def forget(self, name: str) -> None:
        """Let go of a file."""
        self._files.pop(name, None)

    def get(self, name: str, wanted_hash: str) -> bytes | None:
        """Return the bytes of a file; None if they are not kept, or not those of this content any more."""
        source = self._files.get(name)
        try:
            data = source.read_bytes() if isinstance(source, Path) else source
        except OSError:
            return None
        return data if data is not None and content_hash(data) == wanted_hash else None
