"""Which language model is asked: chosen once, used by every page that asks one."""

from __future__ import annotations

from autocontext.datatypes import ModelOptions
from autocontext.ui.state import current_state


def chosen_model() -> ModelOptions:
    """Return the session's chosen model with its address, key and limits; ``model`` is "" where none is chosen."""
    return current_state().model_options()
