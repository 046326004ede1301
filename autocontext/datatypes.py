"""The things that flow through AutoContext, as frozen records; imports nothing of ours."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args, overload

FileStatus = Literal["added", "changed", "unchanged", "removed", "skipped", "failed"]
SupportLevel = Literal["strong", "weak", "none"]
EncodingSource = Literal["plain", "mark", "declared", "guess", "user"]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document that has a name: what stands under a heading, a slide, a row, a mail, a chapter.

    Attributes
    ----------
    start
        Offset into the document's text of its first character; it ends where the next one starts.
    heading
        The headings down to it, outermost first, joined by " > "; "" if there are none.
    place
        Where to look, for example ``"slide 3"`` or ``"sheet Prices, row 12"``; "" leaves it to the page or the line.
    apart
        Whether a chunk may not run over its start.
    """

    start: int
    heading: str = ""
    place: str = ""
    apart: bool = True


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """How the bytes of a text file were turned into letters.

    Attributes
    ----------
    name
        Python's name of the encoding.
    source
        ``"plain"`` (UTF-8), ``"mark"`` (a byte order mark), ``"declared"`` (by the file itself), ``"guess"`` or
        ``"user"``.
    data
        The file's bytes, kept where the encoding is no certainty, so that another can be tried; else empty.
    """

    name: str
    source: EncodingSource
    data: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Document:
    r"""One loaded file.

    Attributes
    ----------
    name
        Relative path with ``/``, for example ``notes/a.txt``: a label and the identity, never a path that is opened.
    text
        The whole text. For UTF-8 files with ``\n`` line ends it is the decoded file, unchanged.
    content_hash
        SHA-256 of the file's bytes, in hexadecimal.
    page_starts
        Offset into ``text`` of each page's first character, ascending; empty for files without pages.
    notes
        Sentences on what was not taken over as it is, for example the pages without text.
    sections
        The named parts, by ascending start.
    encoding
        How a text file was decoded; None for other files.
    """

    name: str
    text: str
    content_hash: str
    page_starts: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    encoding: TextEncoding | None = None

    def section_at(self, offset: int) -> Section | None:
        """Return the section that holds the character at `offset`; None before the first one."""
        above = bisect_right(self.sections, offset, key=lambda section: section.start)
        return self.sections[above - 1] if above else None

    def page_at(self, offset: int) -> int | None:
        """Return the page, counted from 1, that holds the character at `offset`; None for files without pages."""
        return bisect_right(self.page_starts, offset) or 1 if self.page_starts else None

    @property
    def empty_pages(self) -> tuple[int, ...]:
        """The pages, counted from 1, that have no text: scans, mostly."""
        ends = (*self.page_starts[1:], len(self.text))
        pages = enumerate(zip(self.page_starts, ends, strict=True), start=1) if self.page_starts else ()
        return tuple(page for page, (start, end) in pages if not self.text[start:end].strip())


@dataclass(frozen=True, slots=True)
class Chunk:
    """A few whole sentences of one document.

    Attributes
    ----------
    number
        Place in the collection's one list of chunks, 0 <= number < n_chunks; it changes when documents come or go.
    document
        Name of the document.
    start, end
        Offsets in characters, end exclusive: ``document.text[start:end] == text``.
    line
        Line of the document where the chunk begins, counted from 1.
    page
        Page where it begins, counted from 1; None for files without pages.
    heading
        The headings above it, outermost first, joined by " > "; "" if there are none.
    section
        The place where it begins in files that name theirs: ``"slide 3"``; else "".
    """

    number: int
    document: str
    text: str
    start: int
    end: int
    line: int
    page: int | None = None
    heading: str = ""
    section: str = ""

    @property
    def place(self) -> str:
        """Where to look: ``"slide 3"`` in files that name their places, ``"p. 3"`` in files with pages, else the line.

        It may hold words of the file (the name of a sheet), so it is shown like any text of a document.
        """
        return self.section or (f"p. {self.page}" if self.page is not None else f"line {self.line}")


@dataclass(frozen=True, slots=True)
class Hit:
    """One retriever's claim about one chunk.

    Attributes
    ----------
    retriever
        Its name, for example ``"bm25"``.
    chunk
        Number of the chunk.
    rank
        1 for the retriever's best hit.
    score
        In the retriever's own unit (BM25: above 0, unbounded; dense: cosine, above 0, at most 1).
    """

    retriever: str
    chunk: int
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one retriever gave to a chunk's fused score: ``share = weight * normalised score``."""

    retriever: str
    weight: float
    share: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """A retrieved chunk with all that speaks for it.

    Attributes
    ----------
    chunk
        The chunk.
    score
        The fused score; the sum of the contributions' shares.
    hits
        By retriever name, in the settings' order. A retriever that did not return the chunk has no entry.
    contributions
        One for each hit, in the same order.
    """

    chunk: Chunk
    score: float
    hits: Mapping[str, Hit]
    contributions: tuple[Contribution, ...]


