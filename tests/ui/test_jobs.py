"""IndexJob and AnswerJob by themselves, without Streamlit: work goes on, can be looked at, and can be stopped."""

from __future__ import annotations

import gc
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from autocontext import AutoContext, Settings
from autocontext.comparison import size_choices
from autocontext.datatypes import Chunk, ModelOptions, Piece, Prompt
from autocontext.errors import EncoderError
from autocontext.indexing import WORDS_ONLY
from autocontext.protocols import Vectors
from autocontext.settings import ChunkOptions
from autocontext.ui.jobs import AnswerJob, IndexJob
from autocontext.ui.state import UiState
from tests.conftest import HashEncoder
from tests.fake_llm import ANSWER, FakeLLM

PATIENCE = 30.0  # seconds; only a failing test waits so long
PROTOCOLS = pytest.mark.parametrize("protocol", ["openai", "ollama"])
BY_SENTENCES = Settings(chunking=ChunkOptions(sentence_tokens=0))
LONG = "\n\n".join(f"Paragraph {number} tells of things. It tells of salt. It ends here." for number in range(400))


class GatedEncoder(HashEncoder):
    """Waits in each call of `encode` until the gate is open, and tells that it was reached."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.gate = threading.Event(), threading.Event()

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.reached.set()
        assert self.gate.wait(PATIENCE)
        return super().encode(texts)


class BrokenEncoder(HashEncoder):
    """Raises an error where others encode."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def encode(self, texts: Sequence[str]) -> Vectors:
        raise self.error


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def finished(job: IndexJob) -> IndexJob:
    wait_for(lambda: not job.running)
    return job


# ---- indexing --------------------------------------------------------------------------------------------------------


def test_progress_reaches_the_total_and_the_report_has_a_row_a_file(encoder: HashEncoder) -> None:
    engine = AutoContext(encoder=encoder)

    job = finished(IndexJob(engine, [("a.txt", b"Salt melts."), ("b.txt", LONG.encode()), ("c.exe", b"MZ")]))

    assert (job.label, job.done, job.total) == ("Embedding", len(engine.chunks), len(engine.chunks))
    assert [(row.name, row.status) for row in job.report or ()] == [
        ("a.txt", "added"),
        ("b.txt", "added"),
        ("c.exe", "skipped"),
    ]
    assert job.error is None


def test_progress_can_be_looked_at_while_it_works() -> None:
    encoder = GatedEncoder()
    job = IndexJob(AutoContext(encoder=encoder), [("b.txt", LONG.encode())])

    assert encoder.reached.wait(PATIENCE)
    seen = (job.running, job.label, job.done, job.report)
    encoder.gate.set()

    assert seen == (True, "Embedding", 0, None)
    assert finished(job).report is not None


def test_no_files_are_no_failure(encoder: HashEncoder) -> None:
    job = finished(IndexJob(AutoContext(encoder=encoder), []))

    assert (list(job.report or ["none"]), job.error) == (["none"], None)
    assert job.report is not None


def test_stopping_keeps_what_was_read_and_tells_what_is_not_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autocontext.indexing._FIRST_GROUP", 1000)  # both files are in one group
    monkeypatch.setattr("autocontext.indexing._GROUP_SECONDS", PATIENCE)
    encoder = GatedEncoder()
    engine = AutoContext(BY_SENTENCES, encoder)
    job = IndexJob(engine, [("long.txt", LONG.encode()), ("short.txt", b"Salt.")])  # the shortest are embedded first

    assert encoder.reached.wait(PATIENCE)
    job.stop()
    encoder.gate.set()
    finished(job)

    assert [(row.name, row.status, row.reason, row.n_chunks) for row in job.report or ()] == [
        ("long.txt", "added", WORDS_ONLY, 400),
        ("short.txt", "added", "", 1),
    ]
    assert engine.search("salt")[0].chunk.text == "Salt."
    assert set(engine.search("Number 77")[0].hits) == {"bm25"}, "found by its words"
    assert encoder.texts_encoded < 400 + 2, "the rest was embedded all the same"
    missing = 401 - len(engine._embedder.pool)
    assert engine.warnings == (
        f"{missing} of 401 passages are found by their words only: they are not embedded yet. "
        "That goes on when files are added.",
    )


