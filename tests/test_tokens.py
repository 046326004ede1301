"""Counting a language model's tokens without a network and without litellm."""

from __future__ import annotations

import subprocess
import sys

import pytest

from autocontext import tokens
from autocontext.tokens import count_tokens
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("Hello world", 2), ("Who says that economics is bullshit?", 7), ("<|endoftext|>", 7), ("猫が来た。", 7)],
)
def test_counts_are_those_of_the_cl100k_encoding(text, count):
    assert count_tokens(text) == count


def test_counting_imports_no_litellm():
    code = (
        "import sys; from autocontext.tokens import count_tokens; count_tokens('x'); sys.exit('litellm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False).returncode == 0


def test_without_the_table_it_guesses_on_the_safe_side(monkeypatch):
    monkeypatch.setattr(tokens, "_table_folder", lambda _name: None)
    tokens._counter.cache_clear()
    try:
        assert count_tokens("twelve bytes") == 4
        assert count_tokens("猫") == 1
        assert count_tokens("") == 0
    finally:
        tokens._counter.cache_clear()
