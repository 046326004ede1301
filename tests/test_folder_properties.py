"""Whatever happens to a folder and to the program, the collection ends as a fresh index of the present files."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from autocontext import AutoContext, Settings
from autocontext.protocols import Vectors
from autocontext.settings import ChunkOptions
from autocontext.stores.vectors import MemoryVectors, VectorFile
from tests.conftest import HashEncoder

NAMES = st.sampled_from(["a.txt", "b.md", "sub/a.txt", "sub/deep/c.txt", "A.txt"])
TEXTS = st.sampled_from(
    [
        "Salt melts.",
        "Tea steeps. Water boils.",
        "# Cats\n\nMiso sleeps. Miso eats. Miso plays. Miso runs.",
        " ",  # holds no text: the older version stays
        "Salt melts. Tea steeps. Gold shines. Boats sail. Bread bakes. Iron rusts.",
    ]
)


class Crash(BaseException):
    """The end of the process, as far as the code can see."""


class CrashingEncoder(HashEncoder):
    """Dies before it has encoded more than some texts."""

    texts_left: int | None = None

    def encode(self, texts: Sequence[str]) -> Vectors:
        if self.texts_left is not None:
            self.texts_left -= len(texts)
            if self.texts_left < 0:
                raise Crash
        return super().encode(texts)


class FolderMachine(RuleBasedStateMachine):
    """A folder that is edited, a collection that is synced with it, and crashes of the latter."""

    @initialize(on_disk=st.booleans())
    def begin(self, on_disk: bool) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="autocontext-machine-"))
        self.folder = self.place / "notes"
        self.folder.mkdir()
        (self.folder / "always.txt").write_text("There is always one file.")
        self.encoder = CrashingEncoder()
        self.cache = VectorFile(self.place / "vectors.db") if on_disk else MemoryVectors()
        self.encoded: set[str] = set()
        self.last_good: dict[str, str] = {}
        self.ac = self.opened()

    def opened(self) -> AutoContext:
        settings = Settings(chunking=ChunkOptions(sentences=1, sentence_tokens=0))
        return AutoContext(settings, self.encoder, self.place / "notes.db", self.cache)

    @rule(files=st.dictionaries(NAMES, TEXTS, min_size=1))
    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    @rule(files=st.dictionaries(NAMES, TEXTS, min_size=1))
    def write_and_sync(self, files: dict[str, str]) -> None:
        self.write(files)
        self.sync()

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    @rule(name=NAMES, to=NAMES)
    def rename(self, name: str, to: str) -> None:
        if (self.folder / name).is_file():
            (self.folder / to).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).rename(self.folder / to)

    @rule()
    def reopen(self) -> None:
        self.ac.close()
        self.ac = self.opened()

    @rule(sentences=st.sampled_from([1, 2]))
    def cut_in_another_way(self, sentences: int) -> None:
        self.ac.change_settings(Settings(chunking=ChunkOptions(sentences=sentences, sentence_tokens=0)))
        self.ac.change_settings(Settings(chunking=ChunkOptions(sentences=1, sentence_tokens=0)))

    @rule(texts=st.integers(0, 6))
    def sync_and_crash(self, texts: int) -> None:
        self.encoder.texts_left = texts
        with suppress(Crash):
            self.ac.add_folder(self.folder)
        self.encoder.texts_left = None
        self.ac = self.opened()  # the old one is not closed: the process is gone

    @rule(stop_after=st.integers(0, 8))
    def sync_and_stop(self, stop_after: int) -> None:
        asked = iter(range(stop_after))
        self.ac.add_folder(self.folder, should_stop=lambda: next(asked, None) is None)

    @rule()
    def sync(self) -> None:
        self.ac.add_folder(self.folder)
        before = self.encoder.texts_encoded
        report = self.ac.add_folder(self.folder)
        assert {row.status for row in report} <= {"unchanged", "failed"}, "a second sync has nothing to do"
        assert self.encoder.texts_encoded == before
        self.compare()

    def compare(self) -> None:
        present = {
            f"notes/{path.relative_to(self.folder).as_posix()}": path.read_bytes()
            for path in self.folder.rglob("*")
            if path.is_file()
        }
        readable = {name: data for name, data in present.items() if data.strip()}
        fresh = AutoContext(self.ac.settings, HashEncoder())
        fresh.add_files(list(readable.items()))
        ours = {name: doc for name, doc in self.ac.documents.items() if name in readable}
        assert {n: d.text for n, d in ours.items()} == {n: d.text for n, d in fresh.documents.items()}
        # what is there but cannot be read keeps its older version, what is not there has none
        assert set(self.ac.documents) - set(ours) <= set(present)
        want = sorted((c.document, c.text) for c in fresh.chunks)
        assert sorted((c.document, c.text) for c in self.ac.chunks if c.document in readable) == want
        for name in ("bm25", "dense"):
            question = "salt tea water miso gold boats bread iron always file"
            retriever = self.ac._retriever(self.ac._snapshot, name)
            found = [self.ac.chunks[hit.chunk] for hit in retriever.search(question, 1000)]
            other = fresh._retriever(fresh._snapshot, name)
            expected = [fresh.chunks[hit.chunk] for hit in other.search(question, 1000)]
            assert sorted((c.document, c.text) for c in found if c.document in readable) == sorted(
                (c.document, c.text) for c in expected
            )
        self.store_holds_exactly_this()

    def store_holds_exactly_this(self) -> None:
        hashes = set(self.ac._snapshot.hashes)
        file = sqlite3.connect(self.place / "notes.db")
        rows = file.execute("select name, text, start, end from chunks join documents on document = id").fetchall()
        vectors = {row[0] for row in file.execute("select text_hash from vectors")}
        broken = file.execute("pragma integrity_check").fetchone()
        file.close()
        assert sorted((n, t[a:b]) for n, t, a, b in rows) == sorted((c.document, c.text) for c in self.ac.chunks)
        assert vectors == hashes
        assert broken == ("ok",)
        assert set(self.cache.get(self.encoder.name, list(hashes))) == hashes

    @precondition(lambda self: hasattr(self, "ac"))
    @invariant()
    def every_chunk_is_a_part_of_its_document(self) -> None:
        for number, chunk in enumerate(self.ac.chunks):
            assert chunk.number == number
            assert self.ac.documents[chunk.document].text[chunk.start : chunk.end] == chunk.text

    def teardown(self) -> None:
        if hasattr(self, "ac"):
            self.sync()
            self.ac.close()
            if isinstance(self.cache, VectorFile):
                self.cache.close()
            shutil.rmtree(self.place)


TestFolder = FolderMachine.TestCase
TestFolder.settings = settings(max_examples=80, stateful_step_count=25, suppress_health_check=list(HealthCheck))
