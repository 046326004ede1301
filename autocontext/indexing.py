"""Many files into a collection: read, cut and kept in groups, and embedded meanwhile.

Words find a document as soon as its group is kept, its meaning when it is embedded, on a thread of its own. A bad file
costs its own row, a slow one is overtaken, and one of very many chunks is embedded last.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from autocontext import loaders
from autocontext.datatypes import Chunk, Document, FileReport, FileStatus, Report
from autocontext.errors import AutoContextError, KindError, LoadError, LoadStoppedError, StoreError
from autocontext.loaders import Reading, Source
from autocontext.naming import label, numbered
from autocontext.reading import in_order
from autocontext.settings import LimitOptions, PdfOptions
from autocontext.snapshot import Entry

Progress = Callable[[str, int, int], None]
"""Called with a label, what is done and the whole so far: "Reading" files, "Pages" of a PDF, "Embedding" chunks."""

Embed = Callable[[Sequence[Entry], Callable[[int], None]], list[Entry]]

STOPPED = "Stopped before it was indexed."
WORDS_ONLY = "Not embedded yet: found by its words only until files are added again."
_FIRST_GROUP, _LARGEST_GROUP = 128, 2048  # chunks: soon something to ask, later few rebuilds of the keyword index
_GROUP_SECONDS = 2.0
_BIG = 2048  # chunks of a document that is embedded after the others
_PORTION = 4096  # chunks that are put in order of their length together
_KEPT_ORIGINALS = (".pdf",)
_PDFS_AT_ONCE = 5  # at most so many, one after the other, in front of a child


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file: its row and, if it is new or changed, what is to be indexed."""

    row: FileReport
    entry: Entry | None = None
    original: bytes | None = None
    size: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """The files of one batch under names of their own, and what to say of some of them.

    Attributes
    ----------
    opened, unopened
        What the names of the files in zip archives begin with, of archives that could be opened and of others.
    encodings
        By name, how the user says that a text is to be decoded.
    """

    files: tuple[tuple[str, Source], ...]
    remarks: Mapping[str, str]
    notes: tuple[str, ...]
    opened: tuple[str, ...] = ()
    unopened: tuple[str, ...] = ()
    encodings: Mapping[str, str] = field(default_factory=dict)


def name_files(
    files: Iterable[tuple[str, bytes | Path]],
    known: Mapping[str, Document],
    encodings: Mapping[str, str] | None = None,
) -> Batch:
    """Give each file a name of its own: a second one of the same name and other content is numbered.

    It gets the number that it had before, if its content is known under one. A file that is given twice is taken once.
    A zip archive counts as the files in it.
    """
    given = [(label(name), source) for name, source in files]
    archives = [name for name, _ in given if loaders.suffix_of(name) == ".zip"]
    listed = [(label(name), source) for name, source in loaders.unpacked(given)]
    counts = Counter(name for name, _ in listed)
    named: list[tuple[str, Source]] = [(name, source) for name, source in listed if counts[name] == 1]
    remarks: dict[str, str] = {}
    for name in (name for name, count in counts.items() if count > 1):
        contents: dict[str, Source] = {}
        for index, source in enumerate(source for other, source in listed if other == name):
            contents.setdefault(_hash_of(source) or f"unreadable {index}", source)
        names = _number(name, list(contents), known, taken=counts.keys())
        named += [(names[content], source) for content, source in contents.items()]
        if len(contents) > 1:
            remarks.update(dict.fromkeys(names.values(), f"One of {len(contents)} different files named {name}."))
    twice = len(listed) - len(named)
    notes = (f"{twice:,} {'file was' if twice == 1 else 'files were'} given twice and taken once.",) if twice else ()
    order = {name: place for place, (name, _) in reversed(list(enumerate(listed)))}
    named.sort(key=lambda file: order.get(file[0], len(listed)))
    unopened = {name for name, _ in named if loaders.suffix_of(name) == ".zip"}
    return Batch(
        tuple(named),
        remarks,
        notes,
        tuple(f"{name}/" for name in archives if name not in unopened),
        tuple(f"{name}/" for name in unopened),
        {label(name): encoding for name, encoding in (encodings or {}).items()},
    )


