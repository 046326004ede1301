"""Show text that nobody vouches for (names, chunks, answers) without letting it fetch, link or format anything."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from autocontext.citations import CITATION

_SPECIAL = str.maketrans({char: "\\" + char for char in "\\`*_{}[]()<>#+-.!|~:$^=&\"'/@"})


def plain(text: str) -> str:
    """Return one line of Markdown that shows `text` literally: for labels, captions and messages."""
    return " ".join(text.split()).translate(_SPECIAL)


# What stands for a mark while Markdown is read: private characters that no answer may hold.
_MARK, _END, _NOTE = "\ue000", "\ue001", "\ue002"
_OURS = re.compile(f"[{_MARK}{_END}{_NOTE}]")
_MARKED = re.compile(f"{_MARK}([^{_MARK}{_END}]*){_END}")
_NOTE_NUMBER = re.compile(f"{_NOTE}(\\d+)\\.")


def answer_html(
    text: str,
    anchors: Mapping[int, str] = MappingProxyType({}),
    missing: Iterable[tuple[int, int]] = (),
    notes: Iterable[tuple[int, int]] = (),
    *,
    numbered: bool = True,
) -> str:
    """Return a model's answer as HTML: its Markdown without images, links and HTML, code exactly as it is.

    Nothing of the text becomes an element or attribute but what Markdown makes of it: paragraphs, lists, emphasis,
    headings, tables, quotes and code. Apply it to the whole text so far, never to a single piece of a stream.

    Parameters
    ----------
    anchors
        The id of each passage's element: ``[n]`` becomes a link to it, and is marked where there is none.
    missing
        Offsets of what is marked as found in no passage.
    notes
        ``(offset, n)``: at the end of a sentence that cites nothing, the passage that it matches; 0 for none.
    numbered
        Whether ``[n]`` means a passage at all.
    """
    inserted = sorted(
        [(start, 1, _MARK) for start, _ in missing]
        + [(end, 0, _END) for _, end in missing]
        + [(offset, 2, f"{_NOTE}{number}.") for offset, number in notes]
    )
    text = _OURS.sub("\ufffd", text)
    pieces: list[str] = []
    position = 0
    for offset, _, sign in inserted:
        pieces += [text[position:offset], sign]
        position = offset
    source = "".join([*pieces, text[position:]])
    return f'<div class="answer">{_markdown().render(source, {"anchors": anchors, "numbered": numbered})}</div>'


@lru_cache(maxsize=1)
def _markdown() -> Any:
    """Return the parser: what could fetch, link or be HTML is not even recognised."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.disable(["link", "image", "autolink", "html_inline", "html_block", "reference"])
    parser.add_render_rule("text", _render_text)
    parser.add_render_rule("code_inline", _render_code)
    parser.add_render_rule("code_block", _render_block)
    parser.add_render_rule("fence", _render_block)
    return parser


def _render_text(_: object, tokens: Sequence[Any], index: int, options: object, env: dict[str, Any]) -> str:  # noqa: ARG001
    return _text_html(tokens[index].content, **env)


def _render_code(_: object, tokens: Sequence[Any], index: int, options: object, env: object) -> str:  # noqa: ARG001
    content = _OURS.sub("", _NOTE_NUMBER.sub("", tokens[index].content))
    return f"<code>{html.escape(content)}</code>"


def _render_block(renderer: object, tokens: Sequence[Any], index: int, options: object, env: object) -> str:
    return f"<pre>{_render_code(renderer, tokens, index, options, env)}</pre>"


def _text_html(content: str, anchors: Mapping[int, str], numbered: bool) -> str:
    shown = html.escape(content)
    if numbered:
        shown = CITATION.sub(
            lambda found: re.sub(r"\d+", lambda n: _citation_html(int(n[0]), anchors), found[0]), shown
        )
    shown = _NOTE_NUMBER.sub(lambda found: _note_html(int(found[1]), anchors), shown)
    return _OURS.sub("", _MARKED.sub(r'<mark class="missing" title="in no passage">\1</mark>', shown))


def _citation_html(number: int, anchors: Mapping[int, str]) -> str:
    if number in anchors:
        return f'<a class="cite" href="#{anchors[number]}">{number}</a>'
    return f'<mark class="missing" title="no such passage">{number}</mark>'


def _note_html(number: int, anchors: Mapping[int, str]) -> str:
    if number in anchors:
        return f' <a class="note" href="#{anchors[number]}" title="matched, not cited">\u2248{number}</a>'
    return ' <span class="note" title="no passage matches">no passage matches</span>'


def marked_html(
    text: str, spans: Iterable[tuple[int, int]], near: Iterable[tuple[int, int]] = (), css_class: str = "passage"
) -> str:
    """Return HTML that shows `text` literally, line ends kept, with the `spans` marked and what is `near` underlined.

    Spans of one kind are ascending and do not overlap; those of two kinds may.
    """
    spans, near = list(spans), list(near)
    cuts = sorted({0, len(text), *(offset for span in (*spans, *near) for offset in span)})
    pieces: list[str] = []
    for start, end in pairwise(cuts):
        piece = html.escape(text[start:end])
        if any(a <= start and end <= b for a, b in spans):
            piece = f"<mark>{piece}</mark>"
        if any(a <= start and end <= b for a, b in near):
            piece = f'<span class="near">{piece}</span>'
        pieces.append(piece)
    return f'<div class="{css_class}">{"".join(pieces)}</div>'


def text_html(text: str, css_class: str, anchor: str = "") -> str:
    """Return HTML that shows `text` literally in an element of a class of ours; links may lead to its `anchor`."""
    place = f' id="{html.escape(anchor)}"' if anchor else ""
    return f'<div class="{css_class}"{place}>{html.escape(text)}</div>'
