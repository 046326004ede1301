"""The page of a PDF that a passage comes from, as a picture with the passage marked; drawn here, on a click."""

from __future__ import annotations

import streamlit as st

from autocontext.datatypes import Chunk, Document
from autocontext.errors import LoadError
from autocontext.loaders.pdf.page_image import page_image
from autocontext.settings import PdfOptions
from autocontext.ui.safe import plain, text_html
from autocontext.ui.state import UiState, current_state

_MOST_PAGES = 3  # of one passage; nearly all stand on one
_WIDTH = 760  # pixels at most, so that much of a page is seen at once
_LIMITS = PdfOptions(seconds=20)


def show_page_button(chunk: Chunk, key: str) -> None:
    """Draw the button that shows the passage on its page, if the PDF is at hand."""
    state = current_state()
    if chunk.page is None or not chunk.document.lower().endswith(".pdf"):
        return
    if st.button("Show page", key=f"show_page_{key}", icon=":material/find_in_page:", type="tertiary"):
        _show_pages(state, chunk)


@st.dialog("The passage on its page", width="large")
def _show_pages(state: UiState, chunk: Chunk) -> None:
    st.html(text_html(chunk.document, "source"))
    document = state.engine.documents.get(chunk.document)
    data = state.engine.original(chunk.document)
    if document is None or data is None:
        st.warning("The file is not at hand any more, or has changed. Add it again to see its pages.")
        return
    for page in _pages(document, chunk):
        try:
            with st.spinner(f"Drawing page {page}…"):
                image = page_image(chunk.document, data, page, chunk.text, options=_LIMITS)
        except LoadError as error:
            st.warning(plain(error.reason.capitalize() + "."))
            continue
        marked = "the passage is marked" if image.marks else "the passage could not be found in the picture"
        st.caption(f"Page {page} of {image.pages}: {marked}")
        st.image(image.png, width=_WIDTH)


def _pages(document: Document, chunk: Chunk) -> list[int]:
    first, last = document.page_at(chunk.start) or 1, document.page_at(max(chunk.start, chunk.end - 1)) or 1
    return list(range(first, min(last, first + _MOST_PAGES - 1) + 1))
