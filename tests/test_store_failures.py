"""What goes wrong around a collection's file, with real conditions: a clear sentence, and what was there stays."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autocontext import AutoContext, Settings
from autocontext.errors import StoreError
from autocontext.settings import ChunkOptions
from autocontext.stores.sqlite import SQLiteStore
from tests.conftest import ROOT, HashEncoder

ONE = Settings(chunking=ChunkOptions(sentences=1, sentence_tokens=0))
SALT = b"Salt melts at 801 degrees."
PROGRAM = """
import sys, time
from pathlib import Path
from autocontext import AutoContext, Settings
from autocontext.settings import ChunkOptions
from tests.conftest import HashEncoder

class Counting(HashEncoder):
    def encode(self, texts):
        time.sleep(PAUSE)
        with open(sys.argv[3], "a") as log:
            log.writelines(text.replace(chr(10), " ") + chr(10) for text in texts)
        return super().encode(texts)

ac = AutoContext(Settings(chunking=ChunkOptions(sentences=1, sentence_tokens=0)), Counting(), sys.argv[2])
report = ac.add_folder(sys.argv[1])
print(report.summary, flush=True)
"""


def opened(path) -> tuple[AutoContext, HashEncoder]:
    encoder = HashEncoder()
    return AutoContext(ONE, encoder, path), encoder


def is_whole(path) -> bool:
    file = sqlite3.connect(path)
    answer = file.execute("pragma integrity_check").fetchone()
    file.close()
    return answer == ("ok",)


def start(folder, store, log, pause: float = 0.0, **options) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.replace("PAUSE", str(pause)), folder, store, log],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


def fill(folder, files: int, sentences: int) -> None:
    folder.mkdir()
    for n in range(files):
        text = "".join(f"Number {m} of note {n} is here. " for m in range(sentences))
        (folder / f"n{n:03}.txt").write_text(text)


# --- killed, and together ---


def test_killed_in_the_middle_it_goes_on_and_embeds_nothing_twice(tmp_path):
    folder, store, log = tmp_path / "notes", tmp_path / "notes.db", tmp_path / "log"
    fill(folder, 40, 20)
    first = start(folder, store, log, pause=0.05)
    deadline = time.monotonic() + 60
    while not log.is_file() or log.read_text().count("\n") < 300:
        assert time.monotonic() < deadline
        assert first.poll() is None, first.stderr.read()
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    before = log.read_text().splitlines()
    assert 300 <= len(before) < 800
    assert len(SQLiteStore(store).load()) == 40, "what was read is there, embedded or not"
    assert is_whole(store)

    second = start(folder, store, log)
    out, err = second.communicate(timeout=120)

    assert out.strip() == "40 unchanged", err
    texts = log.read_text().splitlines()
    assert len(set(texts)) == 800
    assert len(texts) - 800 <= 256, "at most the batch that was not yet written is embedded again"
    ac, encoder = opened(store)
    assert len(ac.chunks) == 800
    ac.search("number")
    assert encoder.texts_encoded == 1


def test_two_processes_fill_one_file_and_both_are_in_it(tmp_path):
    store = tmp_path / "notes.db"
    for name in ("one", "two"):
        fill(tmp_path / name, 15, 20)
    both = [start(tmp_path / name, store, tmp_path / f"{name}.log", pause=0.02) for name in ("one", "two")]
    for process in both:
        out, err = process.communicate(timeout=120)
        assert out.strip() == "15 added", err
    ac, encoder = opened(store)
    assert len(ac.documents) == 30
    assert len(ac.chunks) == 600
    assert is_whole(store)
    ac.search("number")
    assert encoder.texts_encoded == 1, "every vector is there"


class HastyConnection(sqlite3.Connection):
    """Fails as SQLite does, at once, while another process makes the log of the same new file."""

    failures = 2

    def execute(self, sql, *arguments):
        if "journal_mode" in sql and self.failures:
            self.failures -= 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY_RECOVERY
            raise error
        return super().execute(sql, *arguments)


def test_a_new_file_is_opened_though_another_program_makes_it_just_now(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=HastyConnection))
    with closing(SQLiteStore(tmp_path / "notes.db")) as store:
        assert store.load() == []
    monkeypatch.setattr(HastyConnection, "failures", 10**6)
    with pytest.raises(StoreError, match="Another program is writing to it"):
        SQLiteStore(tmp_path / "notes.db", busy_seconds=0.1)


def test_a_refresh_reads_only_what_is_other(tmp_path):
    ours, _ = opened(tmp_path / "notes.db")
    ours.add_files([("a.txt", SALT), ("b.txt", b"Tea steeps.")])
    before = ours.documents["a.txt"]
    theirs, _ = opened(tmp_path / "notes.db")
    theirs.add_files([("b.txt", b"Tea is hot."), ("c.txt", b"Cats sleep.")])
    assert ours.refresh()
    assert [(name, doc.text) for name, doc in ours.documents.items()] == [
        ("a.txt", SALT.decode()),
        ("b.txt", "Tea is hot."),
        ("c.txt", "Cats sleep."),
    ]
    assert ours.documents["a.txt"] is before


def no_progress(label: str, done: int, total: int) -> None:
    """Have what is cut in another way embedded at once."""


GREEK = "Το αλάτι λιώνει στους 801 βαθμούς.".encode("cp1253")
CHANGES = {
    "add": lambda ac: ac.add("a.txt", SALT),
    "change": lambda ac: ac.add("a.txt", b"Salt is white. It is salty."),
    "add another": lambda ac: ac.add("b.txt", GREEK, encoding="cp1253"),
    "decode in another way": lambda ac: ac.add("b.txt", GREEK, encoding="cp1251"),
    "remove": lambda ac: ac.remove_many([name for name in ("a.txt",) if name in ac.documents]),
    "remove and add": lambda ac: (ac.remove_many(list(ac.documents)), ac.add("b.txt", GREEK, encoding="cp1253")),
    "cut in another way": lambda ac: ac.change_settings(Settings(), progress=no_progress),
    "cut as before": lambda ac: ac.change_settings(ONE, progress=no_progress),
    "fail": lambda ac: ac.add("c.pdf", b"no pdf"),
}


@settings(max_examples=40)
@example([["change", "cut in another way"]])
@given(st.lists(st.lists(st.sampled_from(sorted(CHANGES)), max_size=3), min_size=1, max_size=4))
def test_after_a_refresh_a_collection_is_as_if_it_had_been_opened_now(rounds):
    with tempfile.TemporaryDirectory() as place:
        store = Path(place) / "notes.db"
        with closing(opened(store)[0]) as ours, closing(opened(store)[0]) as theirs:
            for names in rounds:
                for name in names:
                    CHANGES[name](theirs)
                ours.refresh()
                with closing(AutoContext(theirs.settings, HashEncoder(), store)) as fresh:
                    assert ours.chunks == fresh.chunks
                    assert list(ours.documents.values()) == list(fresh.documents.values())
                    assert (ours.unread, ours.settings.chunking) == (fresh.unread, theirs.settings.chunking)
                    found = [[(item.chunk, {*item.hits}) for item in ac.search("salt")] for ac in (ours, fresh)]
                    assert found[0] == found[1]


class GatedEncoder(HashEncoder):
    """Waits before it embeds any document."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.gate = threading.Event(), threading.Event()
        self.embedded: list[str] = []

    def encode(self, texts):
        self.embedded += texts
        self.reached.set()
        assert self.gate.wait(60)
        return super().encode(texts)


