"""The same vectors by OpenVINO and by sentence-transformers, and which of the two is taken."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autocontext import AutoContext, Settings
from autocontext.encoders import LocalEncoder, SentenceTransformerEncoder, find_model, local, runtimes, shared_encoder
from autocontext.encoders.bert import UnknownModelError, read_bert
from autocontext.encoders.local import _steps
from autocontext.encoders.turns import Turns
from autocontext.errors import EncoderError, SettingsError
from autocontext.protocols import Vectors
from autocontext.settings import EncoderOptions, settings_from_json, settings_to_json
from tests.conftest import DATA, ROOT

has_openvino = pytest.mark.skipif(importlib.util.find_spec("openvino") is None, reason="there is none for this machine")
HARD = [
    "",
    "a",
    " \n\t",
    "🙂",
    "word " * 600,
    "\n\n  Hello,  world \n",
    "日本語のテキスト。",
    "naïve Straße İstanbul",
    "\x00\ufffd",
]


@pytest.fixture(scope="module")
def reference() -> LocalEncoder:
    return SentenceTransformerEncoder()


@pytest.fixture(scope="module")
def openvino() -> LocalEncoder:
    return LocalEncoder(EncoderOptions(backend="openvino"))


def cosines(left: Vectors, right: Vectors) -> Vectors:
    return np.sum(left * right, axis=1)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    ac = AutoContext(Settings(retrievers=("bm25",)))
    ac.add_folder(DATA)
    return [chunk.text for chunk in ac.chunks] + HARD


@pytest.fixture(scope="module")
def expected(reference, texts) -> Vectors:
    return reference.encode(texts)


# --- the same vectors ---------------------------------------------------------------------------------------------


@has_openvino
def test_both_give_the_same_vectors(reference, openvino, texts, expected):
    found = openvino.encode(texts)
    assert expected.shape == found.shape == (len(texts), 384)
    assert expected.dtype == found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-3)
    least = 0.9995 if "bfloat16" in openvino.description else 0.99999
    assert cosines(expected, found).min() > least
    assert reference.name == openvino.name == "all-MiniLM-L6-v2"


@has_openvino
def test_in_float32_they_are_the_same_but_for_rounding(monkeypatch, texts, expected):
    ov = runtimes.import_openvino()
    monkeypatch.setattr(ov.Core, "get_property", lambda self, device, name: ov.Type.f32)
    encoder = LocalEncoder(EncoderOptions(backend="openvino"))
    assert cosines(expected, encoder.encode(texts)).min() > 0.99999
    assert encoder.description == "all-MiniLM-L6-v2 by OpenVINO in float32"


@pytest.mark.parametrize("backend", [pytest.param("openvino", marks=has_openvino), "sentence-transformers"])
def test_a_vector_does_not_depend_on_the_texts_beside_it(backend):
    encoder = shared_encoder(EncoderOptions(backend=backend))
    texts = [*HARD, *(f"{'salt and tea ' * n}at {n}" for n in range(0, 40, 4))]
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert cosines(alone, encoder.encode(texts)).min() > 0.9995
    assert np.argmax(alone @ encoder.encode(texts).T, axis=1).tolist()[9:] == list(range(9, 19))  # the order is kept


@has_openvino
def test_collections_of_both_answer_the_sample_questions_alike(sample, reference):
    questions = [json.loads(line)["question"] for line in (DATA / "questions.jsonl").read_text("utf-8").splitlines()]
    other = AutoContext(encoder=reference)
    other.add_folder(DATA)
    found = []
    for ac in (sample, other):
        found.append([[(item.chunk.document, item.chunk.start) for item in ac.search(q)] for q in questions])
    first = [(one[0], other[0]) for one, other in zip(*found, strict=True)]
    assert [one for one, _ in first] == [other for _, other in first]
    assert sum(set(one) == set(other) for one, other in zip(*found, strict=True)) >= 0.9 * len(questions)


# --- which of the two ---------------------------------------------------------------------------------------------


def tiny_model(folder: Path, **changed: object) -> Path:
    """Make a model of random weights that sentence-transformers can load."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import AutoConfig, AutoModel

    kind, pooling = changed.pop("model_type", "bert"), changed.pop("pooling", "mean")
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    config = AutoConfig.for_model(kind, vocab_size=30_522, max_position_embeddings=64, **sizes, **changed)
    raw = folder.with_name(f"{folder.name}-raw")
    AutoModel.from_config(config).save_pretrained(raw)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        shutil.copy(find_model(EncoderOptions()) / name, raw)
    transformer = Transformer(str(raw), max_seq_length=48)
    SentenceTransformer(modules=[transformer, Pooling(32, pooling)], device="cpu").save(str(folder))
    return folder


