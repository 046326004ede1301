"""The Documents page says which embedding model is used and what computes it."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from autocontext import AutoContext
from autocontext.ui.state import UiState
from tests.conftest import ROOT, HashEncoder
from tests.ui.test_pages import captions


class LoadedHashEncoder(HashEncoder):
    """One that has something to say about itself, with signs that Markdown knows."""

    description = "hash-64 by a *fast* [library](javascript:alert(1)) (not OpenVINO: there is a GPU)"

    def warm_up(self) -> None:
        """There is nothing to load."""


def model_lines(encoder: HashEncoder, *, with_document: bool) -> list[str]:
    engine = AutoContext(encoder=encoder)
    if with_document:
        engine.add("salt.txt", b"Salt keeps food.")
    at = AppTest.from_file(ROOT / "app.py", default_timeout=60)
    at.session_state["autocontext"] = UiState(engine=engine)
    at.switch_page("pages/documents.py").run()
    assert not at.exception
    return [line for line in captions(at) if line.startswith("Embedding model")]


def test_it_is_told_once_documents_are_in():
    told = f"Embedding model: {LoadedHashEncoder.description}. It runs on this machine."
    assert model_lines(LoadedHashEncoder(), with_document=True) == [told]
    assert model_lines(LoadedHashEncoder(), with_document=False) == []


def test_an_encoder_that_says_nothing_has_no_line():
    assert model_lines(HashEncoder(), with_document=True) == []
