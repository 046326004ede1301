"""The Models page: which language model is asked, where, and whether it answers."""

import streamlit as st

from autocontext.ui import models
from autocontext.ui.frame import page

with page("Models") as state:
    st.header("Models", anchor=False)
    st.write("AutoContext is useful without a model: the prompt can be copied anywhere. To ask one here, choose it.")
    models.show_chosen(state)
    left, right = st.columns(2, gap="large")
    with left:
        models.show_server(state)
    with right:
        models.show_favourites(state)