def test_a_question_does_not_wait_for_what_another_program_is_embedding(tmp_path):
    ours, encoder = opened(tmp_path / "notes.db")
    ours.add("a.txt", SALT)
    theirs = AutoContext(ONE, slow := GatedEncoder(), tmp_path / "notes.db")
    indexing = threading.Thread(target=theirs.add, args=("b.txt", b"Tea steeps for two minutes."))
    indexing.start()
    assert slow.reached.wait(60)
    ours.search("salt")
    embedded = encoder.texts_encoded

    assert ours.refresh()
    (found,) = ours.search("How long does tea steep?", 1)

    assert found.chunk.document == "b.txt"
    assert set(found.hits) == {"bm25"}
    assert encoder.texts_encoded == embedded + 1, "the question alone"
    assert ours.warnings[0].startswith("1 of 2 passages are found by their words only")
    slow.gate.set()
    indexing.join(60)
    assert ours.refresh()
    assert set(ours.search("How long does tea steep?", 1)[0].hits) == {"bm25", "dense"}
    assert ours.warnings == ()
    assert encoder.texts_encoded == embedded + 1, "their vectors are taken over"


def test_while_one_search_embeds_documents_are_added_and_words_are_searched(tmp_path):
    with closing(AutoContext(replace(ONE, retrievers=("bm25",)), store=tmp_path / "notes.db")) as words:
        words.add("a.txt", SALT)
    ac = AutoContext(store=tmp_path / "notes.db", settings=ONE, encoder=(slow := GatedEncoder()))
    searching = threading.Thread(target=ac.search, args=("salt",))
    searching.start()
    assert slow.reached.wait(60)
    reading = threading.Thread(target=ac.ranking, args=("bm25", "salt", 5))
    reading.start()
    reading.join(60)
    was_free = not reading.is_alive()
    slow.gate.set()
    for thread in (searching, reading):
        thread.join(60)
    assert was_free


