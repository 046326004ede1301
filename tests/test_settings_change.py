"""What a change of settings costs is said before it is made, and is what it then costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autocontext import AutoContext, Settings
from autocontext.errors import SettingsError
from autocontext.settings import BM25Options, ChunkOptions, EncoderOptions, LimitOptions
from autocontext.settings_change import Cost, cost_of_change

FILES = {f"n{n}.txt": f"Note {n} is about salt. It melts at 801 degrees. It tastes salty. " * 3 for n in range(6)}
NOTHING = "This costs nothing: nothing is cut or embedded again."


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"num_results": 2},
        {"fusion": "union"},
        {"weights": {"dense": 0.1}},
        {"bm25": BM25Options(k1=2.0)},
        {"template": "seed"},
        {"retrievers": ("bm25",)},
    ],
    ids=lambda change: " ".join(change) or "none",
)
def test_most_changes_cost_nothing(make_context, change):
    ac = make_context(FILES)
    cost = cost_of_change(ac.settings, replace(ac.settings, **change), ac)
    assert (cost, cost.told) == (Cost(), NOTHING)


def test_what_is_said_of_another_cut_is_what_it_then_costs(make_context, encoder):
    ac = make_context(FILES)
    after = replace(ac.settings, chunking=ChunkOptions(sentences=1, sentence_tokens=0))
    encoded = encoder.texts_encoded
    cost = cost_of_change(ac.settings, after, ac)
    assert encoder.texts_encoded == encoded
    assert cost.told == f"This cuts 6 documents again and embeds {cost.passages} passages at most."

    ac.change_settings(after)
    ac.warm_up()
    assert len(ac.chunks) == 54
    assert cost.passages == 54
    assert encoder.texts_encoded - encoded <= cost.passages


def test_passages_that_stay_are_not_counted(make_context):
    ac = make_context({"a.txt": "Salt melts.", **FILES})
    after = replace(ac.settings, chunking=ChunkOptions(sentences=1, sentence_tokens=0))
    assert cost_of_change(ac.settings, after, ac).passages == 54  # the note of one sentence stays as it is


def test_without_the_dense_retriever_nothing_is_embedded(make_context):
    ac = make_context(FILES, retrievers=("bm25",))
    after = replace(ac.settings, chunking=ChunkOptions(sentences=1, sentence_tokens=0))
    assert cost_of_change(ac.settings, after, ac).told == "This cuts 6 documents again."


def test_a_retriever_that_comes_in_embeds_all_passages(make_context):
    ac = make_context(FILES, retrievers=("bm25",))
    cost = cost_of_change(ac.settings, replace(ac.settings, retrievers=("bm25", "dense")), ac)
    assert cost == Cost(passages=len(ac.chunks))
    assert cost_of_change(ac.settings, replace(ac.settings, retrievers=("dense",)), ac) == Cost(passages=len(ac.chunks))


def test_a_retriever_that_had_no_weight_embeds_all_passages_too(make_context):
    ac = make_context(FILES, weights={"dense": 0.0})
    assert cost_of_change(ac.settings, Settings(), ac) == Cost(passages=len(ac.chunks))


@pytest.mark.parametrize("change", [{"backend": "sentence-transformers"}, {"allow_download": False}], ids=str)
def test_what_changes_no_vector_embeds_nothing(make_context, change):
    ac = make_context(FILES)
    after = replace(ac.settings, encoder=EncoderOptions(**change))
    assert cost_of_change(ac.settings, after, ac) == Cost(documents=6)


def test_a_large_collection_is_judged_by_a_part_of_it(make_context, monkeypatch):
    ac = make_context(FILES)
    monkeypatch.setattr("autocontext.settings_change._SAMPLE", 400)
    after = replace(ac.settings, chunking=ChunkOptions(sentences=1, sentence_tokens=0))
    cost = cost_of_change(ac.settings, after, ac)
    assert cost.told == "This cuts 6 documents again and embeds about 54 passages at most."


def test_a_long_document_is_judged_by_its_beginning(make_context, monkeypatch):
    ac = make_context({"long.txt": "Salt melts at 801 degrees. It tastes of the sea. " * 4_000})
    after = replace(ac.settings, chunking=ChunkOptions(sentences=1, sentence_tokens=0))
    lengths = []
    cut = AutoContext.cut
    monkeypatch.setattr("autocontext.settings_change._SAMPLE", 20_000)
    monkeypatch.setattr(
        AutoContext, "cut", lambda ac, document: lengths.append(len(document.text)) or cut(ac, document)
    )
    cost = cost_of_change(ac.settings, after, ac)
    assert lengths == [20_000]
    assert cost.is_estimate
    assert abs(cost.passages - 8_000) < 80, "one percent"
    assert cost.told == f"This cuts 1 document again and embeds about {cost.passages:,} passages at most."


def test_a_long_document_that_stays_as_it_is_cut_costs_nothing(make_context, monkeypatch):
    ac = make_context({"long.txt": "Salt melts at 801 degrees. It tastes of the sea. " * 4_000})
    monkeypatch.setattr("autocontext.settings_change._SAMPLE", 20_000)
    after = replace(ac.settings, chunking=replace(ac.settings.chunking, max_tokens=1_000))
    assert cost_of_change(ac.settings, after, ac).passages == 0


def test_a_model_that_is_not_there_is_told_and_nothing_is_fetched(sample, tmp_path):
    absent = replace(sample.settings, encoder=EncoderOptions(model="no-such-model", allow_download=False))
    cost = cost_of_change(sample.settings, absent, sample)
    assert cost.warning.startswith("The embedding model no-such-model is not on this machine.")
    assert cost.documents == len(sample.documents)

    fetched = replace(absent, encoder=EncoderOptions(model="no-such-model"))
    assert cost_of_change(sample.settings, fetched, sample).warning == (
        "The embedding model no-such-model is not on this machine: it will be downloaded."
    )
    folder = replace(absent, encoder=EncoderOptions(folder=Path(tmp_path)))
    assert "holds no embedding model" in cost_of_change(sample.settings, folder, sample).warning


def test_new_limits_hold_for_files_to_come(make_context):
    ac = make_context(FILES)
    cost = cost_of_change(ac.settings, replace(ac.settings, limits=LimitOptions(files=3)), ac)
    assert cost.told == (
        f"{NOTHING} New limits hold for files that are read from now on; what is in stays as it was read."
    )


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (None, ""),
        (0.2, " (less than a second)"),
        (1.2, " (about 1 second)"),
        (42, " (about 42 seconds)"),
        (600, " (about 10 minutes)"),
    ],
)
def test_the_time_is_told_where_the_speed_is_known(seconds, told):
    assert Cost(passages=1200, seconds=seconds).told == f"This embeds 1,200 passages at most{told}."


def test_the_speed_is_that_of_the_last_batch(sample):
    sample.warm_up()
    sample.variant(Settings(chunking=ChunkOptions(sentences=6))).warm_up()
    after = replace(sample.settings, chunking=ChunkOptions(sentences=2))
    cost = cost_of_change(sample.settings, after, sample)
    fresh = [
        c
        for c in sample.variant(after).chunks
        if (c.document, c.start, c.end) not in {(o.document, o.start, o.end) for o in sample.chunks}
    ]
    assert cost.passages == len(fresh)
    assert cost.seconds == pytest.approx(sum(len(c.text) for c in fresh) / sample.embedding_speed)


def test_settings_that_name_what_there_is_not_are_refused(make_context):
    ac = make_context(FILES)
    with pytest.raises(SettingsError, match="no retriever 'bm26'"):
        cost_of_change(ac.settings, Settings(retrievers=("bm26",)), ac)
