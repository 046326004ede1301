"""The Documents page: add, see and remove what can be asked."""

import streamlit as st

from autocontext.ui import documents
from autocontext.ui.frame import page

with page("Documents") as state:
    st.header("Documents", anchor=False)
    documents.show_where(state)
    documents.show_uploaders(state)
    documents.show_folders(state)
    if state.files:
        documents.show_files(state)
    elif not state.indexing:
        st.write("No documents yet.")
        if st.button("Try the sample collection", icon=":material/auto_stories:"):
            state.add_sample()
            st.rerun()
    documents.show_model(state)