def test_two_searches_that_find_nothing_embedded_embed_it_once(tmp_path):
    with closing(AutoContext(replace(ONE, retrievers=("bm25",)), store=tmp_path / "notes.db")) as words:
        words.add("a.txt", SALT)
    ac = AutoContext(store=tmp_path / "notes.db", settings=ONE, encoder=(slow := GatedEncoder()))
    searching = [threading.Thread(target=ac.ranking, args=("dense", "salt", 5)) for _ in range(3)]
    for thread in searching:
        thread.start()
    assert slow.reached.wait(60)
    time.sleep(0.2)  # the others are there as well
    slow.gate.set()
    for thread in searching:
        thread.join(60)
    assert slow.embedded.count(SALT.decode()) == 1


def test_what_another_process_wrote_is_seen_before_the_next_change_and_on_refresh(tmp_path):
    ours, _ = opened(tmp_path / "notes.db")
    theirs, _ = opened(tmp_path / "notes.db")
    assert not ours.refresh()
    theirs.add("a.txt", SALT)
    assert ours.refresh()
    assert ours.search("salt")[0].chunk.document == "a.txt"
    assert not ours.refresh()
    theirs.add("a.txt", b"Salt is white.")
    assert ours.add("b.txt", b"Tea steeps.").status == "added"
    assert ours.documents["a.txt"].text == "Salt is white."
    theirs.remove("b.txt")
    assert list(theirs.documents) == ["a.txt"]


def test_one_that_has_to_wait_too_long_says_so_and_loses_nothing(tmp_path):
    ac = AutoContext(ONE, HashEncoder(), SQLiteStore(tmp_path / "notes.db", busy_seconds=0.1))
    ac.add("a.txt", SALT)
    other = sqlite3.connect(tmp_path / "notes.db")
    other.execute("begin immediate")
    report = ac.add_files([("a.txt", b"Salt is white."), ("b.txt", b"Tea steeps."), ("c.exe", b"")])
    other.rollback()
    why = (
        f"The collection file {tmp_path / 'notes.db'} cannot be used. Another program is writing to it. Try again when "
        "that one is done, or close it."
    )
    assert [(row.status, row.reason, row.n_chunks) for row in report][:2] == [("failed", why, 1), ("failed", why, 0)]
    assert str(report.error) == why
    assert ac.documents["a.txt"].text == SALT.decode()
    assert ac.add_files([("b.txt", b"Tea steeps.")]).summary == "1 added"
    other.close()


# --- the disk ---


