"""One click marks a passage as what answers a question; another takes the mark away."""

from __future__ import annotations

import streamlit as st

from autocontext.datatypes import Chunk
from autocontext.ui.evaluating import answers_in
from autocontext.ui.state import current_state


def show_answer_mark(question: str, chunk: Chunk, key: str) -> None:
    """Draw the button that keeps the passage as an answer, to measure settings with on the Evaluate page."""
    state = current_state()
    is_marked = bool(answers_in(state.engine.questions, question, chunk))
    st.button(
        "Marked as the answer" if is_marked else "This answers it",
        key=f"answers_{key}",
        icon=":material/check_circle:" if is_marked else ":material/flag:",
        type="tertiary",
        help="Click again to take the mark away."
        if is_marked
        else "Keeps question and passage, so that the Evaluate page can measure how early they find each other.",
        on_click=state.attempt,
        args=(state.evaluating.toggle_answer, state.engine, question, chunk),
    )
