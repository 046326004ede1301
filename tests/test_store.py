"""A collection in a file: what comes back, what is embedded again, and what a crash leaves."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from autocontext import AutoContext, AutoContextError, Settings
from autocontext.datatypes import Chunk, Document, Section, TextEncoding
from autocontext.errors import StoreError
from autocontext.protocols import Kept
from autocontext.settings import ChunkOptions
from autocontext.stores.sqlite import SQLiteStore
from tests.conftest import ROOT, HashEncoder

FILES = [
    ("notes/b.md", "# Salt\n\nSalt melts at 801 degrees. 猫が来た。\n"),
    ("a.txt", "Water boils. Gold shines. Boats sail. The cat sleeps."),
]


BY_SENTENCES = ChunkOptions(sentence_tokens=0)
ONE_SENTENCE = ChunkOptions(sentences=1, sentence_tokens=0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "notes.db"


@pytest.fixture
def open_context(path):
    """Return an opener of the collection in `path`; each opening has an encoder of its own that counts."""

    def opened(name="hash-64", **settings):
        encoder = HashEncoder()
        encoder.name = name
        settings.setdefault("chunking", BY_SENTENCES)
        return AutoContext(settings=Settings(**settings), encoder=encoder, store=path), encoder

    return opened


@pytest.fixture
def kept(open_context):
    """Fill the collection, close it, and return its documents and chunks."""
    ac, _ = open_context()
    ac.add_files([(name, text.encode()) for name, text in FILES])
    ac.close()
    return dict(ac.documents), ac.chunks


def found(ac, question="When does salt melt?"):
    return [(item.chunk, round(item.score, 6), dict(item.hits)) for item in ac.search(question)]


def test_documents_and_chunks_come_back_as_they_were(path):
    document = Document(
        "a.pdf",
        "Salt melts.\n\nWater 猫.",
        "abc",
        (0, 13),
        ("1 of 2 pages hold no text.",),
        (Section(13, "B", "slide 猫", apart=False),),
        TextEncoding("cp1251", "guess", b"\x80\xff"),
    )
    chunks = (
        Chunk(0, "a.pdf", "Salt melts.", 0, 11, 1, 1, "A > B"),
        Chunk(0, "a.pdf", "Water 猫.", 13, 21, 3, 2, "B", "slide 猫"),
    )
    kept = Kept(document, chunks, (b"one", b"two"))
    store = SQLiteStore(path)
    store.save([replace(kept, original=b"%PDF")])
    store.close()
    again = SQLiteStore(path)
    assert again.load() == [kept]
    assert (again.original("a.pdf"), again.original("b.pdf"), again.originals()) == (b"%PDF", None, {"a.pdf": 4})


def test_reopening_gives_the_same_collection_and_embeds_nothing(kept, open_context):
    documents, chunks = kept
    ac, encoder = open_context()
    assert (dict(ac.documents), list(ac.documents), ac.chunks) == (documents, list(documents), chunks)
    ac.search("When does salt melt?")
    assert encoder.texts_encoded == 1  # the question
    assert [row.status for row in ac.add_files([(name, text.encode()) for name, text in FILES])] == ["unchanged"] * 2
    ac.search("When does salt melt?")
    assert encoder.texts_encoded == 1, "the same question again"
    ac.search("When does water boil?")
    assert encoder.texts_encoded == 2


def test_a_reopened_collection_finds_what_one_in_memory_finds(kept, open_context, make_context):
    ac, _ = open_context()
    assert found(ac) == found(make_context(dict(FILES), chunking=BY_SENTENCES)) != []


@pytest.mark.parametrize("data", [b"Salt melts at 801 degrees.", b"Iron rusts. Salt melts."])
def test_a_replaced_document_keeps_its_place_and_nothing_of_its_old_text(kept, open_context, data):
    ac, _ = open_context()
    assert ac.add("notes/b.md", data).status == "changed"
    for again in (ac, open_context()[0]):
        assert list(again.documents) == ["notes/b.md", "a.txt"]
        assert again.documents["notes/b.md"].text == data.decode()
        assert [(chunk.number, chunk.text) for chunk in again.chunks[:1]] == [(0, data.decode())]
        assert not any("猫" in chunk.text for chunk in again.chunks)


def test_a_removed_document_leaves_nothing_in_the_file_not_even_in_its_free_pages(open_context, path):
    ac, _ = open_context()
    ac.add("secret.txt", b"The Xylophonium is in the cellar.")
    assert any(b"Xylophonium" in file.read_bytes() for file in path.parent.iterdir())

    ac.remove_many(list(ac.documents))

    assert [file.name for file in path.parent.iterdir() if b"Xylophonium" in file.read_bytes()] == []
    ac.close()
    assert counts(path) == {"documents": 0, "chunks": 0, "vectors": 0}


def test_a_replaced_text_leaves_nothing_in_the_file(open_context, path):
    ac, _ = open_context()
    ac.add("secret.txt", b"The Xylophonium is in the cellar.")
    ac.add("secret.txt", b"Nothing is in the cellar.")
    ac.close()
    assert b"Xylophonium" not in path.read_bytes()
    assert counts(path) == {"documents": 1, "chunks": 1, "vectors": 1}


def counts(path):
    file = sqlite3.connect(path)
    found = {t: file.execute(f"select count(*) from {t}").fetchone()[0] for t in ("documents", "chunks", "vectors")}
    file.close()
    return found


def test_a_removed_document_is_gone_and_comes_back_as_it_was(kept, open_context):
    ac, _ = open_context()
    ac.remove("notes/b.md")
    for again in (ac, open_context()[0]):
        assert list(again.documents) == ["a.txt"]
        assert [chunk.number for chunk in again.chunks] == [0, 1]
        assert all(chunk.document == "a.txt" for chunk, *_ in found(again, "salt water cat"))
    ac, _ = open_context()
    assert ac.add(FILES[0][0], FILES[0][1].encode()).status == "added"
    assert list(ac.documents) == ["a.txt", "notes/b.md"]


def test_other_chunk_settings_cut_again_and_embed_only_new_texts(kept, open_context):
    ac, encoder = open_context(chunking=ONE_SENTENCE)
    sentences = ["Water boils.", "Gold shines.", "Boats sail.", "The cat sleeps."]
    assert [chunk.text for chunk in ac.chunks if chunk.document == "a.txt"] == sentences
    old = {chunk.text for chunk in kept[1]}
    new = {chunk.text for chunk in ac.chunks} - old
    assert "The cat sleeps." in old
    ac.search("salt")
    assert encoder.texts_encoded == len(new) + 1
    ac.close()
    again, encoder = open_context(chunking=ONE_SENTENCE)
    assert again.chunks == ac.chunks
    again.search("salt")
    assert encoder.texts_encoded == 1


def test_another_encoder_embeds_again_and_both_models_vectors_are_kept(kept, open_context):
    for name, texts in (("hash-64", 0), ("other", len(kept[1])), ("hash-64", 0), ("other", 0)):
        ac, encoder = open_context(name)
        ac.search("salt")
        assert encoder.texts_encoded == texts + 1
        ac.close()


def test_vectors_are_kept_by_model_and_what_can_be_none_is_left_out(path):
    store = SQLiteStore(path)
    hashes = [hashlib.sha256(bytes([n])).digest() for n in range(3)]
    store.add_vectors("one", {hashes[0]: np.array([0.6, 0.8], dtype=np.float32)})
    store.add_vectors("one", {hashes[1]: np.array([0, 1], dtype=np.float32)})
    known = store.vectors("one", hashes)
    assert {text_hash: row.round(6).tolist() for text_hash, row in known.items()} == {
        hashes[0]: pytest.approx([0.6, 0.8]), hashes[1]: [0, 1],
    }  # fmt: skip
    assert {row.dtype for row in known.values()} == {np.dtype(np.float32)}
    assert store.vectors("two", hashes) == {}
    store._connection.execute("update vectors set vector = x'0000' where text_hash = ?", (hashes[0],))
    store._connection.execute(
        "update vectors set vector = x'0000c07f00000000' where text_hash = ?", (hashes[1],)
    )  # NaN
    assert store.vectors("one", hashes) == {}


def test_more_vectors_are_asked_for_than_sqlite_takes_at_once(path):
    store = SQLiteStore(path)
    rows = {
        hashlib.sha256(str(n).encode()).digest(): np.array([1 - 2 * (n % 2)], dtype=np.float32) for n in range(1201)
    }
    store.add_vectors("one", rows)
    assert {text_hash: row[0] for text_hash, row in store.vectors("one", list(rows)).items()} == {
        text_hash: row[0] for text_hash, row in rows.items()
    }


@pytest.mark.parametrize("data", [b"Only words, and many of them. " * 50, b"SQLite format 3\0" + b"\xff" * 2000])
def test_a_file_that_is_no_database_is_refused_and_left_alone(path, data):
    path.write_bytes(data)
    with pytest.raises(StoreError) as caught:
        AutoContext(store=path)
    assert str(caught.value).startswith(f"The collection file {path} cannot be used. ")
    assert isinstance(caught.value, AutoContextError)
    assert path.read_bytes() == data


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(StoreError):
        SQLiteStore(tmp_path)


def test_another_programs_database_is_refused_and_left_alone(path):
    with sqlite3.connect(path) as other:
        other.execute("create table documents (title text)")
    other.close()
    with pytest.raises(StoreError):
        AutoContext(store=path)
    other = sqlite3.connect(path)
    assert other.execute("select name from sqlite_master").fetchall() == [("documents",)]
    other.close()


@pytest.mark.parametrize(("version", "cure"), [(4, "update AutoContext"), (1, "index the files again")])
def test_a_collection_of_another_version_is_refused_and_left_alone(kept, path, version, cure):
    file = sqlite3.connect(path)
    file.execute(f"pragma user_version = {version}")
    file.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=rf"\(schema {version}, this one reads 3\): {cure}\. It was left as it is\."):
        SQLiteStore(path)
    assert path.read_bytes() == before


def test_a_collection_from_before_words_were_kept_is_taken_over(kept, path, open_context, make_context):
    file = sqlite3.connect(path)
    file.executescript("drop table words; pragma user_version = 2;")
    file.close()
    ac, encoder = open_context()
    before = found(ac)
    assert before == found(make_context(dict(FILES), chunking=BY_SENTENCES)) != []
    assert encoder.texts_encoded == 1  # the question
    ac.close()
    file = sqlite3.connect(path)
    assert file.execute("select count(*) from words").fetchone() == (2,)
    file.close()


@pytest.mark.parametrize("damage", ["x''", "zeroblob(40)", "substr(counts, 1, length(counts) - 1)"])
def test_kept_words_that_are_damaged_are_counted_anew(kept, path, open_context, make_context, damage):
    file = sqlite3.connect(path)
    file.execute(f"update words set counts = {damage}")
    file.commit()
    file.close()
    assert found(open_context()[0]) == found(make_context(dict(FILES), chunking=BY_SENTENCES)) != []


# --- a crash ---

CRASH_WHILE_EMBEDDING = """
class Crashing:
    name = "hash-64"
    batches = 0

    def encode(self, texts):
        if self.batches == 1:
            os._exit(7)
        self.batches += 1
        return np.ones((len(texts), 64), dtype=np.float32) / 8

