"""What was found for a question and the prompt that it makes, shown on the Ask and the Chat page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from autocontext.budget import Budget
from autocontext.datatypes import Evidence, Prompt
from autocontext.engine import AutoContext
from autocontext.ui import models, template
from autocontext.ui.marks import show_answer_mark
from autocontext.ui.page_view import show_page_button
from autocontext.ui.safe import marked_html, plain, text_html
from autocontext.ui.state import UiState, current_state, kept
from autocontext.wording import SUPPORT

RETRIEVERS = {
    "bm25": ("BM25", "violet", ":material/notes:"),
    "dense": ("Dense", "blue", ":material/hub:"),
    "tfidf": ("TF-IDF", "green", ":material/tag:"),
}
_HOW_FOUND = (
    "BM25 finds passages by the question's words, rare words first; its score has no upper end. Dense finds them by "
    "meaning; its score is a cosine, at most 1. #1 is a retriever's best passage. Both rankings are put together."
)


def anchor(prefix: str, number: int) -> str:
    """Return the id of a passage's card, for links; `prefix` tells the turns of a conversation apart."""
    return f"{prefix}passage-{number}"


def show_support(prompt: Prompt) -> None:
    """Tell the verdict, if it is not a good one, with the figures that it rests on."""
    if prompt.support.level != "strong":
        text = f"**{SUPPORT[prompt.support.level][1]}** {plain(' '.join(prompt.support.reasons))}"
        st.warning(text, icon=":material/help:")


def show_passages(engine: AutoContext, prompt: Prompt) -> None:
    """Draw a card for each passage of the prompt, with what each retriever said of it; then what was left out."""
    with st.container(horizontal=True, vertical_alignment="center", height=40, border=False):
        st.subheader("Passages", anchor=False, width="content", help=_HOW_FOUND)
        st.space("stretch")
        st.page_link(
            "pages/inspect.py",
            label="See why",
            icon=":material/troubleshoot:",
            query_params={"collection": collection} if (collection := current_state().collection) else None,
        )
    if not prompt.evidence:
        st.caption("No passage has anything in common with this question.")
    show_cards(engine, prompt, range(1, len(prompt.evidence) + 1))
    show_left_out(prompt)


def show_cards(engine: AutoContext, prompt: Prompt, numbers: Iterable[int], prefix: str = "") -> None:
    """Draw the cards of some passages: source, text with the question's words marked, who found it and how."""
    for number in numbers:
        item = prompt.evidence[number - 1]
        with st.container(border=True, gap="small", key=f"{prefix}passage_{number}"):
            _show_source(item, number, anchor(prefix, number))
            asked = prompt.searched or prompt.question
            st.html(marked_html(item.chunk.text, engine.matched_spans(asked, item.chunk.text)))
            with st.container(horizontal=True, gap="small"):
                _show_badges(item, engine.retrievers)
                show_page_button(item.chunk, f"{prefix}{number}")
                show_answer_mark(asked, item.chunk, f"{prefix}{number}")
            if item.contributions:
                parts = " + ".join(f"{c.share:.2f} {_label(c.retriever)}" for c in item.contributions)
                st.caption(f"Score {item.score:.2f} = {parts}")


def show_left_out(prompt: Prompt) -> None:
    """List what was found but is not in the prompt, with the reasons."""
    if prompt.left_out:
        with st.expander(f"{len(prompt.left_out)} found, but left out of the prompt"):
            for left in prompt.left_out:
                with st.container(gap=None):
                    _show_source(left.evidence, None)
                    st.caption(plain(f"Left out: {left.reason}. {_ranks(left.evidence)}"))


def _show_source(item: Evidence, number: int | None, link_target: str = "") -> None:
    heading = f" · {item.chunk.heading}" if item.chunk.heading else ""
    label = f"{number} · " if number is not None else ""
    source = text_html(f"{label}{item.chunk.document}", "source", link_target)
    st.html(source + text_html(f"{item.chunk.place}{heading}", "where"))


def _show_badges(item: Evidence, used: Sequence[str]) -> None:
    for name in used:
        label, color, icon = RETRIEVERS.get(name, (name, "gray", None))
        hit = item.hits.get(name)
        if hit is None:
            st.badge(f"{label}: not found", color="gray", icon=icon)
        else:
            st.badge(f"{label} #{hit.rank} · {hit.score:.2f}", color=color, icon=icon)  # type: ignore[arg-type]


def _label(retriever: str) -> str:
    return RETRIEVERS[retriever][0] if retriever in RETRIEVERS else retriever


def _ranks(item: Evidence) -> str:
    return ", ".join(f"{_label(name)} #{hit.rank}" for name, hit in item.hits.items())


def show_limits(state: UiState) -> None:
    """Draw how much may go into the prompt, and how much is kept for the answer."""
    with st.popover("Limits", icon=":material/tune:", type="tertiary"):
        # Settings have no such bounds, and a field whose value is out of its own cannot be drawn.
        st.number_input("Passages at most", 1, max(100, state.num_results), **kept("num_results"))
        st.number_input(
            "Token budget",
            min(50, state.max_tokens),
            max(1_000_000, state.max_tokens),
            step=500,
            **kept("max_tokens"),
            help="A token is about three quarters of an English word. Small local models often take 4,096 in all.",
        )
        models.show_answer_length(state)


def show_prompt(state: UiState, prompt: Prompt, prefix: str = "") -> None:
    """Show the exact prompt with its copy button, its tokens against the budget, its form, limits, and a download."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(
            "Prompt", anchor=False, width="content", help="Exactly what a model gets. Copy it into any chat window."
        )
        st.space("stretch")
        if not prefix:
            template.show_button(state)
            show_limits(state)
        st.download_button(
            "Save",
            lambda: prompt.text,
            "prompt.txt",
            "text/plain",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
            key=f"{prefix}save_prompt",
        )
    parts = ", ".join(f"{part.name} {part.tokens:,}" for part in prompt.parts)
    st.progress(
        min(1.0, prompt.tokens / prompt.max_tokens),
        text=f"about {prompt.tokens:,} of {prompt.max_tokens:,} tokens ({parts})",
    )
    if not prefix and state.budget is not None:
        show_budget(state.budget)
    st.code(prompt.text, language=None, wrap_lines=True, height=420)


def show_budget(budget: Budget) -> None:
    """Tell what is kept for the answer, and why the prompt may have fewer tokens than was set."""
    if budget.size is not None:
        told = f"the model takes {budget.size.tokens:,} ({budget.size.source})."
        st.caption(plain(f"{budget.reserve:,} more are kept for the answer; {told}"))
    if budget.note:
        st.caption(f":orange-badge[smaller budget] {plain(budget.note)}")
