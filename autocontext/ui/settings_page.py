"""The parts of the Settings page: every setting in plain words, what a change costs, and settings as a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import streamlit as st

from autocontext import retrievers
from autocontext.errors import SettingsError
from autocontext.folders import at_home
from autocontext.settings import Backend, FusionMethod, Settings
from autocontext.settings_explained import EXPLAINED, setting_of
from autocontext.settings_file import settings_from_toml, settings_to_toml
from autocontext.templates import TEMPLATES
from autocontext.ui.local import why_not_local
from autocontext.ui.passages import RETRIEVERS
from autocontext.ui.safe import plain
from autocontext.ui.state import UiState, forget_uploads
from autocontext.ui.undo import show_undo
from autocontext.wording import counted

# What stands together, and whether it is open at first.
GROUPS: tuple[tuple[str, bool, tuple[str, ...]], ...] = (
    ("What is searched, and how it is put together", True, ("retrievers", "weights", "fusion", "candidates")),
    ("The prompt", True, ("template", "num_results", "max_tokens")),
    (
        "How documents are cut into passages",
        True,
        ("chunking.sentences", "chunking.sentence_tokens", "chunking.overlap", "chunking.max_tokens"),
    ),
    ("The word search (BM25)", True, ("bm25.k1", "bm25.b")),
    ("The embedding model", False, ("encoder.model", "encoder.folder", "encoder.allow_download", "encoder.backend")),
    ("PDF files", False, ("pdf.seconds", "pdf.max_pages", "pdf.memory_megabytes", "pdf.ocr")),
    (
        "Limits of reading",
        False,
        ("limits.file_megabytes", "limits.files", "limits.megabytes", "limits.seconds", "limits.originals_megabytes"),
    ),
)
_STEPS = {"bm25.k1": 0.1, "bm25.b": 0.05, "max_tokens": 500, "candidates": 50}
_STYLE = """<style>
div:has(> .st-key-settings_bar) { position: sticky; top: 3.9rem; z-index: 20; }
.st-key-settings_bar { background: Canvas; }
</style>"""


def show_head(state: UiState) -> None:
    """Say what the settings belong to, and draw what can be done with all of them."""
    state.draft.follow(state.engine.settings)
    st.header("Settings", anchor=False)
    if state.collection:
        st.write(f"Saved with the collection **{plain(state.collection_name)}**: they are here again after a restart.")
    else:
        st.write("In use in this session only, like its documents: reloading the page brings the defaults back.")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            "Export",
            lambda: settings_to_toml(state.engine.settings),
            "settings.toml",
            "application/toml",
            icon=":material/download:",
            on_click="ignore",
            help="All saved settings as a TOML file, also for the command line: --settings settings.toml",
        )
        with st.popover("Import", icon=":material/upload:"):
            found = st.file_uploader("A settings file", type="toml", key=f"settings_file_{state.uploads}")
            st.caption("What it does not name gets its default. Nothing is saved before you click Save.")
            if found is not None:
                _import(state, found.getvalue())
                forget_uploads([found])
                state.uploads += 1
                st.rerun()
        if st.button("All to default", icon=":material/restart_alt:", disabled=_wanted(state) == Settings()):
            state.draft.replace_with(Settings(), state.engine.settings)
            st.rerun()
    if state.draft.problem:
        st.error(plain(state.draft.problem), icon=":material/error:")
    show_undo(state)


def _wanted(state: UiState) -> Settings | None:
    return state.draft.check(state.engine)[0]


def _import(state: UiState, data: bytes) -> None:
    try:
        settings = settings_from_toml(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        state.draft.problem = "The file cannot be taken over: it is no UTF-8 text."
    except SettingsError as error:
        state.draft.problem = f"The file cannot be taken over. {error}"
    else:
        if settings.encoder.folder is not None and (refusal := why_not_local()):
            state.draft.problem = f"The file cannot be taken over: it names a folder. {refusal}"
        else:
            state.draft.replace_with(settings, state.engine.settings)


def show_bar(state: UiState) -> None:
    """Draw what is changed and what it will cost, with the buttons that save it or let go of it."""
    st.html(_STYLE)
    draft = state.draft
    settings, problems = draft.check(state.engine)
    with st.container(border=True, key="settings_bar"):
        with st.container(horizontal=True, vertical_alignment="center"):
            count = counted(len(draft.values), "change") if draft.values else "No changes"
            st.markdown(f"**{count}**", width="content")
            st.space("stretch")
            if st.button("Discard", key="discard_settings", type="tertiary", disabled=not draft.values):
                draft.clear()
                st.rerun()
            can_save = bool(draft.values) and settings is not None and not state.indexing
            if st.button("Save", key="save_settings", type="primary", icon=":material/check:", disabled=not can_save):
                _save(state, settings or state.engine.settings)
        if not draft.values:
            st.caption("Change a setting below: what it will cost is said here before you save it.")
        elif problems:
            st.caption(f":red[{plain(' '.join(problems.values()))}]")
        elif settings is not None:
            cost = draft.cost(settings, state.engine)
            st.caption(plain(f"{_changes(state)} {cost.told} {cost.warning}"))


def _save(state: UiState, settings: Settings) -> None:
    where = f"with the collection {state.collection_name}" if state.collection else "for this session"
    state.use_settings(settings, f"Saved {where}.")  # the draft lets go of what is saved; if that fails, it stays
    st.rerun()


def _changes(state: UiState) -> str:
    saved = state.engine.settings
    told = [
        f"{EXPLAINED[path].label}: {_told(setting_of(saved, path))} → {_told(value)}"
        for path, value in state.draft.values.items()
    ]
    return "; ".join(told) + "."


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        return " and ".join(value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} {weight:g}" for name, weight in value.items()) or "all 1"
    if value is None:
        return "none"
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text if len(text) <= 40 and "\n" not in text else "a text of your own"


def show_groups(state: UiState) -> None:
    """Draw every setting, a group after the other."""
    _, problems = state.draft.check(state.engine)
    for title, is_open, paths in GROUPS:
        is_changed = any(path in state.draft.values for path in paths)
        with st.expander(title, expanded=is_open or is_changed, key=f"group_{title}_{state.draft.version}"):
            columns = st.columns(2, gap="large")
            for n, path in enumerate(paths):
                with columns[n % 2]:
                    _show_setting(state, path, problems.get(path, ""))


def _show_setting(state: UiState, path: str, problem: str) -> None:
    value, default = state.draft.value(path, state.engine.settings), setting_of(Settings(), path)
    with st.container(gap="small", key=f"setting_{path.replace('.', '_')}"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            _show_widget(state, path, value)
            st.button(
                "To default",
                key=f"default_{path}",
                icon=":material/restart_alt:",
                type="tertiary",
                disabled=value == default,
                on_click=_reset,
                args=(state, path),
                help=f"Back to {plain(_told(default))}",
            )
        if problem:
            st.error(plain(problem), icon=":material/error:")
        st.caption(plain(f"{EXPLAINED[path].text} Default: {_told(default)}."))


def _reset(state: UiState, path: str) -> None:
    state.draft.change(path, setting_of(Settings(), path), state.engine.settings)
    state.draft.version += 1


def _show_widget(state: UiState, path: str, value: Any) -> None:
    """Draw the widget that fits the setting's kind; its value goes into the draft."""
    label = EXPLAINED[path].label
    default = setting_of(Settings(), path)
    if path == "retrievers":
        _show_retrievers(state, label, value)
    elif path == "weights":
        _show_weights(state, value)
    elif path == "template":
        _show_template(state, label, value)
    elif path == "fusion":
        st.segmented_control(label, get_args(FusionMethod), default=value, required=True, **_bound(state, path))
    elif path == "encoder.backend":
        st.segmented_control(label, get_args(Backend), default=value, required=True, **_bound(state, path))
    elif isinstance(default, bool):
        st.toggle(label, value, **_bound(state, path))
    elif isinstance(default, int) and isinstance(value, int):
        st.number_input(label, value=value, step=_STEPS.get(path, 1), **_bound(state, path))
    elif isinstance(default, float | int):
        st.number_input(
            label, value=float(value), step=float(_STEPS.get(path, 1)), format="%g", **_bound(state, path, float)
        )
    elif path == "encoder.folder":
        refusal = why_not_local()
        st.text_input(
            label,
            str(value or ""),
            disabled=bool(refusal),
            help=plain(refusal) or None,
            placeholder="found by its name",
            **_bound(state, path, lambda text: at_home(text.strip()) if text.strip() else None),
        )
    else:
        st.text_input(label, value, **_bound(state, path, str.strip))


