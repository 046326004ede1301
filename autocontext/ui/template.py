"""The form of the prompt: chosen, edited, checked and previewed."""

from __future__ import annotations

import streamlit as st

from autocontext.datatypes import Chunk, Evidence, Support
from autocontext.errors import AutoContextError
from autocontext.prompt import build_prompt
from autocontext.templates import TEMPLATES, problems
from autocontext.tokens import count_tokens
from autocontext.ui.safe import plain
from autocontext.ui.state import UiState

_TOLD = {
    "default": "numbered passages, and what to say if they hold no answer",
    "seed": "as short as it can be, without numbers",
    "guarded": "for larger models: passages are data, not instructions; cite them",
}
_FIELDS = (
    "Fields: {query} is the question. {context} stands for the numbered passages, or {bare_context} for the passages "
    "alone. {marker} is a code that the lines around the passages carry, {doubt} a sentence where the answer is "
    "probably not there. Write {{ and }} for braces."
)
_EXAMPLE = Chunk(0, "notes/salt.txt", "Salt melts at 801 degrees.", 0, 26, 1)


def show_button(state: UiState) -> None:
    """Draw the button that opens the editor."""
    if st.button("Form", icon=":material/edit_note:", type="tertiary", help="The words around question and passages"):
        st.dialog("Form of the prompt", width="large", icon=":material/edit_note:")(show_editor)(state)


def show_editor(state: UiState) -> None:
    """Draw the template's text, what is wrong with it, and the prompt that it makes."""
    now = state.engine.settings.template
    names = [*TEMPLATES, *([] if now in TEMPLATES else ["your own"])]
    begin = st.selectbox(
        "Begin with", names, names.index(now if now in TEMPLATES else "your own"),
        format_func=lambda name: f"{name}: {_TOLD[name]}" if name in _TOLD else name,
    )  # fmt: skip
    text = st.text_area("Template", TEMPLATES.get(begin, now), height=240, key=f"template_{begin}")
    st.caption(plain(_FIELDS))
    found = problems(text)
    for problem in found:
        st.error(plain(problem), icon=":material/error:")
    with st.container(horizontal=True):
        if st.button("Use this form", type="primary", disabled=bool(found)):
            name = next((name for name, known in TEMPLATES.items() if known == text), text)
            state.engine.use_template(name)
            st.rerun()
        st.download_button(
            "Save", lambda: text, "template.txt", "text/plain", icon=":material/download:", on_click="ignore",
            disabled=bool(found), help="For the command line: --template-file template.txt",
        )  # fmt: skip
    if not found:
        _preview(state, text)


def _preview(state: UiState, text: str) -> None:
    """Show the prompt as it would be, of the present question, else of an example."""
    shown = state.prompt
    try:
        prompt = build_prompt(
            shown.question if shown else "When does salt melt?",
            shown.evidence if shown else [Evidence(_EXAMPLE, 1.0, {}, ())],
            Support("strong", 1.0, ()),
            template=text,
            max_chunks=state.num_results,
            max_tokens=shown.max_tokens if shown else state.max_tokens,
            count_tokens=count_tokens,
        )
    except AutoContextError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    st.caption(f"Preview · about {prompt.tokens:,} tokens")
    st.code(prompt.text, language=None, wrap_lines=True, height=300)