@has_openvino
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_other_models_of_this_kind_are_computed_alike(tmp_path, pooling):
    folder = tiny_model(tmp_path / "tiny", pooling=pooling)
    encoder = LocalEncoder(EncoderOptions(folder=folder, backend="openvino"))
    reference = SentenceTransformerEncoder(EncoderOptions(folder=folder))
    assert encoder.max_tokens == 46
    assert cosines(encoder.encode(HARD), reference.encode(HARD)).min() > 0.999
    assert encoder.encode([]).shape == (0, 32)
    assert encoder.name == reference.name


@has_openvino
@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"model_type": "electra", "embedding_size": 32}, "the model is of the kind electra, not bert"),
        ({"hidden_act": "relu"}, "the model has the hidden_act relu"),
        ({"pooling": "max"}, "the model pools by max"),
    ],
)
def test_a_model_of_another_build_is_left_to_sentence_transformers(tmp_path, changed, why):
    encoder = LocalEncoder(EncoderOptions(folder=tiny_model(tmp_path / "tiny", **changed)))
    assert encoder.encode(["salt", "tea"]).shape == (2, 32)
    assert encoder.description.endswith(f" by sentence-transformers (not OpenVINO: {why})")


def copied_settings(folder: Path) -> Path:
    """Copy a model's small files, to change them."""
    shutil.copytree(find_model(EncoderOptions()), folder, ignore=shutil.ignore_patterns("model.safetensors"))
    return folder


@pytest.mark.parametrize(
    ("file", "settings", "why"),
    [
        ("sentence_bert_config.json", {"max_seq_length": 256, "do_lower_case": True}, "small letters"),
        ("config_sentence_transformers.json", {"default_prompt_name": "query"}, "prompt before each text"),
        ("modules.json", [{"path": "", "type": "a.Transformer"}], "has the parts Transformer"),
        ("1_Pooling/config.json", {"pooling_mode": ["mean", "cls"]}, "pools by"),
        ("1_Pooling/config.json", {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}, "mean, cls"),
        ("1_Pooling/config.json", {}, "pools by nothing that is said"),
        ("config.json", {"model_type": "bert", "max_position_embeddings": 128}, "takes 128 tokens, not 256"),
        ("README.md", [], "no single file model.safetensors"),
    ],
)  # fmt: skip
def test_what_would_make_other_vectors_is_refused(tmp_path, file, settings, why):
    folder = copied_settings(tmp_path / "model")
    (folder / file).write_text(json.dumps(settings))
    with pytest.raises(UnknownModelError, match=why):
        read_bert(folder, 256)


def test_without_the_package_it_goes_on_with_sentence_transformers_and_says_so(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "openvino" else find(name, *rest)
    )
    encoder = LocalEncoder()
    assert encoder.encode(["salt"]).shape == (1, 384)
    assert encoder.description == (
        "all-MiniLM-L6-v2 by sentence-transformers (not OpenVINO: the package openvino is not installed)"
    )
    with pytest.raises(EncoderError, match="cannot be computed by OpenVINO: the package openvino is not installed"):
        LocalEncoder(EncoderOptions(backend="openvino")).encode(["salt"])


def test_without_either_package_the_cure_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EncoderError, match="Install it with: pip install sentence-transformers"):
        SentenceTransformerEncoder().encode(["salt"])


@has_openvino
def test_a_failure_inside_of_openvino_is_no_failure_of_the_app(monkeypatch):
    def fail(*_: object) -> None:
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(runtimes.import_openvino().Core, "compile_model", fail)
    encoder = LocalEncoder()
    assert encoder.encode(["salt"]).shape == (1, 384)
    assert "not OpenVINO: OpenVINO failed: RuntimeError: no such instruction" in encoder.description


def test_where_there_is_a_gpu_sentence_transformers_is_taken(monkeypatch):
    monkeypatch.setattr(local, "has_gpu", lambda: True)
    encoder = LocalEncoder()
    encoder.warm_up()
    assert encoder.description == "all-MiniLM-L6-v2 by sentence-transformers (not OpenVINO: there is a GPU)"


