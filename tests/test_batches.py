"""Batches: a row a file, what a bad, slow or huge one costs, limits, and names."""

from __future__ import annotations

import threading
import time
import unicodedata

import pytest

from autocontext import AutoContext, Settings, loaders
from autocontext.datatypes import Document
from autocontext.naming import MAX_LENGTH, label, relative
from autocontext.reading import in_order
from autocontext.settings import ChunkOptions, LimitOptions
from tests.conftest import HashEncoder

SALT = b"Salt melts at 801 degrees."


def rows(report):
    return [(row.name, row.status, row.reason) for row in report]


@pytest.fixture
def slow_loader(monkeypatch):
    """Files whose text begins with "slow" are read only when the gate opens; "bug" is a loader's own fault."""
    gate, load = threading.Event(), loaders.load

    def loaded(name: str, data: bytes, *_rest: object) -> Document:
        if data.startswith(b"slow"):
            gate.wait(30)
        if data.startswith(b"bug"):
            raise TypeError("of the loader")
        return load(name, data)

    monkeypatch.setattr(loaders, "load", loaded)
    yield gate
    gate.set()


# --- one file does not hold up the others ---


def test_a_slow_file_is_overtaken_and_the_others_can_be_asked_meanwhile(make_context, slow_loader):
    ac = make_context()
    files = [("a.txt", SALT), ("b.txt", b"slow. It comes late."), *((f"c{n}.txt", b"Tea %d." % n) for n in range(20))]
    reports = []
    worker = threading.Thread(target=lambda: reports.append(ac.add_files(files)))
    worker.start()
    deadline = time.monotonic() + 20
    while len(ac.documents) < 21:
        assert time.monotonic() < deadline, list(ac.documents)
        time.sleep(0.02)
    assert ac.search("When does salt melt?")[0].chunk.document == "a.txt"
    assert "b.txt" not in ac.documents
    slow_loader.set()
    worker.join(20)
    assert [row.name for row in reports[0]] == [name for name, _ in files]
    assert {row.status for row in reports[0]} == {"added"}
    assert list(ac.documents)[-1] == "b.txt"


def test_a_file_over_its_time_is_given_up(make_context, slow_loader):
    ac = make_context(limits=LimitOptions(seconds=0.3))
    report = ac.add_files([("a.txt", b"slow"), ("b.txt", SALT)])
    assert rows(report) == [
        ("a.txt", "failed", "Not read within 0.3 seconds: split it."), ("b.txt", "added", ""),
    ]  # fmt: skip
    assert list(ac.documents) == ["b.txt"]


def test_a_loaders_own_fault_costs_its_file(make_context, slow_loader):
    report = make_context().add_files([("a.txt", b"bug"), ("b.txt", SALT)])
    assert rows(report) == [("a.txt", "failed", "It could not be read (TypeError)."), ("b.txt", "added", "")]


def test_documents_are_found_by_their_words_before_they_are_embedded():
    seen = []

    class Watching(HashEncoder):
        def encode(self, texts):
            if len(texts) > 1:
                seen.append((len(ac.documents), set(ac.search("Sentence 0-7")[0].hits)))
            return super().encode(texts)

    ac = AutoContext(Settings(chunking=ChunkOptions(sentences=1, sentence_tokens=0)), Watching())
    text = "".join(f"Sentence {{n}}-{n}. " for n in range(50))
    ac.add_files([(f"{n}.txt", text.replace("{n}", str(n)).encode()) for n in range(40)])
    assert seen[0][0] > 0
    assert seen[0][1] == {"bm25"}
    assert [count for count, _ in seen] == sorted(count for count, _ in seen)
    assert set(ac.search("Sentence 0-7")[0].hits) == {"bm25", "dense"}


def test_a_prompt_can_be_had_before_anything_is_embedded():
    prompts = []

    class Asking(HashEncoder):
        def encode(self, texts):
            if not prompts:
                prompts.append(None)
                prompts[0] = ac.get_prompt("When does salt melt?")
            return super().encode(texts)

    ac = AutoContext(encoder=Asking())
    ac.add_files([("a.txt", SALT), ("b.txt", b"Tea steeps.")])
    assert [set(item.hits) for item in prompts[0].evidence] == [{"bm25"}]
    assert prompts[0].support.level == ac.get_prompt("When does salt melt?").support.level


