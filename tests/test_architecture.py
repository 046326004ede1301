"""The rules of ARCHITECTURE.md, checked on the imports themselves."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

import autocontext
from tests.conftest import ROOT

PACKAGE = ROOT / "autocontext"
HEAVY = (
    "torch",
    "transformers",
    "sentence_transformers",
    "litellm",
    "streamlit",
    "pypdf",
    "openpyxl",
    "selectolax",
    "striprtf",
    "defusedxml",
    "chardet",
    "tiktoken",
    "tokenizers",
    "httpx",
    "markdown_it",
    "numkong",
    "openvino",
    "safetensors",
    "tomli_w",
)
# Lowest first; a module imports from lower layers only. What is not named here is a part.
LAYERS = [
    {"errors", "datatypes", "function_words", "records", "naming", "wording"},
    {"settings", "protocols", "tokenizing", "sentences", "templates", "llm_errors", "allowed", "model_table"},
    {"facts", "stemming", "duplicates", "words", "vector_pool", "piece_counting", "questions", "settings_explained"},
    {
        "citations",
        "conversation",
        "chunking",
        "encoders",
        "explanation",
        "fusion",
        "support",
        "prompt",
        "tokens",
        "llm",
        "model_server",
        "loaders",
        "retrievers",
        "stores",
        "folders",
        "reading",
        "settings_file",
        "metrics",
    },
    {"budget", "versions"},
    {"answer", "snapshot", "suggesting"},
    {"indexing", "embedding"},
    {"engine", "transcript"},
    {"why_not", "statistics", "comparison", "evaluation", "settings_change"},
    {"__init__", "tuning"},
    {"collections"},
    {"__init__"},
    {"commands", "ui"},
    {"__main__"},
]


def modules() -> list:
    return sorted(PACKAGE.rglob("*.py"))


def unit(path_or_name: str) -> str:
    """Return the layer's name of a module: its file, or its folder for the parts that are folders."""
    return path_or_name.split(".")[0]


def imports(path) -> list[tuple[str, bool]]:
    """Names of the imported modules, and whether the import is at the module's top."""
    tree = ast.parse(path.read_text("utf-8"))
    top = {id(node) for node in tree.body}
    found = []
    for node in ast.walk(tree):
        names = (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        )  # fmt: skip
        if isinstance(node, ast.ImportFrom) and node.module == "autocontext":
            names = [f"autocontext.{alias.name}" for alias in node.names]
        found += [(name, id(node) in top) for name in names]
    return found


def level(name: str) -> int:
    return next(n for n, layer in enumerate(LAYERS) if name in layer)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down_only(path):
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    for name, _ in imports(path):
        if (
            name.startswith("autocontext.")
            and (other := name.split(".")[1]) != own
            and other in {n for s in LAYERS for n in s}
        ):
            assert level(other) < level(own), f"{own} imports {other}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_heavy_packages_are_imported_where_they_are_used(path):
    if path.is_relative_to(PACKAGE / "ui"):
        return
    at_top = [name for name, top in imports(path) if top and name.split(".")[0] in HEAVY]
    assert at_top == []


def test_streamlit_litellm_and_openvino_are_imported_in_one_place_each():
    for path in modules():
        used = {name.split(".")[0] for name, _ in imports(path)}
        if "streamlit" in used:
            assert path.is_relative_to(PACKAGE / "ui")
        if "litellm" in used:
            assert path.name == "llm.py"
        if "openvino" in used:
            assert path.name == "runtimes.py"  # which keeps its telemetry out


def test_importing_the_library_imports_nothing_heavy():
    code = f"import sys, autocontext; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_everything_public_is_there_and_explained():
    for name in autocontext.__all__:
        assert getattr(autocontext, name).__doc__, name