def test_a_gpu_is_told_by_its_driver_and_a_torch_that_can_use_it(monkeypatch, tmp_path):
    (tmp_path / "torch" / "lib").mkdir(parents=True)
    (tmp_path / "torch" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", importlib.machinery.PathFinder.find_spec)
    monkeypatch.setattr(sys, "platform", "linux")
    is_driver = {"/dev/nvidiactl"}
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: str(path) in is_driver if path.parts[1] == "dev" else exists(path))
    assert not runtimes.has_gpu()
    (tmp_path / "torch" / "lib" / "libtorch_cuda.so").touch()
    assert runtimes.has_gpu()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert not runtimes.has_gpu()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    is_driver.clear()
    assert not runtimes.has_gpu()


def test_the_backend_is_a_setting_that_is_kept():
    settings = Settings(encoder=EncoderOptions(backend="sentence-transformers"))
    assert settings_from_json(settings_to_json(settings)) == (settings, ())
    assert "backend" not in settings_to_json(Settings())
    with pytest.raises(SettingsError, match="backend is auto, openvino or sentence-transformers, not 'onnx'"):
        EncoderOptions(backend="onnx")  # type: ignore[arg-type]


def test_sessions_share_one_model():
    one, other = AutoContext(), AutoContext()
    assert one._found_encoder is other._found_encoder
    ours = Settings(encoder=EncoderOptions(backend="sentence-transformers"))
    assert AutoContext(ours)._found_encoder is AutoContext(replace(ours, num_results=3))._found_encoder


# --- a process of its own -------------------------------------------------------------------------------------------

WATCHED = """
import os, sys
seen = []
def watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "os.fork", "subprocess.Popen"):
        seen.append((event, repr(args)))
    if event == "open" and isinstance(args[0], str) and args[0].startswith(HOME) and set("wax+") & set(str(args[1])):
        seen.append((event, args[0]))
    if event == "os.mkdir" and str(args[0]).startswith(HOME):
        seen.append((event, args[0]))
HOME = os.environ["HOME"]
sys.addaudithook(watch)
"""


def run_watched(code: str, home: Path) -> list[str]:
    """Run code in a process of its own with an empty home folder; return what it prints, line by line."""
    environment = {key: value for key, value in os.environ.items() if key != "CI"}  # telemetry is off under CI
    environment |= {"HOME": str(home), "USERPROFILE": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED + code], cwd=ROOT, env=environment,
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout.splitlines()


@has_openvino
def test_encoding_loads_no_torch_sends_nothing_and_writes_nothing_in_the_home_folder(tmp_path):
    code = (
        "from autocontext import generate_embeddings; from autocontext.encoders import default_encoder\n"
        "print(generate_embeddings(['salt']).shape, default_encoder().description)\n"
        "import time; time.sleep(1)\n"  # a message would be sent by a thread
        "heavy = ('torch', 'transformers', 'sentence_transformers', 'openvino_telemetry')\n"
        "print([name for name in heavy if name in sys.modules])\n"
        "print(seen)"
    )
    about, loaded, done = run_watched(code, tmp_path)
    assert "(1, 384) all-MiniLM-L6-v2 by OpenVINO" in about
    assert (loaded, done) == ("[]", "[]")
    assert list(tmp_path.iterdir()) == []


# --- many sessions --------------------------------------------------------------------------------------------------


class GatedRuntime:
    """Computes nothing, and waits at each step until the test lets it go on."""

    label, dimension, streams, step_tokens = "gated", 2, 1, 64

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.lanes: list[int] = []
        self.overlaps = False
        self._busy: set[int] = set()
        self.inside, self.go_on = threading.Semaphore(0), threading.Semaphore(0)

    def run(self, texts: Sequence[str], tokens: Sequence[Sequence[int]], stream: int) -> Vectors:
        self.overlaps |= stream in self._busy
        self._busy.add(stream)
        self.lanes.append(stream)
        self.steps.append(texts[0].split()[0])
        self.inside.release()
        assert self.go_on.acquire(timeout=20)
        self._busy.discard(stream)
        return np.full((len(texts), 2), len(tokens[0]), dtype=np.float32)