@dataclass(frozen=True, slots=True)
class Support:
    """Do the documents seem to hold the answer? Judged before any model is asked.

    Attributes
    ----------
    level
        ``"strong"``, ``"weak"`` or ``"none"``.
    score
        0 to 1; higher means more surely answerable.
    reasons
        The figures it rests on, each a short sentence.
    """

    level: SupportLevel
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """A question of a conversation with what was answered.

    Attributes
    ----------
    answer
        Without ``[n]``, since these are numbers in another prompt; "" where there was none.
    sources
        The passages that the answer cited or matched; where there was no answer, those that were found.
    """

    question: str
    answer: str = ""
    sources: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptPart:
    """One part of a prompt (``"rules"``, ``"history"``, ``"context"``, ``"question"``) and its tokens."""

    name: str
    tokens: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Evidence that was found but is not in the prompt, and why.

    Attributes
    ----------
    copy_of
        The passage that it only repeats.
    needs
        The tokens that it needs, where the budget had fewer left.
    """

    evidence: Evidence
    reason: str
    copy_of: int | None = None
    needs: int | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """The exact text for the model, and what is in it.

    Attributes
    ----------
    text
        What is sent and copied; also ``str(prompt)``.
    question
        The question as it was asked.
    parts
        Token counts that add up to `tokens`.
    tokens, max_tokens
        Counted tokens, never more than the budget `max_tokens`. Models count a little differently: say "about".
    evidence
        The evidence in the prompt; passage ``[n]`` is ``evidence[n - 1]``.
    left_out
        What was found and did not get in, best first.
    support
        The verdict on the whole search.
    numbered
        Whether the passages carry their numbers, so that an answer can cite them.
    searched
        What was searched for: the question, or what stands for it in a conversation.
    history
        The earlier turns in the prompt, oldest first.
    history_left_out
        The earlier turns that did not fit, oldest first.
    """

    text: str
    question: str
    parts: tuple[PromptPart, ...]
    tokens: int
    max_tokens: int
    evidence: tuple[Evidence, ...]
    left_out: tuple[LeftOut, ...]
    support: Support
    numbered: bool = True
    searched: str = ""
    history: tuple[Turn, ...] = ()
    history_left_out: tuple[Turn, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file.

    Attributes
    ----------
    name
        The document's name.
    status
        ``"added"``, ``"changed"``, ``"unchanged"``, ``"removed"``, ``"skipped"`` (not a kind of file that is read) or
        ``"failed"`` (could not be read).
    reason
        A sentence: why it was skipped or failed, or what to know about the text; may be empty.
    n_chunks
        Chunks of this document in the collection now.
    """

    name: str
    status: FileStatus
    reason: str = ""
    n_chunks: int = 0


class Report(Sequence[FileReport]):
    """The rows of one batch, in the order of the files.

    Attributes
    ----------
    notes
        Sentences on what has no row of its own, for example how many hidden files were left alone.
    error
        Why the batch ended early, for example a full disk; the rows that it cost say so too. None if it did not.
    """

    def __init__(
        self, rows: Sequence[FileReport] = (), notes: Sequence[str] = (), error: Exception | None = None
    ) -> None:
        self._rows = tuple(rows)
        self.notes = tuple(notes)
        self.error = error

    @overload
    def __getitem__(self, index: int) -> FileReport: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[FileReport, ...]: ...
    def __getitem__(self, index: int | slice) -> FileReport | tuple[FileReport, ...]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Report({self.summary})"

    @property
    def summary(self) -> str:
        """For example ``"3 added, 1 failed"``; "nothing" for an empty batch."""
        counts = Counter(row.status for row in self._rows)
        return ", ".join(f"{counts[status]} {status}" for status in get_args(FileStatus) if counts[status]) or "nothing"


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a streamed answer.

    Attributes
    ----------
    kind
        ``"text"``, ``"thinking"`` (a reasoning model's notes to itself) or ``"done"`` (the last one, with the figures).
    prompt_tokens, completion_tokens
        As the server reports them; None where it does not.
    cost
        In US dollars by the list price; None where it is not known.
    """

    kind: Literal["text", "thinking", "done"]
    text: str = ""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer took: tokens as the server reports them and US dollars (None where not known), and seconds."""

    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float
    cost: float | None = None

    def told(self, model: str) -> str:
        """Return it in one line, for example ``"openai/x · 42 tokens in · 8 tokens out · 1.2 s · about $0.0001"``."""
        tokens = ((self.prompt_tokens, "in"), (self.completion_tokens, "out"))
        counts = [f"{number:,} tokens {way}" for number, way in tokens if number is not None]
        cost = [f"about ${self.cost:.4f}"] if self.cost else []
        return " · ".join([model, *counts, f"{self.seconds:.1f} s", *cost])


@dataclass(frozen=True, slots=True)
class ContextSize:
    """How many tokens a model takes in all, prompt and answer, and who says so, as part of a sentence."""

    tokens: int
    source: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A ``[n]`` in an answer; `evidence` is None where the prompt has no passage n."""

    number: int
    evidence: Evidence | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Which language model to ask, and how.

    Attributes
    ----------
    model
        litellm's name: ``"ollama/gemma3"``, ``"openai/gpt-5-mini"``, ``"gemini/gemini-2.5-flash"``.
    api_base
        Address of the server; None for the provider's own.
    api_key
        None takes the provider's variable from the environment, unless `api_base` is given.
    max_tokens
        Tokens of the answer at most; so many of the context are kept for it.
    num_ctx
        Ollama only: the context size to load the model with. `AutoContext.ask` sets the smallest usual one that holds
        prompt and answer; None in `stream_answer` means Ollama's default, which cuts long prompts.
    context_size
        What the model takes in all, prompt and answer, where it is known better than by Ollama and litellm's table.
    max_num_ctx
        Ollama only: the largest context size to ask for. A larger one needs more memory.
    timeout
        Seconds to wait without a byte from the server.
    deadline
        Seconds for the whole answer.
    """

    model: str
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    temperature: float = 0.0
    max_tokens: int = 512
    num_ctx: int | None = None
    context_size: int | None = None
    max_num_ctx: int = 32_768
    timeout: float = 120.0
    deadline: float = 600.0
