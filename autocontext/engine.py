"""AutoContext: documents in, evidence, prompts and answers out.

The documents and what is searched live in one immutable snapshot. Adding, replacing or removing a document makes the
next snapshot; nothing is patched, so no stale chunk and no shifted number can exist, and a search that runs meanwhile
sees either the old or the new state.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from autocontext import loaders, retrievers
from autocontext.answer import Answer, rewrite_question
from autocontext.budget import Budget, fit_context, plan_budget
from autocontext.chunking import CountTokens, chunk_document, estimate_tokens
from autocontext.conversation import search_question
from autocontext.datatypes import (
    Chunk,
    Document,
    Evidence,
    FileReport,
    Hit,
    ModelOptions,
    Prompt,
    Report,
    Support,
    Turn,
)
from autocontext.embedding import Embedder
from autocontext.encoders import shared_encoder
from autocontext.errors import AutoContextError, EncoderError, LoadError, SettingsError
from autocontext.explanation import Explanation, Trace, Weighing
from autocontext.folders import folder_path, list_folder
from autocontext.fusion import effective_weights, fuse
from autocontext.indexing import Batch, Outcome, Progress, index_files, name_files
from autocontext.model_server import find_context_size
from autocontext.naming import label
from autocontext.prompt import build_prompt
from autocontext.protocols import Encoder, LoadedEncoder, ReadingEncoder, Retriever, Store, VectorCache, Vectors
from autocontext.questions import Question, read_questions, write_questions
from autocontext.retrievers.base import Corpus
from autocontext.retrievers.bm25 import PassageIndex
from autocontext.retrievers.dense import DenseRetriever
from autocontext.sentences import split_into_sentences
from autocontext.settings import (
    Settings,
    saved_settings_from_json,
    saved_settings_to_json,
    settings_from_json,
    settings_to_json,
)
from autocontext.snapshot import Entry, Snapshot
from autocontext.stemming import question_terms
from autocontext.stores.sqlite import SQLiteStore
from autocontext.support import LOOKED_AT, judge
from autocontext.templates import find_template
from autocontext.tokenizing import content_words, tokenize, word_spans
from autocontext.tokens import count_tokens
from autocontext.vector_pool import VectorRows
from autocontext.versions import passage_version, tokenizer_version
from autocontext.words import Vocabulary

T = TypeVar("T")
_OF_THE_INDEX = ("retrievers", "chunking", "bm25", "encoder")  # settings that what is built depends on
_MOST_CHUNKS = 50  # in a prompt that is filled up to its budget
_UNUSED_WORDS = 0.5  # share of the vocabulary that may belong to no document
_MAX_UNREAD = 5_000  # rows that are kept with a collection


class _found_once(Generic[T]):  # noqa: N801 - used like functools.cached_property
    """An attribute that is found when it is first asked for.

    ``functools.cached_property`` of Python 3.11 has one lock for all objects of a class: while one looks for a model on
    the network, no other would get its own.
    """

    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find = find

    def __get__(self, owner: Any, kind: type | None = None) -> T:
        value = owner.__dict__[self._find.__name__] = self._find(owner)
        return value


class AutoContext:
    """A collection of documents that can be asked.

    Parameters
    ----------
    settings
        Everything that can be tuned.
    encoder
        Another embedding model than the settings name; see ``autocontext.protocols.Encoder``.
    store
        Path of a SQLite file to keep the collection in, or a store; None keeps it in memory only.
    cache
        Where vectors are looked for that another collection, or an earlier state of this one, may have made.

    Attributes
    ----------
    notes
        What was done when the kept collection was opened, each a sentence: for example that it was indexed again.

    Raises
    ------
    StoreError
        If the file is no collection.
    SettingsError
        If the settings name an unknown retriever.

    Examples
    --------
    >>> ac = AutoContext(settings=Settings(retrievers=("bm25",)))
    >>> ac.add("notes/salt.txt", b"Salt melts at 801 degrees. Water boils at 100 degrees.").status
    'added'
    >>> ac.search("When does salt melt?")[0].chunk.document
    'notes/salt.txt'
    """

    def __init__(
        self,
        settings: Settings | None = None,
        encoder: Encoder | None = None,
        store: str | Path | Store | None = None,
        cache: VectorCache | None = None,
    ) -> None:
        self.settings = _checked(settings or Settings())
        self.notes: tuple[str, ...] = ()
        self._given_encoder = encoder
        self._cache = cache
        self._folders: dict[str, str] = {}
        self._originals: dict[str, bytes] = {}
        self._unread: dict[str, FileReport] = {}
        self._busy = False  # files are being added
        self._words_only = False  # a search embeds nothing: files are being added, or that was stopped
        self._questions: tuple[str, tuple[Question, ...]] = ("", ())
        self._session: dict[str, str] = {}  # what a store would keep beside the documents
        self._encoder_problem: str | None = None
        self._vocabulary = Vocabulary()
        self._writing = threading.RLock()  # one change of the collection at a time; searching goes on meanwhile
        self._building = threading.RLock()  # one build of a retriever at a time
        self._embedding = threading.Lock()  # one search at a time embeds what no batch has
        self._store = SQLiteStore(store) if isinstance(store, str | Path) else store
        self._embedder = Embedder(self._store, cache)
        self._kept_settings: str | None = None
        self._snapshot = Snapshot({})
        if self._store is not None:
            self.notes = self._open(self._store)

    # --- the collection -------------------------------------------------------------------------------------------

    @property
    def documents(self) -> Mapping[str, Document]:
        """The documents by name, in the order they were first added; read-only."""
        return self._snapshot.documents

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The one list of chunks that all retrievers share."""
        return self._snapshot.chunks

    @property
    def unread(self) -> tuple[FileReport, ...]:
        """The files of earlier batches that could not be read as they are now, by name; kept with the collection."""
        return tuple(self._unread[name] for name in sorted(self._unread))

    @property
    def retrievers(self) -> tuple[str, ...]:
        """The retrievers in use now: not those of weight 0, nor the dense one without a model; BM25 if none is left."""
        weighted = (name for name in self.settings.retrievers if self.settings.weights.get(name, 1.0) > 0)
        return tuple(name for name in weighted if name != "dense" or self._encoder is not None) or ("bm25",)

    def use_template(self, template: str) -> None:
        """Make prompts of another form from now on: a name, or a text with fields (see ``autocontext.templates``).

        Raises
        ------
        SettingsError
            If there is no such template, or it cannot be used; the old one stays.
        """
        self.change_settings(replace(self.settings, template=template))

    @property
    def encoder(self) -> Encoder | None:
        """The embedding model; chunks are measured in its tokens even where no retriever uses it. None without one."""
        return self._found_encoder

    @property
    def chunk_counter(self) -> tuple[CountTokens, int, str]:
        """How a chunk's length is counted, how long one may be, and the name of that way."""
        return self._counting

    @property
    def warnings(self) -> tuple[str, ...]:
        """What does not work as the settings ask, each a sentence: for example that there is no embedding model."""
        problems = [self._encoder_problem] if self._encoder_problem else []
        if self._words_only and not self._busy and self._encoder is not None:
            hashes = self._snapshot.hashes
            missing = sum(text_hash not in self._embedder.pool for text_hash in hashes)
            if missing:
                problems.append(
                    f"{missing:,} of {len(hashes):,} passages are found by their words only: they are not embedded "
                    "yet. That goes on when files are added."
                )
        return tuple(problems)

    @property
    def encoder_description(self) -> str:
        """The embedding model and what computes it, for people; "" before it was needed, or if there is none."""
        encoder = self._encoder if "_found_encoder" in vars(self) else None  # looking for it takes time
        return encoder.description if isinstance(encoder, LoadedEncoder) else ""

    def add(self, name: str, data: bytes, *, encoding: str | None = None) -> FileReport:
        """Add the bytes of one file under `name`; a document of the same name is replaced.

        Parameters
        ----------
        encoding
            How to decode a text file, remembered for its next versions; None to find out. (A zip archive has no row of
            its own but those of its files: `add_files` returns them.)
        """
        return self.add_files([(name, data)], encodings={name: encoding} if encoding else None)[0]

    def reread(self, name: str, encoding: str) -> FileReport:
        """Decode a text anew whose encoding was a guess, or was chosen before.

        Raises
        ------
        KeyError
            If there is no document of this name.
        LoadError
            If its encoding is certain.
        """
        known = self.documents[label(name)].encoding
        if known is None or not known.data:
            raise LoadError(name, "its encoding is certain")
        return self.add(name, known.data, encoding=encoding)

    def add_folder(
        self, folder: str | Path, *, progress: Progress | None = None, should_stop: Callable[[], bool] | None = None
    ) -> Report:
        """Bring the collection in step with a folder; names begin with the folder's own, as in a browser's upload.

        Hidden files and folders, and symbolic links, are left alone. A row a file, sorted by name; one that cannot be
        read is a row too. Documents of this folder whose file is gone are removed at the end, unless nothing was found
        at all: that is rather a wrong folder. Another folder of the same name gets a number: ``notes (2)``.

        Raises
        ------
        LoadError
            If `folder` is not a folder.
        """
        root = folder_path(folder)
        listing = list_folder(root)
        with self._writing:
            self.refresh()
            prefix, is_new = self._prefix_of(root)
            batch = name_files(((f"{prefix}/{name}", path) for name, path in listing.files), self.documents)
            found = {name for name, _ in batch.files}
            unread = tuple(label(f"{prefix}/{name}/" if name else f"{prefix}/") for name in listing.unread)
            unread += batch.unopened
            others = [n for n in self.documents if n.startswith(f"{prefix}/") and n not in found]
            gone = [name for name in others if found and not is_new and not name.startswith(unread)]
            report = self._index(batch, frozenset(gone), progress, should_stop)
            stopped = report.error is not None or (should_stop is not None and should_stop())
            rows = [*report, *(self.remove_many(gone) if gone and not stopped else ())]
            if found:
                self.forget_unread(n for n in self._unread if n.startswith(f"{prefix}/") and n not in found)
            notes = [*report.notes, *listing.notes]
            if is_new and others:
                notes.append(f"{len(others):,} documents named {prefix}/... were added in another way; they stay.")
            return Report(rows, notes, report.error)

    @property
    def folders(self) -> Mapping[str, str]:
        """The folders that were added: the first part of their documents' names, and where they are."""
        return dict(self._folders)

    def _prefix_of(self, root: Path) -> tuple[str, bool]:
        """Return what the names of a folder's documents begin with, and whether it is added for the first time."""
        for prefix, path in self._folders.items():
            if path == str(root):
                return prefix, False
        prefix, number = label(root.name or "root"), 1
        while prefix in self._folders and Path(self._folders[prefix]).is_dir():  # else that folder was moved
            number += 1
            prefix = f"{label(root.name or 'root')} ({number})"
        is_new = prefix not in self._folders
        self._folders[prefix] = str(root)
        self._keep_folders()
        return prefix, is_new

    def remove_folder(self, prefix: str) -> Report:
        """Remove a folder that was added, with all its documents; the folder itself is not touched."""
        with self._writing:
            report = self.remove_many([name for name in self.documents if name.startswith(f"{prefix}/")])
            self._folders.pop(prefix, None)
            self._keep_folders()
            return report

    def _keep_folders(self) -> None:
        if self._store is not None:
            self._store.put("folders", json.dumps(self._folders))

    def add_files(
        self,
        files: Iterable[tuple[str, bytes | Path]],
        *,
        encodings: Mapping[str, str] | None = None,
        progress: Progress | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> Report:
        """Add many files in one batch, by content (bytes) or path; a zip archive counts as the files in it.

        A file that cannot be read costs its own row only, and leaves a document of its name as it was. Unchanged
        content is not read again. Texts that were embedded before are not embedded again. The files become part of the
        collection in groups and are found by their words at once, by their meaning as the embedding, which goes on
        meanwhile, gets to them; see `LimitOptions` for how much is read. Where the collection cannot be written any
        more, the batch ends and the report has the error.

        Parameters
        ----------
        encodings
            By name, how to decode text files whose encoding is known.
        progress
            Called with a label, what is done and the whole so far; from two threads.
        should_stop
            Asked between files and between batches of chunks; True ends the batch. Documents that are read by then are
            kept, and the rows of those that are not embedded say so: the next batch goes on with these. The rows of
            the others say that they were not read.
        """
        with self._writing:
            self.refresh()
            batch = name_files(files, self.documents, encodings)
            report = self._index(batch, frozenset(), progress, should_stop)
            named = {row.name for row in report}
            gone = [name for name in self.documents if name.startswith(batch.opened) and name not in named]
            stopped = report.error is not None or (should_stop is not None and should_stop())
            return report if stopped or not gone else Report([*report, *self.remove_many(gone)], report.notes)

    def _index(
        self,
        batch: Batch,
        leaving: frozenset[str],
        progress: Progress | None,
        should_stop: Callable[[], bool] | None,
    ) -> Report:
        stop = should_stop or (lambda: False)
        _ = self._counting  # found once, before several threads cut documents
        self._busy = self._words_only = True
        try:
            report = self._index_files(batch, leaving, progress or _tell_nobody, stop)
            if report.error is None and self._lacks_vectors():  # of a batch that was stopped
                try:
                    self._embed_all(progress or _tell_nobody, stop)
                except AutoContextError as error:
                    report = Report([*report], report.notes, error)
            self._words_only = stop() or report.error is not None
        finally:
            self._busy = False
        self._note_unread(report)
        if self._store is not None and report.error is None and not stop() and self._store.get("stale"):
            self._store.prune()
        return report

    def _index_files(self, batch: Batch, leaving: frozenset[str], tell: Progress, stop: Callable[[], bool]) -> Report:
        encoder = self._encoder
        return index_files(
            batch,
            known=dict(self._snapshot.entries),
            leaving=leaving,
            cut=self.cut,
            embed=lambda entries, tell: (
                self._embedder.embed(entries, encoder, tell, stop) if encoder else list(entries)
            ),
            keep=self._take_in,
            limits=self.settings.limits,
            pdf=self.settings.pdf,
            tell=tell,
            stop=stop,
        )

    def _note_unread(self, report: Report) -> None:
        """Remember which files could not be read, as long as nothing better is known of them."""
        before = dict(self._unread)
        for row in report:
            if row.status in ("skipped", "failed"):
                self._unread[row.name] = row
            else:
                self._unread.pop(row.name, None)
        if self._store is not None and report.error is None and self._unread != before:
            self._store.put("unread", json.dumps([[r.name, r.status, r.reason] for r in self.unread[:_MAX_UNREAD]]))

    def forget_unread(self, names: Iterable[str]) -> None:
        """Say nothing more of these files, that could not be read."""
        with self._writing:
            self._note_unread(Report([FileReport(label(name), "removed") for name in list(names)]))

    def _take_in(self, outcomes: Sequence[Outcome]) -> None:
        """Make documents part of the collection: first in the store, then here; all or none."""
        fresh = {item.entry.document.name: item for item in outcomes if item.entry is not None}
        if not fresh:
            return
        originals = self._originals_to_keep(fresh)
        entries = {name: item.entry for name, item in fresh.items() if item.entry is not None}
        if self._store is not None:
            self._save(self._store, list(entries.values()), originals.get)
        else:
            self._originals = {n: data for n, data in self._originals.items() if n not in fresh} | originals
        self._replace_snapshot({**self._snapshot.entries, **entries})

    def _save(self, store: Store, entries: Sequence[Entry], original: Callable[[str], bytes | None]) -> None:
        """Write documents with the vectors that are in memory: the store may have let go of these meanwhile."""
        encoder = self._encoder
        hashes = (text_hash for entry in entries for text_hash in entry.hashes)
        store.save(
            (entry.kept(original(entry.document.name)) for entry in entries),
            encoder.name if encoder is not None else "",
            self._embedder.pool.get(hashes) if encoder is not None else None,
        )

    def _originals_to_keep(self, fresh: Mapping[str, Outcome]) -> dict[str, bytes]:
        """Return the files to keep beside their text, as many as the limit allows."""
        offered = {name: item.original for name, item in fresh.items() if item.original is not None}
        if not offered:
            return {}
        sizes = self._store.originals() if self._store else {name: len(data) for name, data in self._originals.items()}
        room = self.settings.limits.originals_megabytes * 1e6
        room -= sum(size for name, size in sizes.items() if name not in fresh)
        taken: dict[str, bytes] = {}
        for name, data in offered.items():
            if len(data) <= room:
                taken[name] = data
                room -= len(data)
        return taken

    def cut(self, document: Document) -> tuple[Chunk, ...]:
        """Return a document's chunks as they are made under these settings; they are numbered from 0."""
        count, limit, _ = self._counting
        return chunk_document(document, replace(self.settings.chunking, max_tokens=limit), count)

    def original(self, name: str) -> bytes | None:
        """Return the bytes of the file that a document was read from, if they were kept: only of PDF files."""
        return self._store.original(name) if self._store is not None else self._originals.get(name)

    def refresh(self) -> bool:
        """Take over what another process has written to the collection's file; True if there was anything.

        Only documents that are other than before are read. What that process has not embedded yet is found by its
        words until it has. A batch that goes on in another thread is not waited for: False then.

        Raises
        ------
        StoreError
            If the file is gone or does not answer.
        """
        if self._store is None or not self._writing.acquire(blocking=False):
            return False
        try:
            if not self._store.changed():
                return False
            signature = self._chunking_signature
            self._take_settings(self._store)
            self._open(self._store, self._snapshot.entries if self._chunking_signature == signature else None)
            self._take_vectors(self._store)
            return True
        finally:
            self._writing.release()

    def _take_vectors(self, store: Store) -> None:
        """Search by words what another process is still embedding, and by meaning what it has embedded meanwhile."""
        encoder = self._encoder
        if encoder is None:
            return
        lacked, self._words_only = self._words_only, store.lacks_vectors(encoder.name)
        if lacked or self._words_only:
            self._embedder.fetch(list(self._snapshot.entries.values()), encoder)

    def _take_settings(self, store: Store) -> None:
        """Go on with the settings that another process has given the collection; else both would cut it their way."""
        kept = store.get("settings")
        if kept and kept != self._kept_settings:
            before, self.settings = self.settings, _checked(settings_from_json(kept)[0])
            self._forget_counting(before)

    def _forget_counting(self, before: Settings) -> None:
        after = self.settings
        if (after.encoder, after.retrievers) != (before.encoder, before.retrievers):
            with self._building:  # else what a search embeds by the model before would be taken for the new one's
                self.__dict__.pop("_found_encoder", None)
                self._encoder_problem, self._embedder = None, Embedder(self._store, self._cache)
        self.__dict__.pop("_counting", None)

    def change_settings(
        self, settings: Settings, *, progress: Progress | None = None, should_stop: Callable[[], bool] | None = None
    ) -> None:
        """Go on with other settings, and keep them with the collection; documents are cut again if that is other.

        Parameters
        ----------
        progress, should_stop
            As in `warm_up`: with `progress`, what has to be embedded is embedded now.

        Raises
        ------
        SettingsError
            If they name an unknown retriever or template.
        """
        before, after = self.settings, _checked(settings)
        if self._store is not None:
            self._kept_settings = settings_to_json(after)
            self._store.put("settings", self._kept_settings)
        if replace(after, **{name: getattr(before, name) for name in _OF_THE_INDEX}) == after:
            self.settings = after
            return
        with self._writing:
            if progress is None:
                self._go_over(before, after)
                self._words_only = False
                return
            stop = should_stop or (lambda: False)
            with self._words_first(stop):
                self._go_over(before, after)
                self._embed_all(progress, stop)

    def _go_over(self, before: Settings, after: Settings) -> None:
        self.settings = after
        self._forget_counting(before)
        if self._store is not None:
            self._open(self._store)
        else:
            entries = self._snapshot.entries
            if (after.chunking, after.encoder) != (before.chunking, before.encoder):
                entries = {n: Entry(e.document, self.cut(e.document)) for n, e in entries.items()}
            self._replace_snapshot(entries)

    @property
    def embedding_speed(self) -> float | None:
        """Characters a second, as measured on the last full batch; None where nothing was embedded yet."""
        return getattr(self._found_encoder, "characters_per_second", None)

    def variant(
        self, settings: Settings, names: Collection[str] | None = None, encoder: Encoder | None = None
    ) -> AutoContext:
        """Return the same documents as they are now under other settings, in memory, to be compared with this.

        Nothing of this collection changes. Passages that both have share their vectors; others are embedded when they
        are first searched (`warm_up` tells how far that is), and kept in the cache that this collection was given.

        Parameters
        ----------
        names
            Only these documents; None takes all.
        encoder
            What embeds in place of this collection's `encoder`: one that makes the same vectors, in another way.

        Raises
        ------
        SettingsError
            If they name an unknown retriever or template.
        """
        other = AutoContext(settings, encoder or self._given_encoder, cache=self._cache)
        uses_encoder = ["dense" in each.retrievers for each in (settings, self.settings)]
        if settings.encoder == self.settings.encoder and uses_encoder[0] == uses_encoder[1] and encoder is None:
            other._found_encoder, other._encoder_problem = self._found_encoder, self._encoder_problem
        own, entries = self._encoder, self._snapshot.entries
        if names is not None:
            entries = {name: entries[name] for name in names if name in entries}
        elif own is not None and settings.encoder == self.settings.encoder:
            self._embedder.fetch(list(entries.values()), own)
            other._embedder.pool = self._embedder.pool
        is_same_index = replace(settings, **{name: getattr(self.settings, name) for name in _OF_THE_INDEX}) == settings
        if is_same_index and names is None and encoder is None:
            other._building, other._embedding = self._building, self._embedding
            other._snapshot = self._snapshot
            other._words_only = self._words_only
            return other  # nothing that was built depends on what is other: one index for both
        if other._chunking_signature != self._chunking_signature:
            entries = {name: Entry(entry.document, other.cut(entry.document)) for name, entry in entries.items()}
        other._embedder.pool = other._embedder.pool.copy()
        other._replace_snapshot(entries)
        return other

    # --- questions of one's own, and settings to come back to ---

    @property
    def questions(self) -> tuple[Question, ...]:
        """The user's questions with their answers, kept with the collection; see ``autocontext.questions``."""
        text = self._own("questions") or ""
        if self._questions[0] != text:
            self._questions = (text, read_questions(text)[0])
        return self._questions[1]

    def set_questions(self, questions: Iterable[Question]) -> None:
        """Keep these questions in place of those before."""
        self._keep_own("questions", write_questions(questions))

    @property
    def saved_settings(self) -> dict[str, Settings]:
        """Settings kept by name with the collection, to be measured or used again."""
        return saved_settings_from_json(self._own("saved_settings") or "{}")

    def save_settings(self, name: str, settings: Settings | None) -> None:
        """Keep settings under a name, in place of others of this name; None forgets them."""
        others = {other: kept for other, kept in self.saved_settings.items() if other != name}
        self._keep_own("saved_settings", saved_settings_to_json(others | ({name: settings} if settings else {})))

    def _own(self, key: str) -> str | None:
        return self._store.get(key) if self._store is not None else self._session.get(key)

    def _keep_own(self, key: str, value: str) -> None:
        if self._store is not None:
            self._store.put(key, value)
        else:
            self._session[key] = value

    def save_to(self, store: Store) -> None:
        """Write the whole collection with its settings into an empty store; this one goes on as it was."""
        with self._writing:
            self._save(store, list(self._snapshot.entries.values()), self.original)
            unread = [[row.name, row.status, row.reason] for row in self.unread[:_MAX_UNREAD]]
            for key, value in (
                ("settings", settings_to_json(self.settings)),
                ("chunking", self._chunking_signature),
                ("tokenizer", tokenizer_version()),
                ("folders", json.dumps(self._folders)),
                ("unread", json.dumps(unread)),
                ("questions", self._own("questions") or ""),
                ("saved_settings", self._own("saved_settings") or "{}"),
            ):
                store.put(key, value)

    def remove(self, name: str) -> FileReport:
        """Remove a document with all its chunks.

        Raises
        ------
        KeyError
            If there is no document of this name.
        """
        return self.remove_many([name])[0]

    def remove_many(self, names: Sequence[str]) -> Report:
        """Remove documents; KeyError, and nothing removed, if one is unknown."""
        labels = list(dict.fromkeys(map(label, names)))
        with self._writing:
            self.refresh()
            entries = dict(self._snapshot.entries)
            for name in labels:
                del entries[name]
                self._originals.pop(name, None)
            if labels and self._store is not None:
                self._store.remove(labels)
            if labels:
                self._replace_snapshot(entries)
            report = Report([FileReport(name, "removed") for name in labels])
            self._note_unread(report)
            return report

    def close(self) -> None:
        """Close the store, if there is one."""
        if self._store is not None:
            self._store.close()

    # --- asking ---------------------------------------------------------------------------------------------------

    def search(self, question: str, num_results: int = 10) -> list[Evidence]:
        """Return the `num_results` best chunks, best first, each with what every retriever said of it."""
        return self._search(self._snapshot, loaders.clean_text(question)[0], num_results, num_results)

    def judge(self, question: str, found: Sequence[Evidence]) -> Support:
        """Return the verdict of `get_prompt` on what `search` has found, best first."""
        return self._judge(self._snapshot, loaders.clean_text(question)[0], found)

    def get_prompt(
        self,
        question: str,
        num_results: int | None = None,
        max_tokens: int | None = None,
        *,
        history: Sequence[Turn] = (),
        searched: str | None = None,
    ) -> Prompt:
        """Return the prompt for a question, with what is in it, what was left out, and the verdict on it.

        Parameters
        ----------
        num_results
            Chunks in the prompt at most. None takes the settings' number, or, where `max_tokens` is given, as many as
            that holds.
        max_tokens
            Its token budget, never exceeded; None takes the settings' budget.
        history
            The conversation so far, oldest turn first: a question that does not stand alone is searched with what the
            talk is about, and the newest turns that fit go into the prompt. ``Answer.turn`` makes one.
        searched
            What to search for, and judge, instead of the question; None lets the history decide.

        Raises
        ------
        BudgetError
            If the question and the rules alone are over the budget.
        """
        return self.explain(question, num_results, max_tokens, history=history, searched=searched).prompt

    def explain(
        self,
        question: str,
        num_results: int | None = None,
        max_tokens: int | None = None,
        *,
        history: Sequence[Turn] = (),
        searched: str | None = None,
    ) -> Explanation:
        """Return the prompt of `get_prompt` with all that it came about by: a row a chunk that was found."""
        trace = Trace()
        wanted = num_results
        if wanted is None:
            wanted = self.settings.num_results if max_tokens is None else _MOST_CHUNKS
        question = loaders.clean_text(question)[0]
        searched = loaders.clean_text(searched)[0] if searched else search_question(question, history)
        snapshot = self._snapshot
        found = self._search(snapshot, searched, wanted, trace=trace)
        near = [
            item for n, item in enumerate(found) if n < wanted or any(hit.rank <= wanted for hit in item.hits.values())
        ]
        with trace.step("verdict"):
            support = self._judge(snapshot, searched, found)
        fill = partial(
            build_prompt,
            question,
            support=support,
            template=self.settings.template,
            max_chunks=wanted,
            max_tokens=self.settings.max_tokens if max_tokens is None else max_tokens,
            count_tokens=count_tokens,
            history=history,
            searched=searched,
        )
        listed = {id(item) for item in near}
        with trace.step("prompt"):
            prompt = self._fill(fill, found, near, wanted)
        shown = tuple(left for left in prompt.left_out if id(left.evidence) in listed)
        return Explanation(
            prompt=replace(prompt, left_out=shown),
            evidence=tuple(found),
            left_out=prompt.left_out,
            num_results=wanted,
            depth=max(wanted, self.settings.candidates),
            weighings=trace.weighings,
            seconds=trace.seconds,
        )

    @staticmethod
    def _fill(
        fill: Callable[[list[Evidence]], Prompt], found: Sequence[Evidence], near: list[Evidence], wanted: int
    ) -> Prompt:
        """Make the prompt of what is near the top; the next ones may take the places of near-duplicates."""
        prompt, offered = fill(near), {id(item) for item in near}
        others = [id(item) for item in found if id(item) not in offered]
        while others and len(prompt.evidence) < wanted:
            copies = sum(left.copy_of is not None for left in prompt.left_out)
            if not copies:
                break
            offered.update(others[:copies])
            others = others[copies:]
            prompt = fill([item for item in found if id(item) in offered])
        return prompt

    def ranking(self, retriever: str, question: str, depth: int) -> list[tuple[Chunk, Hit]]:
        """Return one retriever's own ranking, at most `depth` chunks, best first.

        Raises
        ------
        SettingsError
            If there is no retriever of this name.
        EncoderError
            If it needs an embedding model, and there is none.
        """
        snapshot = self._snapshot
        if not snapshot.chunks:
            return []
        hits = self._retriever(snapshot, retriever).search(loaders.clean_text(question)[0], depth)
        return [(snapshot.chunks[hit.chunk], hit) for hit in hits]

    def ask(
        self,
        question: str,
        model: str,
        api_base: str | None = None,
        api_key: str | None = None,
        *,
        num_results: int | None = None,
        max_tokens: int | None = None,
        options: ModelOptions | None = None,
        history: Sequence[Turn] = (),
        searched: str | None = None,
    ) -> Answer:
        """Return the answer of a language model, as an iterator of its text pieces; the model is asked on iteration.

        The prompt has at most `max_tokens`, or what the model's context leaves beside the answer. For that, Ollama is
        asked for the model's context size at once.

        Parameters
        ----------
        model, api_base, api_key
            See `ModelOptions`; where given, they take the place of what `options` says of them.
        options
            Temperature, length, time limits and context size.
        num_results, max_tokens, history, searched
            As in `get_prompt`.

        Raises
        ------
        BudgetError
            As in `get_prompt`. ModelError is raised while iterating.
        SettingsError
            If the model's context leaves no room beside the answer.
        """
        given = options or ModelOptions(model=model)
        given = replace(given, model=model, api_base=api_base or given.api_base, api_key=api_key or given.api_key)
        budget = self.plan(given, max_tokens)
        if num_results is None and max_tokens is None:
            num_results = self.settings.num_results
        prompt = self.get_prompt(question, num_results, budget.max_tokens, history=history, searched=searched)
        return Answer(prompt, fit_context(prompt, given, budget.size))

    def plan(self, options: ModelOptions, max_tokens: int | None = None) -> Budget:
        """Return how many tokens a prompt for this model may have, and why; see `autocontext.budget.Budget`."""
        wanted = self.settings.max_tokens if max_tokens is None else max_tokens
        return plan_budget(wanted, options, find_context_size(options))

    @staticmethod
    def rewrite(
        question: str,
        history: Sequence[Turn],
        model: str,
        api_base: str | None = None,
        api_key: str | None = None,
        *,
        options: ModelOptions | None = None,
    ) -> str:
        """Let a model put a follow-up question so that it stands alone: one call, for the `searched` of `ask`.

        Raises
        ------
        ModelError
            If no answer is to be had.
        """
        given = options or ModelOptions(model=model)
        given = replace(given, model=model, api_base=api_base or given.api_base, api_key=api_key or given.api_key)
        return rewrite_question(question, history, given)

    def matched_spans(self, question: str, text: str) -> list[tuple[int, int]]:
        """Return where `text` holds content words of the question, as ascending offsets without overlap."""
        languages = sorted(set(self._snapshot.languages.values()))
        words = content_words(tokenize(question))
        wanted = {term for terms in question_terms(words, languages, question) for term in terms}
        merged: list[tuple[int, int]] = []
        for start, end, tokens in word_spans(text):
            if not any(wanted.intersection(terms) for terms in question_terms(tokens, languages)):
                continue
            if merged and start <= merged[-1][1]:  # pairs of an unspaced script overlap
                start, end = merged.pop()[0], end
            merged.append((start, end))
        return merged

    def warm_up(self, progress: Progress | None = None, should_stop: Callable[[], bool] | None = None) -> None:
        """Load the embedding model and index what there is now, so that the first question need not wait for it.

        Parameters
        ----------
        progress, should_stop
            As in `add_files`, of what must be embedded first; searches find it by its words meanwhile. Without
            `progress`, a search embeds it.
        """
        if progress is not None:
            stop = should_stop or (lambda: False)
            with self._writing, self._words_first(stop):
                self._embed_all(progress, stop)
        encoder = self._encoder
        if isinstance(encoder, LoadedEncoder):
            encoder.warm_up()
        snapshot = self._snapshot
        if snapshot.chunks:
            for name in self.retrievers:
                self._retriever(snapshot, name)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _open(self, store: Store, known: Mapping[str, Entry] | None = None) -> tuple[str, ...]:
        """Load what the store keeps; cut it again where that is done in another way now, and say what was done.

        Of what is `known` from it, only documents that are other now are loaded.
        """
        names, loaded = store.load_changes() if known else ([], store.load())
        signature, notes = self._chunking_signature, []
        same_cut, same_words = store.get("chunking") == signature, store.get("tokenizer") == tokenizer_version()
        if known and not (same_cut and same_words):
            names, known, loaded = [], None, store.load()
        self._kept_settings = store.get("settings")
        self._folders = json.loads(store.get("folders") or "{}")
        entries = {kept.document.name: Entry.of_kept(kept) for kept in loaded}
        if known:
            entries = {name: entries[name] if name in entries else known[name] for name in names}
        self._unread = {
            name: FileReport(name, status, reason, len(entries[name].chunks) if name in entries else 0)
            for name, status, reason in json.loads(store.get("unread") or "[]")
        }
        if not same_cut:
            entries = {name: Entry(entry.document, self.cut(entry.document)) for name, entry in entries.items()}
            if entries:
                notes.append("The documents were cut into passages again: this is done in another way than before.")
        elif not same_words:
            entries = {name: Entry(entry.document, entry.chunks) for name, entry in entries.items()}
        uncounted = [kept.document.name for kept in loaded if not kept.words]
        changed = list(entries) if not (same_cut and same_words) else uncounted
        if changed or not same_cut:
            self._save(store, [entries[name] for name in changed], store.original)
            store.put("chunking", signature)
        notes += self._note_versions(store, is_empty=not entries)
        if not known or loaded or list(entries) != list(known):
            self._replace_snapshot(entries)
        return tuple(notes)

    def _note_versions(self, store: Store, *, is_empty: bool) -> list[str]:
        """Record which tokenizer and model the collection was used with last, and tell what another one means."""
        encoder = self._encoder
        now = {"tokenizer": tokenizer_version(), "model": encoder.name if encoder is not None else ""}
        before = {key: store.get(key) for key in now}
        notes = []
        if before["tokenizer"] not in (None, now["tokenizer"]) and not is_empty:
            notes.append("Words are told apart in another way than before: the keyword index was made again.")
        if before["model"] and now["model"] and before["model"] != now["model"] and not is_empty:
            notes.append(
                f"The passages had vectors of the model {before['model']}; those of {now['model']} are made where they "
                "are missing, from the kept texts."
            )
        for key, value in now.items():
            if value and before[key] != value:
                store.put(key, value)
        return notes

    def _replace_snapshot(self, entries: Mapping[str, Entry]) -> None:
        """Make the next state the present one, and let go of vectors that no document has if they are many."""
        snapshot = Snapshot(entries)
        with self._building:
            self._snapshot = snapshot
            self._embedder.let_go(snapshot.hashes)

    @_found_once
    def _counting(self) -> tuple[CountTokens, int, str]:
        """Return how a chunk's length is counted, how long one may be, and the name of that way."""
        limit = self.settings.chunking.max_tokens
        encoder = self._found_encoder
        if isinstance(encoder, ReadingEncoder):
            return encoder.count_tokens, min(limit, encoder.max_tokens), encoder.name
        return estimate_tokens, limit, "estimate"

    @property
    def _chunking_signature(self) -> str:
        _, limit, counter = self._counting
        options = self.settings.chunking
        return (
            f"{options.sentences} sentences of {options.sentence_tokens} tokens, overlap {options.overlap}, "
            f"at most {limit} tokens of {counter}, {passage_version()}"
        )

    @_found_once
    def _found_encoder(self) -> Encoder | None:
        """Return the encoder, whether or not a retriever uses it: chunks are measured in its tokens; None without."""
        if self._given_encoder is not None:
            return self._given_encoder
        options = self.settings.encoder
        if "dense" not in self.settings.retrievers:  # only to measure chunks: not worth a download
            options = replace(options, allow_download=False)
        try:
            return shared_encoder(options)
        except EncoderError as error:
            if "dense" in self.settings.retrievers:
                self._encoder_problem = f"{error} Until then passages are found by their words only."
            return None

    @property
    def _encoder(self) -> Encoder | None:
        """The encoder if a retriever uses it."""
        return self._found_encoder if "dense" in self.settings.retrievers else None

    @contextmanager
    def _words_first(self, stop: Callable[[], bool]) -> Iterator[None]:
        """Let searches go on by words while what is within embeds; after a stop they do so too."""
        self._busy = self._words_only = True
        try:
            yield
            self._words_only = stop()
        finally:
            self._busy = False

    def _embed_all(self, progress: Progress, stop: Callable[[], bool]) -> None:
        encoder, total = self._encoder, len(self._snapshot.chunks)
        if total and encoder is not None:
            entries = list(self._snapshot.entries.values())
            self._embedder.embed(entries, encoder, lambda done: progress("Embedding", done, total), stop)

    def _lacks_vectors(self) -> bool:
        encoder = self._encoder
        return encoder is not None and self._embedder.lacks_any(self._snapshot.hashes, encoder)

    def _retriever(self, snapshot: Snapshot, name: str) -> Retriever:
        if name == "dense" and not self._words_only and not snapshot.has_retriever(name):
            self._embed_for_search(snapshot)
        with self._building:
            return snapshot.retriever(name, lambda: retrievers.build(name, self._corpus(snapshot, name)))

    def _embed_for_search(self, snapshot: Snapshot) -> None:
        """Embed what is missing, once for all who ask; changes of the collection and the other retrievers go on."""
        with self._embedding:
            with self._building:  # both of one moment
                embedder, encoder = self._embedder, self._encoder
            if encoder is not None:
                embedder.embed(list(snapshot.entries.values()), encoder, lambda _done: None, lambda: False)

    def _corpus(self, snapshot: Snapshot, name: str) -> Corpus:
        encoder = self._encoder if name == "dense" else None
        vectors: Vectors | VectorRows | None = None
        if encoder is not None:
            self._embedder.fetch(list(snapshot.entries.values()), encoder)
            vectors = VectorRows(self._embedder.pool, snapshot.hashes) if snapshot.chunks else encoder.encode([])
        return Corpus(
            snapshot.chunks,
            self.settings,
            encoder,
            vectors,
            [entry.words for entry in snapshot.entries.values()],
            self._vocabulary,
            snapshot.languages,
            snapshot.neighbours,
        )

    def _bm25(self, snapshot: Snapshot) -> PassageIndex:
        """Return the words' statistics, which the verdict needs even where BM25 is not a retriever in use."""
        index: PassageIndex = self._retriever(snapshot, "bm25").index  # type: ignore[attr-defined]
        if index.postings.unused > _UNUSED_WORDS:
            self._vocabulary = Vocabulary()  # the next index begins without the words of documents that are gone
        return index

    def _judge(self, snapshot: Snapshot, question: str, found: Sequence[Evidence]) -> Support:
        words = self._bm25(snapshot)
        trust, closeness = 0.0, list[float]()
        if found and "dense" in self.retrievers:
            dense = self._retriever(snapshot, "dense")
            trust = dense.trust(question)
            if trust > 0 and isinstance(dense, DenseRetriever):
                best = {item.chunk.number: item.chunk.text for item in found[:LOOKED_AT]}
                closeness = dense.closeness(question, {n: split_into_sentences(text) for n, text in best.items()})
        return judge(
            question,
            found,
            closeness=closeness,
            coverage=words.coverage(question),
            word_frequency=words.word_frequency,
            n_chunks=words.corpus_size,
            languages=snapshot.languages,
            trust=trust,
        )

    def _search(
        self,
        snapshot: Snapshot,
        question: str,
        num_results: int,
        limit: int | None = None,
        trace: Trace | None = None,
    ) -> list[Evidence]:
        if num_results < 1:
            raise SettingsError(f"num_results must be 1 or more, not {num_results}.")
        if not snapshot.chunks or not question.strip():
            return []
        is_traced, trace = trace is not None, trace or Trace()
        depth = max(num_results, self.settings.candidates)
        names = self.retrievers
        with trace.step("index"):
            used = [self._retriever(snapshot, name) for name in names]
        for retriever in used:
            if isinstance(retriever, DenseRetriever):
                with trace.step("question's vector"):
                    retriever.closeness(question, {})  # to no chunk: the vector is made, and at hand for the search
        rankings: dict[str, list[Hit]] = {}
        trust: dict[str, float] = {}
        for retriever in used:
            with trace.step(retriever.name):
                rankings[retriever.name] = retriever.search(question, depth)
                trust[retriever.name] = retriever.trust(question)
        method = self.settings.fusion
        weights = {name: self.settings.weights.get(name) or 1.0 for name in names}  # 0: BM25 stands in
        if is_traced:
            effective = effective_weights(
                rankings, method=method, weights=weights, trust=trust, depth=depth, n_chunks=len(snapshot.chunks)
            )
            trace.weighings = tuple(Weighing(name, weights[name], trust[name], effective[name]) for name in names)
        with trace.step("fusion"):
            return fuse(
                rankings, snapshot.chunks, method=method, weights=weights, trust=trust, depth=depth, limit=limit
            )


def _checked(settings: Settings) -> Settings:
    """Return the settings; SettingsError if they name a part that there is not."""
    unknown = [name for name in settings.retrievers if name not in retrievers.available()]
    if unknown:
        raise SettingsError(f"There is no retriever {unknown[0]!r}; choose from {', '.join(retrievers.available())}.")
    find_template(settings.template)  # a mistake in it is told now
    return settings


def _tell_nobody(_what: str, _done: int, _total: int) -> None:
    pass
