"""Kept collections: made, opened, renamed, copied, exported, imported, deleted; and files that are not trusted."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pytest

from autocontext import AutoContext, Settings
from autocontext.collections import Collections, data_folder, shared_vectors
from autocontext.datatypes import Chunk, Document
from autocontext.errors import StoreError
from autocontext.records import known_fields, to_plain
from autocontext.settings import ChunkOptions, EncoderOptions, LimitOptions, settings_from_json, settings_to_json
from autocontext.stores.vectors import MemoryVectors, VectorFile
from tests.conftest import HashEncoder

SALT = b"Salt melts at 801 degrees."


@pytest.fixture
def collections(tmp_path):
    return Collections(tmp_path / "data")


@pytest.fixture
def filled(collections, encoder):
    """Return the id of a collection of two documents."""
    id_ = collections.create("Kitchen", Settings(num_results=3, chunking=ChunkOptions(sentences=1, sentence_tokens=0)))
    ac = collections.open(id_, encoder)
    ac.add_files([("a.txt", SALT + b" It is white."), ("sub/b.md", b"# Tea\n\nTea steeps.")])
    ac.close()
    return id_


def texts(collections, id_) -> dict[str, list[str]]:
    ac = collections.open(id_, HashEncoder())
    found: dict[str, list[str]] = {}
    for chunk in ac.chunks:
        found.setdefault(chunk.document, []).append(chunk.text)
    ac.close()
    return found


KITCHEN = {"a.txt": ["Salt melts at 801 degrees.", "It is white."], "sub/b.md": ["# Tea", "Tea steeps."]}


def test_a_collection_keeps_its_documents_settings_and_vectors(collections, filled):
    encoder = HashEncoder()
    ac = collections.open(filled, encoder)
    assert (ac.settings.num_results, ac.settings.chunking.sentences, ac.notes) == (3, 1, ())
    ac.search("salt")
    assert encoder.texts_encoded == 1
    assert texts(collections, filled) == KITCHEN


def test_the_list_tells_names_and_sizes_and_what_is_broken(collections, filled):
    (collections.folder / "collections" / "broken-1.db").write_bytes(b"nonsense" * 100)
    (collections.folder / "collections" / "Not Ours.db").write_bytes(b"")
    broken, kitchen = collections.listed()
    assert (kitchen.name, kitchen.n_documents, kitchen.problem) == ("Kitchen", 2, "")
    assert kitchen.megabytes > 0.01
    assert broken.problem == "The collection file broken-1.db cannot be used. This is no collection, or a damaged one."


def test_it_is_renamed_also_while_it_is_open(collections, filled):
    ac = collections.open(filled, HashEncoder())
    collections.rename(filled, " Köche ")
    assert collections.name(filled) == "Köche"
    assert ac.add("c.txt", b"More.").status == "added"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("kitchen", "There is a collection of this name already. Take another name."),
        (" \n ", "A collection needs a name."),
        ("x" * 81, "This name is too long: 80 letters at most."),
    ],
)
def test_a_name_that_cannot_be_is_refused(collections, filled, name, sentence):
    for attempt in (collections.create, lambda name: collections.duplicate(filled, name)):
        with pytest.raises(StoreError) as caught:
            attempt(name)
        assert str(caught.value) == sentence
    assert [one.name for one in collections.listed()] == ["Kitchen"]


@pytest.mark.parametrize(
    "name", ["../../evil", "CON", "a/b\\c", "<b>x</b>", "日本語", "\u202eevil", "x" * 80, "...", "nul.db"]
)
def test_any_other_name_is_kept_as_a_label_and_names_no_file(collections, name):
    id_ = collections.create(name)
    assert collections.name(id_) == name.replace("\u202e", "\ufffd")
    path = collections.path(id_)
    assert path.parent == collections.folder / "collections"
    assert path.stem.isascii()


@pytest.mark.parametrize("id_", ["../x", "", "x" * 70, "A", "a/../b", "nowhere", "a.db"])
def test_an_id_from_anywhere_leads_to_no_other_file(collections, id_):
    (collections.folder / "collections").mkdir(parents=True)
    (collections.folder / "x.db").write_bytes(b"")
    with pytest.raises(StoreError, match="not here any more"):
        collections.path(id_)


def test_a_copy_goes_its_own_way(collections, filled):
    copy = collections.duplicate(filled, "Copy")
    ac = collections.open(copy, HashEncoder())
    ac.remove("a.txt")
    ac.close()
    assert texts(collections, filled) == KITCHEN
    assert [one.name for one in collections.listed()] == ["Copy", "Kitchen"]


def test_a_deleted_one_leaves_no_file(collections, filled):
    collections.delete(filled)
    assert list((collections.folder / "collections").iterdir()) == []
    with pytest.raises(StoreError, match="not here any more"):
        collections.delete(filled)


def test_documents_of_memory_become_a_collection_and_embed_nothing(collections, make_context):
    ac = make_context({"a.txt": "Salt melts."}, chunking=ChunkOptions(sentences=2, sentence_tokens=0))
    ac.add("b.exe", b"")
    id_ = collections.keep("Kept", ac)
    encoder = HashEncoder()
    kept = collections.open(id_, encoder)
    assert (kept.chunks, kept.settings, kept.unread, kept.notes) == (ac.chunks, ac.settings, ac.unread, ())
    kept.search("salt")
    assert encoder.texts_encoded == 1


def test_an_export_holds_no_paths_and_is_imported_as_it_was(collections, filled, tmp_path):
    (tmp_path / "very-private-place").mkdir()
    (tmp_path / "very-private-place" / "c.txt").write_bytes(b"Cats sleep.")
    ac = collections.open(filled, HashEncoder())
    ac.add_folder(tmp_path / "very-private-place")
    ac.close()
    data = collections.export(filled)
    assert str(tmp_path).encode() not in data

    elsewhere = Collections(tmp_path / "elsewhere")
    id_ = elsewhere.import_file("whatever.db", data)

    assert elsewhere.name(id_) == "Kitchen"
    assert texts(elsewhere, id_) == {**KITCHEN, "very-private-place/c.txt": ["Cats sleep."]}
    encoder = HashEncoder()
    ac = elsewhere.open(id_, encoder)
    assert ac.settings.num_results == 3
    ac.search("salt")
    assert encoder.texts_encoded == 1, "its vectors came with it"
    assert elsewhere.name(elsewhere.import_file("again.db", data)) == "Kitchen (2)"


def changed_by(data: bytes, tmp_path, *statements: str) -> bytes:
    path = tmp_path / "changed.db"
    path.write_bytes(data)
    file = sqlite3.connect(path, isolation_level=None)
    file.execute("pragma journal_mode = delete")
    for statement in statements:
        file.execute(statement)
    file.close()
    return path.read_bytes()


@pytest.mark.parametrize(
    "statement",
    [
        "create trigger t after insert on documents begin delete from documents; end",
        "create view v as select * from documents",
        "create table extra (x)",
        "pragma application_id = 1",
        "pragma user_version = 1",
        "pragma user_version = 99",
        "update documents set text = x'00ff'",
        "update documents set name = cast(name as blob)",
        "update documents set text = 'a' || char(0) || 'b'",
        "update documents set content_hash = 'short'",
        "update documents set extra = 'no json'",
        "update documents set extra = '{\"page_starts\": [9999]}'",
        "update documents set extra = '{\"page_starts\": [3, 1]}'",
        f"update documents set extra = '{'[' * 100_000}'",
        "update models set dim = -1",
        "update models set dim = 'many'",
    ],
)
def test_a_foreign_file_that_is_not_as_ours_is_refused_and_leaves_nothing(collections, filled, tmp_path, statement):
    data = changed_by(collections.export(filled), tmp_path, statement)
    with pytest.raises(StoreError, match="othing was imported"):
        collections.import_file("x.db", data)
    assert [one.id for one in collections.listed()] == [filled]


@pytest.mark.parametrize("data", [b"", b"nonsense" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_foreign_file_that_is_no_database_is_refused(collections, data):
    with pytest.raises(StoreError, match="othing was imported"):
        collections.import_file("x.db", data)
    assert collections.listed() == []


def test_a_truncated_export_is_refused(collections, filled):
    data = collections.export(filled)
    with pytest.raises(StoreError, match="othing was imported"):
        collections.import_file("x.db", data[: len(data) // 2])


def test_what_a_foreign_file_says_of_passages_vectors_and_models_is_not_believed(collections, filled, tmp_path):
    data = changed_by(
        collections.export(filled), tmp_path,
        "update chunks set start = 0, end = 100000",
        "update vectors set vector = x'0000c07f'",
        """update meta set value = '{"encoder": {"folder": "/etc"}, "num_results": 4}' where key = 'settings'""",
        "update documents set name = '../../' || char(8238) || name",
    )  # fmt: skip
    id_ = collections.import_file("x.db", data)
    encoder = HashEncoder()
    ac = collections.open(id_, encoder)
    assert [chunk.text for chunk in ac.chunks] == ["Salt melts at 801 degrees. It is white.", "# Tea\n\nTea steeps."]
    assert ac.settings == Settings(num_results=4)
    assert all("\u202e" not in name for name in ac.documents)
    ac.search("salt")
    assert encoder.texts_encoded == 3, "two passages and the question"


def test_the_folder_is_where_the_system_keeps_data_unless_told_otherwise(monkeypatch, tmp_path):
    monkeypatch.setenv("AUTOCONTEXT_DATA", str(tmp_path / "x"))
    assert data_folder() == tmp_path / "x"
    monkeypatch.delenv("AUTOCONTEXT_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr("sys.platform", "linux")
    assert data_folder() == tmp_path / "xdg" / "autocontext"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert data_folder() == tmp_path / "local" / "AutoContext"


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="Set AUTOCONTEXT_DATA to a folder that you may write to"):
        Collections(tmp_path / "file").create("x")


# --- settings and records ---


def test_settings_come_back_and_what_is_unknown_is_told():
    settings = Settings(
        retrievers=("bm25",), weights={"bm25": 2.0}, fusion="ranks", chunking=ChunkOptions(sentences=7),
        encoder=EncoderOptions(allow_download=False), limits=LimitOptions(files=3),
    )  # fmt: skip
    assert settings_from_json(settings_to_json(settings)) == (settings, ())
    assert settings_to_json(Settings()) == "{}"
    odd = {"num_results": "many", "taste": 1, "chunking": {"sentences": 2, "x": 1}, "max_tokens": 500, "candidates": 0}
    back, told = settings_from_json(json.dumps(odd))
    assert back == Settings(max_tokens=500)
    assert {sentence.split()[2] for sentence in told} == {"num_results", "taste", "chunking", "candidates"}
    for nonsense in ("", "[]", "{", "null", "[" * 100_000):
        assert settings_from_json(nonsense)[0] == Settings()


def test_a_collection_with_settings_of_another_version_opens_and_tells(collections, filled):
    file = sqlite3.connect(collections.path(filled))
    file.execute("""update meta set value = '{"retrievers": ["magic"]}' where key = 'settings'""")
    file.commit()
    file.close()
    ac = collections.open(filled, HashEncoder())
    assert ac.settings == Settings()
    assert "There is no retriever 'magic'" in ac.notes[-1]


def test_records_come_back_whole():
    document = Document("a.pdf", "Text", "hash", (0, 3), ("A note.",))
    assert known_fields(Document, json.loads(json.dumps(to_plain(document)))) == (
        {"name": "a.pdf", "text": "Text", "content_hash": "hash", "page_starts": (0, 3), "notes": ("A note.",)}, [],
    )  # fmt: skip
    assert known_fields(Chunk, {"line": True, "page": 2, "heading": None, "future": 1}) == (
        {"page": 2}, ["line", "heading", "future"],
    )  # fmt: skip


# --- vectors made before ---


def unit(n: int) -> np.ndarray:
    row = np.zeros(100, dtype=np.float32)
    row[n % 100] = 1
    return row


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_the_oldest_used_vectors_are_dropped_when_there_are_too_many(kind, tmp_path, monkeypatch):
    now = [1_000_000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    cache = MemoryVectors(0.04) if kind == "memory" else VectorFile(tmp_path / "v.db", 0.2)
    hashes = [bytes([n // 256, n % 256]) for n in range(1000)]
    for n, text_hash in enumerate(hashes):
        now[0] += 10_000
        cache.put("m", {text_hash: unit(n)})
        assert list(cache.get("m", [hashes[0]])) == [hashes[0]], "this one is used all the time"
    known = cache.get("m", hashes)
    assert 50 < len(known) < 500
    assert hashes[0] in known
    assert set(hashes[-20:]) <= set(known)
    assert hashes[1] not in known
    count, size = cache.size
    assert count == len(known)
    assert size <= cache.max_megabytes * 1e6 * 1.1
    cache.clear()
    assert cache.get("m", hashes) == {}
    assert cache.size[0] == 0


def test_vectors_are_told_apart_by_model_and_shared_by_processes(tmp_path):
    one, two = VectorFile(tmp_path / "v.db"), VectorFile(tmp_path / "v.db")
    one.put("m", {b"x": unit(1)})
    assert two.get("m", [b"x", b"y"])[b"x"].tolist() == unit(1).tolist()
    assert two.get("other", [b"x"]) == {}


def test_whatever_is_wrong_with_the_cache_nothing_is_known_and_nothing_fails(tmp_path):
    path = tmp_path / "v.db"
    path.write_bytes(b"nonsense" * 1000)
    cache = VectorFile(path)
    assert cache.get("m", [b"x"]) == {}
    cache.put("m", {b"x": unit(1)})
    assert list(cache.get("m", [b"x"])) == [b"x"], "a damaged file is made anew"
    cache._connection.execute("update vectors set vector = x'00'")
    assert cache.get("m", [b"x"]) == {}
    nowhere = VectorFile(tmp_path / "v.db" / "x" / "v.db")
    nowhere.put("m", {b"x": unit(1)})
    assert (nowhere.get("m", [b"x"]), nowhere.size) == ({}, (0, 0))


def test_a_document_that_comes_back_or_is_cut_in_another_way_embeds_only_what_is_new(tmp_path):
    cache, encoder = VectorFile(tmp_path / "v.db"), HashEncoder()
    ac = AutoContext(Settings(chunking=ChunkOptions(sentences=1, sentence_tokens=0)), encoder, tmp_path / "a.db", cache)
    ac.add("a.txt", b"One is here. Two is here. Three is here.")
    assert encoder.texts_encoded == 3
    ac.remove("a.txt")
    ac.add("a.txt", b"One is here. Two is here. Three is here.")
    assert encoder.texts_encoded == 3
    ac.change_settings(Settings(chunking=ChunkOptions(sentences=2, sentence_tokens=0)))
    ac.search("one")
    assert encoder.texts_encoded == 3 + 1 + 1, "one new passage, the last one is as it was; and the question"
    other = AutoContext(
        Settings(chunking=ChunkOptions(sentences=1, sentence_tokens=0)), encoder, tmp_path / "b.db", cache
    )
    other.add("b.txt", b"Two is here. Three is here.")
    assert encoder.texts_encoded == 5


def test_documents_that_are_not_kept_leave_nothing_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOCONTEXT_DATA", str(tmp_path / "data"))
    memory = MemoryVectors()
    ac = AutoContext(encoder=HashEncoder(), cache=memory)
    ac.add("a.txt", SALT)
    ac.search("salt")
    assert memory.size[0] == 1
    assert shared_vectors().size == (0, 0)
    assert list(tmp_path.iterdir()) == []
