"""Settings as a TOML file: what is written is read back exactly, and no mistake is passed over."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from autocontext import Settings
from autocontext.__main__ import main
from autocontext.errors import SettingsError
from autocontext.settings import BM25Options, ChunkOptions, EncoderOptions, LimitOptions, PdfOptions
from autocontext.settings_explained import EXPLAINED, setting_of, setting_paths
from autocontext.settings_file import read_settings_file, settings_from_toml, settings_to_toml
from autocontext.templates import problems

ALL_CHANGED = Settings(
    retrievers=("dense",),
    candidates=20,
    fusion="union",
    weights={"dense": 0.1, "my own": 3.0},
    template='Say "{query}" \\ of\n{context}\n\x7f\u00e9\u65e5\U0001f600"""',
    num_results=7,
    max_tokens=900,
    chunking=ChunkOptions(sentences=4, sentence_tokens=0, overlap=2, max_tokens=100),
    bm25=BM25Options(k1=1.2, b=0.5),
    encoder=EncoderOptions(model="other", folder=Path("models/o"), allow_download=False),
    pdf=PdfOptions(seconds=5.5, max_pages=3, memory_megabytes=400, ocr=True),
    limits=LimitOptions(file_megabytes=1.5, files=3, megabytes=4, seconds=5, originals_megabytes=0),
)


@pytest.mark.parametrize("settings", [Settings(), ALL_CHANGED], ids=["defaults", "all changed"])
def test_what_is_written_is_read_back_exactly(settings):
    assert settings_from_toml(settings_to_toml(settings)) == settings


@given(text=st.text(st.characters(exclude_categories=["Cs"])), weight=st.floats(0, 1e300), name=st.text(min_size=1))
def test_every_text_and_number_survives(text, weight, name):
    template = text.replace("{", "{{").replace("}", "}}").replace("\r", " ") + " {query} {context}"
    settings = dataclasses.replace(Settings(), template=template, weights={"bm25": 1.0, name: weight})
    assume(not problems(template))  # a text that looks like a marker of the context
    assert settings_from_toml(settings_to_toml(settings)) == settings


def test_a_file_names_every_setting_and_says_what_it_means():
    text = settings_to_toml(ALL_CHANGED)
    plain = tomllib.loads(text)
    for path in setting_paths():
        table, _, name = path.rpartition(".")
        assert name in (plain[table] if table else plain), path
        assert EXPLAINED[path].text[:60] in text.replace("\n# ", " "), path


def test_every_setting_is_explained_and_nothing_else():
    assert set(EXPLAINED) == set(setting_paths())
    assert setting_of(Settings(), "bm25.k1") == 1.5


def test_what_is_not_named_has_its_default():
    assert settings_from_toml("[bm25]\nk1 = 2\n") == Settings(bm25=BM25Options(k1=2.0))
    assert settings_from_toml("") == Settings()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("numresults = 3", "There is no setting 'numresults'; did you mean num_results?"),
        ("[chunking]\nsentence = 3", "There is no setting 'chunking.sentence'; did you mean chunking.sentences?"),
        ("[bm25]\nzzz = 1", "There is no setting 'bm25.zzz'; known: bm25.k1, bm25.b."),
        ("candidates = 'many'", "candidates cannot be 'many'; its default is 300."),
        ("candidates = 1.5", "candidates cannot be 1.5; its default is 300."),
        ("num_results = true", "num_results cannot be True; its default is 5."),
        ("chunking = 3", "chunking is a table: write [chunking] and its settings below."),
        ("[chunking]\noverlap = 3", "The overlap must be 0 or more and below the 3 sentences of a passage, not 3."),
        ("template = 'nope'", "There is no template 'nope'; choose from default, seed, guarded."),
        ("num_results = 0", "num_results must be 1 or more, not 0."),
        (f"num_results = {2**53}", f"num_results cannot be {2**53}; its default is 5."),
        (f"[bm25]\nk1 = {'9' * 400}", f"bm25.k1 cannot be {'9' * 400}; its default is 1.5."),
        ("a = [", "This is no TOML: Invalid value (at end of document)."),
    ],
)
def test_a_mistake_is_a_sentence_that_names_it(text, sentence):
    with pytest.raises(SettingsError, match=f"^{re.escape(sentence)}$"):
        settings_from_toml(text)


def test_a_number_of_thousands_of_digits_is_no_number_here():
    with pytest.raises(SettingsError, match=r"^This is no TOML: "):
        settings_from_toml(f"num_results = {'9' * 5000}")


def test_all_mistakes_are_told_at_once():
    with pytest.raises(SettingsError, match=r"'x'.*candidates.*'bm25\.y'"):
        settings_from_toml("x = 1\ncandidates = ''\n[bm25]\ny = 1\n")


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "latin.toml").write_bytes(b"# \xe9")
    (tmp_path / "bad.toml").write_text("x = 1")
    (tmp_path / "huge.toml").write_text("#" * 1_000_001)
    for name, told in (
        ("none.toml", "cannot be read: No such file or directory."),
        ("latin.toml", "cannot be read: it is no UTF-8 text."),
        ("huge.toml", "is too large to be one."),
        ("bad.toml", "cannot be used. There is no setting 'x'"),
    ):
        with pytest.raises(SettingsError, match=re.escape(f"The settings file {tmp_path / name} {told}")):
            read_settings_file(tmp_path / name)


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "a.toml").write_text("num_results = 2", "utf-8-sig")
    assert read_settings_file(tmp_path / "a.toml").num_results == 2


def test_the_command_line_takes_a_settings_file_and_options_over_it(tmp_path, capsys):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "salt.txt").write_text("Salt melts at 801 degrees.")
    (tmp_path / "own.toml").write_text('retrievers = ["bm25"]\nmax_tokens = 500\ntemplate = "seed"\n')
    command = ["prompt", str(notes), "When does salt melt?", "--settings", str(tmp_path / "own.toml")]

    assert main(command) == 0
    out, err = capsys.readouterr()
    assert "Not in the documents" not in out
    assert "of 500 tokens" in err

    assert main([*command, "--max-tokens", "400", "--template", "default"]) == 0
    out, err = capsys.readouterr()
    assert "Not in the documents" in out
    assert "of 400 tokens" in err

    (tmp_path / "own.toml").write_text("max_token = 500")
    assert main(command) == 1
    assert "There is no setting 'max_token'; did you mean max_tokens?" in capsys.readouterr().err
