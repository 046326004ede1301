"""The Chat page: one question after the other, each with its passages, its prompt and its answer."""

from autocontext.ui import ask, chat
from autocontext.ui.frame import page

with page("Chat") as state:
    if not state.engine.documents:
        ask.show_empty(state)
    else:
        chat.show_head(state)
        chat.show_talk(state)
        chat.show_input(state)
