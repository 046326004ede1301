r"""JSON, JSON lines, YAML, TOML and the like, as they are written; letters escaped as \u00e9 become letters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from autocontext.datatypes import Document, Section
from autocontext.errors import KindError
from autocontext.loaders import text as plain
from autocontext.loaders.outline import one_line

IS_TEXT = True
SUFFIXES = (".json", ".jsonl", ".ndjson", ".json5", ".geojson", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf")

_JSON = (".json", ".jsonl", ".ndjson", ".json5", ".geojson")
_ESCAPED = re.compile(r"(?<!\\)((?:\\\\)*)((?:\\u[0-9a-fA-F]{4})+)")
_TOKEN = re.compile(r'"((?:[^"\\\n]|\\.)*+)"(\s*:\s*)?|[{}\[\]]', re.S)
_YAML_KEY = re.compile(r"^([ \t]*(?:- )*)(?:(['\"]?)([\w][^\n:#'\"]{0,80})\2):(?=[ \t]*$)", re.M)
_TABLE = re.compile(r"^\[+([^\]\n]+)\]+[ \t]*$", re.M)
_DEEPEST = 12
_MOST_SECTIONS = 20_000


def load(name: str, data: bytes, encoding: str | None = None) -> Document:
    """Decode the file; the keys that lead to a place are its heading.

    Raises
    ------
    LoadError
        If the bytes are not text; KindError for a list of questions about the collection.
    """
    document = plain.load(name, data, encoding)
    if _is_question_list(document.text):
        raise KindError(name, "it is a list of questions with their answers, not a document")
    if name.lower().endswith(_JSON):
        text = _ESCAPED.sub(_unescaped, document.text)
        notes = (r"Letters that were escaped (\u00e9) are shown as letters.",) if text != document.text else ()
        document = replace(document, text=text, notes=(*document.notes, *notes))
        return replace(document, sections=_few(_json_sections(text)))
    find = _yaml_sections if name.lower().endswith((".yaml", ".yml")) else _table_sections
    return replace(document, sections=_few(find(document.text)))


def _few(sections: Iterator[Section]) -> tuple[Section, ...]:
    """Return the sections, none of a file with so many that it is a heap of records."""
    few = tuple(islice(sections, _MOST_SECTIONS + 1))
    return few if len(few) <= _MOST_SECTIONS else ()


def _is_question_list(text: str) -> bool:
    first = text.lstrip().split("\n", 1)[0]
    if not first.startswith("{") or len(first) > 10_000:
        return False
    try:
        found = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return all(key in found for key in ("question", "document", "quote"))


def _unescaped(match: re.Match[str]) -> str:
    """Return the letters of a run of escapes; the ones that JSON needs (quotes, controls) stay as they are."""
    units = bytes.fromhex("".join(match.group(2).split("\\u")))
    letters = units.decode("utf-16-be", "surrogatepass")
    shown = "".join(c if c >= "\xa0" and not "\ud800" <= c <= "\udfff" else f"\\u{ord(c):04x}" for c in letters)
    return match.group(1) + shown


def _json_sections(text: str) -> Iterator[Section]:
    """Yield a section for each key whose value is an object or a list, with the keys down to it."""
    path: list[str] = []
    key, start = "", 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in ("{", "["):
            path.append(one_line(key, 60))
            if key and len(path) <= _DEEPEST:
                yield Section(start, " > ".join(name for name in path if name), apart=False)
            key = ""
        elif token in ("}", "]"):
            closed = path.pop() if path else ""
            above = " > ".join(name for name in path if name)
            if closed and len(path) < _DEEPEST:
                yield Section(match.end(), above, apart=False)
            key = ""
        else:
            key, start = (match.group(1), match.start()) if match.group(2) else ("", 0)


def _yaml_sections(text: str) -> Iterator[Section]:
    path: list[tuple[int, str]] = []
    for match in _YAML_KEY.finditer(text):
        depth = len(match.group(1).expandtabs(4))
        path = [*((above, key) for above, key in path if above < depth), (depth, match.group(3).strip())][-_DEEPEST:]
        yield Section(match.start(), one_line(" > ".join(key for _, key in path)), apart=False)


def _table_sections(text: str) -> Iterator[Section]:
    for match in _TABLE.finditer(text):
        yield Section(match.start(), one_line(match.group(1).strip().replace(".", " > ")), apart=False)
