"""The parts of the Documents page."""

from __future__ import annotations

import streamlit as st

from autocontext.datatypes import FileReport
from autocontext.folders import folder_path
from autocontext.loaders import KINDS
from autocontext.loaders.base import MAX_TEXT
from autocontext.ui.encoding import show_encoding
from autocontext.ui.local import why_not_local
from autocontext.ui.safe import plain, text_html
from autocontext.ui.state import UiState, forget_uploads, kept
from autocontext.wording import counted

PAGE_SIZE = 20
_BADGES = {
    "added": ("green", ":material/check_circle:"),
    "changed": ("green", ":material/published_with_changes:"),
    "unchanged": ("gray", ":material/check:"),
    "skipped": ("orange", ":material/block:"),
    "failed": ("red", ":material/error:"),
}


def show_where(state: UiState) -> None:
    """Say where the documents are kept, and for how long."""
    if state.collection:
        st.write(
            f"Kept in the collection **{plain(state.collection_name)}**, a file on this machine: they are here again "
            "after a reload and a restart."
        )
    else:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.write("Kept in this session only: reloading or closing the page forgets them.")
            if state.engine.documents:
                st.page_link("pages/collections.py", label="Keep them", icon=":material/save:")


def show_folders(state: UiState) -> None:
    """Draw the folders of this machine that are kept in step, and a field for another one."""
    folders = state.engine.folders
    with st.expander("Folders of this machine", icon=":material/sync:", expanded=bool(folders)):
        if refusal := why_not_local():
            st.caption(plain(refusal))
            return
        form = st.form("folder_form", border=False, clear_on_submit=True)
        with form, st.container(horizontal=True, vertical_alignment="bottom"):
            path = st.text_input("Folder", placeholder="/home/me/notes")
            added = st.form_submit_button("Add folder", icon=":material/create_new_folder:", disabled=state.indexing)
        if added and path.strip():
            state.sync_folder(folder_path(path.strip()))
            st.rerun()
        st.caption(
            "It is read where it is, and never changed. Sync adds what is new, reads what has changed again, and "
            "removes what is gone."
        )
        for prefix, where in folders.items():
            _show_folder(state, prefix, where)
        if folders:
            st.toggle("Sync by itself while this page is open", **kept("watching"))
            st.fragment(_watch, run_every=3.0 if state.watching and not state.indexing else None)(state)


def _show_folder(state: UiState, prefix: str, where: str) -> None:
    count = sum(name.startswith(f"{prefix}/") for name in state.engine.documents)
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"folder_of_{abs(hash(prefix))}"):
        with st.container(gap=None):
            st.html(text_html(prefix, "source"))
            st.html(text_html(where, "where"))
        st.caption(counted(count, "document"), width="content")
        if st.button("Sync", key=f"sync_{prefix}", icon=":material/sync:", disabled=state.indexing):
            state.sync_folder(folder_path(where))
            st.rerun()
        if st.button(
            "Remove", key=f"forget_{prefix}", icon=":material/delete:", type="tertiary", disabled=state.indexing
        ):
            state.remove_folder(prefix)
            st.rerun()


def _watch(state: UiState) -> None:
    if state.sync_changed():
        st.rerun()


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
            help="With all folders in it, but nothing hidden. Files that cannot be read are listed with the reason. A "
            "thousand files take a minute to upload; Folders of this machine, below, reads them where they are.",
        )
    with single:
        found = [
            *found,
            *st.file_uploader("Single files", accept_multiple_files=True, key=f"files_{key}", disabled=state.indexing),
        ]
    largest = state.engine.settings.limits.file_megabytes
    taken = st.get_option("server.maxUploadSize")
    st.caption(
        plain(
            f"Kinds that are read: {KINDS}. The fields take up to {taken:,} MB a file, but one over {largest:g} MB, or "
            f"with more than {MAX_TEXT:,} characters, is only listed, with the reason. Nothing leaves this machine."
        )
    )
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
        counts = f"{counted(len(state.engine.documents), 'document')} · {counted(len(state.engine.chunks), 'passage')}"
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


def show_model(state: UiState) -> None:
    """Say which embedding model is used and what computes it, and why not by the faster way; once it is known."""
    if description := state.engine.encoder_description:
        st.caption(plain(f"Embedding model: {description}. It runs on this machine."))


def _show_file(state: UiState, row: FileReport) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"file_{abs(hash(row.name))}"):
        color, icon = _BADGES.get(row.status, ("gray", None))
        with st.container(gap=None):
            st.html(text_html(row.name, "source"))
            if row.reason:
                st.html(text_html(row.reason, "where"))
        show_encoding(state, row.name)
        st.badge(row.status, color=color, icon=icon)  # type: ignore[arg-type]
        st.caption(counted(row.n_chunks, "passage") if row.n_chunks else "not indexed", width="content")
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
    leaving = counted(len(state.engine.documents), "document")
    where = "the collection" if state.collection else "this session"
    st.write(f"{leaving} will leave {where}. The files themselves are not touched.")
    if st.button("Remove all", type="primary", key="confirm_remove_all"):
        state.remove(list(state.files))
        st.rerun()