def wait_until_waiting(turns: Turns, count: int) -> None:
    deadline = time.monotonic() + 20
    while len(turns._waiting) < count:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_question_waits_for_one_step_of_a_long_indexing_only():
    encoder, runtime = LocalEncoder(), GatedRuntime()
    encoder._loaded = runtime
    indexing = threading.Thread(target=lambda: encoder.encode(["index " * 30] * 20))
    indexing.start()
    assert runtime.inside.acquire(timeout=20)  # the first step of ten
    other = threading.Thread(target=lambda: encoder.encode(["other " * 30] * 10))
    other.start()
    wait_until_waiting(encoder._turns, 1)
    question = threading.Thread(target=lambda: encoder.encode(["question"]))
    question.start()
    wait_until_waiting(encoder._turns, 2)
    for _ in range(100):
        runtime.go_on.release()
    for thread in (indexing, other, question):
        thread.join(20)
    assert runtime.steps[:2] == ["index", "question"]
    assert runtime.steps[2:11] == ["other", "index"] * 4 + ["other"]  # two who have much to do go on in turns
    assert sorted(runtime.steps) == ["index"] * 10 + ["other"] * 5 + ["question"]


def test_all_streams_work_at_once_and_each_on_one_step_at_a_time():
    encoder, runtime = LocalEncoder(), GatedRuntime()
    encoder._loaded = runtime
    encoder._turns.widen(3)
    results: list[Vectors] = []
    indexing = threading.Thread(target=lambda: results.append(encoder.encode(["index " * 30] * 20)))
    indexing.start()
    for _ in range(3):
        assert runtime.inside.acquire(timeout=20)
    assert sorted(runtime.lanes) == [0, 1, 2]
    question = threading.Thread(target=lambda: encoder.encode(["question"]))
    question.start()
    wait_until_waiting(encoder._turns, 1)
    runtime.go_on.release()
    assert runtime.inside.acquire(timeout=20)
    assert runtime.steps == ["index"] * 3 + ["question"], "it has the first stream that is free"
    for _ in range(100):
        runtime.go_on.release()
    for thread in (indexing, question):
        thread.join(20)
    assert results[0].tolist() == [[32, 32]] * 20, "each text has its vector, whichever stream computed it"
    assert not runtime.overlaps


def test_a_step_that_fails_ends_the_others_and_is_told_to_who_asked():
    turns, done = Turns(), []
    turns.widen(2)

    def work(lane: int, step: int) -> None:
        if step == 3:
            raise MemoryError
        done.append(step)

    with pytest.raises(MemoryError):
        turns.share(range(100), work, urgent=False)
    assert len(done) < 10
    assert "autocontext-encode" not in {thread.name for thread in threading.enumerate()}
    turns.share([5, 6], work, urgent=False)
    assert sorted(done)[-1] == 6


@pytest.mark.parametrize("backend", [pytest.param("openvino", marks=has_openvino), "sentence-transformers"])
def test_a_server_that_is_stopped_while_it_embeds_ends_in_peace(backend, tmp_path):
    code = (
        "import threading; from autocontext.encoders import LocalEncoder\n"
        "from autocontext.settings import EncoderOptions\n"
        f"encoder = LocalEncoder(EncoderOptions(backend={backend!r})); encoder.warm_up(); begun = threading.Event()\n"
        "def index():\n"
        "    while True: begun.set(); encoder.encode(['salt and tea ' * 10] * 200)\n"
        "threading.Thread(target=index, daemon=True).start(); begun.wait(20)\n"
        "import atexit; atexit.register(lambda: print(encoder.encode(['salt']).shape))"
    )
    assert run_watched(code, tmp_path) == ["(1, 384)"]


def test_a_turn_is_given_back_after_a_failure_and_by_one_who_no_longer_waits():
    turns = Turns()
    with pytest.raises(RuntimeError), turns.turn(urgent=False):
        raise RuntimeError
    with turns.turn(urgent=False):
        pass
    assert turns._waiting == []


def test_steps_hold_like_lengths_and_no_more_than_they_may():
    assert list(_steps([5, 100, 7, 6, 300], 24)) == [[4], [1], [2, 3, 0]]
    assert list(_steps([], 24)) == []
    assert list(_steps([8, 8, 8, 8], 16)) == [[0, 1], [2, 3]]
