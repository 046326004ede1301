"""The Compare page: the same question under other settings, and what moved."""

from autocontext.ui import ask, compare
from autocontext.ui.frame import page

with page("Compare") as state:
    if not state.engine.documents:
        ask.show_empty(state)
    else:
        compare.show(state)
