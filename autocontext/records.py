"""Frozen records to plain JSON values and back, each value checked against the record's own types.

What comes back may have been written by another version or by nobody we know: a field that is unknown or of another
type is left out and named, never an error.
"""

from __future__ import annotations

import base64
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_LARGEST = 2**53 - 1  # whole numbers beyond are exact neither as JSON nor in a browser


def to_plain(value: Any, *, without: frozenset[str] = frozenset()) -> Any:
    """Return a record as a dict of JSON values; fields at their default are left out, and those named in `without`."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: to_plain(getattr(value, field.name))
            for field in fields(value)
            if field.name not in without and not _is_default(field, getattr(value, field.name))
        }
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return str(value) if isinstance(value, Path) else value


def known_fields(kind: type, plain: object) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of the record `kind` that `plain` gives rightly, and the names of those that it does not."""
    if not isinstance(plain, dict):
        return {}, [kind.__name__]
    hints = _hints(kind)
    known: dict[str, Any] = {}
    bad: list[str] = []
    for name, value in plain.items():
        try:
            known[name] = _restored(hints[name], value)
        except (KeyError, TypeError, ValueError):
            bad.append(str(name))
    return known, bad


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _is_default(field: Any, value: object) -> bool:
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return default is not MISSING and type(default) is type(value) and bool(default == value)


def _restored(kind: Any, value: Any) -> Any:
    """Return `value` as `kind` says; TypeError or ValueError if it does not fit."""
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise ValueError(value)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _first_that_fits(arguments, value)
    if origin is Literal and value in arguments:
        return value
    if origin is tuple and isinstance(value, list):
        each = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        return tuple(_restored(item_kind, item) for item_kind, item in zip(each, value, strict=True))
    if origin in (Mapping, dict) and isinstance(value, dict):
        return {_restored(arguments[0], key): _restored(arguments[1], item) for key, item in value.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        known, bad = known_fields(kind, value)
        if bad:
            raise ValueError(bad)
        return kind(**known)
    if kind is Path and isinstance(value, str):
        return Path(value)
    if kind is bytes and isinstance(value, str):
        return base64.b64decode(value, validate=True)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(kind, type) and type(value) is kind:
        return value
    raise TypeError(kind)


def _first_that_fits(kinds: tuple[Any, ...], value: Any) -> Any:
    for kind in kinds:
        try:
            return _restored(kind, value)
        except (TypeError, ValueError):
            continue
    raise TypeError(kinds)