def test_the_next_batch_goes_on_where_one_was_stopped() -> None:
    encoder = GatedEncoder()
    engine = AutoContext(BY_SENTENCES, encoder)
    job = IndexJob(engine, [("long.txt", LONG.encode())])
    assert encoder.reached.wait(PATIENCE)
    job.stop()
    encoder.gate.set()
    finished(job)
    made = encoder.texts_encoded

    job = finished(IndexJob(engine, [("long.txt", LONG.encode())]))

    assert [(row.status, row.reason) for row in job.report or ()] == [("unchanged", "")]
    assert encoder.texts_encoded == 400 > made
    assert engine.warnings == ()
    assert "dense" in engine.search("Paragraph 77 tells of things.")[0].hits


def test_where_settings_need_other_vectors_a_search_goes_on_by_words_and_embeds_nothing_itself() -> None:
    encoder = GatedEncoder()
    engine = AutoContext(replace(BY_SENTENCES, retrievers=("bm25",)), encoder)
    engine.add("long.txt", LONG.encode())
    job = IndexJob(engine, BY_SENTENCES)
    assert encoder.reached.wait(PATIENCE)
    found: list[set[str]] = []
    encoder.reached.clear()
    asking = threading.Thread(target=lambda: found.append(set(engine.search("Paragraph 77")[0].hits)))
    asking.start()
    assert encoder.reached.wait(PATIENCE)
    encoder.gate.set()
    finished(job)
    asking.join()

    assert found == [{"bm25"}]
    assert encoder.texts_encoded == 400 + 1, "the passages once, and the question"
    assert engine.warnings == ()
    assert "dense" in engine.search("Paragraph 77 tells of things.")[0].hits


def test_what_is_shown_was_searched_again_when_all_is_embedded() -> None:
    class OpenForQuestions(GatedEncoder):
        def encode(self, texts: Sequence[str]) -> Vectors:
            return super().encode(texts) if len(texts) > 100 else HashEncoder.encode(self, texts)

    encoder = OpenForQuestions()
    state = UiState(engine=AutoContext(BY_SENTENCES, encoder))
    state.index([("long.txt", LONG.encode())])
    assert encoder.reached.wait(PATIENCE)
    state.ask("Paragraph 77 tells of things.")
    state.refresh()
    found = [state.explanation.evidence[0].hits.keys() if state.explanation else None]
    state.evaluating.look_at(state.question)
    found.append(state.evaluating.passages(state.engine).evidence[0].hits.keys())
    encoder.gate.set()
    wait_for(state.collect_index)
    state.refresh()
    found.append(state.explanation.evidence[0].hits.keys() if state.explanation else None)
    found.append(state.evaluating.passages(state.engine).evidence[0].hits.keys())

    assert found == [{"bm25"}, {"bm25"}, {"bm25", "dense"}, {"bm25", "dense"}]


def test_a_change_of_settings_that_was_stopped_leaves_words_to_search_by() -> None:
    encoder = GatedEncoder()
    engine = AutoContext(replace(BY_SENTENCES, retrievers=("bm25",)), encoder)
    engine.add("long.txt", LONG.encode())
    job = IndexJob(engine, BY_SENTENCES)
    assert encoder.reached.wait(PATIENCE)
    job.stop()
    encoder.gate.set()
    finished(job)
    made = encoder.texts_encoded

    assert set(engine.search("Number 77")[0].hits) == {"bm25"}
    assert encoder.texts_encoded == made + 1 < 400
    assert len(engine.warnings) == 1


