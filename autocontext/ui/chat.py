"""The parts of the Chat page."""

from __future__ import annotations

import streamlit as st

from autocontext.transcript import to_markdown
from autocontext.ui import answers, models, passages
from autocontext.ui.safe import plain
from autocontext.ui.state import UiState
from autocontext.ui.talk import TalkTurn
from autocontext.wording import counted


def show_head(state: UiState) -> None:
    """Draw the title with what can be done with the whole conversation, and the model to ask."""
    talk = state.talk
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header("Chat with your documents", anchor=False)
        st.space("stretch")
        if talk.turns:
            st.download_button(
                "Save",
                lambda: to_markdown([answer for turn in talk.turns if (answer := turn.answer) is not None]),
                "conversation.md",
                "text/markdown",
                icon=":material/download:",
                type="tertiary",
                on_click="ignore",
            )
            st.button("Clear", icon=":material/delete_sweep:", type="tertiary", on_click=talk.clear)
    with st.container(horizontal=True, vertical_alignment="bottom", key="model_bar"):
        models.show_choice(state)
        passages.show_limits(state)
        st.toggle(
            "Rewrite questions",
            talk.rewrite,
            key="_rewrite",
            on_change=_keep_rewrite,
            args=(state,),
            help="The model first puts a follow-up question so that it stands alone: one more call. Without it, the "
            "words that the talk is about are added to what is searched.",
        )
    if not state.model.strip():
        st.caption("No model is chosen: each question makes its prompt, to be copied elsewhere.")


def _keep_rewrite(state: UiState) -> None:
    state.talk.rewrite = st.session_state["_rewrite"]


def show_talk(state: UiState) -> None:
    """Draw all turns; the last one by itself again and again while its answer arrives."""
    talk = state.talk
    for turn in talk.turns[:-1]:
        _show_turn(state, turn, is_last=False)
    if talk.turns:
        st.fragment(_draw_last, run_every=0.25 if talk.running else None)(state, talk.running)


def _draw_last(state: UiState, drawn_running: bool) -> None:
    talk = state.talk
    if not talk.turns:
        return
    with st.spinner("Searching…", show_time=False) if talk.turns[-1].prompt is None else st.container():
        talk.advance(state.engine, state.num_results, state.max_tokens)
    _show_turn(state, talk.turns[-1], is_last=True)
    if drawn_running and not talk.running:
        st.rerun()  # the whole page once more: the timer ends


def show_input(state: UiState) -> None:
    """Draw the field for the next question."""
    if question := st.chat_input("Ask a question, or a follow-up one", key="chat_question"):
        state.talk.ask(question, state.model_options() if state.model.strip() else None)
        st.rerun()


def _show_turn(state: UiState, turn: TalkTurn, *, is_last: bool) -> None:
    prefix = f"turn-{turn.number}-"
    with st.chat_message("user", avatar=":material/person:"):
        st.markdown(plain(turn.question))
    with st.chat_message("assistant", avatar=":material/description:"), st.container(key=f"{prefix}answer"):
        prompt = turn.prompt
        if turn.problem:
            st.error(plain(turn.problem), icon=":material/error:")
        elif prompt is None and turn.stopped:
            st.caption("Stopped before anything was searched.")
        elif prompt is None:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.caption("The model rewrites the question.")
                st.button("Stop", key=f"{prefix}stop", icon=":material/stop_circle:", on_click=state.talk.stop)
        if prompt is None:
            return
        _show_searched(turn)
        if turn.budget is not None and turn.budget.note:
            passages.show_budget(turn.budget)
        passages.show_support(prompt)
        if turn.job is not None:
            answers.show_answer(turn.job, state.talk.stop, prefix)
        used = turn.job.check.passages if turn.job is not None and not turn.running else ()
        passages.show_cards(state.engine, prompt, used, prefix)
        others = [number for number in range(1, len(prompt.evidence) + 1) if number not in used]
        rest = counted(len(others), "other passage" if used else "passage")
        label = f"{rest}, and the prompt of about {prompt.tokens:,} tokens"
        with st.expander(label, expanded=is_last and turn.job is None, key=f"{prefix}details"):
            passages.show_cards(state.engine, prompt, others, prefix)
            passages.show_left_out(prompt)
            passages.show_prompt(state, prompt, prefix)


def _show_searched(turn: TalkTurn) -> None:
    """Tell what was searched in place of the question, and which turns the model does not see."""
    prompt = turn.prompt
    if prompt is None:
        return
    if turn.rewriting is not None and turn.rewriting.error is not None:
        st.caption(f":orange-badge[not rewritten] {plain(str(turn.rewriting.error))}")
    if prompt.searched != prompt.question:
        how = "rewritten by the model" if turn.rewriting is not None and turn.rewriting.result else "with the topic"
        st.caption(f":gray-badge[searched {how}] {plain(prompt.searched)}")
    if prompt.history_left_out:
        count = len(prompt.history_left_out)
        what = "The oldest turn is" if count == 1 else f"The {count} oldest turns are"
        st.caption(f":orange-badge[history shortened] {what} not in the prompt: the token budget is too small.")