def test_a_huge_document_is_embedded_after_the_others():
    texts = []

    class Listening(HashEncoder):
        def encode(self, given):
            texts.extend(given)
            return super().encode(given)

    ac = AutoContext(Settings(chunking=ChunkOptions(sentences=1, sentence_tokens=0)), Listening())
    huge = "".join(f"Line {n}. " for n in range(2100)).encode()
    report = ac.add_files([("huge.txt", huge), ("a.txt", SALT), ("b.txt", b"Tea steeps.")])
    assert [row.name for row in report] == ["huge.txt", "a.txt", "b.txt"]
    assert sorted(texts[:2]) == ["Salt melts at 801 degrees.", "Tea steeps."]
    assert len(texts) == 2102


def test_calls_come_in_order_and_a_late_one_when_it_is_done():
    gate = threading.Event()
    calls = [lambda: "a", lambda: gate.wait(10) and "late", lambda: "c", lambda: gate.set() or "d", lambda: "e"]
    got = list(in_order(calls, patience=0.2, threads=1))
    assert sorted(got) == [(0, "a"), (1, "late"), (2, "c"), (3, "d"), (4, "e")]
    assert [index for index, _ in got if index != 1] == [0, 2, 3, 4]


def test_many_slow_calls_hold_up_nobody():
    gate = threading.Event()
    calls = [*(lambda: gate.wait(20) for _ in range(5)), *(lambda n=n: n for n in range(50))]
    got = []
    started = time.monotonic()
    for index, result in in_order(calls, patience=0.05):
        got.append((index, result))
        if len(got) == 50:
            assert time.monotonic() - started < 10
            gate.set()
    assert got[:50] == [(n + 5, n) for n in range(50)]
    assert sorted(got[50:]) == [(n, True) for n in range(5)]


def test_a_stop_ends_the_waiting_for_a_slow_call():
    gate = threading.Event()
    started = time.monotonic()
    assert list(in_order([lambda: gate.wait(20)], should_stop=lambda: time.monotonic() - started > 0.2)) == []
    assert time.monotonic() - started < 5
    gate.set()


# --- limits ---


def test_what_is_over_a_limit_gets_a_row_that_says_so(make_context, tmp_path):
    ac = make_context(limits=LimitOptions(file_megabytes=0.0001, files=2, megabytes=0.0002))
    (tmp_path / "large.txt").write_bytes(b"x" * 101)
    report = ac.add_files(
        [
            ("a.txt", SALT),
            ("large.txt", tmp_path / "large.txt"),
            ("b.txt", b"Tea."),
            ("c.txt", b"Cats."),
        ]
    )
    over = "Over 2 files or 0.0002 MB at once: add it in another round."
    assert rows(report) == [
        ("a.txt", "added", ""), ("large.txt", "skipped", "Larger than 0.0001 MB: split it."),
        ("b.txt", "added", ""), ("c.txt", "skipped", over),
    ]  # fmt: skip
    again = ac.add_files([("a.txt", SALT), ("b.txt", b"Tea."), ("c.txt", b"Cats.")])
    assert [row.status for row in again] == ["unchanged", "unchanged", "added"], "what is in does not count"


def test_the_size_of_a_batch_is_limited_too(make_context):
    ac = make_context(limits=LimitOptions(megabytes=0.00004))
    report = ac.add_files([("a.txt", SALT), ("b.txt", SALT + b" "), ("c.txt", b"Tea.")])
    assert [row.status for row in report] == ["added", "skipped", "added"]


@pytest.mark.parametrize("name", ["file_megabytes", "files", "megabytes", "seconds"])
def test_a_limit_of_nothing_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be above 0, not 0"):
        LimitOptions(**{name: 0})


# --- files that are alike ---


def test_the_same_content_under_two_names_is_two_documents_and_said(make_context, encoder):
    ac = make_context()
    report = ac.add_files([("a.txt", SALT), ("sub/b.txt", SALT)])
    assert rows(report) == [("a.txt", "added", ""), ("sub/b.txt", "added", "The same content as a.txt.")]
    assert encoder.texts_encoded == 1
    assert [item.chunk.document for item in ac.search("salt")] == ["a.txt", "sub/b.txt"]


