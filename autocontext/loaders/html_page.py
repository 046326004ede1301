"""Web pages: what a reader sees of them, without scripts, styles, menus and hidden parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from autocontext.datatypes import Document
from autocontext.loaders.base import clean_text
from autocontext.loaders.build import Builder
from autocontext.loaders.encoding import decode
from autocontext.loaders.tables import table_text

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

IS_TEXT = True
SUFFIXES = (".html", ".htm", ".xhtml", ".xht", ".shtml")

_DECLARED = re.compile(
    rb"""<meta[^>]{0,500}?charset\s*=\s*["']?\s*([\w:.-]+)|^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w:.-]+)""", re.I
)
_UNSEEN = frozenset(
    "script style template noscript head svg iframe object embed audio video canvas map datalist select rp rt "
    "annotation annotation-xml -comment".split()
)
_BLOCKS = frozenset(
    "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr html legend li main menu nav ol optgroup p pre section summary table caption tbody td "
    "tfoot th thead tr ul".split()
)
_HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?![.\d]*[1-9])", re.I
)
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)[^<>]*>")
_NEVER_NESTED = frozenset(
    "p li td th tr dt dd option thead tbody tfoot colgroup caption area base br col embed hr img input link meta param "
    "source track wbr html head body".split()
)
_DEEPEST = 400
_BLANKS = re.compile(r"[ \t\n\r\f]+")
_MOST_COLUMNS = 100
_MOST_ROWS_SPANNED = 200


def load(name: str, data: bytes, encoding: str | None = None) -> Document:
    """Decode the page, as it declares or as its bytes look, and take over what is seen of it."""
    decoded = decode(name, data, encoding, declared_encoding(data))
    build = Builder(name)
    add_page(build, decoded.text, titled=True)
    return build.document(data, decoded.notes, decoded.encoding)


def declared_encoding(data: bytes) -> str | None:
    """Return the encoding that a page says to be in."""
    found = _DECLARED.search(data[:4096])
    return next(filter(None, found.groups()), b"").decode("ascii", "replace") if found else None