def _number(name: str, contents: Sequence[str], known: Mapping[str, Document], taken: Iterable[str]) -> dict[str, str]:
    free = [numbered(name, n) for n in range(2, 2 * len(contents) + len(set(taken)) + 2)]
    free = [name, *(other for other in free if other not in taken)]
    names = {
        known[other].content_hash: other for other in free if other in known and known[other].content_hash in contents
    }
    rest = iter([other for other in free if other not in names.values()])
    return {content: names.get(content) or next(rest) for content in contents}


def _hash_of(source: Source) -> str | None:
    try:
        return loaders.content_hash(loaders.content(source))
    except (OSError, LoadError):
        return None


def read_file(
    name: str,
    source: Source,
    *,
    known: Mapping[str, Entry],
    cut: Callable[[Document], tuple[Chunk, ...]],
    limits: LimitOptions,
    encoding: str | None = None,
    reading: Reading | None = None,
) -> Outcome:
    """Read one file and cut it into chunks, if it is new or changed; never raises."""
    before = known.get(name)
    chosen = before.document.encoding if before else None
    remembered = chosen.name if chosen is not None and chosen.source == "user" else None
    same_way = encoding in (None, remembered)
    try:
        loaders.check_name(name)
        size = loaders.size_of(source)
        if size > limits.file_megabytes * 1e6:
            return Outcome(not_taken(name, "skipped", f"Larger than {limits.file_megabytes:g} MB: split it.", before))
        data = loaders.content(source)
        if before is not None and same_way and before.document.content_hash == loaders.content_hash(data):
            return Outcome(not_taken(name, "unchanged", " ".join(before.document.notes), before))
        document = loaders.load(name, data, encoding, reading)
        if encoding is None and remembered and document.encoding is not None and document.encoding.source == "guess":
            document = loaders.load(name, data, remembered, reading)  # a new version of a file that was told once
        entry = Entry(document, cut(document))
        _ = entry.hashes, entry.words  # here, on a thread that reads, rather than where the others wait for it
    except LoadStoppedError:
        return Outcome(not_taken(name, "skipped", STOPPED, before))
    except KindError as error:
        return Outcome(not_taken(name, "skipped", _sentence(error.reason), before))
    except LoadError as error:
        return Outcome(not_taken(name, "failed", _sentence(error.reason), before))
    except OSError as error:
        return Outcome(not_taken(name, "failed", _sentence(error.strerror or "it cannot be read"), before))
    except MemoryError:
        return Outcome(not_taken(name, "failed", "It needs more memory than there is: split it.", before))
    except Exception as error:  # noqa: BLE001 a bug of a loader costs its file, not the batch
        return Outcome(not_taken(name, "failed", f"It could not be read ({type(error).__name__}).", before))
    status: FileStatus = "added" if before is None else "changed"
    row = FileReport(name, status, " ".join(document.notes), len(entry.chunks))
    return Outcome(row, entry, data if loaders.suffix_of(name) in _KEPT_ORIGINALS else None, size)


