"""The Collections page: keep documents beyond this session, and change between sets of them."""

import streamlit as st

from autocontext.ui import collections
from autocontext.ui.frame import page

with page("Collections") as state:
    st.header("Collections", anchor=False)
    st.write(
        "A collection keeps documents, and how they are searched, in one file on this machine. Without one, documents "
        "are in this session only: nothing of them is written to disk, and reloading the page forgets them."
    )
    collections.show_making(state)
    collections.show_list(state)
    collections.show_vectors()