def test_a_model_that_fails_when_a_stopped_batch_goes_on_costs_no_row() -> None:
    encoder = GatedEncoder()
    engine = AutoContext(BY_SENTENCES, encoder)
    job = IndexJob(engine, [("long.txt", LONG.encode())])
    assert encoder.reached.wait(PATIENCE)
    job.stop()
    encoder.gate.set()
    finished(job)
    gone = EncoderError("The embedding model is gone. Install it.")
    encoder.encode = BrokenEncoder(gone).encode  # type: ignore[method-assign]

    report = engine.add_files([("long.txt", LONG.encode())])

    assert ([(row.name, row.status) for row in report], report.error) == ([("long.txt", "unchanged")], gone)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (EncoderError("The embedding model is gone. Install it."), "The embedding model is gone. Install it."),
        (
            RuntimeError("at 0x7f: /home/somebody"),
            "Indexing failed (RuntimeError). What was read is found by its words.",
        ),
        (MemoryError(), "Indexing failed (MemoryError). What was read is found by its words."),
    ],
)
def test_an_error_is_a_sentence_and_what_was_read_is_found_by_its_words(error: Exception, sentence: str) -> None:
    engine = AutoContext(encoder=BrokenEncoder(error))

    job = finished(IndexJob(engine, [("a.txt", b"Salt melts.")]))

    assert (job.error or str(job.report.error if job.report else "")) == sentence
    assert list(engine.documents) == ["a.txt"]
    assert engine.variant(Settings(retrievers=("bm25",))).search("salt")[0].chunk.text == "Salt melts."


def test_a_file_that_vanished_is_a_row(encoder: HashEncoder, tmp_path) -> None:
    job = finished(IndexJob(AutoContext(encoder=encoder), [("gone.txt", tmp_path / "gone.txt"), ("a.txt", b"Salt.")]))

    assert [(row.name, row.status) for row in job.report or ()] == [("gone.txt", "failed"), ("a.txt", "added")]
    assert (job.report or [])[0].reason == "No such file or directory."


def test_of_a_removed_document_a_session_keeps_no_text(encoder: HashEncoder) -> None:
    state = UiState(engine=AutoContext(encoder=encoder))
    state.index([("a.txt", b"Zyxomma salt melts at 801 degrees."), ("b.txt", b"Tea steeps.")])
    wait_for(state.collect_index)
    state.ask("When does salt melt?")
    state.refresh()
    state.expected = "Salt melts."
    state.look_for_expected()
    state.look_at_chunks(lambda _label, _done, _total: None)
    state.draft.change("num_results", 7, state.engine.settings)
    state.draft.check(state.engine)
    state.compare(size_choices(state.engine.settings), begin=True)
    wait_for(lambda: state.comparing.job is not None and not state.comparing.job.running)
    state.evaluating.look_at("Salt?")
    state.evaluating.passages(state.engine)

    state.remove(["a.txt"])
    gc.collect()
    assert [thing for thing in gc.get_objects() if type(thing) is Chunk and "Zyxomma" in thing.text] == []


# ---- answering -------------------------------------------------------------------------------------------------------


@pytest.fixture
def prompt(make_context) -> Prompt:
    return make_context({"a.txt": "Pauli Blendergast says that economics is bullshit."}).get_prompt("Who says it?")


def asked(prompt: Prompt, llm: FakeLLM, model: str, protocol: str = "openai", **more) -> AnswerJob:
    return AnswerJob(prompt, ModelOptions(model=f"{protocol}/{model}", api_base=llm.base(protocol), **more))


def collected(job: AnswerJob) -> AnswerJob:
    def ended() -> bool:
        job.collect()
        return not job.running

    wait_for(ended)
    return job


@PROTOCOLS
def test_an_answer_is_collected_with_its_figures_and_sources(llm: FakeLLM, prompt: Prompt, protocol: str) -> None:
    job = collected(asked(prompt, llm, "ok", protocol))

    assert (job.answer.text, job.answer.complete, job.error, job.stopped) == (ANSWER, True, None, False)
    assert job.answer.usage is not None
    assert (job.answer.usage.prompt_tokens, job.answer.usage.completion_tokens) == (llm.counted, len(llm.words()))
    assert [(c.number, c.evidence) for c in job.answer.citations] == [(1, prompt.evidence[0])]
    assert [message["content"] for message in llm.chats()[0].body["messages"]] == [prompt.text]


def test_an_answer_grows_from_look_to_look(llm: FakeLLM, prompt: Prompt) -> None:
    llm.delay = 0.1
    job = asked(prompt, llm, "ok")
    seen = []

    def ended() -> bool:
        job.collect()
        seen.append(job.answer.text)
        return not job.running

    wait_for(ended)

    assert len(set(seen)) >= 4
    assert all(ANSWER.startswith(text) for text in seen)