def add_page(build: Builder, html: str, *, titled: bool = False) -> None:
    """Add what is seen of a page to a text, under its title if `titled`."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(_flattened(clean_text(html)[0]))
    title = tree.css_first("title") if titled else None
    words = _BLANKS.sub(" ", title.text()).strip() if title is not None else ""
    body = tree.body or tree.root
    if body is None:
        return
    first = tree.css_first("h1")
    repeated = first is not None and _BLANKS.sub(" ", first.text()).strip() == words
    if words:
        build.heading(0, words, shown=not repeated)
    before = build.length
    page = _Page(build, menus=False)
    page.walk(body)
    if build.length == before:  # a page of links alone
        page = _Page(build, menus=True)
        page.walk(body)
    if page.hidden:
        build.notes.append(f"{page.hidden} hidden part{'s' if page.hidden > 1 else ''} of the page left out.")


def _flattened(html: str) -> str:
    """Return the page without the tags that nest deeper than any browser shows: parsing them takes quadratic time."""
    depth = dropped = 0
    kept: list[str] = []
    last = 0
    for match in _TAG.finditer(html):
        closing, tag = match.group(1), match.group(2).lower()
        if tag in _NEVER_NESTED:
            continue
        if depth >= _DEEPEST:
            kept.append(html[last : match.start()])
            last = match.end()
            dropped += 1
        depth = max(0, depth - 1) if closing else depth + 1
    return "".join([*kept, html[last:]]) if dropped else html


class _Page:
    """One walk over a page, without recursion: pages may be nested without end."""

    def __init__(self, build: Builder, *, menus: bool) -> None:
        self._build = build
        self._menus = menus
        self._line: list[str] = []
        self.hidden = 0

    def walk(self, root: LexborNode) -> None:
        """Add the blocks of a part of the page."""
        skip_inside: LexborNode | None = None
        for node, entering in _events(root, self._is_seen):
            tag = node.tag or ""
            if skip_inside is not None:
                if not entering and node.mem_id == skip_inside.mem_id:
                    skip_inside = None
                continue
            if tag == "-text":
                self._line.append(_text_of(node))
            elif tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
                words = self._flushed()
                if entering:
                    self._build.add(words)
                else:
                    self._build.heading(int(tag[1]), words)
            elif tag == "table" and entering and _is_data(node):
                self._build.add(self._flushed())
                self._add_table(node)
                skip_inside = node
            elif tag in _BLOCKS:
                self._build.add(self._flushed())
                if tag == "li" and entering:
                    self._line.append("- ")
            elif entering:
                self._line.append(_inline(node, tag))
        self._build.add(self._flushed())

    def _is_seen(self, node: LexborNode) -> bool:
        tag = node.tag or ""
        if tag in _UNSEEN:
            return False
        if tag.startswith("-"):
            return True
        if tag == "nav" and not self._menus:
            return False
        attributes = node.attributes
        if not attributes:
            return True
        if attributes.get("role") == "navigation" and not self._menus:
            return False
        if "hidden" in attributes or _HIDDEN_STYLE.search(attributes.get("style") or ""):
            self.hidden += bool(node.text().strip())
            return False
        return True

    def _flushed(self) -> str:
        """Return the line that was collected, with the blanks that a browser shows."""
        line = "".join(self._line)
        self._line = []
        line = re.sub(r" *\n *", "\n", re.sub(r" {2,}", " ", line)) if "\0" not in line else _preformatted(line)
        return "" if line.strip() == "-" else line.strip(" ")

    def _add_table(self, table: LexborNode) -> None:
        rows: list[list[str]] = []
        pending: dict[int, tuple[int, str]] = {}  # cells that reach down from the rows above
        named = False
        for row in table.css("tr"):
            if not self._is_seen(row):
                continue
            cells = [cell for cell in _children(row) if cell.tag in ("td", "th") and self._is_seen(cell)]
            if not rows:
                named = len(cells) > 1 and all(cell.tag == "th" for cell in cells)
            line: list[str] = []
            for cell in cells[:_MOST_COLUMNS]:
                _take_pending(line, pending)
                words = self._words(cell)
                attributes = cell.attributes
                wide = _span(attributes.get("colspan"), _MOST_COLUMNS)
                for n in range(min(wide, _MOST_COLUMNS - len(line))):
                    if attributes.get("rowspan"):
                        pending[len(line)] = (_span(attributes["rowspan"], _MOST_ROWS_SPANNED) - 1, words)
                    line.append(words if n == 0 or (named and not rows) else "")
            _take_pending(line, pending)
            rows.append(line[:_MOST_COLUMNS])
        caption = table.css_first("caption")
        if caption is not None:
            self._build.add(self._words(caption))
        self._build.add(table_text(rows, named=named))

    def _words(self, root: LexborNode) -> str:
        """Return the text of a cell on one line."""
        words: list[str] = []
        for node, entering in _events(root, self._is_seen):
            tag = node.tag or ""
            if tag == "-text":
                words.append(_BLANKS.sub(" ", node.text_content or ""))
            elif tag in _BLOCKS:
                words.append(" ")
            elif entering:
                words.append(_inline(node, tag).replace("\n", " "))
        return _BLANKS.sub(" ", "".join(words)).strip()


def _events(root: LexborNode, is_seen: Callable[[LexborNode], bool]) -> Iterator[tuple[LexborNode, bool]]:
    """Yield each node that is seen when it is entered (True) and, if it is not a text, left (False)."""
    node: LexborNode | None = root
    depth = 0
    while node is not None:
        seen = is_seen(node)
        if seen:
            yield node, True
        child = node.child if seen and node.tag != "-text" else None
        if child is not None:
            depth += 1
            node = child
            continue
        if seen and node.tag != "-text":
            yield node, False
        while depth and node is not None and node.next is None:
            node = node.parent
            depth -= 1
            if node is not None:
                yield node, False
        if not depth or node is None:
            return
        node = node.next


def _children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        yield child
        child = child.next


def _text_of(node: LexborNode) -> str:
    text = node.text_content or ""
    parent = node.parent
    while parent is not None and parent.tag in ("code", "span", "b", "i", "em", "strong", "a", "font"):
        parent = parent.parent
    if parent is not None and parent.tag in ("pre", "textarea", "listing"):
        return "\0" + text.replace("\0", "") + "\0"  # marks what keeps its blanks
    return _BLANKS.sub(" ", text)


def _preformatted(line: str) -> str:
    pieces = line.split("\0")
    return "".join(piece if n % 2 else re.sub(r" {2,}", " ", piece) for n, piece in enumerate(pieces))


def _inline(node: LexborNode, tag: str) -> str:
    """Return what an element within a line adds to it, apart from its own text."""
    if tag == "br":
        return "\n"
    if tag == "img":
        alt = " ".join((node.attributes.get("alt") or "").split())
        return f"[{alt}]" if alt else ""
    if tag == "sup":  # 10<sup>6</sup> is not 106
        digits = (node.text() or "").strip()
        return "^" if digits.lstrip("-\u2212+").isdigit() and node.css_first("a") is None else ""
    return ""


def _is_data(table: LexborNode) -> bool:
    """Tell a table of data from one that only lays out a page."""
    if table.attributes.get("role") == "presentation" or table.css_first("table table") is not None:
        return False
    return table.css_first("h1, h2, h3, h4, h5, h6, ul, ol, pre") is None and table.css_first("td, th") is not None


def _take_pending(line: list[str], pending: dict[int, tuple[int, str]]) -> None:
    while len(line) in pending and len(line) < _MOST_COLUMNS:
        left, words = pending.pop(len(line))
        if left > 0:
            pending[len(line)] = (left - 1, words)
            line.append(words)
        else:
            break


def _span(value: str | None, most: int) -> int:
    return min(max(int(value), 1), most) if value and value.strip().isdecimal() else 1
