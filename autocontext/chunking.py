"""Cut documents into chunks of whole sentences that the encoder can take in full."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from autocontext.datatypes import Chunk, Document
from autocontext.sentences import sentence_spans
from autocontext.settings import ChunkOptions

if TYPE_CHECKING:
    from budoux import Parser

CountTokens = Callable[[Sequence[str]], list[int]]
Span = tuple[int, int]

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]++(\S.*)$", re.M)
_ATOM = re.compile(r"\S{1,40}\s{0,40}|\s{1,40}")
_CLAUSE_END = tuple(",;:、，；：)）\u2014")
_UNSPACED = (
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("zh", re.compile("[\u3005\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")),
)
_KANA = re.compile("[\u3041-\u30ff]")
_CUT_CONTEXT = 30  # characters on both sides that a word boundary is found from
_WORD_GOES_ON = re.compile(r"\w")
_LONGEST_TITLE, _LONGEST_CONTEXT = 150, 300  # characters
_CHARACTERS_A_TOKEN = 8  # a word of 101 letters is one unknown token to BERT: bounded by characters as well


def estimate_tokens(texts: Sequence[str]) -> list[int]:
    """Guess the encoder's tokens (3 bytes each, on the safe side) where no tokenizer is at hand."""
    return [len(text.encode("utf-8", "replace")) // 3 + 1 for text in texts]


def chunk_text(text: str, chunk_size: int = 3) -> list[str]:
    """Return `text` in chunks of `chunk_size` whole sentences, each exactly as it stands there.

    Raises
    ------
    SettingsError
        If `chunk_size` is below 1.

    Examples
    --------
    >>> chunk_text("One. Two. Three. Four.", chunk_size=3)
    ['One. Two. Three.', 'Four.']
    """
    return [text[start:end] for start, end in chunk_spans(text, ChunkOptions(sentences=chunk_size, sentence_tokens=0))]


def chunk_spans(
    text: str, options: ChunkOptions, count_tokens: CountTokens = estimate_tokens, breaks: Sequence[int] = ()
) -> list[Span]:
    """Return ``(start, end)`` of the chunks of `text`, in order.

    A chunk holds ``options.sentences`` sentences, more where they are short (``options.sentence_tokens``), and at most
    ``options.max_tokens`` tokens. A heading begins a new chunk, and so does the first sentence after each offset of
    `breaks` (ascending). A sentence that is too long alone is cut at a line end, else after a clause, else between
    words. Chunks overlap by ``options.overlap`` sentences, but not over a heading or a break, nor where it would make
    them too long.
    """
    limit = options.max_tokens
    chunks: list[Span] = []
    held: list[tuple[int, int, int]] = []  # start, end, tokens with the gap before
    gaps: dict[str, int] = {}
    for start, end, size, heading in _sized_sentences(text, limit, count_tokens):
        begins = heading and any(not _HEADING.match(text[a:b]) for a, b, _ in held)
        begins = begins or (bool(held) and bisect_right(breaks, start) > bisect_right(breaks, held[-1][0]))
        between = text[held[-1][1] : start] if held else ""
        if between not in gaps:  # blank lines are nothing to most encoders, but not to every counter
            gaps[between] = count_tokens([between])[0] if len(between) > 1 else 0
        size += gaps[between]
        tokens = sum(size for *_, size in held)
        full = len(held) >= options.sentences and tokens >= options.sentences * options.sentence_tokens
        if held and (begins or full or tokens + size > limit):
            chunks.append((held[0][0], held[-1][1]))
            kept = held[-options.overlap :] if full and options.overlap and not begins else []
            held = kept if sum(size for *_, size in kept) + size <= limit else []
        held.append((start, end, size))
    if held:
        chunks.append((held[0][0], held[-1][1]))
    return chunks


def chunk_document(
    document: Document, options: ChunkOptions, count_tokens: CountTokens = estimate_tokens
) -> tuple[Chunk, ...]:
    """Cut one document; the chunks are numbered from 0 within it."""
    apart = (section.start for section in document.sections if section.apart)
    breaks = sorted({*apart, *document.page_starts})
    spans = chunk_spans(document.text, options, count_tokens, breaks)
    chunks: list[Chunk] = []
    line, counted = 1, 0
    for number, (start, end) in enumerate(spans):
        line += document.text.count("\n", counted, start)
        counted = start
        section = document.section_at(start)
        chunks.append(
            Chunk(
                number=number,
                document=document.name,
                text=document.text[start:end],
                start=start,
                end=end,
                line=line,
                page=document.page_at(start),
                heading=section.heading if section else "",
                section=section.place if section else "",
            )
        )
    return tuple(chunks)


def index_text(document: Document, chunk: Chunk, title: str | None = None) -> str:
    r"""Return what a chunk is found by: its text, then the document's title and the headings above it.

    Questions name their subject ("Acme's policy on refunds"), the passages under its heading often do not. The
    context comes last: where an encoder cuts what is too long, it is that and never the passage. `title` is the
    document's, where it is known already.

    Examples
    --------
    >>> salt = Document("a.md", "# Salt\n\n## Uses\n\nIt melts ice.", "")
    >>> index_text(salt, Chunk(0, "a.md", "It melts ice.", 17, 30, 5, heading="Salt > Uses"))
    'It melts ice.\nSalt > Uses'
    """
    title = document_title(document) if title is None else title
    outermost = chunk.heading.partition(" > ")[0]
    if outermost and title.endswith(outermost):
        context = title + chunk.heading.removeprefix(outermost)
    else:
        context = " > ".join(filter(None, (title, chunk.heading)))
    last = context.rpartition(" > ")[2]
    text = chunk.text.lstrip("# ")
    if text.startswith(last) and not _WORD_GOES_ON.match(text, len(last)):  # it begins with its own title or heading
        context = context[: len(context) - len(last)].removesuffix(" > ")
    return f"{chunk.text}\n{context[-_LONGEST_CONTEXT:]}" if context else chunk.text


def document_title(document: Document) -> str:
    r"""Return what the file's name says, if it has words, and the first line, if that stands alone.

    Examples
    --------
    >>> document_title(Document("reports/ADOBE_2022_10K.pdf", "Annual report\n\nWe sell software.", ""))
    'ADOBE 2022 10K: Annual report'
    """
    words = re.findall(r"[^\W_]+", PurePosixPath(document.name).stem)
    letters = sum(len(word) for word in words if word.isalpha() and len(word) > 3)
    named = " ".join(words) if letters * 5 >= 2 * sum(map(len, words)) > 0 else ""
    first, blank, _ = document.text.lstrip("\ufeff \n").partition("\n\n")
    title = first.strip().lstrip("# ")
    if not (blank and title and "\n" not in title and len(title) <= _LONGEST_TITLE):
        return named
    known = {word.casefold() for word in re.findall(r"[^\W_]+", title)}
    return title if known.issuperset(word.casefold() for word in named.split()) else f"{named}: {title}"


def _sized_sentences(text: str, limit: int, count_tokens: CountTokens) -> Iterator[tuple[int, int, int, bool]]:
    """Yield ``(start, end, tokens, is_heading)`` of each sentence, too long ones in pieces.

    Words are counted apart from each other by the encoder, so the sum over sentences is what a chunk of them takes.
    """
    spans = sentence_spans(text)
    sizes = count_tokens([text[start:end] for start, end in spans])
    for (start, end), size in zip(spans, sizes, strict=True):
        if size <= limit and end - start <= limit * _CHARACTERS_A_TOKEN:
            yield start, end, size, bool(_HEADING.match(text[start:end]))
        else:
            for a, b, piece_size in _pieces(text, start, end, limit, count_tokens):
                yield a, b, piece_size, False


def _pieces(text: str, start: int, end: int, limit: int, count_tokens: CountTokens) -> Iterator[tuple[int, int, int]]:
    atoms = list(_atoms(text, start, end))
    sizes = count_tokens([text[a:b] for a, b in atoms])
    if max(sizes) > limit:  # a run of signs that are each a token or more
        atoms = [
            bit
            for (a, b), size in zip(atoms, sizes, strict=True)
            for bit in (_atoms(text, a, b, max(1, limit // 4)) if size > limit else [(a, b)])
        ]
        sizes = count_tokens([text[a:b] for a, b in atoms])
    first = 0
    while first < len(atoms):
        total, last = 0, first
        while last < len(atoms) and (last == first or total + sizes[last] <= limit):
            if atoms[last][1] - atoms[first][0] > limit * _CHARACTERS_A_TOKEN and last > first:
                break
            total += sizes[last]
            last += 1
        if last < len(atoms):
            last = _best_cut(text, atoms, first, last)
            (a, b), word = atoms[last - 1], _word_start(text, *atoms[last - 1])
            if a < word < b:  # the beginning of a word that the cut would split goes to the next piece
                kept, sizes[last - 1] = count_tokens([text[a:word], text[word:b]])
                yield from _stripped(text, atoms[first][0], word, sum(sizes[first : last - 1]) + kept)
                atoms[last - 1] = (word, b)
                first = last - 1
                continue
        yield from _stripped(text, atoms[first][0], atoms[last - 1][1], sum(sizes[first:last]))
        first = last


def _stripped(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int, int]]:
    piece = text[start:end]
    if piece.strip():
        yield start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip()), size


def _word_start(text: str, start: int, end: int) -> int:
    """Return where the word begins that a cut at `end` would split, in scripts without blanks; else `end`.

    By BudouX, whose models know where lines may break: only a few characters around the cut are looked at.
    """
    first = max(0, start - _CUT_CONTEXT)
    around = text[first : end + _CUT_CONTEXT]
    script = next(
        (name for name, pattern in _UNSPACED if pattern.match(text, end - 1) and pattern.match(text, end)), ""
    )
    if not script:
        return end
    if script == "zh" and _KANA.search(around):
        script = "ja"
    position, best = first, start
    for word in _line_breaker(script).parse(text[first : end + _CUT_CONTEXT]):
        position += len(word)
        if position > end:
            break
        best = position
    return best


@cache
def _line_breaker(script: str) -> Parser:
    import budoux

    loaders = {
        "th": budoux.load_default_thai_parser,
        "ja": budoux.load_default_japanese_parser,
        "zh": budoux.load_default_simplified_chinese_parser,
    }
    return loaders[script]()


def _atoms(text: str, start: int, end: int, longest: int = 80) -> Iterator[Span]:
    """Words with the blanks after them, long runs in bits; never between a letter and its mark."""
    position = start
    while position < end:
        match = _ATOM.match(text, position, end)
        stop = min(match.end() if match else end, position + longest)
        while stop < end and stop - position > 1 and unicodedata.category(text[stop]).startswith("M"):
            stop -= 1
        yield position, stop
        position = stop


def _best_cut(text: str, atoms: Sequence[Span], first: int, last: int) -> int:
    """Return the atom to cut before: after the last line end, else the last clause, in the second half; else `last`."""
    half = first + (last - first) // 2
    for ends in (lambda piece: "\n" in piece, lambda piece: piece.rstrip().endswith(_CLAUSE_END)):
        for cut in range(last, half, -1):
            if ends(text[atoms[cut - 1][0] : atoms[cut - 1][1]]):
                return cut
    return last
