"""The parts of the Ask page."""

from __future__ import annotations

import streamlit as st

from autocontext.ui import answers, models
from autocontext.ui.collections import show_kept
from autocontext.ui.state import UiState

EXAMPLES = (
    "Who says that economics is bullshit?",
    "What is the formula of ZorroOnian Alcohol?",
    "What does fault code F-13 mean?",
    "What is the capital of Mongolia?",
)


def show_empty(state: UiState) -> None:
    """Show a newcomer what this is, and the two ways to begin."""
    st.header("Ask your own documents", anchor=False)
    st.write(
        "Add notes, papers or a whole folder, ask a question, and see the few passages that matter, why each was "
        "found, and the exact prompt for a language model. Nothing leaves this machine until you ask a hosted model."
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(
            "Try the sample collection", type="primary", icon=":material/auto_stories:", disabled=state.indexing
        ):
            state.add_sample()
            st.rerun()
        st.page_link("pages/documents.py", label="Add your own documents", icon=":material/upload_file:")
    show_kept(state)


def show_question(state: UiState, header: str = "Ask your documents") -> None:
    """Draw the question's field, where Enter asks, and search."""
    st.header(header, anchor=False)
    with st.form("question_form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        key = f"_question_{state.examples_taken}"  # an example fills the field: a new one that begins with it
        st.text_input("Question", state.question, key=key, placeholder="What do you want to know?")
        st.form_submit_button(
            "Find passages", type="primary", icon=":material/search:", on_click=_ask_typed, args=(state, key)
        )
    if not state.question and any(name.endswith("data/economics.txt") for name in state.engine.documents):
        st.pills("Try one of these", EXAMPLES, key="example", on_change=_ask_example, args=(state,))
    with st.spinner("Searching… the first question also loads the embedding model."):
        state.refresh()


def _ask_typed(state: UiState, key: str) -> None:
    state.ask(st.session_state[key])


def _ask_example(state: UiState) -> None:
    state.examples_taken += 1
    state.ask(st.session_state["example"] or "")


def show_model(state: UiState) -> None:
    """Draw which model to ask, and the button."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="model_bar"):
        models.show_choice(state)
        busy = state.answer_job is not None and state.answer_job.running
        if st.button(
            "Ask model",
            type="primary",
            icon=":material/send:",
            disabled=busy or not state.model.strip(),
            key="ask_model",
        ):
            state.ask_model()
            st.rerun()


def show_answer(state: UiState) -> None:
    """Show the answer while it arrives, and after."""
    if state.answer_job is not None:
        running = state.answer_job.running
        st.fragment(_draw_answer, run_every=0.25 if running else None)(state, running)


def _draw_answer(state: UiState, drawn_running: bool) -> None:
    job = state.answer_job
    if job is None:
        return
    job.collect()
    outdated = state.prompt is None or state.prompt.text != job.answer.prompt.text
    with st.container(border=True, key="answer"):
        answers.show_answer(job, state.stop_answer, outdated=outdated)
    if drawn_running and not job.running:
        st.rerun()  # the whole page once more: the timer ends and the button is free again
