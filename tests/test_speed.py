"""A guard against a collapse of the speed: ratios within one run, each a third of what is usual or less.

`benchmarks/` measures; here nothing is asserted in seconds.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from rank_bm25 import BM25Okapi
from threadpoolctl import threadpool_limits

from autocontext import AutoContext, ChunkOptions, Settings
from tests.conftest import HashEncoder

A_FILE = 25  # chunks
CHUNKS = ChunkOptions(sentences=3, sentence_tokens=0)


def best_of(calls: int, call: Callable[[], object]) -> float:
    """Return the shortest time of several: what else goes on only ever adds."""
    times = []
    for _ in range(calls):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


class DrawnEncoder(HashEncoder):
    """Vectors of 384 numbers, drawn; it counts what it is given."""

    name = "drawn-384"

    def encode(self, texts):
        self.texts_encoded += len(texts)
        seed = zlib.crc32("".join(texts).encode())
        rows = np.random.default_rng(seed).standard_normal((len(texts), 384), dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def files(n_chunks: int) -> list[tuple[str, bytes]]:
    """Make files of sentences of ten words, some words much more common than others."""
    rng = np.random.default_rng(n_chunks)
    words = np.array([f"word{n}" for n in range(20_000)], dtype=object)
    made = []
    for number in range(n_chunks // A_FILE):
        drawn = words[(20_000 * rng.random((3 * A_FILE, 10)) ** 4).astype(int)]
        made.append((f"note_{number}.txt", ". ".join(" ".join(row).capitalize() for row in drawn).encode() + b"."))
    return made


def questions(context: AutoContext, n: int) -> list[str]:
    """Return questions that stand in the documents."""
    step = len(context.chunks) // n
    return [" ".join(chunk.text.split()[:6]) for chunk in context.chunks[::step][:n]]


def seconds_a_question(context: AutoContext) -> float:
    context.search("Get ready", num_results=10)
    return min(best_of(1, lambda q=question: context.search(q, num_results=10)) for question in questions(context, 12))


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """On a busy machine the threads of one product wait for each other, up to a hundred times its time."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def made() -> dict[int, AutoContext]:
    contexts = {}
    for size in (1_000, 10_000):
        contexts[size] = AutoContext(Settings(chunking=CHUNKS), DrawnEncoder())
        contexts[size].add_files(files(size))
        assert len(contexts[size].chunks) == size
    return contexts


def test_a_question_takes_no_longer_than_rank_bm25_and_numpy_over_all_chunks(made):
    context = made[10_000]
    texts = [chunk.text for chunk in context.chunks]
    plain, vectors = BM25Okapi([text.lower().split() for text in texts]), DrawnEncoder().encode(texts)

    def ask_plainly(question: str) -> None:
        np.argsort(plain.get_scores(question.lower().split()))
        np.argsort(vectors @ vectors[0])

    plainly = min(best_of(1, lambda q=question: ask_plainly(q)) for question in questions(context, 6))
    assert seconds_a_question(context) < plainly


def test_ten_times_the_chunks_make_a_question_less_than_fifteen_times_slower(made):
    assert seconds_a_question(made[10_000]) < 15 * seconds_a_question(made[1_000])


def test_an_unchanged_folder_is_indexed_again_in_a_fraction_of_the_time_and_embeds_nothing(tmp_path):
    folder, encoder = tmp_path / "notes", DrawnEncoder()
    folder.mkdir()
    for name, data in files(5_000):
        (folder / name).write_bytes(data)
    settings, store = Settings(chunking=CHUNKS), tmp_path / "notes.db"
    context = AutoContext(settings, encoder, store)
    first = best_of(1, lambda: context.add_folder(folder))
    context.close()
    assert encoder.texts_encoded == 5_000
    again = AutoContext(settings, encoder, store)
    assert best_of(3, lambda: again.add_folder(folder)) < first / 3
    again.close()
    assert encoder.texts_encoded == 5_000


def test_adding_a_file_takes_a_fraction_of_indexing_all(made):
    context = made[10_000]
    everything = best_of(1, lambda: AutoContext(Settings(chunking=CHUNKS), DrawnEncoder()).add_files(files(10_000)))
    _, *few = files(4 * A_FILE)
    assert min(best_of(1, lambda n=name, d=data: context.add(f"new_{n}", d)) for name, data in few) < everything / 3
    context.remove_many([f"new_{name}" for name, _ in few])