def index_files(
    batch: Batch,
    *,
    known: Mapping[str, Entry],
    leaving: frozenset[str],
    cut: Callable[[Document], tuple[Chunk, ...]],
    embed: Embed,
    keep: Callable[[Sequence[Outcome]], None],
    limits: LimitOptions,
    pdf: PdfOptions,
    tell: Progress,
    stop: Callable[[], bool],
) -> Report:
    """Bring the files of a batch into a collection.

    Parameters
    ----------
    known
        What the collection holds when it begins.
    leaving
        Names of documents that will be removed: a new one of the same content was renamed.
    embed
        Gets vectors, and returns the entries that have all of theirs: fewer, if it is to stop. It is called on another
        thread.
    keep
        Makes some outcomes part of the collection, all or none.
    """
    files = batch.files
    rows: dict[int, FileReport] = {}
    embedding = _Embedding(embed, tell, stop)
    groups = _Groups(keep, embedding.add, rows, known)
    contents = {entry.document.content_hash: name for name, entry in reversed(list(known.items()))}
    told = batch.encodings
    reading = Reading(lambda done, total: tell("Pages", done, total), stop, pdf)
    calls = [
        partial(read_file, name, source, known=known, cut=cut, limits=limits, encoding=told.get(name), reading=reading)
        for name, source in files
    ]
    taken = size = 0
    tell("Reading", 0, len(files))
    # A PDF has its own time limit, and waits for one of the two children that read PDFs.
    seconds = [
        max(limits.seconds, _PDFS_AT_ONCE * (pdf.seconds + 5)) if loaders.suffix_of(name) == ".pdf" else limits.seconds
        for name, _ in files
    ]
    try:
        for index, result in in_order(
            calls, should_stop=stop, while_waiting=groups.close_old, limit=seconds.__getitem__
        ):
            name = files[index][0]
            outcome = result or Outcome(
                not_taken(name, "failed", f"Not read within {seconds[index]:g} seconds: split it.", known.get(name))
            )
            if outcome.entry is not None:
                taken, size = taken + 1, size + outcome.size
                if taken > limits.files or size > limits.megabytes * 1e6:
                    taken, size = taken - 1, size - outcome.size
                    why = f"Over {limits.files:,} files or {limits.megabytes:g} MB at once: add it in another round."
                    outcome = Outcome(not_taken(name, "skipped", why, known.get(name)))
            outcome = _remarked(outcome, known.get(name), contents, leaving, batch.remarks)
            rows[index] = outcome.row
            tell("Reading", len(rows), len(files))
            groups.add(index, outcome)
            if groups.error is not None:  # a full disk: nothing more could be kept
                break
        groups.finish()
    except BaseException:
        embedding.abandon()
        raise
    embedded = embedding.finish()
    for index in groups.kept.keys() - {index for index, entry in groups.kept.items() if id(entry) in embedded}:
        rows[index] = replace(rows[index], reason=" ".join(filter(None, (rows[index].reason, WORDS_ONLY))))
    unread = _sentence(str(groups.error)) if groups.error is not None else STOPPED
    unread_status: FileStatus = "failed" if groups.error is not None else "skipped"
    for index, (name, _) in enumerate(files):
        if index not in rows:
            rows[index] = not_taken(name, unread_status, unread, known.get(name))
    return Report([rows[index] for index in range(len(files))], batch.notes, groups.error or embedding.error)


def _remarked(
    outcome: Outcome,
    before: Entry | None,
    contents: dict[str, str],
    leaving: frozenset[str],
    remarks: Mapping[str, str],
) -> Outcome:
    """Add to the row what to know of the file beside others: the same content elsewhere, the same name."""
    entry = outcome.entry or (before if outcome.row.status == "unchanged" else None)
    if entry is None:
        return outcome
    name = outcome.row.name
    twin = contents.setdefault(entry.document.content_hash, name)
    said = [outcome.row.reason, remarks.get(name, "")]
    if twin in leaving:
        said.append(f"Renamed from {twin}.")
    elif twin != name:
        said.append(f"The same content as {twin}.")
    return replace(outcome, row=replace(outcome.row, reason=" ".join(sentence for sentence in said if sentence)))


