"""Zip archives: each file in one is a document of its own, and nothing in one does harm."""

from __future__ import annotations

import io
import stat
import zipfile

import pytest

from autocontext import loaders
from autocontext.errors import LoadError
from autocontext.loaders import archive
from tests.office import word, zipped


def expanded(data: bytes, name: str = "a.zip") -> dict[str, str]:
    """Return what is in an archive: the text of each file, or the reason why it cannot be had."""
    found = {}
    for label, source in loaders.expand(name, data):
        try:
            found[label] = loaders.content(source).decode()
        except LoadError as error:
            found[error.name] = error.reason
    return found


def test_the_files_of_an_archive_have_its_name_before_theirs():
    data = zipped({"notes/": "", "notes/b.txt": "Two.", "a.txt": "One.", ".hidden": "x", "__MACOSX/._a.txt": "x"})
    assert expanded(data, "my/box.zip") == {"my/box.zip/notes/b.txt": "Two.", "my/box.zip/a.txt": "One."}


@pytest.mark.parametrize(
    ("inside", "label"),
    [
        ("C:\\notes\\a.txt", "a.zip/notes/a.txt"),
        ("/etc/passwd", "a.zip/etc/passwd"),
        ("./b//./c.txt", "a.zip/b/c.txt"),
        ("b/../c.txt", "a.zip/c.txt"),
    ],
)
def test_paths_are_labels_only(inside, label):
    assert expanded(zipped({inside: "Text."})) == {label: "Text."}


@pytest.mark.parametrize("inside", ["../../etc/passwd", "..\\up.txt", "a/../../b.txt"])
def test_a_path_that_leads_out_is_not_read(inside):
    (reason,) = expanded(zipped({inside: "Text."})).values()
    assert reason == "its path leads out of the archive; it is not read"


def test_links_and_locked_files_are_not_read():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        link = zipfile.ZipInfo("link.txt")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(link, "/etc/passwd")
        made.writestr("locked.txt", "Secret.")
        made.writestr("a.txt", "One.")
    data = bytearray(buffer.getvalue())
    data[data.index(b"PK\1\2", data.index(b"PK\1\2") + 4) + 8] |= 1
    assert expanded(bytes(data)) == {
        "a.zip/link.txt": "it is a link, which is not followed",
        "a.zip/locked.txt": "it needs a password; pack it without one",
        "a.zip/a.txt": "One.",
    }


def test_two_files_of_one_name_are_both_read():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr("a.txt", "One.")
        with pytest.warns(UserWarning, match="Duplicate"):
            made.writestr("a.txt", "Two.")
    assert expanded(buffer.getvalue()) == {"a.zip/a.txt": "One.", "a.zip/a (2).txt": "Two."}


@pytest.mark.parametrize("encoding", ["utf-8", "cp866"])
def test_names_of_old_programs_are_read(encoding):
    data = zipped({"ZZZZZZZZ.txt": "Text."}).replace(b"Z" * 8, "Записки".encode(encoding)[:8].ljust(8, b"_"))
    (label,) = expanded(data)
    assert label.startswith("a.zip/Запи")


def test_archives_in_archives_are_opened_to_a_depth():
    data = zipped({"deep.txt": "Deep."})
    for level in (3, 2):
        data = zipped({f"{level}.zip": data, f"{level}.txt": str(level)})
    assert expanded(data) == {
        "a.zip/2.zip/3.zip/deep.txt": "Deep.", "a.zip/2.zip/3.txt": "3", "a.zip/2.txt": "2",
    }  # fmt: skip
    too_deep = expanded(zipped({"1.zip": data}))
    assert too_deep["a.zip/1.zip/2.zip/3.zip"] == "archives are opened 3 deep at most; unpack it first"


def test_bombs_are_not_unpacked(monkeypatch):
    bomb = zipped({"bomb.txt": b"0" * 50_000_000, "a.txt": "One."})
    assert expanded(bomb) == {
        "a.zip/bomb.txt": "it unpacks to more than 200 times its size; it is not unpacked",
        "a.zip/a.txt": "One.",
    }
    monkeypatch.setattr(archive, "MAX_UNPACKED", 10_000_000)
    monkeypatch.setattr(archive, "MAX_MEMBER", 5_000_000)
    many = zipped(
        {"huge.txt": b"1" * 6_000_000, "b.txt": b"2" * 4_000_000, "c.txt": b"3" * 4_000_000}, zipfile.ZIP_STORED
    )
    found = expanded(many)
    assert found["a.zip/huge.txt"] == "it is larger than 5 MB when unpacked"
    assert len(found["a.zip/b.txt"]) == 4_000_000
    assert found["a.zip/c.txt"] == "its archive holds more than 10 MB; unpack it first"


