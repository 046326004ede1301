"""Settings as a TOML file: every setting with a comment on what it means, read back exactly.

A key that is not known is an error that names it, never ignored: a mistyped setting would else seem to have no effect.
"""

from __future__ import annotations

import tomllib
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from textwrap import wrap
from typing import Any

from autocontext.errors import SettingsError
from autocontext.records import known_fields, to_plain
from autocontext.settings import Settings
from autocontext.settings_explained import EXPLAINED, setting_of, setting_paths
from autocontext.templates import find_template

_HEAD = "# Settings of AutoContext. What is not named here has its default."
_LARGEST = 1_000_000  # bytes; a settings file has two thousand


def settings_to_toml(settings: Settings) -> str:
    """Return all settings as TOML; those that are None are left out, since TOML has no such value.

    Examples
    --------
    >>> settings_from_toml(settings_to_toml(Settings(num_results=3))).num_results
    3
    """
    import tomli_w

    lines, group = [_HEAD], ""
    for path in sorted(setting_paths(), key=lambda path: "." in path or path == "weights"):  # tables come last
        value = to_plain(setting_of(settings, path))
        if value is None:
            continue
        table, _, name = path.rpartition(".")
        if table != group:
            lines += ["", f"[{table}]"]
            group = table
        lines += ["", *(f"# {line}" for line in wrap(EXPLAINED[path].text, 100))]
        is_long = isinstance(value, str) and "\n" in value and "\r" not in value  # TOML may change \r\n
        lines.append(tomli_w.dumps({name: value}, multiline_strings=is_long).rstrip("\n"))
    return "\n".join(lines) + "\n"


def settings_from_toml(text: str) -> Settings:
    """Return the settings of a TOML text; what it does not name has its default.

    Raises
    ------
    SettingsError
        If it is no TOML, or names what there is not, or a value cannot work: all that is wrong, each a sentence.
    """
    try:
        plain = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of very many digits is another error than of TOML's
        raise SettingsError(f"This is no TOML: {error}.") from None
    values, problems = _read_table(Settings, plain, "")
    if problems:
        raise SettingsError(" ".join(problems))
    settings = Settings(**values)
    find_template(settings.template)
    return settings


def read_settings_file(path: str | Path) -> Settings:
    """Return the settings of a TOML file.

    Raises
    ------
    SettingsError
        If it cannot be read, or as in `settings_from_toml`; the sentence names the file.
    """
    try:
        data = Path(path).read_bytes()
        if len(data) > _LARGEST:
            raise SettingsError(f"The settings file {path} is too large to be one.")
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise SettingsError(f"The settings file {path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise SettingsError(f"The settings file {path} cannot be read: it is no UTF-8 text.") from None
    try:
        return settings_from_toml(text)
    except SettingsError as error:
        raise SettingsError(f"The settings file {path} cannot be used. {error}") from None


def _read_table(kind: Any, plain: dict[str, Any], prefix: str) -> tuple[dict[str, Any], list[str]]:
    """Return the values of a record's fields that `plain` gives rightly, and a sentence on each other key."""
    defaults = kind()
    names = [field.name for field in fields(kind)]
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, value in plain.items():
        default = getattr(defaults, name) if name in names else None
        if name not in names:
            problems.append(_unknown(name, names, prefix))
        elif not is_dataclass(default):
            known, bad = known_fields(kind, {name: value})
            values |= known
            problems += [f"{prefix}{each} cannot be {value!r}; its default is {default!r}." for each in bad]
        elif not isinstance(value, dict):
            problems.append(f"{prefix}{name} is a table: write [{prefix}{name}] and its settings below.")
        else:
            group: Any = type(default)
            inner, wrong = _read_table(group, value, f"{name}.")
            problems += wrong
            try:
                values[name] = group(**inner)
            except SettingsError as error:
                problems.append(str(error))
    return values, problems


def _unknown(name: str, known: list[str], prefix: str) -> str:
    near = get_close_matches(name, known, n=1)
    cure = f"did you mean {prefix}{near[0]}?" if near else f"known: {', '.join(f'{prefix}{each}' for each in known)}."
    return f"There is no setting {prefix + name!r}; {cure}"