class _Groups:
    """Collects outcomes and makes them part of the collection group by group.

    Attributes
    ----------
    kept
        The entries that were kept, by the file's place in the batch.
    error
        Why nothing more can be kept.
    """

    def __init__(
        self,
        keep: Callable[[Sequence[Outcome]], None],
        embed: Callable[[Sequence[Entry]], None],
        rows: dict[int, FileReport],
        before: Mapping[str, Entry],
    ) -> None:
        self._keep, self._embed, self._rows, self._before = keep, embed, rows, before
        self._open: dict[int, Outcome] = {}
        self._since = 0.0
        self._wanted = _FIRST_GROUP
        self.kept: dict[int, Entry] = {}
        self.error: StoreError | None = None

    def add(self, index: int, outcome: Outcome) -> None:
        """Take one in; every now and then this closes a group."""
        if outcome.entry is not None:
            self._since = self._since if self._open else time.monotonic()
            self._open[index] = outcome
        if sum(len(item.entry.chunks) for item in self._open.values() if item.entry) >= self._wanted:
            self.finish()
            self._wanted = min(2 * self._wanted, _LARGEST_GROUP)
        self.close_old()

    def close_old(self) -> None:
        """Close the group if its first file has waited long enough."""
        if self._open and time.monotonic() - self._since > _GROUP_SECONDS:
            self.finish()

    def finish(self) -> None:
        """Close the group."""
        group, self._open = self._open, {}
        entries = {index: outcome.entry for index, outcome in group.items() if outcome.entry is not None}
        if self.error is None and entries:
            try:
                self._keep(list(group.values()))
            except StoreError as error:
                self.error = error
            else:
                self.kept |= entries
                self._embed(list(entries.values()))
        if self.error is not None:
            for index, outcome in group.items():
                name = outcome.row.name
                self._rows[index] = not_taken(name, "failed", _sentence(str(self.error)), self._before.get(name))


class _Embedding:
    """Embeds what was kept, on a thread of its own: short documents before those of very many chunks.

    Attributes
    ----------
    error
        Why it ended early: no vectors could be made, or kept.
    """

    def __init__(self, embed: Embed, tell: Progress, stop: Callable[[], bool]) -> None:
        self._embed, self._tell, self._stop = embed, tell, stop
        self._waiting: list[Entry] = []
        self._done = self._known = 0  # chunks
        self._is_over = False
        self._complete: set[int] = set()
        self._failure: BaseException | None = None
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="autocontext-embed", daemon=True)
        self._thread.start()
        self.error: AutoContextError | None = None

    def add(self, entries: Sequence[Entry]) -> None:
        """Take documents in, to be embedded soon."""
        with self._change:
            self._waiting += entries
            self._known += sum(len(entry.chunks) for entry in entries)
            self._change.notify()

    def abandon(self) -> None:
        """Let it end after the portion that it is at."""
        with self._change:
            self._waiting, self._is_over = [], True
            self._change.notify()

    def finish(self) -> set[int]:
        """Wait until all are embedded, or it was stopped; return the ids of the entries that are.

        Raises
        ------
        Exception
            A fault of the encoder's own.
        """
        with self._change:
            self._is_over = True
            self._change.notify()
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        return self._complete

    def _run(self) -> None:
        try:
            while portion := self._next():
                complete = self._embed(portion, self._say)
                self._complete |= {id(entry) for entry in complete}
                self._done += sum(len(entry.chunks) for entry in portion)
                if len(complete) < len(portion):
                    return
        except AutoContextError as error:
            self.error = error
        except BaseException as error:  # noqa: BLE001 it is raised again where somebody waits for it
            self._failure = error

    def _next(self) -> list[Entry]:
        """Return documents to embed together; none at the end."""
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._is_over)
            small = [entry for entry in self._waiting if len(entry.chunks) <= _BIG]
            while not small and not self._is_over:  # a big one waits for all that are not
                self._change.wait()
                small = [entry for entry in self._waiting if len(entry.chunks) <= _BIG]
            portion: list[Entry] = []
            size = 0
            for entry in small or sorted(self._waiting, key=lambda entry: len(entry.chunks))[:1]:
                portion.append(entry)
                size += len(entry.chunks)
                if size >= _PORTION:
                    break
            taken = set(map(id, portion))
            self._waiting = [entry for entry in self._waiting if id(entry) not in taken]
            return [] if self._stop() else portion

    def _say(self, done: int) -> None:
        self._tell("Embedding", self._done + done, self._known)


def not_taken(name: str, status: FileStatus, reason: str, known: Entry | None) -> FileReport:
    """Return the row of a file that changes nothing: what the collection holds under its name stays."""
    return FileReport(name, status, reason, len(known.chunks) if known else 0)


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:].rstrip('.')}."
