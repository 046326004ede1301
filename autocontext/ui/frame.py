"""The frame around every page: menu, progress, messages, and errors as sentences.

Each page draws it itself, so that any page can be the first one a fresh server is asked for.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import streamlit as st

from autocontext.encoders import default_encoder
from autocontext.errors import AutoContextError
from autocontext.llm import load_litellm
from autocontext.ui.jobs import IndexJob
from autocontext.ui.safe import plain
from autocontext.ui.state import UiState, current_state, show_in_address

PAGES = (
    ("app.py", "Ask", ":material/search:"),
    ("pages/chat.py", "Chat", ":material/forum:"),
    ("pages/documents.py", "Documents", ":material/folder_open:"),
    ("pages/inspect.py", "Inspect", ":material/troubleshoot:"),
    ("pages/compare.py", "Compare", ":material/compare_arrows:"),
    ("pages/evaluate.py", "Evaluate", ":material/fact_check:"),
    ("pages/models.py", "Models", ":material/smart_toy:"),
    ("pages/collections.py", "Collections", ":material/inventory_2:"),
    ("pages/settings.py", "Settings", ":material/tune:"),
)
_STYLE = """<style>
.passage { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.55; }
.passage mark { background: rgba(255, 176, 32, 0.34); color: inherit; border-radius: 3px; padding: 0 1px; }
.passage .near { text-decoration: underline solid rgba(47, 127, 214, 0.75) 2px; text-underline-offset: 4px; }
.passage.dim { opacity: 0.55; }
.source { font-weight: 600; overflow-wrap: anywhere; }
.where { opacity: 0.75; font-size: 0.875rem; overflow-wrap: anywhere; }
.source { scroll-margin-top: 5rem; }
[class*="passage_"]:has(.source:target) { background: rgba(255, 176, 32, 0.14); }
.answer { overflow-wrap: anywhere; line-height: 1.6; }
.answer p, .answer ul, .answer ol, .answer blockquote { margin: 0 0 0.7rem; }
.answer h1, .answer h2, .answer h3, .answer h4, .answer h5, .answer h6 { font-size: 1.1rem; padding: 0.4rem 0 0.3rem; }
.answer code { font-size: 0.9em; background: rgba(128, 128, 128, 0.16); border-radius: 4px; padding: 0.1em 0.3em; }
.answer pre { overflow-x: auto; background: rgba(128, 128, 128, 0.1); border-radius: 8px; padding: 0.7rem 0.9rem; }
.answer pre code { background: none; padding: 0; white-space: pre; }
.answer table { border-collapse: collapse; display: block; overflow-x: auto; margin-bottom: 0.7rem; }
.answer th, .answer td { border: 1px solid rgba(128, 128, 128, 0.35); padding: 0.25rem 0.6rem; text-align: left; }
.answer blockquote { border-left: 3px solid rgba(128, 128, 128, 0.4); padding-left: 0.8rem; }
.answer a { text-decoration: none; font-weight: 600; color: color-mix(in srgb, currentColor 25%, #2f7fd6); }
.answer mark.missing { background: rgba(255, 75, 75, 0.22); color: inherit; border-radius: 3px; padding: 0 2px;
  text-decoration: underline wavy rgba(255, 75, 75, 0.8) 1px; text-underline-offset: 3px; }
.answer .note { font-size: 0.8em; opacity: 0.8; }
[data-testid="stDataFrame"] [data-testid="stElementToolbar"] button[aria-label="Download as CSV"] { display: none; }
.block-container { padding-top: 4.25rem; max-width: 84rem; }
</style>"""


@contextmanager
def page(title: str) -> Iterator[UiState]:
    """Draw the frame, lend the session's state to the page, and show our errors as a sentence."""
    st.set_page_config(page_title=f"{title} · AutoContext", page_icon="🗂️", layout="wide")
    st.html(_STYLE)
    state = current_state()
    state.collect_index()
    state.look_again()
    show_in_address(state)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="menu"):
        address = {"collection": state.collection} if state.collection else None
        for path, label, icon in PAGES:
            st.page_link(path, label=label, icon=icon, query_params=address)
        st.space("stretch")
        _show_collection(state)
    if state.notice:
        st.toast(plain(state.notice))
        state.notice = ""
    state.drawn_empty = not state.engine.documents
    _progress()
    _show_failure(state)
    try:
        for warning in state.engine.warnings:
            st.warning(plain(warning), icon=":material/warning:")
        yield state
    except AutoContextError as error:
        st.error(plain(str(error)), icon=":material/error:")
    _warm_up(with_litellm=state.prompt is not None)


def _show_failure(state: UiState) -> None:
    if state.failure:
        with st.container(horizontal=True, vertical_alignment="center", key="failure"):
            st.error(plain(state.failure), icon=":material/error:")
            if st.button("Dismiss", key="dismiss_failure", type="tertiary"):
                state.failure = ""
                st.rerun()


def _show_collection(state: UiState) -> None:
    """Say where the documents are: a word that must be right on every page."""
    if state.collection:
        st.badge(plain(state.collection_name), icon=":material/inventory_2:", color="blue")
    else:
        st.badge("This session only", icon=":material/history_toggle_off:", color="gray")


def _warm_up(*, with_litellm: bool) -> None:
    """Load what the next click will need, once a server, behind a page that is already drawn."""
    if os.environ.get("AUTOCONTEXT_WARM_UP", "1") != "0":
        _load_in_background("encoder")
        if with_litellm:
            _load_in_background("litellm")


@st.cache_resource(show_spinner=False)
def _load_in_background(what: str) -> threading.Thread:
    def load() -> None:
        with suppress(AutoContextError):  # it is told when it is really needed
            if what == "litellm":
                load_litellm()
            else:
                default_encoder().warm_up()

    thread = threading.Thread(target=load, name=f"autocontext-warm-up-{what}", daemon=True)
    thread.start()
    return thread


def _progress() -> None:
    running = current_state().indexing
    st.fragment(_show_progress, run_every=0.4 if running else None)()


def _describe(job: IndexJob, ready: int) -> str:
    (read, files), (embedded, chunks) = job.files, job.chunks
    parts = [f"Read {read:,} of {files:,} files"] if files else ["Getting ready"]
    if job.pages[1]:
        parts.append(f"page {job.pages[0]:,} of {job.pages[1]:,} of a PDF")
    if chunks:
        loading = " (loading the embedding model)" if not embedded else ""
        parts.append(f"embedded {embedded:,} of {chunks:,} passages so far{loading}")
    if files and ready:
        parts.append(f"{ready:,} can be asked already")
    return ", ".join(parts)


def _show_progress() -> None:
    state = current_state()
    if state.collect_index():
        st.rerun()
    job = state.index_job
    if job is None:
        return
    ready = len(state.engine.documents)
    if ready and state.drawn_empty:
        st.rerun()  # the first documents are in: there is something to ask
    with st.container(horizontal=True, vertical_alignment="center", key="progress"):
        st.progress(job.share if job.files[1] or job.chunks[1] else 0.0, text=_describe(job, ready))
        if st.button("Stop", key="stop_indexing", icon=":material/stop_circle:"):
            job.stop()
