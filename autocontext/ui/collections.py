"""The parts of the Collections page."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from autocontext.collections import CollectionInfo
from autocontext.errors import AutoContextError
from autocontext.ui.library import library
from autocontext.ui.safe import plain, text_html
from autocontext.ui.state import UiState, forget_uploads
from autocontext.wording import counted

_FEW = 5


def show_kept(state: UiState) -> None:
    """Draw buttons that open the kept collections, where there are any and none is open."""
    kept = [] if state.collection else [one for one in library().collections.listed() if not one.problem]
    if kept:
        st.caption("Or go on with a collection:")
        with st.container(horizontal=True):
            for one in kept[:_FEW]:
                label = f"{plain(one.name)} · {counted(one.n_documents, 'document')}"
                if st.button(label, key=f"go_on_{one.id}", icon=":material/inventory_2:"):
                    _do(lambda id_=one.id: state.open_collection(id_))  # type: ignore[misc]
            if len(kept) > _FEW:
                st.page_link("pages/collections.py", label=f"{len(kept) - _FEW} more")


def show_making(state: UiState) -> None:
    """Draw the ways to get a collection: of this session's documents, a new one, one from a file."""
    with st.container(horizontal=True, vertical_alignment="center"):
        if not state.collection and state.engine.documents:
            count = counted(len(state.engine.documents), "document")
            with st.popover(
                f"Keep the {count} of this session",
                icon=":material/save:",
                type="primary",
                key="open_keep",
                disabled=state.indexing,  # it would wait for the whole batch
            ):
                _name_form("keep", "Keep", "", state.keep_as)
        with st.popover("New collection", icon=":material/add:", key="open_new"):
            _name_form("new", "Make", "", lambda name: _make(state, name))
        with st.popover("Import", icon=":material/upload:"):
            found = st.file_uploader(
                "A file that was exported here or elsewhere", type="db", key=f"import_{state.uploads}"
            )
            st.caption("It is checked, and its documents are copied into a new collection.")
            if found is not None:
                name, data = found.name, found.getvalue()
                forget_uploads([found])
                state.uploads += 1
                _do(lambda: state.open_collection(library().collections.import_file(name, data)))
        if state.collection:
            st.button(
                "Back to this session only",
                icon=":material/close:",
                on_click=state.close_collection,
                key="close_collection",
            )


def _make(state: UiState, name: str) -> None:
    state.open_collection(library().collections.create(name, state.engine.settings))


def _name_form(key: str, verb: str, name: str, act: Callable[[str], object], label: str = "Name") -> None:
    """Draw a field for a name and the button that does something with it."""
    with st.form(f"form_{key}", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        given = st.text_input(label, name, max_chars=80, placeholder="My notes", key=f"name_{key}")
        if st.form_submit_button(verb, key=f"do_{key}"):
            _do(lambda: act(given))


def _do(act: Callable[[], object]) -> None:
    """Do it and draw the page again; a failure is said where the button is."""
    try:
        with st.spinner("One moment…", show_time=True):
            act()
    except AutoContextError as error:
        st.error(plain(str(error)), icon=":material/error:")
    else:
        st.rerun()


def show_list(state: UiState) -> None:
    """Draw a card a collection, with what can be done with it."""
    listed = library().collections.listed()
    if not listed:
        st.caption("No collections yet.")
    for one in listed:
        with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"collection_{one.id}"):
            with st.container(gap=None):
                st.html(text_html(one.name, "source"))
                about = f"{counted(one.n_documents, 'document')}, {_size(one.megabytes)}"
                st.html(text_html(one.problem or about, "where"))
            if one.id == state.collection:
                st.badge("open", color="green", icon=":material/check_circle:")
            elif st.button("Open", key=f"open_{one.id}", disabled=bool(one.problem)):
                _do(lambda id_=one.id: state.open_collection(id_))  # type: ignore[misc]
            with st.popover("More", type="tertiary", key=f"more_{one.id}"):
                _show_more(one)


def _show_more(one: CollectionInfo) -> None:
    collections = library().collections
    if not one.problem:
        _name_form(f"rename_{one.id}", "Rename", one.name, lambda name: collections.rename(one.id, name), "New name")
        copy = f"{one.name[:70]} (copy)"
        _name_form(
            f"copy_{one.id}", "Duplicate", copy, lambda name: collections.duplicate(one.id, name), "Name of a copy"
        )
        st.download_button(
            "Export",
            lambda: collections.export(one.id),
            f"{one.id}.db",
            "application/vnd.sqlite3",
            icon=":material/download:",
            on_click="ignore",
            key=f"export_{one.id}",
            help="One file with the documents' texts, passages and vectors, for a backup or another machine.",
        )
    if st.checkbox("Delete it with all that is in it", key=f"sure_{one.id}"):
        st.caption("The files that it was made of are not touched.")
        if st.button("Delete", key=f"delete_{one.id}", type="primary", icon=":material/delete:"):
            _do(lambda: library().delete(one.id))


def show_vectors() -> None:
    """Say how many vectors are kept for later, where, and draw the button that forgets them."""
    shared = library()
    on_disk, in_memory = shared.collections.vectors, shared.memory
    (n_disk, bytes_disk), (n_memory, bytes_memory) = on_disk.size, in_memory.size
    st.subheader("Embeddings made before", anchor=False)
    st.write(
        "A text that was embedded once is not embedded again: not when a file comes back, nor in another collection, "
        "nor after a change of the passages' size. What is kept are vectors, not texts."
    )
    st.caption(
        plain(
            f"Of collections: {n_disk:,} on disk, {bytes_disk / 1e6:,.1f} of at most {on_disk.max_megabytes:,.0f} MB. "
            f"Of documents that are not kept: {n_memory:,} in the memory of the server until it stops, "
            f"{bytes_memory / 1e6:,.1f} of at most {in_memory.max_megabytes:,.0f} MB. The longest unused go first."
        )
    )
    if st.button("Clear them", icon=":material/mop:", disabled=not (n_disk or n_memory), key="clear_vectors"):
        on_disk.clear()
        in_memory.clear()
        st.rerun()
    st.caption(plain(f"Collections are kept in {shared.collections.folder}; AUTOCONTEXT_DATA names another folder."))


def _size(megabytes: float) -> str:
    return f"{megabytes:,.1f} MB" if megabytes >= 1 else f"{megabytes * 1000:,.0f} KB"
