"""The Ask page, and where the app starts: ``streamlit run app.py``."""

import streamlit as st

from autocontext.ui import ask, passages
from autocontext.ui.frame import page
from autocontext.ui.safe import plain

with page("Ask") as state:
    if not state.engine.documents:
        ask.show_empty(state)
    else:
        ask.show_question(state)
        if state.problem:
            st.error(plain(state.problem), icon=":material/error:")
            passages.show_limits(state)
        if state.prompt is not None:
            passages.show_support(state.prompt)
            ask.show_model(state)
            ask.show_answer(state)
            left, right = st.columns([5, 4], gap="large")
            with left:
                passages.show_passages(state.engine, state.prompt)
            with right:
                passages.show_prompt(state, state.prompt)
