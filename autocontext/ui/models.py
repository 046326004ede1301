"""Which language model is asked: chosen once, used by every page that asks one; and the parts of the Models page."""

from __future__ import annotations

import os
from dataclasses import replace

import streamlit as st

from autocontext.allowed import AllowedModel, allowed_models
from autocontext.datatypes import ModelOptions, Prompt, Support
from autocontext.errors import ModelError
from autocontext.model_server import find_context_size, list_models
from autocontext.ui.jobs import AnswerJob
from autocontext.ui.safe import plain, text_html
from autocontext.ui.state import UiState, kept

OWN = "the provider's own"
SERVERS = {"Ollama": "ollama/", "OpenAI-compatible": "openai/"}
KEY_VARIABLES = tuple(
    f"{provider}_API_KEY"
    for provider in ("OPENAI", "ANTHROPIC", "GEMINI", "GROQ", "MISTRAL", "OPENROUTER", "DEEPSEEK", "XAI", "COHERE")
)
_TEST_PROMPT = "Answer with the single word: ready"


def show_choice(state: UiState) -> None:
    """Draw the field for the model and, behind a button, its address and key; for every page that asks one."""
    st.text_input(
        "Model",
        **kept("model", state.models_taken),
        placeholder="ollama/gemma3",
        help="As litellm names it: ollama/gemma3, openai/gpt-5-mini, gemini/gemini-2.5-flash, … "
        "The Models page lists those of a server.",
    )
    with st.popover("Address and key", icon=":material/key:"):
        show_address_and_key(state)


def show_address_and_key(state: UiState) -> None:
    """Draw the fields for the address and the key; where only some addresses are allowed, a choice of these."""
    allowed = _allowed()
    if allowed is None:
        st.text_input(
            "Address",
            **kept("api_base", state.models_taken),
            placeholder=OWN,
            help="For a server of your own, for example http://localhost:1234/v1. Ollama needs none.",
        )
    else:
        addresses = list(dict.fromkeys(row.api_base or "" for row in allowed))
        if state.api_base not in addresses and addresses:
            state.api_base = addresses[0]
        chosen = st.selectbox(
            "Address", addresses, addresses.index(state.api_base) if addresses else None,
            format_func=lambda address: address or OWN, help="This server allows these only.",
        )  # fmt: skip
        state.api_base = chosen or ""
    st.text_input(
        "Key",
        **kept("api_key", state.models_taken),
        type="password",
        help="Kept in this session only. A key of the environment is never sent to an address typed here.",
    )


def show_answer_length(state: UiState) -> None:
    """Draw how long an answer may be, for which room is kept in the model's context."""
    st.number_input(
        "Answer length in tokens",
        16,
        32_000,
        **kept("answer_tokens", state.models_taken),
        help="At most so many. Of the model's context, so many are kept for the answer.",
    )


# ---- the Models page -------------------------------------------------------------------------------------------------


def show_chosen(state: UiState) -> None:
    """Draw the chosen model with all of its limits, the test, and what it takes."""
    with st.container(border=True):
        st.subheader("The chosen model", anchor=False)
        left, middle, right = st.columns([2, 2, 2])
        with left:
            st.text_input(
                "Model",
                **kept("model", state.models_taken),
                placeholder="ollama/gemma3",
                help="As litellm names it: ollama/gemma3, openai/gpt-5-mini, gemini/gemini-2.5-flash, …",
            )
        with middle:
            show_address_and_key(state)
        with right:
            show_answer_length(state)
            _show_limits(state)
        _show_environment()
        with st.container(horizontal=True, vertical_alignment="center"):
            testing = state.test_job is not None and state.test_job.running
            nothing = not state.model.strip()
            if st.button("Test", type="primary", icon=":material/network_check:", disabled=testing or nothing):
                _start_test(state)
                st.rerun()
            if st.button("Add to favourites", icon=":material/star:", disabled=nothing):
                _add_favourite(state, state.model_options())
                st.rerun()
        if state.test_job is not None:
            running = state.test_job.running
            st.fragment(_draw_test, run_every=0.25 if running else None)(state, running)


def _show_limits(state: UiState) -> None:
    with st.popover("Context and waiting", icon=":material/tune:"):
        st.number_input(
            "Context size in tokens", 0, 10_000_000, step=1024, **kept("context_size", state.models_taken),
            help="What the model takes in all, prompt and answer. 0: as Ollama or litellm's table says.",
        )  # fmt: skip
        st.number_input(
            "Largest context for Ollama", 1024, 1_048_576, step=1024, **kept("max_num_ctx", state.models_taken),
            help="Ollama loads the model with the smallest usual size that holds prompt and answer, up to this one. "
            "A larger context needs more memory.",
        )  # fmt: skip
        st.number_input(
            "Seconds without a word", 1, 3600, **kept("timeout", state.models_taken),
            help="A local model that is loaded for the first time can need a minute.",
        )  # fmt: skip
        st.number_input("Seconds for the whole answer", 1, 36_000, **kept("deadline", state.models_taken))


def _show_environment() -> None:
    found = [name for name in KEY_VARIABLES if os.environ.get(name)]
    if found:
        st.caption(plain(f"Keys of the environment, for their providers' own addresses only: {', '.join(found)}."))


