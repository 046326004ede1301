"""Fixtures and small real classes that all tests share; no test reaches another machine."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

os.environ.setdefault("AUTOCONTEXT_WARM_UP", "0")  # no thread that imports torch while a short test ends
os.environ["AUTOCONTEXT_DATA"] = tempfile.mkdtemp(prefix="autocontext-tests-")  # never one's own collections

import hypothesis
import numpy as np
import pytest

from autocontext import AutoContext, Settings
from autocontext.llm import load_litellm
from autocontext.protocols import Vectors
from autocontext.tokenizing import tokenize
from tests.fake_llm import FakeLLM

ROOT = Path(__file__).parents[1]
DATA = ROOT / "data"
hypothesis.settings.register_profile("here", deadline=None)  # how long an example takes says nothing on a busy machine
hypothesis.settings.load_profile("here")


class HashEncoder:
    """A real little encoder without a model: each word has its own direction, so shared words make a cosine."""

    name = "hash-64"

    def __init__(self) -> None:
        self.texts_encoded = 0

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.texts_encoded += len(texts)
        rows = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for token in tokenize(text) or [text]:
                direction = np.random.default_rng(zlib.crc32(token.encode())).standard_normal(64)
                row += direction.astype(np.float32)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


@pytest.fixture(autouse=True, scope="session")
def _data_folder() -> Iterator[None]:
    """Leave no collections behind."""
    yield
    shutil.rmtree(os.environ["AUTOCONTEXT_DATA"], ignore_errors=True)


@pytest.fixture
def encoder() -> HashEncoder:
    return HashEncoder()


@pytest.fixture
def make_context(encoder: HashEncoder):
    """Return a maker of small collections: ``make_context({"a.txt": "Text."}, retrievers=("bm25",))``."""

    def make(files: dict[str, str] | None = None, *, store: Path | None = None, **settings) -> AutoContext:
        ac = AutoContext(settings=Settings(**settings), encoder=encoder, store=store)
        if files:
            ac.add_files([(name, text.encode()) for name, text in files.items()])
        return ac

    return make


@pytest.fixture(scope="session")
def sample() -> AutoContext:
    """Return the sample collection with the real embedding model; read only."""
    ac = AutoContext()
    ac.add_folder(DATA)
    return ac


@pytest.fixture(scope="session")
def litellm() -> None:
    """Pay the seconds of litellm's import once, outside of what is measured or waited for."""
    load_litellm()


@pytest.fixture(scope="module")
def clean_environment() -> Iterator[None]:
    """No keys, addresses and model of the developer, and no proxy before 127.0.0.1."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            own = ("AUTOCONTEXT_MODEL", "AUTOCONTEXT_ALLOWED_MODELS")
            if name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL")) or name in own:
                patch.delenv(name)
        patch.setenv("NO_PROXY", "127.0.0.1,localhost")
        yield


@pytest.fixture
def llm(clean_environment: None, litellm: None) -> Iterator[FakeLLM]:
    """Start a scripted model server."""
    with FakeLLM() as server:
        yield server


@pytest.fixture(autouse=True, scope="session")
def _no_other_machine() -> Iterator[None]:
    """Refuse every connection that leaves this machine, as a machine without a network does."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def is_local(sock: socket.socket, address: object) -> bool:
        return sock.family == socket.AF_UNIX or (
            isinstance(address, tuple) and str(address[0]) in ("127.0.0.1", "::1", "localhost")
        )

    def guarded_connect(sock: socket.socket, address: object) -> None:
        if not is_local(sock, address):
            raise OSError(101, f"tests stay on this machine, not {address}")
        connect(sock, address)

    def guarded_connect_ex(sock: socket.socket, address: object) -> int:
        return connect_ex(sock, address) if is_local(sock, address) else 101

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        yield
