"""The Inspect page: who found each passage and what it gave, why a sentence is missing, how documents were cut."""

import streamlit as st

from autocontext.ui import ask, inspect
from autocontext.ui.frame import page

with page("Inspect") as state:
    if not state.engine.documents:
        ask.show_empty(state)
    else:
        ask.show_question(state, "See why")
        found, missing, cut = st.tabs(
            ["What was found", "Why not?", "How documents were cut"], on_change="rerun", key="inspect_tab"
        )
        if found.open:
            with found:
                inspect.show_found(state)
        if missing.open:
            with missing:
                inspect.show_why_not(state)
        if cut.open:
            with cut:
                inspect.show_statistics(state)