def _start_test(state: UiState) -> None:
    options = replace(
        state.model_options(), max_tokens=min(256, state.answer_tokens), deadline=min(120, state.deadline)
    )
    if state.test_job is not None:
        state.test_job.stop()
    prompt = Prompt(_TEST_PROMPT, "", (), 8, 8, (), (), Support("strong", 1.0, ()))
    state.test_job = AnswerJob(prompt, options)


def _draw_test(state: UiState, drawn_running: bool) -> None:
    job = state.test_job
    if job is None:
        return
    job.collect()
    with st.container(key="model_test"):
        if job.running:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.caption(f"Waiting for the model · {job.seconds:.0f} s")
                st.button("Stop", key="stop_test", icon=":material/stop_circle:", on_click=job.stop)
        elif job.stopped:
            st.caption("The test was stopped.")
        elif job.error is not None:
            st.error(plain(str(job.error)), icon=":material/error:")
            if job.error.detail:
                with st.expander("What the server said"):
                    st.text(job.error.detail)
        elif job.answer.usage is not None:
            st.success(plain(f"It answers: {job.answer.usage.told(job.answer.options.model)}"), icon=":material/check:")
            size = find_context_size(job.answer.options, 1.0)
            if size is None:
                st.caption(
                    "How much it takes in all is not known: set its context size, or keep the token budget small."
                )
            else:
                st.caption(plain(f"It takes {size.tokens:,} tokens in all ({size.source})."))
            with st.expander("What it said"):
                st.text(job.answer.text.strip())
    if drawn_running and not job.running:
        st.rerun()


def show_favourites(state: UiState) -> None:
    """Draw the models that the user wants to come back to."""
    st.subheader("Favourites", anchor=False)
    if not state.favourites:
        st.caption("None yet. They are kept in this session only, with their keys.")
    for number, options in enumerate(state.favourites):
        with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"favourite_{number}"):
            key = " · with a key" if options.api_key else ""
            st.html(text_html(options.model, "source") + text_html(f"{options.api_base or OWN}{key}", "where"))
            st.space("stretch")
            _use_button(state, options, f"use_favourite_{number}")
            st.button(
                "Remove", key=f"drop_favourite_{number}", icon=":material/delete:", type="tertiary",
                on_click=state.favourites.remove, args=(options,),
            )  # fmt: skip


def show_server(state: UiState) -> None:
    """Draw the models that a server, or the list of a shared one, offers."""
    st.subheader("Find models", anchor=False)
    allowed = _allowed()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.selectbox("Kind of server", list(SERVERS), key="server_kind", width=220)
        asked = st.button("List models", icon=":material/list:")
    st.caption("Of the address above, with the key above. Ollama without an address is the one of this machine.")
    if asked:
        st.session_state["listed_models"] = _listed(state, SERVERS[kind])
    found: tuple[ModelOptions, list[str], str] | None = st.session_state.get("listed_models")
    if found is not None:
        _show_listed(state, *found)
    if allowed is not None:
        st.caption("This server allows these models only; * stands for any characters.")
        for number, row in enumerate(allowed):
            options = replace(state.model_options(), model=row.model, api_base=row.api_base)
            _show_model(state, options, f"allowed_{number}", usable="*" not in row.model)


def _listed(state: UiState, prefix: str) -> tuple[ModelOptions, list[str], str]:
    """Return what was asked, the models, and why there are none."""
    options = replace(state.model_options(), model=prefix)
    if prefix == "openai/" and not options.api_base:
        return options, [], "Type the server's address above, for example http://localhost:1234/v1."
    try:
        with st.spinner("Asking the server…"):
            names = list_models(options)
    except ModelError as error:
        return options, [], str(error)
    empty = "The server answers, but has no models. For Ollama, fetch one with: ollama pull gemma3"
    return options, names, "" if names else empty


def _show_listed(state: UiState, asked: ModelOptions, names: list[str], problem: str) -> None:
    if problem:
        st.error(plain(problem), icon=":material/error:")
    for number, name in enumerate(names[:200]):
        _show_model(state, replace(asked, model=name), f"listed_{number}")
    if len(names) > 200:
        st.caption(f"{len(names) - 200} more are not shown: type the name above.")


def _show_model(state: UiState, options: ModelOptions, key: str, *, usable: bool = True) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=key):
        st.html(text_html(options.model, "source") + text_html(options.api_base or OWN, "where"))
        st.space("stretch")
        if usable:
            _use_button(state, options, f"use_{key}")
            st.button(
                "Favourite", key=f"star_{key}", icon=":material/star:", type="tertiary",
                on_click=_add_favourite, args=(state, options),
            )  # fmt: skip


def _use_button(state: UiState, options: ModelOptions, key: str) -> None:
    chosen = (options.model, options.api_base or "") == (state.model.strip(), state.api_base.strip())
    st.button(
        "Chosen" if chosen else "Use", key=key, icon=":material/check:" if chosen else None, disabled=chosen,
        on_click=state.take_model, args=(options,),
    )  # fmt: skip


def _add_favourite(state: UiState, options: ModelOptions) -> None:
    state.favourites = [
        *(kept for kept in state.favourites if (kept.model, kept.api_base) != (options.model, options.api_base)),
        options,
    ]


def _allowed() -> tuple[AllowedModel, ...] | None:
    """Return the list of allowed models, empty if it cannot be read, which is told; None: all are allowed."""
    try:
        return allowed_models()
    except ModelError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return ()