@PROTOCOLS
def test_looking_never_waits_while_the_server_is_silent(llm: FakeLLM, prompt: Prompt, protocol: str) -> None:
    job = asked(prompt, llm, "hang", protocol)
    wait_for(llm.chats)
    longest = 0.0

    for _ in range(20):
        start = time.monotonic()
        job.collect()
        longest = max(longest, time.monotonic() - start)

    assert job.running
    assert longest < 0.5
    start = time.monotonic()
    job.stop()
    assert time.monotonic() - start < 0.5
    assert (job.running, job.stopped, job.answer.text, job.error) == (False, True, "", None)


@PROTOCOLS
def test_stopping_keeps_what_has_come_and_hangs_up(llm: FakeLLM, prompt: Prompt, protocol: str) -> None:
    llm.answer = " ".join(str(number) for number in range(1200))
    llm.delay = 0.02
    job = asked(prompt, llm, "ok", protocol)

    def has_words() -> bool:
        job.collect()
        return job.answer.text.count(" ") >= 3

    wait_for(has_words)
    job.stop()
    kept = job.answer.text

    assert llm.disconnected.wait(PATIENCE), "the server is still at work"
    job.collect()
    assert job.answer.text == kept
    assert llm.answer.startswith(kept)
    assert (job.running, job.stopped, job.answer.complete, job.error) == (False, True, False, None)


def test_stopping_an_answer_that_has_ended_changes_nothing(llm: FakeLLM, prompt: Prompt) -> None:
    job = collected(asked(prompt, llm, "ok"))

    job.stop()

    assert (job.answer.text, job.answer.complete, job.stopped) == (ANSWER, True, False)


@PROTOCOLS
def test_an_answer_that_breaks_off_keeps_its_part_and_says_why(llm: FakeLLM, prompt: Prompt, protocol: str) -> None:
    job = collected(asked(prompt, llm, "cut", protocol))

    assert job.answer.text.strip() == "Pauli Blendergast says"
    assert not job.answer.complete
    assert job.error is not None
    assert job.error.kind == "cut"


@PROTOCOLS
@pytest.mark.parametrize("model", ["401", "500", "empty", "garbage"])
def test_a_failure_is_a_sentence(llm: FakeLLM, prompt: Prompt, protocol: str, model: str) -> None:
    job = collected(asked(prompt, llm, model, protocol, api_key="sk-typed-by-the-user"))

    assert job.error is not None
    assert str(job.error).endswith(".")
    assert "Traceback" not in str(job.error) + job.error.detail
    assert "sk-" not in str(job.error) + job.error.detail
    assert (job.answer.text, job.running) == ("", False)


def test_a_server_that_is_not_there_is_a_sentence(prompt: Prompt, clean_environment: None) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"

    job = collected(AnswerJob(prompt, ModelOptions(model="openai/x", api_base=address)))

    assert str(job.error) == f"Nothing answers at {address}. Check the address, and that the server is running."


def test_two_looks_at_once_take_each_piece_once(llm: FakeLLM, prompt: Prompt) -> None:
    llm.answer = " ".join(str(number) for number in range(400))
    job = asked(prompt, llm, "ok")

    lookers = [threading.Thread(target=lambda: wait_for(lambda: job.collect() or not job.running)) for _ in range(4)]
    for looker in lookers:
        looker.start()
    for looker in lookers:
        looker.join(PATIENCE)

    assert job.answer.text == llm.answer


def test_a_batch_that_nobody_waits_for_any_more_ends(encoder: HashEncoder) -> None:
    engine = AutoContext(encoder=encoder)
    job = finished(IndexJob(engine, [("a.txt", b"Salt melts."), ("b.txt", b"Tea steeps.")], lambda: True))
    assert job.report is not None
    assert [row.status for row in job.report] == ["skipped", "skipped"]


def test_looking_takes_what_is_there_also_of_a_fast_stream(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real stream of 2,000 pieces a second would otherwise be read to its end in one look."""

    def endless(*_: object) -> Iterator[Piece]:
        for number in range(100_000):
            time.sleep(0.0005)
            yield Piece("text", f"{number} ")

    monkeypatch.setattr("autocontext.llm.stream_answer", endless)
    job = AnswerJob(prompt, ModelOptions(model="openai/x"))
    wait_for(lambda: job.collect() or job.answer.text.startswith("0 1 "))
    assert job.running
    job.stop()
    assert job.stopped
    assert job.answer.text.startswith("0 1 ")
