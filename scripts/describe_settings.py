"""Write ``docs/settings.md``: every setting with its meaning, default, range, and what a change costs.

Run it from the root of the repository after a change of a setting::

    python -m scripts.describe_settings
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from autocontext import Settings
from autocontext.records import to_plain
from autocontext.settings_explained import EXPLAINED, setting_of, setting_paths

PAGE = Path("docs") / "settings.md"

NOTHING = "nothing"
NEW_FILES = "nothing; for files read from now on"
CUT = "all documents cut, changed passages embedded"
ALL = "all documents cut, all passages embedded"
CHECK = "all documents cut, no passage embedded"

_HEAD = """# Settings

Written by `python -m scripts.describe_settings` from the settings themselves; a test holds it to them.

![The Settings page](images/settings_light.png)

The *Settings* page explains each of these, says before saving what a change costs, and exports and imports them as a
TOML file; `--settings FILE` takes such a file on the command line, and `AutoContext(Settings(num_results=3))` sets them
in Python. Settings are saved with a collection. A text that was embedded once, in any collection, is not embedded
again. Which values are good for your documents is a question for the [Evaluate page](tutorial.md), not for this one.
"""
_GROUPS = {
    "": ("Search and prompt", ""),
    "chunking": ("How documents are cut", "`ChunkOptions`; a table `[chunking]` in TOML."),
    "bm25": ("Word search", "`BM25Options`, `[bm25]`."),
    "encoder": ("Embedding model", "`EncoderOptions`, `[encoder]`."),
    "pdf": ("PDF files", "`PdfOptions`, `[pdf]`."),
    "limits": ("Limits of reading", "`LimitOptions`, `[limits]`; a million bytes is a megabyte."),
}


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that a setting takes: from `low` (or above it) to `high`."""

    low: float
    high: float | None = None
    is_above: bool = False

    def __str__(self) -> str:
        """Return it in words."""
        if self.high is not None:
            return f"{self.low:g} to {self.high:g}"
        return f"above {self.low:g}" if self.is_above else f"{self.low:g} or more"


RANGES: dict[str, Range | str] = {
    "retrievers": "one or more of bm25, dense, tfidf, each once",
    "candidates": Range(1),
    "fusion": "scores, ranks, union",
    "weights": "0 or more each, not all 0",
    "template": "default, seed, guarded, or a text with {query} and {context}",
    "num_results": Range(1),
    "max_tokens": Range(1),
    "chunking.sentences": Range(1),
    "chunking.sentence_tokens": Range(0),
    "chunking.overlap": "0 or more, fewer than `sentences`",
    "chunking.max_tokens": Range(16),
    "bm25.k1": Range(0),
    "bm25.b": Range(0, 1),
    "encoder.model": "a name",
    "encoder.folder": "a folder, or none",
    "encoder.allow_download": "true, false",
    "encoder.backend": "auto, openvino, sentence-transformers",
    "pdf.seconds": Range(1),
    "pdf.max_pages": Range(1),
    "pdf.memory_megabytes": Range(300),
    "pdf.ocr": "true, false",
    "limits.file_megabytes": Range(0, is_above=True),
    "limits.files": Range(1),
    "limits.megabytes": Range(0, is_above=True),
    "limits.seconds": Range(0, is_above=True),
    "limits.originals_megabytes": Range(0),
}
COSTS = {
    "retrievers": "nothing; all passages embedded where dense is new",
    "weights": "nothing; all passages embedded where dense had 0",
    "encoder.model": ALL,
    "encoder.folder": ALL,
    "encoder.allow_download": CHECK,
    "encoder.backend": CHECK,
}
_COST_OF_GROUP = {"": NOTHING, "bm25": NOTHING, "chunking": CUT, "pdf": NEW_FILES, "limits": NEW_FILES}


def cost_of(path: str) -> str:
    """Return what a change of a setting costs, in words."""
    return COSTS.get(path) or _COST_OF_GROUP[path.rpartition(".")[0]]


def page() -> str:
    """Return the page as Markdown."""
    lines = [_HEAD]
    for group, (title, note) in _GROUPS.items():
        lines += [f"## {title}\n", *([f"{note}\n"] if note else [])]
        lines += ["| setting | default | range | what it does | a change costs |", "|---|---|---|---|---|"]
        lines += [_row(path) for path in setting_paths() if path.rpartition(".")[0] == group]
        lines.append("")
    return "\n".join(lines)


def _row(path: str) -> str:
    told = EXPLAINED[path]
    cells = (f"`{path}`", _default(path), str(RANGES[path]), f"**{told.label}.** {told.text}", cost_of(path))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _default(path: str) -> str:
    value = to_plain(setting_of(Settings(), path))
    if value is None:
        return "none"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else f"`{json.dumps(value)}`"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
