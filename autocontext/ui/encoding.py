"""Choosing how a text file is to be read whose encoding is a guess."""

from __future__ import annotations

import streamlit as st

from autocontext.ui.safe import plain
from autocontext.ui.state import UiState

_PREVIEW = 400
_CHOICES = {
    "utf-8": "Unicode",
    "cp1252": "Western Europe",
    "cp1250": "Central Europe",
    "cp1251": "Cyrillic, Windows",
    "koi8-r": "Cyrillic, KOI8-R",
    "cp866": "Cyrillic, DOS",
    "mac-cyrillic": "Cyrillic, Mac",
    "cp1253": "Greek",
    "cp1254": "Turkish",
    "cp1255": "Hebrew",
    "cp1256": "Arabic",
    "cp1257": "Baltic",
    "cp1258": "Vietnamese",
    "cp874": "Thai",
    "gb18030": "Chinese, simplified",
    "big5hkscs": "Chinese, traditional",
    "cp932": "Japanese, Shift-JIS",
    "euc_jp": "Japanese, EUC",
    "cp949": "Korean",
    "cp850": "Western Europe, DOS",
    "mac-roman": "Western Europe, Mac",
    "cp500": "EBCDIC",
    "utf-16-le": "Unicode, 2 bytes, little end first",
    "utf-16-be": "Unicode, 2 bytes, big end first",
}


def show_encoding(state: UiState, name: str) -> None:
    """Draw a button that opens the choice, for a document whose encoding is not certain; nothing for others."""
    document = state.engine.documents.get(name)
    encoding = document.encoding if document is not None else None
    if encoding is None or not encoding.data:
        return
    with st.popover(
        "Letters", icon=":material/translate:", help="Do the letters look wrong? Read them in another way."
    ):
        choices = dict.fromkeys([encoding.name, *_CHOICES])
        chosen = st.selectbox(
            "Read the letters as",
            list(choices),
            key=f"encoding_{name}",
            format_func=lambda choice: f"{_CHOICES[choice]} ({choice})" if choice in _CHOICES else choice,
        )
        st.caption("So the file begins:")
        st.code(encoding.data[: 4 * _PREVIEW].decode(chosen, "replace")[:_PREVIEW], language=None, wrap_lines=True)
        if st.button(
            f"Read as {plain(chosen)}",
            key=f"reread_{name}",
            type="primary",
            disabled=state.indexing or chosen == encoding.name,
        ):
            state.reread(name, chosen)
            st.rerun()
