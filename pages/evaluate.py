"""The Evaluate page: settings measured on the user's own questions."""

from autocontext.ui import evaluate
from autocontext.ui.frame import page

with page("Evaluate") as state:
    evaluate.show_intro(state)
    if state.engine.documents:
        evaluate.show_sections(state)
