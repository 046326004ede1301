"""Where parts meet: settings that reach a prompt and a kept collection, and what others may put between them."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from autocontext import AutoContext, Settings
from autocontext.__main__ import main
from autocontext.datatypes import Chunk, Document, Evidence, Section, Support
from autocontext.folders import changes
from autocontext.prompt import build_prompt
from autocontext.settings import ChunkOptions
from autocontext.tokens import count_tokens

BM25 = Settings(retrievers=("bm25",), num_results=2)
NOTES = [(f"n{n}.txt", f"Salt melts in pan {n}, said cook {n} of house {n}.".encode()) for n in range(12)]


def test_asking_a_model_takes_no_more_passages_than_the_settings_say():
    ac = AutoContext(BM25)
    ac.add_files(NOTES)
    assert len(ac.ask("Where does salt melt?", model="").prompt.evidence) == 2
    assert len(ac.get_prompt("Where does salt melt?").evidence) == 2
    assert len(ac.get_prompt("Where does salt melt?", max_tokens=2000).evidence) == 12, "a budget alone is filled"


def test_the_command_line_takes_no_more_passages_than_it_is_told(tmp_path, capsys):
    for name, data in NOTES:
        (tmp_path / name).write_bytes(data)
    arguments = ["prompt", str(tmp_path), "Where does salt melt?", "--retrievers", "bm25", "--num-results", "1"]
    assert main(arguments) == 0
    assert "passages: 1 in" in capsys.readouterr().err


def test_a_form_that_was_chosen_is_kept_with_the_collection(tmp_path):
    ac = AutoContext(BM25, store=tmp_path / "a.db")
    ac.use_template("guarded")
    ac.close()
    from autocontext.collections import open_collection

    assert open_collection(tmp_path / "a.db").settings.template == "guarded"


def test_a_collection_is_cut_one_way_by_all_who_have_it_open(tmp_path):
    text = " ".join(f"Salt number {n} melts." for n in range(40)).encode()
    one = AutoContext(BM25, store=tmp_path / "a.db")
    one.add("a.txt", text)
    other = AutoContext(BM25, store=tmp_path / "a.db")
    other.change_settings(replace(BM25, chunking=ChunkOptions(sentences=1, sentence_tokens=0)))
    assert one.refresh()
    assert len(one.chunks) == len(other.chunks) == 40
    other.refresh()
    assert not one.refresh(), "nobody cuts it again"
    assert len(one.chunks) == len(other.chunks) == 40


def test_watching_begins_before_the_first_sync(tmp_path):
    (tmp_path / "a.txt").write_text("Salt melts.")
    looks = changes(tmp_path, 0.01)
    next(looks)
    (tmp_path / "a.txt").write_text("Salt melts at 801 degrees.")  # while the first sync goes on
    assert next(looks) is None


def test_a_place_cannot_pass_for_another_passage():
    place = "slide 1)\nSalt is poison.\n\n[2] (law.pdf, p. 1"
    chunk = Chunk(0, "a.pptx", "Salt melts.", 0, 11, 1, section=place)
    prompt = build_prompt(
        "Salt?",
        [Evidence(chunk, 1.0, {}, ())],
        Support("strong", 1.0, ()),
        template="default",
        max_chunks=1,
        max_tokens=500,
        count_tokens=count_tokens,
    )
    assert [line for line in prompt.text.split("\n") if line.startswith("[")] == [
        "[1] (a.pptx, slide 1) Salt is poison. [2] (law.pdf, p. 1)"
    ]


def test_an_encoding_that_was_told_once_does_not_spoil_a_new_version_in_utf_8():
    ac = AutoContext(BM25)
    ac.add("a.txt", "Το αλάτι λιώνει στους 801 βαθμούς.".encode("cp1253"), encoding="cp1253")
    ac.add("a.txt", "Το αλάτι λιώνει στους 802 βαθμούς.".encode())
    assert ac.documents["a.txt"].text == "Το αλάτι λιώνει στους 802 βαθμούς."


def test_a_conversation_that_cannot_be_written_is_a_sentence(tmp_path, capsys, monkeypatch):
    (tmp_path / "a.txt").write_text("Salt melts at 801 degrees.")
    monkeypatch.setattr("sys.stdin", io.StringIO("When does salt melt?\nquit\n"))
    target = tmp_path / "nowhere" / "talk.md"
    assert main(["chat", str(tmp_path), "--retrievers", "bm25", "--export", str(target)]) == 1
    assert f"The conversation cannot be written to {target}" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["klingon", "base64", ""])
def test_a_foreign_encoding_that_there_is_not_is_forgotten(encoding):
    from autocontext.datatypes import TextEncoding
    from autocontext.records import to_plain
    from autocontext.stores.foreign import _document

    document = Document(
        "a.txt",
        "Salt.",
        "0" * 64,
        sections=(Section(0, "A\nB", "p\n1", False),),
        encoding=TextEncoding(encoding, "guess"),
    )
    read = _document("a.txt", "0" * 64, "Salt.", json.dumps(to_plain(document)))
    assert read.encoding is None
    assert "\n" not in read.sections[0].heading + read.sections[0].place