def test_a_full_disk_ends_the_batch_and_keeps_what_was_there(tmp_path):
    """A file system of its own, of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", place], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("this user may not make a file system")
    try:
        files = [(f"n{n}.txt", os.urandom(30_000).hex().encode()) for n in range(30)]
        larger = ["mount", "-o", "remount,size=16m", place]
        check_full_disk(place / "notes.db", files, lambda: subprocess.run(larger, check=True))
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_file_that_may_not_grow_is_like_a_full_disk(tmp_path):
    store = SQLiteStore(tmp_path / "notes.db")
    store._connection.execute("pragma max_page_count = 150")
    files = [(f"n{n}.txt", os.urandom(20_000).hex().encode()) for n in range(30)]
    check_full_disk(store, files, lambda: store._connection.execute("pragma max_page_count = 100000"))


def check_full_disk(store, files, make_room) -> None:
    with closing(AutoContext(Settings(retrievers=("bm25",)), store=store)) as ac:
        path = ac._store.path
        held = fill_until_full(ac, files)
        make_room()
        report = ac.add_files(files)
        assert report.error is None
        assert [row.status for row in report] == ["unchanged" if row.name in held else "added" for row in report]
    with closing(AutoContext(Settings(retrievers=("bm25",)), store=path)) as again:
        assert len(again.documents) == 31
        assert again.search("salt")[0].chunk.document == "a.txt"
    assert is_whole(path)


def fill_until_full(ac, files) -> set[str]:
    assert ac.add("a.txt", SALT).status == "added"
    report = ac.add_files(files)
    assert isinstance(report.error, StoreError)
    assert re.search(r"The disk (is full|did not take it).*What was kept before is as it was", str(report.error))
    assert len(report) == 30
    assert {row.status for row in report} <= {"added", "failed"}
    assert all(row.reason == str(report.error) for row in report if row.status == "failed")
    assert ac.search("salt")[0].chunk.document == "a.txt"
    held = {"a.txt", *(row.name for row in report if row.status == "added")}
    assert set(ac.documents) == held
    return held


def as_nobody(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run Python as a user whom the permissions of files mean something to: they do not stop root."""
    beginning = "import os, sys; from autocontext.stores.sqlite import SQLiteStore\n"
    if os.getuid() == 0:
        beginning += "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
    return subprocess.run(
        [sys.executable, "-c", beginning + code, *map(str, arguments)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def public(tmp_path):
    """Return a folder that another user can reach."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and folder.is_relative_to("/tmp") and folder.name != "tmp":
            folder.chmod(0o755)
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of another kind")
def test_a_folder_that_may_not_be_written_to_is_said(public):
    (public / "mine").mkdir()
    (public / "mine").chmod(0o555)
    done = as_nobody("SQLiteStore(sys.argv[1])", public / "mine" / "notes.db")
    assert done.returncode == 1
    said = (
        f"The collection file {public / 'mine' / 'notes.db'} cannot be used. It is not there, or its folder may not be"
    )
    assert said in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of another kind")
def test_a_file_that_may_not_be_written_is_said_and_left_alone(public):
    ac, _ = opened(public / "notes.db")
    ac.add("a.txt", SALT)
    ac.close()
    (public / "notes.db").chmod(0o444)
    public.chmod(0o755)
    before = (public / "notes.db").read_bytes()
    done = as_nobody("SQLiteStore(sys.argv[1]).put('key', 'value')", public / "notes.db")
    assert done.returncode == 1
    assert re.search(r"StoreError: The collection file .* It (may not be written to|is not there, or)", done.stderr)
    assert (public / "notes.db").read_bytes() == before


def test_a_damaged_file_is_said(tmp_path):
    ac, _ = opened(tmp_path / "notes.db")
    ac.add_files([(f"n{n}.txt", f"Note {n}. ".encode() * 200) for n in range(20)])
    ac.close()
    data = bytearray((tmp_path / "notes.db").read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    (tmp_path / "notes.db").write_bytes(data)
    with pytest.raises(StoreError, match=r"The file is damaged\. Take a copy from a backup, or add the files to a new"):
        opened(tmp_path / "notes.db")
    assert (tmp_path / "notes.db").read_bytes() == bytes(data)


def test_a_file_that_was_deleted_is_not_written_on(tmp_path):
    ac, _ = opened(tmp_path / "notes.db")
    ac.add("a.txt", SALT)
    for file in tmp_path.iterdir():
        file.unlink()
    with pytest.raises(StoreError, match="was deleted or moved"):
        ac.refresh()
    with pytest.raises(StoreError, match="was deleted or moved"):
        ac.remove("a.txt")
    assert list(ac.documents) == ["a.txt"]
    assert list(tmp_path.iterdir()) == []


# --- another model, another tokenizer ---


def test_another_model_is_told_and_embeds_the_kept_texts(tmp_path):
    ac, _ = opened(tmp_path / "notes.db")
    ac.add("a.txt", SALT)
    ac.close()
    other = HashEncoder()
    other.name = "other"
    again = AutoContext(ONE, other, tmp_path / "notes.db")
    assert again.notes == (
        "The passages had vectors of the model hash-64; those of other are made where they are missing, from the kept "
        "texts.",
    )
    again.search("salt")
    assert other.texts_encoded == 2


def test_another_tokenizer_is_told(tmp_path, monkeypatch):
    ac, _ = opened(tmp_path / "notes.db")
    ac.add("a.txt", SALT)
    ac.close()
    monkeypatch.setattr("autocontext.engine.tokenizer_version", lambda: "another")
    again, _ = opened(tmp_path / "notes.db")
    assert again.notes == ("Words are told apart in another way than before: the keyword index was made again.",)
    assert opened(tmp_path / "notes.db")[0].notes == ()


def test_going_back_to_an_earlier_way_of_cutting_leaves_a_vector_of_every_passage_in_the_file(tmp_path):
    one, two = (Settings(chunking=ChunkOptions(sentences=n, sentence_tokens=0)) for n in (1, 2))
    ac = AutoContext(one, HashEncoder(), tmp_path / "kept.db")
    files = [(f"{n}.txt", f"Sentence {n}.".encode()) for n in range(30)]
    ac.add_files([*files, ("long.txt", b"Salt melts. Tea steeps.")])
    for used in (two, one):
        ac.change_settings(used, progress=lambda _label, _done, _total: None)
        ac.add_files([])  # vectors that no passage has are let go of
    ac.close()
    encoder = HashEncoder()
    AutoContext(one, encoder, tmp_path / "kept.db").search("salt")
    assert encoder.texts_encoded == 1, "the question"
