"""A real small model on the whole way: files, passages, prompt, answer. Run it with ``make test-model``.

SmolLM2-135M is too small to be right about everything. It reads a number from a passage, so numbers are asked for.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from autocontext import AutoContext
from autocontext.datatypes import ModelOptions
from autocontext.errors import ModelError
from tests.conftest import ROOT

PYTHON = os.environ.get("AUTOCONTEXT_MODEL_PYTHON")
pytestmark = [
    pytest.mark.skipif(not PYTHON, reason="no real model here: make test-model installs one and sets the variable"),
    pytest.mark.usefixtures("clean_environment", "litellm"),
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Start the model in its own environment."""
    command = [str(Path(PYTHON or "").absolute()), str(ROOT / "tests" / "serve_gguf.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin
        assert server.stdout
        yield server.stdout.readline().strip()
        server.stdin.close()
        server.wait(30)


def options(address: str, **more: object) -> ModelOptions:
    return ModelOptions(model="openai/smollm2", api_base=address, max_tokens=60, context_size=2048, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "document", "number"),
    [
        ("How many grams of pearl barley go into the soup?", "data/cooking.md", "150"),
        ("When was the compound discovered?", "data/chemistry.md", "1968"),
        ("When will the loan from the Calder Valley Credit Union be paid off?", "data/solar_report.pdf", "2029"),
    ],
)
def test_a_number_of_the_sample_collection_is_answered(
    sample: AutoContext, address: str, question: str, document: str, number: str
) -> None:
    answer = sample.ask(question, "openai/smollm2", num_results=3, options=options(address))
    n_pieces = len(list(answer))

    print(f"\n{question}\n{answer.text.strip()}\n{answer.usage}; {answer.prompt.tokens} tokens counted here")  # noqa: T201
    assert answer.prompt.evidence[0].chunk.document == document
    assert number in answer.text
    assert n_pieces > 3
    assert answer.complete
    assert answer.usage
    assert answer.usage.prompt_tokens
    assert answer.usage.prompt_tokens <= answer.prompt.tokens * 1.3 + 64
    assert answer.unseen == ""


def test_a_prompt_that_is_too_long_is_refused_and_not_cut(sample: AutoContext, address: str) -> None:
    too_much = ModelOptions(model="", api_base=address, timeout=120)
    answer = sample.ask("Where is salt?", "openai/smollm2", num_results=100, max_tokens=100_000, options=too_much)

    assert answer.prompt.tokens > 2048
    with pytest.raises(ModelError) as caught:
        list(answer)
    assert caught.value.kind == "context_window"
