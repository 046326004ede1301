"""The parts of the Documents page."""

from __future__ import annotations

import streamlit as st

from autocontext.datatypes import FileReport
from autocontext.loaders import KINDS
from autocontext.ui.safe import plain, text_html
from autocontext.ui.state import MAX_FILE_MEGABYTES, UiState, forget_uploads

PAGE_SIZE = 20
_BADGES = {
    "added": ("green", ":material/check_circle:"),
    "changed": ("green", ":material/published_with_changes:"),
    "unchanged": ("gray", ":material/check:"),
    "skipped": ("orange", ":material/block:"),
    "failed": ("red", ":material/error:"),
}


def show_uploaders(state: UiState) -> None:
    """Draw two widgets, for a folder and for single files; what they hold is taken over and they are emptied."""
    folder, single = st.columns(2)
    key = state.uploads
    with folder:
        found = st.file_uploader(
            "A whole folder",
            accept_multiple_files="directory",
            key=f"folder_{key}",
            disabled=state.indexing,
            help="With all folders in it, but nothing hidden. Files that cannot be read are listed with the reason.",
        )
    with single:
        found = [
            *found,
            *st.file_uploader("Single files", accept_multiple_files=True, key=f"files_{key}", disabled=state.indexing),
        ]
    st.caption(plain(f"Kinds that are read: {KINDS}; up to {MAX_FILE_MEGABYTES} MB each. Nothing leaves this machine."))
    if found and not state.indexing:
        state.index([(file.name, file.getvalue()) for file in found])
        forget_uploads(found)
        state.uploads += 1
        st.rerun()


def show_files(state: UiState) -> None:
    """Draw a row a file, those with a problem first, with its outcome and a button to remove it."""
    rows = sorted(state.files.values(), key=lambda row: (row.status not in ("failed", "skipped"), row.name))
    wanted = ""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        counts = f"{_counted(len(state.engine.documents), 'document')} · {_counted(len(state.engine.chunks), 'chunk')}"
        st.subheader(counts, anchor=False)
        st.space("stretch")
        if len(rows) > PAGE_SIZE:
            wanted = st.text_input("Find a file", key="find_file", placeholder="Part of the name", width=260)
        if st.button("Remove all", icon=":material/delete_sweep:", disabled=state.indexing):
            _confirm_removal(state)
    rows = [row for row in rows if wanted.casefold() in row.name.casefold()]
    first = 0
    if len(rows) > PAGE_SIZE:
        first = PAGE_SIZE * (st.pagination(-(-len(rows) // PAGE_SIZE), key="file_page") - 1)
    if not rows:
        st.caption("No file has this in its name.")
    for row in rows[first : first + PAGE_SIZE]:
        _show_file(state, row)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _show_file(state: UiState, row: FileReport) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"file_{abs(hash(row.name))}"):
        color, icon = _BADGES.get(row.status, ("gray", None))
        with st.container(gap=None):
            st.html(text_html(row.name, "source"))
            if row.reason:
                st.html(text_html(row.reason, "where"))
        st.badge(row.status, color=color, icon=icon)  # type: ignore[arg-type]
        st.caption(_counted(row.n_chunks, "chunk") if row.n_chunks else "not indexed", width="content")
        st.button(
            "Remove",
            key=f"remove_{row.name}",
            icon=":material/delete:",
            type="tertiary",
            disabled=state.indexing,
            on_click=state.remove,
            args=([row.name],),
        )


@st.dialog("Remove all documents?", icon=":material/delete_sweep:")
def _confirm_removal(state: UiState) -> None:
    counted = _counted(len(state.engine.documents), "document")
    st.write(f"{counted} will leave this session. The files themselves are not touched.")
    if st.button("Remove all", type="primary", key="confirm_remove_all"):
        state.remove(list(state.files))
        st.rerun()