def test_two_different_files_of_one_name_are_both_kept_and_keep_their_numbers(make_context):
    ac = make_context()
    apples, bananas = ("readme.md", b"Apples are red."), ("readme.md", b"Bananas are yellow.")
    said = "One of 2 different files named readme.md."
    assert rows(ac.add_files([apples, bananas])) == [
        ("readme.md", "added", said), ("readme (2).md", "added", said),
    ]  # fmt: skip
    again = ac.add_files([bananas, apples])
    assert {(row.name, row.status) for row in again} == {("readme.md", "unchanged"), ("readme (2).md", "unchanged")}
    assert ac.documents["readme.md"].text == "Apples are red."
    changed = ac.add_files([("readme.md", b"Apples are green."), bananas])
    assert {(row.name, row.status) for row in changed} == {("readme.md", "changed"), ("readme (2).md", "unchanged")}


def test_a_file_given_twice_is_taken_once_and_that_is_said(make_context):
    report = make_context().add_files([("a.txt", SALT), ("a.txt", SALT), ("b.txt", b"Tea.")])
    assert [row.name for row in report] == ["a.txt", "b.txt"]
    assert report.notes == ("1 file was given twice and taken once.",)


# --- names ---


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("a\nb\x00c\x85.txt", "a b c .txt"),
        ("evil\u202efdp.txt", "evil\ufffdfdp.txt"),
        ("zero\u200bwidth.txt", "zero\ufffdwidth.txt"),
        ("lone\udce9.txt", "lone\ufffd.txt"),
        ("Cafe\u0301.txt", "Café.txt"),
        ("CON.txt", "CON.txt"),
        ("dots. . .txt", "dots. . .txt"),
        ("../../etc/passwd.txt", "../../etc/passwd.txt"),
        ("👩\u200d👩\u200d👧.txt", "👩\u200d👩\u200d👧.txt"),
        (" \t", "unnamed"),
        ("", "unnamed"),
    ],
)
def test_a_name_is_a_label_on_one_line_without_deceiving_marks(given, kept):
    assert label(given) == kept
    assert label(kept) == kept


def test_long_names_stay_apart_and_keep_their_suffix(make_context):
    ac = make_context()
    first, second = ("x" * 500 + middle + "y" * 500 + ".txt" for middle in "ab")
    ac.add_files([(first, SALT), (second, b"Tea.")])
    assert len(ac.documents) == 2
    assert all(len(name) <= MAX_LENGTH and name.endswith(".txt") for name in ac.documents)
    assert ac.add(first, SALT).status == "unchanged"


def test_case_tells_names_apart_and_the_form_of_accents_does_not(make_context):
    ac = make_context({"Readme.md": "One.", "README.md": "Two."})
    assert list(ac.documents) == ["Readme.md", "README.md"]
    ac.add("caf\u00e9.txt", SALT)
    assert ac.add(unicodedata.normalize("NFD", "caf\u00e9.txt"), SALT).status == "unchanged"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/x.txt", "etc/x.txt"), ("C:\\Users\\me\\a.txt", "C:/Users/me/a.txt"),
        ("/abs/./a//b.txt", "abs/a/b.txt"), ("..", "unnamed"),
    ],
)  # fmt: skip
def test_a_name_from_a_browser_leads_nowhere_up(given, kept):
    assert relative(given) == kept


# --- folders ---


def test_a_folder_is_kept_in_step_and_a_renamed_file_embeds_nothing(make_context, encoder, tmp_path):
    root = tmp_path / "notes"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_bytes(b"Salt\n\n" + SALT)  # without a title of its own, a text is found by its file's name
    (root / "b.txt").write_bytes(b"Tea steeps. ")
    ac = make_context()
    ac.add_folder(root)
    encoded = encoder.texts_encoded
    (root / "a.txt").rename(root / "sub" / "salt.txt")
    report = ac.add_folder(root)
    assert rows(report) == [
        ("notes/b.txt", "unchanged", ""), ("notes/sub/salt.txt", "added", "Renamed from notes/a.txt."),
        ("notes/a.txt", "removed", ""),
    ]  # fmt: skip
    assert encoder.texts_encoded == encoded