def test_a_file_that_holds_more_than_it_says_is_not_read():
    data = bytearray(zipped({"a.txt": b"0" * 1000}))
    place = data.index(b"PK\1\2") + 24
    data[place : place + 4] = (10).to_bytes(4, "little")
    assert expanded(bytes(data)) == {"a.zip/a.txt": "it is damaged within its archive"}


def test_no_more_than_a_number_of_files_is_taken(monkeypatch):
    monkeypatch.setattr(archive, "MAX_MEMBERS", 2)
    assert expanded(zipped({"a.txt": "1", "b.txt": "2", "c.txt": "3"})) == {
        "a.zip/a.txt": "1",
        "a.zip/b.txt": "2",
        "a.zip": "it holds more than 2 files; the others were left out",
    }


@pytest.mark.parametrize("data", [b"", b"no archive", zipped({"a": "b"})[:40]])
def test_a_damaged_archive_says_so(data):
    with pytest.raises(LoadError, match="it is damaged or not a zip archive; pack it again"):
        loaders.expand("a.zip", data)
    with pytest.raises(LoadError, match="the archive holds no file"):
        loaders.expand("a.zip", zipped({}))


# --- in a collection ---


def rows(report) -> list[tuple[str, str]]:
    return [(row.name, row.status) for row in report]


def test_each_file_of_an_archive_gets_its_own_row(make_context):
    ac = make_context(retrievers=("bm25",))
    data = zipped({"a.txt": "Salt melts.", "b/c.docx": word(), "d.exe": "x", "e.txt": b"\x89PNG\r\n\x1a\n\0"})
    report = ac.add_files([("x.txt", b"Water boils."), ("box.zip", data), ("bad.zip", b"no")])
    assert rows(report) == [
        ("x.txt", "added"), ("box.zip/a.txt", "added"), ("box.zip/b/c.docx", "added"), ("box.zip/d.exe", "skipped"),
        ("box.zip/e.txt", "failed"), ("bad.zip", "failed"),
    ]  # fmt: skip
    assert report[5].reason == "It is damaged or not a zip archive; pack it again."
    assert ac.search("When does salt melt?")[0].chunk.document.startswith("box.zip/")


def test_a_new_version_of_an_archive_replaces_the_old_one_and_a_broken_one_does_not(make_context):
    ac = make_context({"box.zip.txt": "Other."}, retrievers=("bm25",))
    ac.add_files([("box.zip", zipped({"a.txt": "Salt melts.", "b.txt": "Water boils."}))])
    report = ac.add_files([("box.zip", zipped({"b.txt": "Water boils.", "c.txt": "Gold shines."}))])
    assert rows(report) == [("box.zip/b.txt", "unchanged"), ("box.zip/c.txt", "added"), ("box.zip/a.txt", "removed")]
    ac.add_files([("box.zip", b"broken")])
    assert list(ac.documents) == ["box.zip.txt", "box.zip/b.txt", "box.zip/c.txt"]


def test_an_archive_in_a_folder_is_kept_in_step(make_context, tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "box.zip").write_bytes(zipped({"a.txt": "Salt melts.", "b.txt": "Water boils."}))
    ac = make_context(retrievers=("bm25",))
    assert rows(ac.add_folder(folder)) == [("notes/box.zip/a.txt", "added"), ("notes/box.zip/b.txt", "added")]
    (folder / "box.zip").write_bytes(zipped({"a.txt": "Salt melts."}))
    assert rows(ac.add_folder(folder)) == [("notes/box.zip/a.txt", "unchanged"), ("notes/box.zip/b.txt", "removed")]
    (folder / "box.zip").write_bytes(b"broken")
    assert rows(ac.add_folder(folder)) == [("notes/box.zip", "failed")]
    assert list(ac.documents) == ["notes/box.zip/a.txt"]
    (folder / "box.zip").unlink()
    (folder / "c.txt").write_text("Gold shines.")
    assert rows(ac.add_folder(folder)) == [("notes/c.txt", "added"), ("notes/box.zip/a.txt", "removed")]
