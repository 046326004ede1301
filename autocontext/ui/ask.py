"""The parts of the Ask page."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from autocontext.datatypes import Evidence, Prompt
from autocontext.engine import AutoContext
from autocontext.ui.collections import show_kept
from autocontext.ui.safe import marked_html, plain, safe_markdown, text_html
from autocontext.ui.state import UiState, kept

RETRIEVERS = {"bm25": ("BM25", "violet", ":material/notes:"), "dense": ("Dense", "blue", ":material/hub:")}
EXAMPLES = (
    "Who says that economics is bullshit?",
    "What is the formula of ZorroOnian Alcohol?",
    "What does fault code F-13 mean?",
    "What is the capital of Mongolia?",
)
_SUPPORT = {
    "weak": "The answer may not be in your documents.",
    "none": "The answer is probably not in your documents.",
}
_HOW_FOUND = (
    "BM25 finds passages by the question's words, rare words first; its score has no upper end. Dense finds them by "
    "meaning; its score is a cosine, at most 1. #1 is a retriever's best passage. Both rankings are put together."
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


def show_question(state: UiState) -> None:
    """Draw the question's field, where Enter asks, and search."""
    st.header("Ask your documents", anchor=False)
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


def show_support(prompt: Prompt) -> None:
    """Tell the verdict, if it is not a good one, with the figures that it rests on."""
    if prompt.support.level != "strong":
        text = f"**{_SUPPORT[prompt.support.level]}** {plain(' '.join(prompt.support.reasons))}"
        st.warning(text, icon=":material/help:")


def show_passages(engine: AutoContext, prompt: Prompt) -> None:
    """Draw a card for each passage of the prompt, with what each retriever said of it; then what was left out."""
    with st.container(horizontal=True, vertical_alignment="center", height=40, border=False):
        st.subheader("Passages", anchor=False, width="content", help=_HOW_FOUND)
    if not prompt.evidence:
        st.caption("No passage has anything in common with this question.")
    for number, item in enumerate(prompt.evidence, start=1):
        with st.container(border=True, gap="small", key=f"passage_{number}"):
            _show_source(item, number)
            st.html(marked_html(item.chunk.text, engine.matched_spans(prompt.question, item.chunk.text)))
            with st.container(horizontal=True, gap="small"):
                _show_badges(item, engine.retrievers)
            if item.contributions:
                parts = " + ".join(f"{c.share:.2f} {_label(c.retriever)}" for c in item.contributions)
                st.caption(f"Score {item.score:.2f} = {parts}")
    if prompt.left_out:
        with st.expander(f"{len(prompt.left_out)} found, but left out of the prompt"):
            for left in prompt.left_out:
                with st.container(gap=None):
                    _show_source(left.evidence, None)
                    st.caption(plain(f"Left out: {left.reason}. {_ranks(left.evidence)}"))


def _show_source(item: Evidence, number: int | None) -> None:
    heading = f" · {item.chunk.heading}" if item.chunk.heading else ""
    label = f"{number} · " if number is not None else ""
    st.html(text_html(f"{label}{item.chunk.document}", "source") + text_html(f"{item.chunk.place}{heading}", "where"))


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


def show_limits() -> None:
    """Draw how much may go into the prompt."""
    with st.popover("Limits", icon=":material/tune:", type="tertiary"):
        st.number_input("Passages at most", 1, 100, **kept("num_results"))
        st.number_input(
            "Token budget",
            50,
            1_000_000,
            step=500,
            **kept("max_tokens"),
            help="A token is about three quarters of an English word. Small local models often take 4,096 in all.",
        )


def show_prompt(prompt: Prompt) -> None:
    """Show the exact prompt with its copy button, its tokens against the budget, its limits, and a download."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(
            "Prompt", anchor=False, width="content", help="Exactly what a model gets. Copy it into any chat window."
        )
        st.space("stretch")
        show_limits()
        st.download_button(
            "Save",
            lambda: prompt.text,
            "prompt.txt",
            "text/plain",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
        )
    parts = ", ".join(f"{part.name} {part.tokens:,}" for part in prompt.parts)
    st.progress(
        min(1.0, prompt.tokens / prompt.max_tokens),
        text=f"about {prompt.tokens:,} of {prompt.max_tokens:,} tokens ({parts})",
    )
    st.code(prompt.text, language=None, wrap_lines=True, height=420)


def show_model(state: UiState) -> None:
    """Draw which model to ask, and the button."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="model_bar"):
        st.text_input(
            "Model",
            **kept("model"),
            placeholder="ollama/gemma3",
            help="As litellm names it: ollama/gemma3, openai/gpt-5-mini, gemini/gemini-2.5-flash, …",
        )
        with st.popover("Address and key", icon=":material/key:"):
            st.text_input(
                "Address",
                **kept("api_base"),
                placeholder="the provider's own",
                help="For a server of your own, for example http://localhost:1234/v1. Ollama needs none.",
            )
            st.text_input(
                "Key",
                **kept("api_key"),
                type="password",
                help="Kept in this session only. A key of the environment is never sent to an address typed here.",
            )
            st.number_input("Answer length in tokens", 16, 32_000, **kept("answer_tokens"))
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
    answer = job.answer
    with st.container(border=True, key="answer"):
        if answer.thinking:
            with st.expander("The model's notes to itself"):
                st.text(answer.thinking)
        if answer.text:
            st.markdown(safe_markdown(answer.text) + (" ▌" if job.running else ""))
        if job.running:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.caption(f"{'Answering' if answer.text else 'Waiting for the model'} · {job.seconds:.0f} s")
                st.button("Stop", key="stop_answer", icon=":material/stop_circle:", on_click=state.stop_answer)
        else:
            _show_ending(state)
    if drawn_running and not job.running:
        st.rerun()  # the whole page once more: the timer ends and the button is free again


def _show_ending(state: UiState) -> None:
    job = state.answer_job
    if job is None:
        return
    answer = job.answer
    if job.error is not None:
        st.error(plain(str(job.error)), icon=":material/error:")
        if job.error.detail:
            with st.expander("What the server said"):
                st.text(job.error.detail)
    if answer.text and not answer.complete:
        why = "you stopped it" if job.stopped else "it broke off" if job.error else "it reached the answer length"
        st.caption(f":orange-badge[incomplete] {why}")
    elif job.stopped:
        st.caption("Stopped before the first word.")
    for citation in answer.citations:
        if citation.evidence is None:
            st.caption(f"\\[{citation.number}\\] :red-badge[no such passage] the model made this source up")
        else:
            chunk = citation.evidence.chunk
            st.caption(f"\\[{citation.number}\\] {plain(chunk.document)}, {plain(chunk.place)}")
    if answer.prompt is not state.prompt:
        st.caption(":orange-badge[earlier prompt] this answer was given to the prompt as it was then")
    if answer.usage is not None:
        used = answer.usage
        counts = [
            f"{n:,} tokens {way}"
            for n, way in ((used.prompt_tokens, "in"), (used.completion_tokens, "out"))
            if n is not None
        ]
        st.caption(plain(" · ".join([answer.options.model, *counts, f"{used.seconds:.1f} s"])))
    if answer.text:
        with st.expander("Copy the answer"):
            st.code(answer.text, language=None, wrap_lines=True)
