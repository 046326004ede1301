"""A conversation as Markdown: complete, and showing what was said."""

from __future__ import annotations

import html
import re

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from autocontext.answer import Answer
from autocontext.datatypes import ModelOptions, Piece
from autocontext.transcript import escape, to_markdown

FILES = {"a.txt": "Pauli Blendergast says that economics is bullshit.", "b.txt": "Tea steeps."}


def answered(make_context, text: str, question: str = "Who says that economics is bullshit?") -> Answer:
    answer = Answer(make_context(FILES).get_prompt(question), ModelOptions(model="ollama/x"))
    answer.take(Piece("text", text), 0.0)
    answer.take(Piece("done", finish_reason="stop"), 1.0)
    return answer


def test_questions_answers_findings_and_sources_are_in_it(make_context) -> None:
    text = to_markdown([answered(make_context, "It is Pauli [1], since 2018."), answered(make_context, "")])
    assert text.startswith("# Conversation\n\n## 1. Who says that economics is bullshit?\n")
    assert "> It is Pauli \\[1\\], since 2018\\." in text
    assert "- Not found in the passages\\: 2018\\." in text
    assert "- \\[1\\] a\\.txt, line 1: Pauli Blendergast says that economics is bullshit\\." in text
    assert text.count("## ") == 2
    assert "No answer." in text


def test_what_was_said_becomes_no_element(make_context) -> None:
    said = "# Title\n![x](http://evil/x.png) <img src=x> [a](javascript:b)\n    code\n- list\n$a$ | b |"
    shown = MarkdownIt("commonmark").enable("table").render(to_markdown([answered(make_context, said)]))
    quote = shown[shown.index("<blockquote>") : shown.index("</blockquote>")]
    assert set(re.findall(r"<(\w+)", quote)) == {"blockquote", "p", "br"}
    assert "<img" not in shown
    assert "href" not in shown
    text = html.unescape(re.sub("<[^>]*>", "", quote)).replace("\u00a0", " ")
    assert [line.rstrip() for line in text.strip().splitlines()] == said.splitlines()


@given(st.text())
def test_an_escaped_line_shows_its_text(text: str) -> None:
    assert re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", escape(text)) == " ".join(text.split())