def test_what_is_left_alone_in_a_folder_is_counted(make_context, tmp_path):
    root = tmp_path / "notes"
    (root / ".git").mkdir(parents=True)
    for name in (".git/config.txt", ".hidden.txt", "~$lock.txt", "a.txt"):
        (root / name).write_bytes(SALT)
    (root / "link.txt").symlink_to(root / "a.txt")
    (root / "loop").symlink_to(root)
    report = make_context().add_folder(root)
    assert [row.name for row in report] == ["notes/a.txt"]
    assert report.notes == ("3 hidden files and folders and 2 symbolic links left alone.",)


def test_two_folders_of_one_name_do_not_remove_each_others_documents(make_context, tmp_path):
    for parent, text in (("x", SALT), ("y", b"Tea steeps.")):
        (tmp_path / parent / "notes").mkdir(parents=True)
        (tmp_path / parent / "notes" / f"{parent}.txt").write_bytes(text)
    ac = make_context(store=tmp_path / "notes.db")
    for _ in range(2):
        ac.add_folder(tmp_path / "x" / "notes")
        ac.add_folder(tmp_path / "y" / "notes")
        assert list(ac.documents) == ["notes/x.txt", "notes (2)/y.txt"]
    ac.close()
    again = make_context(store=tmp_path / "notes.db")
    assert dict(again.folders) == {"notes": str(tmp_path / "x" / "notes"), "notes (2)": str(tmp_path / "y" / "notes")}
    assert [row.name for row in again.remove_folder("notes")] == ["notes/x.txt"]
    assert list(again.documents) == ["notes (2)/y.txt"]


def test_uploaded_documents_of_the_folders_name_stay(make_context, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_bytes(SALT)
    ac = make_context({"notes/uploaded.txt": "Tea."})
    report = ac.add_folder(tmp_path / "notes")
    assert report.summary == "1 added"
    assert report.notes == ("1 documents named notes/... were added in another way; they stay.",)
    assert list(ac.documents) == ["notes/uploaded.txt", "notes/a.txt"]


def test_what_could_not_be_read_is_remembered_until_it_can(make_context, tmp_path):
    ac = make_context(store=tmp_path / "notes.db")
    ac.add_files([("a.pdf", b"no pdf"), ("b.exe", b"x"), ("c.txt", SALT)])
    ac.close()
    again = make_context(store=tmp_path / "notes.db")
    assert [(row.name, row.status) for row in again.unread] == [("a.pdf", "failed"), ("b.exe", "skipped")]
    again.forget_unread(["b.exe"])
    again.add("a.pdf", b"no pdf still")
    assert [row.name for row in again.unread] == ["a.pdf"]


def test_a_file_that_could_not_be_read_and_is_gone_is_forgotten(make_context, tmp_path):
    root = tmp_path / "notes"
    root.mkdir()
    (root / "a.txt").write_bytes(SALT)
    (root / "b.pdf").write_bytes(b"no pdf")
    ac = make_context()
    ac.add("other.exe", b"")
    ac.add_folder(root)
    assert [row.name for row in ac.unread] == ["notes/b.pdf", "other.exe"]
    (root / "b.pdf").unlink()
    assert ac.add_folder(root).summary == "1 unchanged"
    assert [row.name for row in ac.unread] == ["other.exe"]


# --- originals ---


def test_pdf_files_are_kept_beside_their_text_as_far_as_the_limit_allows(make_context, tmp_path, monkeypatch):
    monkeypatch.setattr(loaders, "load", lambda name, data, *_: Document(name, "Text.", loaders.content_hash(data)))
    for store in (None, tmp_path / "notes.db"):
        ac = make_context(store=store, limits=LimitOptions(originals_megabytes=0.00001))
        ac.add_files([("a.pdf", b"123456"), ("b.pdf", b"12345"), ("c.pdf", b"1234"), ("d.txt", b"1")])
        assert [ac.original(name) for name in ("a.pdf", "b.pdf", "c.pdf", "d.txt")] == [b"123456", None, b"1234", None]
        ac.add("a.pdf", b"654321")
        assert ac.original("a.pdf") == b"654321"
        ac.remove("a.pdf")
        assert ac.original("a.pdf") is None
