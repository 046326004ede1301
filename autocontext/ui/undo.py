"""Go back to the settings before the last change; on every page that changes them."""

from __future__ import annotations

import streamlit as st

from autocontext.settings_explained import EXPLAINED, setting_of, setting_paths
from autocontext.ui.safe import plain
from autocontext.ui.state import UiState


def show_undo(state: UiState) -> None:
    """Say what was changed last, and draw the button that undoes it; nothing where nothing was."""
    before, now = state.settings_before, state.engine.settings
    if before is None or before == now or state.indexing:
        return
    changed = [path for path in setting_paths() if setting_of(before, path) != setting_of(now, path)]
    with st.container(horizontal=True, vertical_alignment="center", key="undo_bar"):
        st.caption(plain(f"Changed: {', '.join(EXPLAINED[path].label for path in changed)}."), width="content")
        if st.button("Undo", key="undo_settings", icon=":material/undo:", type="tertiary"):
            state.undo_settings()
            st.rerun()
