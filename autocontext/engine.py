"""AutoContext: documents in, evidence, prompts and answers out.

The documents and what is searched live in one immutable snapshot. Adding, replacing or removing a document makes the
next snapshot; nothing is patched, so no stale chunk and no shifted number can exist, and a search that runs meanwhile
sees either the old or the new state.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from autocontext import loaders, retrievers
from autocontext.answer import Answer, fit_context
from autocontext.chunking import CountTokens, chunk_document, estimate_tokens
from autocontext.datatypes import Chunk, Document, Evidence, FileReport, FileStatus, ModelOptions, Prompt, Report
from autocontext.encoders import SentenceTransformerEncoder, default_encoder
from autocontext.errors import EncoderError, KindError, LoadError, SettingsError
from autocontext.fusion import fuse
from autocontext.prompt import TEMPLATES, build_prompt
from autocontext.protocols import Encoder, ReadingEncoder, Retriever, Store, Vectors
from autocontext.retrievers.base import Corpus
from autocontext.retrievers.bm25 import BM25Index
from autocontext.settings import EncoderOptions, Settings
from autocontext.snapshot import Entry, Snapshot
from autocontext.stores.sqlite import SQLiteStore
from autocontext.support import judge
from autocontext.tokenizing import content_words, tokenize, word_spans
from autocontext.tokens import count_tokens

Progress = Callable[[str, int, int], None]
"""Called with a label, what is done and the whole: files first ("Reading"), then chunks ("Embedding")."""

_ENCODE_BATCH = 64  # short enough that a question asked meanwhile need not wait long for its turn
_STOPPED = "Stopped before it was indexed."


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
        self, settings: Settings | None = None, encoder: Encoder | None = None, store: str | Path | Store | None = None
    ) -> None:
        self.settings = settings or Settings()
        unknown = [name for name in self.settings.retrievers if name not in retrievers.available()]
        if unknown:
            raise SettingsError(
                f"There is no retriever {unknown[0]!r}; choose from {', '.join(retrievers.available())}."
            )
        if self.settings.template not in TEMPLATES:
            raise SettingsError(f"There is no template {self.settings.template!r}; choose from {', '.join(TEMPLATES)}.")
        self._given_encoder = encoder
        self._encoder_problem: str | None = None
        self._vectors: dict[bytes, Vectors] = {}
        self._writing = threading.RLock()  # one change of the collection at a time; searching goes on meanwhile
        self._building = threading.RLock()  # one build of a retriever at a time
        self._store = SQLiteStore(store) if isinstance(store, str | Path) else store
        self._snapshot = Snapshot({})
        if self._store is not None:
            self._open(self._store)

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
    def retrievers(self) -> tuple[str, ...]:
        """The retrievers in use now: not those of weight 0, nor the dense one without a model; BM25 if none is left."""
        weighted = (name for name in self.settings.retrievers if self.settings.weights.get(name, 1.0) > 0)
        return tuple(name for name in weighted if name != "dense" or self._encoder is not None) or ("bm25",)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What does not work as the settings ask, each a sentence: for example that there is no embedding model."""
        return (self._encoder_problem,) if self._encoder_problem else ()

    def add(self, name: str, data: bytes) -> FileReport:
        """Add the bytes of one file under `name`; a document of the same name is replaced."""
        return self.add_files([(name, data)])[0]

    def add_folder(
        self, folder: str | Path, *, progress: Progress | None = None, should_stop: Callable[[], bool] | None = None
    ) -> Report:
        """Add every file under `folder`; names begin with the folder's own, as in a browser's upload.

        Hidden files and folders, and symbolic links, are left alone. A row a file, sorted by name; one that cannot be
        read is a row too. Documents of this folder's name whose file is gone are removed, unless nothing was found at
        all: that is rather a wrong folder.

        Raises
        ------
        LoadError
            If `folder` is not a folder.
        """
        root = Path(folder).expanduser().resolve()
        if not root.is_dir():
            raise LoadError(str(folder), "this is not a folder")
        paths = {
            unicodedata.normalize("NFC", f"{root.name}/{path.relative_to(root).as_posix()}"): path
            for path in sorted(root.rglob("*"))
            if not loaders.is_hidden(path.relative_to(root).as_posix()) and _is_file(path)
        }
        report = self.add_files(paths.items(), progress=progress, should_stop=should_stop)
        gone = [name for name in self.documents if name.startswith(f"{root.name}/") and name not in paths]
        return Report([*report, *self.remove_many(gone)]) if paths else report

    def add_files(
        self,
        files: Iterable[tuple[str, bytes | Path]],
        *,
        progress: Progress | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> Report:
        """Add many files in one batch, by content (bytes) or path.

        A file that cannot be read costs its own row only, and leaves a document of its name as it was. Unchanged
        content is not read again. Texts that were embedded before are not embedded again.

        Parameters
        ----------
        progress
            Called with a label, what is done and the whole.
        should_stop
            Asked between files and between batches of chunks; True ends the batch. Documents that are complete by then
            are kept; the rows of the others say that they are not.
        """
        listed = list(files)
        tell = progress or _tell_nobody
        stop = should_stop or (lambda: False)
        with self._writing:
            entries = dict(self._snapshot.entries)
            rows: list[FileReport] = []
            fresh: dict[str, Entry] = {}
            for done, (name, source) in enumerate(listed):
                if stop():
                    break
                tell("Reading", done, len(listed))
                row, entry = self._read(_label(name), source, entries)
                rows.append(row)
                if entry is not None:
                    entries[row.name] = fresh[row.name] = entry
            tell("Reading", len(rows), len(listed))
            unread = [self._stopped(_label(name)) for name, _ in listed[len(rows) :]]
            chunks = [pair for entry in fresh.values() for pair in zip(entry.hashes, entry.chunks, strict=True)]
            if not self._embed(chunks, tell, stop):
                incomplete = {name for name, entry in fresh.items() if not self._vectors.keys() >= set(entry.hashes)}
                fresh = {name: entry for name, entry in fresh.items() if name not in incomplete}
                rows = [self._stopped(row.name) if row.name in incomplete else row for row in rows]
            if fresh:
                if self._store is not None:
                    self._store.save((entry.document, entry.chunks) for entry in fresh.values())
                self._replace_snapshot({**self._snapshot.entries, **fresh})
            return Report([*rows, *unread])

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
        labels = list(dict.fromkeys(map(_label, names)))
        with self._writing:
            entries = dict(self._snapshot.entries)
            for label in labels:
                del entries[label]
            if labels and self._store is not None:
                self._store.remove(labels)
            if labels:
                self._replace_snapshot(entries)
            return Report([FileReport(label, "removed") for label in labels])

    def close(self) -> None:
        """Close the store, if there is one."""
        if self._store is not None:
            self._store.close()

    # --- asking ---------------------------------------------------------------------------------------------------

    def search(self, question: str, num_results: int = 10) -> list[Evidence]:
        """Return the `num_results` best chunks, best first, each with what every retriever said of it."""
        return self._search(self._snapshot, loaders.clean_text(question)[0], num_results)[:num_results]

    def get_prompt(self, question: str, num_results: int | None = None, max_tokens: int | None = None) -> Prompt:
        """Return the prompt for a question, with what is in it, what was left out, and the verdict on it.

        Parameters
        ----------
        num_results
            Chunks in the prompt at most; None takes the settings' number.
        max_tokens
            Its token budget, never exceeded; None takes the settings' budget.

        Raises
        ------
        BudgetError
            If the question and the rules alone are over the budget.
        """
        wanted = self.settings.num_results if num_results is None else num_results
        question = loaders.clean_text(question)[0]
        snapshot = self._snapshot
        found = self._search(snapshot, question, wanted)
        near = [
            item for n, item in enumerate(found) if n < wanted or any(hit.rank <= wanted for hit in item.hits.values())
        ]
        index = self._bm25(snapshot)
        support = judge(
            question,
            found,
            document_frequency=index.document_frequency,
            n_chunks=index.corpus_size,
            trust=self._retriever(snapshot, "dense").trust(question) if found and "dense" in self.retrievers else 0.0,
        )
        return build_prompt(
            question,
            near,
            support,
            template=self.settings.template,
            max_chunks=wanted,
            max_tokens=self.settings.max_tokens if max_tokens is None else max_tokens,
            count_tokens=count_tokens,
        )

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
    ) -> Answer:
        """Return the answer of a language model, as an iterator of its text pieces; the model is asked on iteration.

        Parameters
        ----------
        model, api_base, api_key
            See `ModelOptions`; where given, they take the place of what `options` says of them.
        options
            Temperature, length, time limits and context size.

        Raises
        ------
        BudgetError
            As in `get_prompt`. ModelError is raised while iterating.
        """
        prompt = self.get_prompt(question, num_results=num_results, max_tokens=max_tokens)
        given = options or ModelOptions(model=model)
        given = replace(given, model=model, api_base=api_base or given.api_base, api_key=api_key or given.api_key)
        return Answer(prompt, fit_context(prompt, given))

    @staticmethod
    def matched_spans(question: str, text: str) -> list[tuple[int, int]]:
        """Return where `text` holds content words of the question, as ascending offsets without overlap."""
        wanted = set(content_words(tokenize(question)))
        merged: list[tuple[int, int]] = []
        for start, end, tokens in word_spans(text):
            if wanted.isdisjoint(tokens):
                continue
            if merged and start <= merged[-1][1]:  # pairs of an unspaced script overlap
                start, end = merged.pop()[0], end
            merged.append((start, end))
        return merged

    def warm_up(self) -> None:
        """Load the embedding model and index what there is now, so that the first question need not wait for it."""
        encoder = self._encoder
        if isinstance(encoder, SentenceTransformerEncoder):
            encoder.warm_up()
        snapshot = self._snapshot
        if snapshot.chunks:
            for name in self.retrievers:
                self._retriever(snapshot, name)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _open(self, store: Store) -> None:
        loaded = store.load()
        signature = self._chunking_signature
        if store.get("chunking") != signature:
            loaded = [(document, self._chunk(document)) for document, _ in loaded]
            store.save(loaded)
            store.put("chunking", signature)
        self._snapshot = Snapshot({document.name: Entry(document, chunks) for document, chunks in loaded})

    def _replace_snapshot(self, entries: Mapping[str, Entry]) -> None:
        """Make the next state the present one, and let go of vectors that no document has any more."""
        snapshot = Snapshot(entries)
        with self._building:
            self._snapshot = snapshot
            if len(self._vectors) > len(snapshot.hashes):
                used = set(snapshot.hashes)
                self._vectors = {text_hash: row for text_hash, row in self._vectors.items() if text_hash in used}

    def _stopped(self, name: str) -> FileReport:
        return _not_taken(name, "skipped", _STOPPED, self._snapshot.entries.get(name))

    def _read(self, name: str, source: bytes | Path, entries: Mapping[str, Entry]) -> tuple[FileReport, Entry | None]:
        known = entries.get(name)
        try:
            loaders.check_name(name)
            data = source.read_bytes() if isinstance(source, Path) else bytes(source)
            if known is not None and known.document.content_hash == loaders.content_hash(data):
                return _not_taken(name, "unchanged", " ".join(known.document.notes), known), None
            document = loaders.load(name, data)
        except KindError as error:
            return _not_taken(name, "skipped", _sentence(error.reason), known), None
        except LoadError as error:
            return _not_taken(name, "failed", _sentence(error.reason), known), None
        except OSError as error:
            return _not_taken(name, "failed", _sentence(error.strerror or "it cannot be read"), known), None
        chunks = self._chunk(document)
        status: FileStatus = "added" if known is None else "changed"
        return FileReport(name, status, " ".join(document.notes), len(chunks)), Entry(document, chunks)

    @cached_property
    def _counting(self) -> tuple[CountTokens, int, str]:
        """How a chunk's length is counted, how long one may be, and the name of that way."""
        limit = self.settings.chunking.max_tokens
        encoder = self._found_encoder
        if isinstance(encoder, ReadingEncoder):
            return encoder.count_tokens, min(limit, encoder.max_tokens), encoder.name
        return estimate_tokens, limit, "estimate"

    @property
    def _chunking_signature(self) -> str:
        _, limit, counter = self._counting
        return f"{self.settings.chunking.sentences} sentences, {limit} tokens of {counter}"

    def _chunk(self, document: Document) -> tuple[Chunk, ...]:
        count, limit, _ = self._counting
        return chunk_document(document, replace(self.settings.chunking, max_tokens=limit), count)

    @cached_property
    def _found_encoder(self) -> Encoder | None:
        """The encoder, whether or not a retriever uses it: chunks are measured in its tokens. None if there is none."""
        if self._given_encoder is not None:
            return self._given_encoder
        options = self.settings.encoder
        if "dense" not in self.settings.retrievers:  # only to measure chunks: not worth a download
            options = replace(options, allow_download=False)
        try:
            return default_encoder() if options == EncoderOptions() else SentenceTransformerEncoder(options)
        except EncoderError as error:
            if "dense" in self.settings.retrievers:
                self._encoder_problem = f"{error} Until then passages are found by their words only."
            return None

    @property
    def _encoder(self) -> Encoder | None:
        """The encoder if a retriever uses it."""
        return self._found_encoder if "dense" in self.settings.retrievers else None

    def _embed(self, texts: Sequence[tuple[bytes, Chunk]], tell: Progress, stop: Callable[[], bool]) -> bool:
        """Get a vector of each text, from memory, the store, or the encoder; False if it was stopped before the end."""
        encoder = self._encoder
        missing = {text_hash: chunk.text for text_hash, chunk in texts if text_hash not in self._vectors}
        if encoder is None or not missing:
            return True
        if self._store is not None:
            known = self._store.vectors(encoder.name, list(missing))
            self._vectors.update(known)
            missing = {text_hash: text for text_hash, text in missing.items() if text_hash not in known}
        hashes = sorted(missing, key=lambda text_hash: len(missing[text_hash]))  # like lengths together: little padding
        for first in range(0, len(hashes), _ENCODE_BATCH):
            if stop():
                return False
            tell("Embedding", first, len(hashes))
            batch = hashes[first : first + _ENCODE_BATCH]
            rows = dict(zip(batch, encoder.encode([missing[text_hash] for text_hash in batch]), strict=True))
            self._vectors.update(rows)
            if self._store is not None:
                self._store.add_vectors(encoder.name, rows)
        tell("Embedding", len(hashes), len(hashes))
        return True

    def _retriever(self, snapshot: Snapshot, name: str) -> Retriever:
        with self._building:
            return snapshot.retriever(name, lambda: retrievers.build(name, self._corpus(snapshot, name)))

    def _corpus(self, snapshot: Snapshot, name: str) -> Corpus:
        encoder = self._encoder if name == "dense" else None
        vectors: Vectors | None = None
        if encoder is not None:
            self._embed(list(zip(snapshot.hashes, snapshot.chunks, strict=True)), _tell_nobody, lambda: False)
            rows = [self._vectors[text_hash] for text_hash in snapshot.hashes]
            vectors = np.stack(rows) if rows else encoder.encode([])
        return Corpus(snapshot.chunks, self.settings, encoder, vectors)

    def _bm25(self, snapshot: Snapshot) -> BM25Index:
        """Return the words' statistics, which the verdict needs even where BM25 is not a retriever in use."""
        return self._retriever(snapshot, "bm25").index  # type: ignore[attr-defined, no-any-return]

    def _search(self, snapshot: Snapshot, question: str, num_results: int) -> list[Evidence]:
        if num_results < 1:
            raise SettingsError(f"num_results must be 1 or more, not {num_results}.")
        if not snapshot.chunks or not question.strip():
            return []
        depth = max(num_results, self.settings.candidates)
        names = self.retrievers
        used = [self._retriever(snapshot, name) for name in names]
        return fuse(
            {retriever.name: retriever.search(question, depth) for retriever in used},
            snapshot.chunks,
            method=self.settings.fusion,
            weights={name: self.settings.weights.get(name) or 1.0 for name in names},  # 0: BM25 stands in
            trust={retriever.name: retriever.trust(question) for retriever in used},
            depth=depth,
        )


def _label(name: str) -> str:
    """Return a document's name as it was given, but on one line: it is a label and never opened."""
    return loaders.clean_text(name)[0].replace("\n", " ") or "unnamed"


def _not_taken(name: str, status: FileStatus, reason: str, known: Entry | None) -> FileReport:
    """Return the row of a file that changes nothing: what the collection holds under its name stays."""
    return FileReport(name, status, reason, len(known.chunks) if known else 0)


def _is_file(path: Path) -> bool:
    """Tell files from folders and links; what cannot even be looked at counts as a file, so that it gets its row."""
    try:
        return path.is_file() and not path.is_symlink()
    except OSError:
        return True


def _tell_nobody(_label: str, _done: int, _total: int) -> None:
    pass


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:].rstrip('.')}."