def _bound(state: UiState, path: str, read: Callable[[Any], Any] = lambda value: value) -> dict[str, Any]:
    """Return the arguments of a widget whose value goes into the draft."""
    key = f"set_{path}_{state.draft.version}"

    def keep() -> None:
        value = st.session_state[key]
        if value is not None:  # a number field that was emptied
            state.draft.change(path, read(value), state.engine.settings)

    return {"key": key, "on_change": keep}


def _show_retrievers(state: UiState, label: str, value: tuple[str, ...]) -> None:
    names = retrievers.available()

    def in_order(chosen: list[str]) -> tuple[str, ...]:
        kept = [name for name in state.engine.settings.retrievers if name in chosen]
        return (*kept, *(name for name in names if name in chosen and name not in kept))

    st.pills(
        label,
        names,
        selection_mode="multi",
        default=[name for name in value if name in names],
        format_func=_name,
        **_bound(state, "retrievers", in_order),
    )


def _name(retriever: str) -> str:
    return RETRIEVERS[retriever][0] if retriever in RETRIEVERS else retriever


def _show_weights(state: UiState, value: dict[str, float]) -> None:
    used = state.draft.value("retrievers", state.engine.settings)

    def put(name: str) -> Callable[[float], dict[str, float]]:
        return lambda weight: {**state.draft.value("weights", state.engine.settings), name: weight}

    for name in used:
        key = f"set_weights_{state.draft.version}_{name}"
        st.number_input(
            f"Weight of {_name(name)}",
            value=float(value.get(name, 1.0)),
            step=0.05,
            format="%g",
            key=key,
            on_change=_keep_weight,
            args=(state, key, put(name)),
        )


def _keep_weight(state: UiState, key: str, put: Callable[[float], dict[str, float]]) -> None:
    if (weight := st.session_state[key]) is not None:
        state.draft.change("weights", put(weight), state.engine.settings)


def _show_template(state: UiState, label: str, value: str) -> None:
    names = [*TEMPLATES, *([] if value in TEMPLATES else [value])]
    st.selectbox(
        label,
        names,
        names.index(value),
        format_func=lambda name: name if name in TEMPLATES else "your own",
        help="Your own words are typed under Form, beside the prompt on the Ask page.",
        **_bound(state, "template"),
    )
