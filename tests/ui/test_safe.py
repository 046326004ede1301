"""What autocontext.ui.safe promises: text that nobody vouches for is shown, and does nothing."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocontext.ui.safe import answer_html, marked_html, plain, text_html

ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")  # a backslash before ASCII punctuation: Markdown shows the punctuation


def opened(markup: str) -> str:
    """Return the text that a browser shows for `markup` of ours, whose only elements are one div and marks."""
    inner = markup.removeprefix('<div class="passage">').removesuffix("</div>")
    return html.unescape(inner.replace("<mark>", "").replace("</mark>", ""))


# ---- plain ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("notes.txt", r"notes\.txt"),
        ("Über uns 日本語", "Über uns 日本語"),
        ("![x](http://evil/x.png)", r"\!\[x\]\(http\:\/\/evil\/x\.png\)"),
        ("<img src=x onerror=a>", r"\<img src\=x onerror\=a\>"),
        ("$a$ :red[x]", r"\$a\$ \:red\[x\]"),
        ("a\\b", r"a\\b"),
        ("  one\n\n# two\t", r"one \# two"),
        ("", ""),
    ],
)
def test_plain_escapes_everything_that_markdown_could_read(text: str, shown: str) -> None:
    assert plain(text) == shown


@given(st.text())
def test_plain_keeps_every_visible_character(text: str) -> None:
    assert ESCAPED.sub(r"\1", plain(text)) == " ".join(text.split())


@given(st.text())
def test_plain_leaves_no_punctuation_of_markdown_without_a_backslash(text: str) -> None:
    assert not re.search(r"[`*_{}\[\]()<>#+\-.!|~:$^=&\"'/@]", ESCAPED.sub("", plain(text)))


@given(st.text())
def test_plain_is_one_line(text: str) -> None:
    assert len(plain(text).splitlines()) <= 1


# ---- answers -------------------------------------------------------------------------------------------------------


def answer_of(text: str, *args, **more) -> str:
    return answer_html(text, *args, **more).removeprefix('<div class="answer">').removesuffix("</div>").strip()


ALLOWED = {
    "div": {"class"}, "p": set(), "em": set(), "strong": set(), "s": set(), "ul": set(), "ol": {"start"}, "li": set(),
    "blockquote": set(), "hr": set(), "br": set(), "pre": set(), "code": set(), "table": set(), "thead": set(),
    "tbody": set(), "tr": set(), "th": {"style"}, "td": {"style"}, "a": {"class", "href", "title"},
    "mark": {"class", "title"}, "span": {"class", "title"}, **{f"h{n}": set() for n in range(1, 7)},
}  # fmt: skip


class Elements(HTMLParser):
    """Collects the elements with their attributes, and the text."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It is **so**.", "<p>It is <strong>so</strong>.</p>"),
        ("![x](http://evil/x.png)", "<p>![x](http://evil/x.png)</p>"),
        ("[a](javascript:b)", "<p>[a](javascript:b)</p>"),
        ("[x]: http://evil/x.png", "<p>[x]: http://evil/x.png</p>"),
        ("<https://evil.example/a>", "<p>&lt;https://evil.example/a&gt;</p>"),
        ("<img src=x onerror=a>", "<p>&lt;img src=x onerror=a&gt;</p>"),
        ("$5 and :red[x]", "<p>$5 and :red[x]</p>"),
        ("`$x :red[y] <b>`", "<p><code>$x :red[y] &lt;b&gt;</code></p>"),
        ("```\n$x = :red[y]\n```", "<pre><code>$x = :red[y]\n</code></pre>"),
        ("", ""),
    ],
)
def test_an_answer_keeps_its_format_and_code_and_loses_images_and_links(text: str, shown: str) -> None:
    assert answer_of(text) == shown


def test_citations_lead_to_the_cards_and_made_up_ones_are_marked() -> None:
    assert answer_of("So [1, 9].", {1: "passage-1"}) == (
        '<p>So [<a class="cite" href="#passage-1">1</a>, <mark class="missing" title="no such passage">9</mark>].</p>'
    )
    assert answer_of("`a[1]`", {1: "passage-1"}) == "<p><code>a[1]</code></p>"
    assert answer_of("So [1].", {1: "passage-1"}, numbered=False) == "<p>So [1].</p>"


def test_what_is_in_no_passage_is_marked_and_a_matched_passage_is_linked() -> None:
    shown = answer_of("In **2018**. Yes.", {2: "p-2"}, [(5, 9)], [(12, 2), (17, 0)])
    assert (
        shown
        == (
            '<p>In <strong><mark class="missing" title="in no passage">2018</mark></strong>. '
            '<a class="note" href="#p-2" title="matched, not cited">≈2</a> Yes. '
            '<span class="note" title="no passage matches">no passage matches</span></p>'
        )
        or shown.count("<mark") == shown.count('href="#p-2"') == shown.count("<span") == 1
    )


@given(
    st.one_of(st.text(), st.text(alphabet="![](){}:/w.$\\ab1\n`<>*_#|-~ \ue000\ue001\ue002&;\"'=")),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60))),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3))),
)
def test_nothing_in_an_answer_can_fetch_link_or_style(text: str, missing, notes) -> None:
    shown = Elements(answer_html(text, {1: "passage-1"}, missing, notes))
    for tag, attributes in shown.elements:
        assert attributes.keys() <= ALLOWED[tag]
        assert attributes.get("href", "#passage-1") == "#passage-1"
        assert attributes.get("style", "text-align:left") in {
            f"text-align:{side}" for side in ("left", "right", "center")
        }


@given(st.text(alphabet=st.characters(categories=("L", "N")), min_size=1))
def test_an_answer_loses_no_letter(text: str) -> None:
    assert Elements(answer_html(text)).text.strip() == text


# ---- HTML ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "spans", "inner"),
    [
        ("Salt melts.", [], "Salt melts."),
        ("Salt melts.", [(0, 4)], "<mark>Salt</mark> melts."),
        ("Salt melts.", [(0, 4), (5, 10)], "<mark>Salt</mark> <mark>melts</mark>."),
        ("a\n b", [(3, 4)], "a\n <mark>b</mark>"),
        ("<b> & 'c'", [(0, 3)], "<mark>&lt;b&gt;</mark> &amp; &#x27;c&#x27;"),
        ("<img src=x onerror=a>", [(5, 8)], "&lt;img <mark>src</mark>=x onerror=a&gt;"),
        ("", [], ""),
    ],
)
def test_marks_are_the_only_elements_in_a_passage(text: str, spans: list[tuple[int, int]], inner: str) -> None:
    assert marked_html(text, spans) == f'<div class="passage">{inner}</div>'


@given(st.text(), st.lists(st.integers(0, 40), max_size=6))
def test_a_marked_passage_without_its_marks_is_the_text(text: str, cuts: list[int]) -> None:
    places = sorted({min(cut, len(text)) for cut in cuts})
    spans = list(pairwise(places))[::2]

    markup = marked_html(text, spans)

    without = markup.replace("<mark>", "").replace("</mark>", "")
    assert without == f'<div class="passage">{html.escape(text)}</div>'
    assert opened(markup) == text
    assert markup.count("<mark>") == len(spans)


@given(st.text())
def test_text_html_shows_the_text_and_nothing_else(text: str) -> None:
    assert text_html(text, "source") == f'<div class="source">{html.escape(text)}</div>'