ac = AutoContext(Settings(chunking=ChunkOptions(sentences=1, sentence_tokens=0)), Crashing(), sys.argv[1])
ac.add("new.txt", "".join(f"Number {n}. " for n in range(300)).encode())
"""
CRASH_WHILE_SAVING = """
def items():
    document = Document("new.txt", "Text.", "")
    yield Kept(document, (Chunk(0, "new.txt", "Text.", 0, 5, 1),), (b"hash",))
    yield Kept(replace(document, name="a.txt"), (), ())
    os._exit(7)

SQLiteStore(sys.argv[1]).save(items())
"""
IMPORTS = """
import os, sys
from dataclasses import replace
import numpy as np
from autocontext import AutoContext, Settings
from autocontext.datatypes import Chunk, Document
from autocontext.protocols import Kept
from autocontext.settings import ChunkOptions
from autocontext.stores.sqlite import SQLiteStore
"""


@pytest.mark.parametrize(
    ("crash", "documents", "embedded_before"),
    [(CRASH_WHILE_EMBEDDING, ["a.txt", "new.txt"], 256), (CRASH_WHILE_SAVING, ["a.txt"], 0)],
    ids=["embedding", "saving"],
)
def test_a_crash_leaves_whole_documents_and_the_vectors_that_were_made(
    path, open_context, crash, documents, embedded_before
):
    one = {"chunking": ONE_SENTENCE}
    ac, _ = open_context(**one)
    ac.add("a.txt", b"Salt melts. Water boils.")
    ac.close()
    ended = subprocess.run([sys.executable, "-c", IMPORTS + crash, path], cwd=ROOT, check=False)
    assert ended.returncode == 7
    again, encoder = open_context(**one)
    assert list(again.documents) == documents
    assert again.chunks[:2] == ac.chunks
    assert again.add("new.txt", "".join(f"Number {n}. " for n in range(300)).encode()).n_chunks == 300
    assert encoder.texts_encoded == 300 - embedded_before
    assert found(again, "salt")


def test_a_collection_that_another_program_holds_is_an_error_of_ours(tmp_path):
    path = tmp_path / "notes.db"
    store = SQLiteStore(path)
    store._connection.execute("pragma busy_timeout = 10")
    other = sqlite3.connect(path)
    other.execute("begin immediate")
    try:
        with pytest.raises(
            StoreError, match=r"Another program is writing to it\. Try again when that one is done, or close it\."
        ):
            store.put("key", "value")
    finally:
        other.close()
    store.put("key", "value")
    store.close()
    with pytest.raises(StoreError, match="cannot be used"):
        store.get("key")
