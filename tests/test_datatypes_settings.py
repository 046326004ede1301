"""The records that flow through the library, and settings that refuse what cannot work."""

from __future__ import annotations

import math

import pytest

from autocontext import AutoContext, AutoContextError, Settings
from autocontext.datatypes import Chunk, Document, FileReport, ModelOptions, Report, Section
from autocontext.errors import SettingsError
from autocontext.settings import BM25Options, ChunkOptions, saved_settings_from_json, without_places


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ChunkOptions(sentences=0), "A passage needs at least 1 sentence, not 0."),
        (lambda: ChunkOptions(max_tokens=15), "A passage needs at least 16 tokens, not 15."),
        (lambda: BM25Options(k1=-0.1), "k1 must be 0 or more, not -0.1."),
        (lambda: BM25Options(k1=math.nan), "k1 must be 0 or more, not nan."),
        (lambda: BM25Options(b=1.01), "b must lie between 0 and 1, not 1.01."),
        (lambda: BM25Options(b=-1), "b must lie between 0 and 1, not -1."),
        (
            lambda: Settings(retrievers="bm25"),
            'retrievers is a tuple of names, for example ("bm25", "dense").',
        ),
        (lambda: Settings(retrievers=()), "At least one retriever is needed."),
        (lambda: Settings(retrievers=("bm25", "bm25")), "A retriever is named twice: ('bm25', 'bm25')."),
        (lambda: Settings(candidates=0), "candidates must be 1 or more, not 0."),
        (lambda: Settings(fusion="best"), "fusion is scores, ranks or union, not 'best'."),
        (lambda: Settings(weights={"bm25": -1.0}), "A weight is negative: {'bm25': -1.0}."),
        (
            lambda: Settings(weights={"bm25": 0, "dense": 0}),
            "Every retriever has weight 0: nothing could be found.",
        ),
        (lambda: Settings(num_results=0), "num_results must be 1 or more, not 0."),
        (lambda: Settings(max_tokens=0), "max_tokens must be 1 or more, not 0."),
    ],
)
def test_a_setting_that_cannot_work_is_refused_with_a_sentence(make, message):
    with pytest.raises(SettingsError) as caught:
        make()
    assert str(caught.value) == message
    assert isinstance(caught.value, AutoContextError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "make", [lambda: Settings(weights={"bm25": math.inf}), lambda: BM25Options(k1=math.inf)], ids=["weight", "k1"]
)
def test_an_infinite_setting_is_refused(make):
    with pytest.raises(SettingsError):
        make()


def test_the_edges_that_work_are_taken():
    settings = Settings(
        retrievers=("dense",),
        candidates=1,
        num_results=1,
        weights={"bm25": 0},
        bm25=BM25Options(k1=0, b=1),
        chunking=ChunkOptions(sentences=1, max_tokens=16),
    )
    assert (settings.fusion, settings.template, settings.max_tokens) == ("scores", "default", 3000)


def test_what_somebody_else_called_settings_can_be_shown():
    saved = saved_settings_from_json(without_places(r'{"\ud800\nmine": {"num_results": 3, "encoder": {"model": "x"}}}'))
    assert saved == {"\ufffd mine": Settings(num_results=3)}


def test_the_defaults_are_those_of_the_documentation():
    settings = Settings()
    assert settings.retrievers == ("bm25", "dense")
    assert (settings.bm25.k1, settings.bm25.b, settings.chunking.sentences) == (1.5, 0.75, 3)
    assert settings.encoder.model == "all-MiniLM-L6-v2"


def test_an_unknown_retriever_is_refused_when_the_collection_is_made():
    with pytest.raises(SettingsError, match=r"^There is no retriever 'bm26'; choose from bm25, dense.*\.$"):
        AutoContext(settings=Settings(retrievers=("bm25", "bm26")))


@pytest.mark.parametrize(
    ("statuses", "summary"),
    [
        ([], "nothing"),
        (["added"], "1 added"),
        (["added", "failed", "added", "unchanged", "added"], "3 added, 1 unchanged, 1 failed"),
    ],
)
def test_a_report_is_a_sequence_with_a_summary(statuses, summary):
    rows = [FileReport(f"{n}.txt", status) for n, status in enumerate(statuses)]
    report = Report(rows)
    assert report.summary == summary
    assert list(report) == rows
    assert report[1:] == tuple(rows[1:])
    assert repr(report) == f"Report({summary})"


def test_page_at_counts_pages_from_one():
    document = Document("a.pdf", "x" * 30, "", page_starts=(0, 10, 10, 20))
    assert [document.page_at(offset) for offset in (0, 9, 10, 19, 20, 29)] == [1, 1, 3, 3, 4, 4]
    assert Document("a.txt", "x", "").page_at(0) is None


@pytest.mark.parametrize(("page", "place"), [(None, "line 12"), (3, "p. 3")])
def test_a_chunk_tells_its_page_or_else_its_line(page, place):
    assert Chunk(0, "a", "Text.", 0, 5, line=12, page=page).place == place


def test_a_chunk_of_a_named_section_tells_its_name():
    assert Chunk(0, "a", "Text.", 0, 5, line=12, page=3, section="slide 3").place == "slide 3"


def test_section_at_returns_what_holds_the_offset():
    first, second = Section(5, "A"), Section(9, "B")
    document = Document("a.md", "x" * 20, "", sections=(first, second))
    assert [document.section_at(offset) for offset in (4, 5, 8, 9, 19)] == [None, first, first, second, second]


def test_a_key_is_never_shown():
    assert "secret" not in repr(ModelOptions(model="openai/x", api_key="secret"))
