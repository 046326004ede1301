"""What autocontext.ui.safe promises: text that nobody vouches for is shown, and does nothing."""

from __future__ import annotations

import html
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocontext.ui.safe import marked_html, plain, safe_markdown, text_html

WJ = "\u2060"
unhurried = settings(deadline=None)  # a busy machine is no failure
ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")  # a backslash before ASCII punctuation: Markdown shows the punctuation
ACTIVE = re.compile(r"!\[|\]\(|\]\[|\]:|\]\{|://|www\.|(?<!\\)(?:\\\\)*\$")


def opened(markup: str) -> str:
    """Return the text that a browser shows for `markup` of ours, whose only elements are one div and marks."""
    inner = markup.removeprefix('<div class="passage">').removesuffix("</div>")
    return html.unescape(inner.replace("<mark>", "").replace("</mark>", ""))


# ---- plain -----------------------------------------------------------------------------------------------------------


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


@unhurried
@given(st.text())
def test_plain_keeps_every_visible_character(text: str) -> None:
    assert ESCAPED.sub(r"\1", plain(text)) == " ".join(text.split())


@unhurried
@given(st.text())
def test_plain_leaves_no_punctuation_of_markdown_without_a_backslash(text: str) -> None:
    assert not re.search(r"[`*_{}\[\]()<>#+\-.!|~:$^=&\"'/@]", ESCAPED.sub("", plain(text)))


@unhurried
@given(st.text())
def test_plain_is_one_line(text: str) -> None:
    assert len(plain(text).splitlines()) <= 1


# ---- safe_markdown ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It is **so** [1], [2].\n\n- a\n- `b`", "It is **so** [1], [2].\n\n- a\n- `b`"),
        ("![x](http://evil/x.png)", f"!{WJ}[x]{WJ}(http:{WJ}//evil/x.png)"),
        ("![x][1]\n\n[1]: http://evil/x.png", f"!{WJ}[x]{WJ}[1]\n\n[1]{WJ}: http:{WJ}//evil/x.png"),
        ("[a](javascript:b)", f"[a]{WJ}(javascript:b)"),
        ("www.evil.example", f"www{WJ}.evil.example"),
        ("WWW.evil.example", f"WWW{WJ}.evil.example"),
        ("$5 and $6", r"\$5 and \$6"),
        (r"\$5 and \$6", r"\$5 and \$6"),
        (r"\\$5", r"\\\$5"),
        ("", ""),
    ],
)
def test_an_answer_keeps_its_format_and_loses_images_links_and_formulas(text: str, shown: str) -> None:
    assert safe_markdown(text) == shown


# A directive's name may hold nearly any character, also a joiner, and Streamlit drops the text in the brackets of one
# that it does not know: "Result:yes[1]" would lose its source.
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (":red[x]", r"\:red[x]"),
        ("so :orange-badge[verified] is it", r"so \:orange-badge[verified] is it"),
        ("Result:yes[1]", r"Result\:yes[1]"),
        ("答案:是[1]", r"答案\:是[1]"),
        (r"\:red[x]", r"\:red[x]"),
        (r"\\:red[x]", r"\\\:red[x]"),
        (":key{a=b}", r"\:key{a=b}"),
        ("At 10:30 [1]: three", f"At 10:30 [1]{WJ}: three"),
        ("std::vector", "std::vector"),
    ],
)
def test_an_answer_cannot_use_streamlits_directives(text: str, shown: str) -> None:
    assert safe_markdown(text) == shown


@pytest.mark.parametrize("text", ["<https://evil.example/a>", "<https:evil.example/a>", "see <mailto:a@evil.example>"])
def test_an_answer_cannot_link_by_angle_brackets(text: str) -> None:
    assert not re.search(r"<[A-Za-z][A-Za-z0-9+.-]*:", safe_markdown(text))


@unhurried
@given(st.text(alphabet="![](){}:/w.$\\ab1\n`<>"))
def test_nothing_in_an_answer_can_fetch_or_link(text: str) -> None:
    assert not ACTIVE.search(safe_markdown(text))


@unhurried
@given(st.text().filter(lambda text: WJ not in text))
def test_an_answer_loses_no_character(text: str) -> None:
    shown = safe_markdown(text).replace(WJ, "")
    assert re.sub(r"\\*([$:])", r"\1", shown) == re.sub(r"\\*([$:])", r"\1", text)


# ---- HTML ------------------------------------------------------------------------------------------------------------


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


@unhurried
@given(st.text(), st.lists(st.integers(0, 40), max_size=6))
def test_a_marked_passage_without_its_marks_is_the_text(text: str, cuts: list[int]) -> None:
    places = sorted({min(cut, len(text)) for cut in cuts})
    spans = list(pairwise(places))[::2]

    markup = marked_html(text, spans)

    without = markup.replace("<mark>", "").replace("</mark>", "")
    assert without == f'<div class="passage">{html.escape(text)}</div>'
    assert opened(markup) == text
    assert markup.count("<mark>") == len(spans)


@unhurried
@given(st.text())
def test_text_html_shows_the_text_and_nothing_else(text: str) -> None:
    assert text_html(text, "source") == f'<div class="source">{html.escape(text)}</div>'
