"""What the documents say holds."""

from __future__ import annotations

import dataclasses
import re
import shlex

import pytest

import autocontext
from autocontext import Settings
from autocontext.__main__ import _parser
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text("utf-8")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def test_the_library_example_runs_and_finds_pauli(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert "data/economics.txt line 1 {'bm25': 1, 'dense': 1}" in out
    assert "Pauli Blendergast says that economics is bullshit" in out
    assert " strong " in out


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Settings)])
def test_every_setting_is_in_the_readme(field):
    assert f"| `{field}` |" in README


def test_every_command_line_in_the_readme_is_understood():
    lines = [line for block in blocks("") for line in block.splitlines() if "python -m autocontext" in line]
    assert len(lines) == 11
    for line in lines:
        words = shlex.split(line.rpartition("python -m autocontext ")[2])
        assert callable(_parser().parse_args(words).run)


@pytest.mark.parametrize("target", ["run", "test", "lint", "bench"])
def test_every_make_target_in_the_readme_exists(target):
    assert f"make {target}" in README
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.M)


def test_every_file_that_the_documents_link_to_exists():
    for text in (README, ARCHITECTURE):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
            assert (ROOT / target).exists(), target


def test_every_module_has_its_line_in_the_architecture():
    for path in (ROOT / "autocontext").iterdir():
        if path.name.startswith(("__pycache__", "__init__")):
            continue
        assert path.name in ARCHITECTURE or path.stem in ARCHITECTURE, path.name


def test_the_version_is_the_same_everywhere():
    pyproject = (ROOT / "pyproject.toml").read_text("utf-8")
    assert f'version = "{autocontext.__version__}"' in pyproject
    assert autocontext.__version__ in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_litellm_is_pinned_to_one_release_everywhere():
    pins = {
        re.search(r"litellm==([\d.]+)", (ROOT / name).read_text("utf-8")).group(1)  # type: ignore[union-attr]
        for name in ("requirements.txt", "constraints.txt", "pyproject.toml", "docs/decisions/002-litellm-is-pinned.md")
    }
    assert len(pins) == 1
