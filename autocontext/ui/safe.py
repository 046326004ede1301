"""Show text that nobody vouches for (names, chunks, answers) without letting it fetch, link or format anything."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

_JOINER = "\u2060"  # invisible, and no Markdown parser skips it
# Links in angle brackets, e-mail addresses, and bare host names.
_BEGINS_LINK = re.compile(r"<(?=[A-Za-z][A-Za-z0-9+.-]*:)|@(?=\w)|www(?=\.)", re.I)
# Formulas, and Streamlit's directives: ":red[x]" is coloured, and of an unknown one (":yes[1]") the brackets are lost.
# A backslash before them counts only if it is not escaped itself.
_BEGINS_OTHER = re.compile(r"(\\*)(\$|:(?=[^\s:\[{]+[\[{]))")
_SPECIAL = str.maketrans({char: "\\" + char for char in "\\`*_{}[]()<>#+-.!|~:$^=&\"'/@"})


def plain(text: str) -> str:
    """Return one line of Markdown that shows `text` literally: for labels, captions and messages."""
    return " ".join(text.split()).translate(_SPECIAL)


def safe_markdown(text: str) -> str:
    """Return a model's answer as Markdown without images, links, formulas or directives; the rest stays formatted.

    Apply it to the whole text so far, never to a single piece of a stream.
    """
    for pair in ("![", "](", "][", "]:", "]{"):
        text = text.replace(pair, pair[0] + _JOINER + pair[1])
    text = _BEGINS_LINK.sub(lambda match: match.group() + _JOINER, text)
    text = text.replace("://", ":" + _JOINER + "//")
    return _BEGINS_OTHER.sub(lambda match: match[1] + ("" if len(match[1]) % 2 else "\\") + match[2], text)


def marked_html(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return HTML that shows `text` literally, line ends kept, with the `spans` marked."""
    pieces: list[str] = []
    position = 0
    for start, end in spans:
        pieces += [html.escape(text[position:start]), "<mark>", html.escape(text[start:end]), "</mark>"]
        position = end
    pieces.append(html.escape(text[position:]))
    return f'<div class="passage">{"".join(pieces)}</div>'


def text_html(text: str, css_class: str) -> str:
    """Return HTML that shows `text` literally in an element of a class of ours."""
    return f'<div class="{css_class}">{html.escape(text)}</div>'
