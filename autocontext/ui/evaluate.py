"""The parts of the Evaluate page: measure on the user's own questions, see what is better, take it."""

from __future__ import annotations

import html
import json
from collections.abc import Collection, Mapping, Sequence

import streamlit as st

from autocontext.evaluation import DEPTH, PRESENT, Change, Evaluation, Result
from autocontext.metrics import Figure
from autocontext.records import to_plain
from autocontext.settings import Settings
from autocontext.tuning import best_of, is_clear, settings_to_try
from autocontext.ui import questions
from autocontext.ui.evaluating import EvaluateJob
from autocontext.ui.passages import RETRIEVERS
from autocontext.ui.safe import plain
from autocontext.ui.state import UiState
from autocontext.ui.undo import show_undo
from autocontext.wording import counted

FEW = 50  # questions: with fewer, only large differences stand out from chance
_SECTIONS = {"questions": "Questions", "results": "Measure"}
_FIGURES = {
    "recall@1": ("First passage", "Recall@1: the share of the answer that the best passage holds."),
    "recall@3": ("First 3", "Recall@3: the share of the answer that the best three passages hold."),
    "recall@5": ("First 5", "Recall@5: the share of the answer that the best five passages hold."),
    "recall@10": ("First 10", "Recall@10: the share of the answer that the best ten passages hold."),
    "MRR@10": (
        "MRR",
        "Mean reciprocal rank: 1 if the answer is in the first passage, a half if it is in the second, a third in the "
        "third; 0 beyond the tenth.",
    ),
    "nDCG@10": (
        "nDCG",
        "Like MRR, but it also counts how much of an answer each passage holds, and falls off less steeply: 1 is the "
        "best possible order.",
    ),
    "tokens": (
        "Tokens",
        "Tokens of the prompt until the whole answer is in it, for the middle one of the questions. Fewer are cheaper, "
        "and leave small models less to read.",
    ),
}
_STYLE = """<style>
.figures { overflow-x: auto; }
.figures table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
.figures th, .figures td { text-align: right; padding: 0.35rem 0.6rem; border-bottom: 1px solid rgba(128,128,128,0.25);
  white-space: nowrap; }
.figures th { font-weight: 600; font-size: 0.875rem; }
.figures th[title] { cursor: help; text-decoration: underline dotted rgba(128, 128, 128, 0.6);
  text-underline-offset: 4px; }
.figures th:first-child, .figures td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere;
  min-width: 8.5rem; }
.figures td.text { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 11rem; }
.figures small { display: block; opacity: 0.7; font-size: 0.75rem; }
.figures tr.present td { background: rgba(128, 128, 128, 0.1); }
.figures .win { color: color-mix(in srgb, currentColor 25%, #1f9d55); font-weight: 600; }
.figures .loss { color: color-mix(in srgb, currentColor 25%, #d64545); font-weight: 600; }
</style>"""


def show_intro(state: UiState) -> None:
    """Say what this is for."""
    st.html(_STYLE)
    st.header("Evaluate", anchor=False)
    st.write(
        "Which settings find the answers in *your* documents? Collect questions with the passages that answer them, "
        "and measure: the figures say what no general advice can."
    )
    if not state.engine.documents:
        with st.container(horizontal=True, vertical_alignment="center"):
            if st.button("Try the sample collection", icon=":material/auto_stories:", disabled=state.indexing):
                state.add_sample()
                st.rerun()
            st.page_link("pages/documents.py", label="Add your own documents", icon=":material/upload_file:")


def show_sections(state: UiState) -> None:
    """Draw the questions, or what was measured on them."""
    evaluating = state.evaluating
    known = state.engine.questions
    count = len({question.id for question in known})

    def switch() -> None:
        evaluating.show = st.session_state[key]

    key = f"_evaluate_show_{evaluating.looked_at}"
    st.segmented_control(
        "What to show",
        list(_SECTIONS),
        default=evaluating.show,
        key=key,
        required=True,
        format_func=lambda name: f"{_SECTIONS[name]} ({count})" if name == "questions" else _SECTIONS[name],
        on_change=switch,
        label_visibility="collapsed",
    )
    if evaluating.show == "questions":
        questions.show(state)
    else:
        _show_measuring(state)


# --- measuring --------------------------------------------------------------------------------------------------------


def _show_measuring(state: UiState) -> None:
    evaluating, engine = state.evaluating, state.engine
    job = evaluating.job
    running = job is not None and job.running
    with_answer = {question.id for question in engine.questions if question.document is not None}
    kinds = settings_to_try(engine.settings)
    _show_choice(state, kinds)
    saved = engine.saved_settings
    with st.container(horizontal=True, vertical_alignment="center"):
        begun = st.button(
            "Measure",
            type="primary",
            icon=":material/speed:",
            key="measure",
            disabled=running or state.indexing or not with_answer,
        )
        _show_saved(state, saved)
    if begun:
        tried = {name: one for kind in evaluating.kinds for name, one in kinds.get(kind, {}).items()}
        taken = {PRESENT, *tried, *(f"{name} alone" for name in engine.retrievers)}
        state.measure({**tried, **_other_names(saved, taken)})
        st.rerun()
    if not with_answer:
        st.caption("Mark the answer of a question first: under *Questions*, or with *This answers it* on the Ask page.")
    elif len(with_answer) < FEW:
        st.caption(
            f"{counted(len(with_answer), 'question')} with an answer: with fewer than {FEW}, only large differences "
            "stand out from chance."
        )
    show_undo(state)
    if job is None:
        return
    if running:
        st.fragment(_show_progress, run_every=0.4)(state)
    elif job.error:
        st.error(plain(job.error), icon=":material/error:")
    elif job.result is not None:
        _show_result(state, job, job.result)


def _other_names(saved: Mapping[str, Settings], taken: Collection[str]) -> dict[str, Settings]:
    """Return saved settings by their names, but where one is taken already by another that no other has."""
    named: dict[str, Settings] = {}
    for name, settings in saved.items():
        own, number = name, 1
        while own in taken or own in named or (own != name and own in saved):
            own = f"{name} (saved)" if number == 1 else f"{name} (saved {number})"
            number += 1
        named[own] = settings
    return named


def _show_choice(state: UiState, kinds: dict[str, dict[str, Settings]]) -> None:
    evaluating = state.evaluating

    def keep() -> None:
        evaluating.kinds = list(st.session_state["_evaluate_kinds"])

    st.pills(
        "Also try",
        list(kinds),
        selection_mode="multi",
        default=[kind for kind in evaluating.kinds if kind in kinds],
        key="_evaluate_kinds",
        format_func=lambda kind: f"{kind} ({len(kinds[kind])})",
        on_change=keep,
        help="Settings near the present ones, each with one thing changed. Other lengths of passages are cut and "
        "embedded anew, which takes longest.",
    )


def _show_saved(state: UiState, saved: dict[str, Settings]) -> None:
    """Draw the settings that are kept by name: they are measured each time."""
    with st.popover(f"Saved settings ({len(saved)})", icon=":material/bookmark:"):
        st.caption("Kept with the documents, and measured each time.")
        for name in saved:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.write(plain(name))
                st.button(
                    "Forget",
                    key=f"forget_settings_{name}",
                    icon=":material/delete:",
                    type="tertiary",
                    on_click=state.attempt,
                    args=(state.engine.save_settings, name, None),
                )
        with st.form("save_settings", border=False, clear_on_submit=True):
            name = st.text_input("Name for the present settings", max_chars=60)
            if st.form_submit_button("Save the present settings") and name.strip():
                state.engine.save_settings(" ".join(name.split()), state.engine.settings)
                st.rerun()


def _show_progress(state: UiState) -> None:
    job = state.evaluating.job
    if job is None or not job.running:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", key="measuring"):
        share = min(1.0, job.done / job.total) if job.total else 0.0
        st.progress(share, text=plain(f"{job.label}: {job.done:,} of {job.total:,}"))
        if st.button("Stop", key="stop_measuring", icon=":material/stop_circle:"):
            job.stop()


# --- results ----------------------------------------------------------------------------------------------------------


def _show_result(state: UiState, job: EvaluateJob, measured: Evaluation) -> None:
    if measured.stopped:
        st.info("Stopped. What was measured by then:" if measured.results else "Stopped before anything was measured.")
    if not measured.results:
        return
    if not job.is_of(state.engine, state.engine.questions):
        st.warning("Settings, documents or questions have changed since. Measure again.", icon=":material/history:")
    if measured.left_out:
        with st.expander(f"{counted(len(measured.left_out), 'answer')} not found, so not measured", expanded=True):
            for sentence in measured.left_out:
                st.text(sentence)
    _show_best(state, measured)
    st.html(figures_html(measured.results))
    with st.expander("What the figures mean"):
        for title, (label, meaning) in _FIGURES.items():
            st.markdown(f"- **{label}** ({title}). {meaning}")
        st.markdown(
            "- **Better, worse**: questions whose answer comes earlier or later than with the present settings; of "
            "passages of another length, those that need fewer or more tokens. **p** is how likely so uneven a count "
            "would be by chance alone.\n"
            "- The small numbers are 95 % intervals: where those of two rows overlap much, it may be chance.\n"
            f"- An answer counts as not found if it is not among the best {DEPTH} passages."
        )
    _show_changes(measured.results)
    _show_verdicts(measured)
    st.download_button(
        "Save all figures (JSON)",
        lambda: json.dumps(to_plain(measured), ensure_ascii=False, indent=2),
        "evaluation.json",
        "application/json",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
    )


def _show_best(state: UiState, measured: Evaluation) -> None:
    """Say which settings are best, how sure that is, and let any be taken."""
    best = best_of(measured)
    others = [result for result in measured.results if result.comparison is not None]
    if not others:
        return
    n_tried = len(others)
    with st.container(border=True, key="best"):
        if best is None or best.comparison is None:
            st.write("**Nothing that was tried is better than the present settings.**")
        else:
            found = best.comparison
            better = counted(found.wins, "question")
            st.write(f"**Best: {plain(_named(best.name))}.** {better} answered earlier, {found.losses} later.")
            if is_clear(best, n_tried):
                st.caption(f"That is more than chance explains, even with {n_tried} settings tried.")
            else:
                st.caption(
                    f"With {counted(measured.n_answerable, 'question')} and {n_tried} settings tried, the best one "
                    "may be best by chance alone. More questions make it sure."
                )
        names = [result.name for result in others]
        with st.container(horizontal=True, vertical_alignment="bottom"):
            chosen = st.selectbox(
                "Settings to take",
                names,
                index=names.index(best.name) if best is not None else 0,
                key="settings_to_take",
                format_func=_named,
                width=320,
            )
            settings = next(result.settings for result in others if result.name == chosen)
            if st.button(
                "Use these settings",
                type="primary" if best is not None and chosen == best.name else "secondary",
                icon=":material/check:",
                disabled=state.indexing or settings == state.engine.settings,
            ):
                state.use_settings(settings, "These settings are in use now. Undo takes them back.")
                st.rerun()


def figures_html(results: Sequence[Result]) -> str:
    """Return a table of the figures with their intervals, a row a system; names may be anybody's words."""
    heads = "".join(
        f'<th title="{html.escape(f"{title}: {meaning}")}">{label}</th>' for title, (label, meaning) in _FIGURES.items()
    )
    rows = "".join(_row_html(result) for result in results)
    return (
        f'<div class="figures"><table><thead><tr><th>Settings</th>{heads}<th>Better</th><th>Worse</th><th>p</th></tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def _row_html(result: Result) -> str:
    cells = "".join(f"<td>{_figure_html(result.figures[title])}</td>" for title in _FIGURES)
    against = "<td></td>" * 3
    by = ""
    if (found := result.comparison) is not None:
        by = "<small>by tokens: passages of another length</small>" if found.by == "tokens" else ""
        against = (
            f'<td><span class="{"win" * bool(found.wins)}">{found.wins}</span></td>'
            f'<td><span class="{"loss" * bool(found.losses)}">{found.losses}</span></td><td>{_p(found.p_value)}</td>'
        )
    present = ' class="present"' if result.comparison is None else ""
    return f"<tr{present}><td>{html.escape(_named(result.name))}{by}</td>{cells}{against}</tr>"


def _named(name: str) -> str:
    retriever, ending, rest = name.partition(" alone")
    if ending and not rest and retriever in RETRIEVERS:
        return f"{RETRIEVERS[retriever][0]} alone"
    return name[:1].upper() + name[1:]


def _figure_html(figure: Figure) -> str:
    return f"{_number(figure.value)}<small>{_number(figure.low)}\u2013{_number(figure.high)}</small>"


def _number(value: float | None) -> str:
    return "not found" if value is None else f"{value:.2f}" if isinstance(value, float) else f"{value:,}"


def _p(value: float) -> str:
    return "&lt; 0.001" if value < 0.001 else f"{value:.3f}"


def _show_changes(results: Sequence[Result]) -> None:
    """List the questions that are answered earlier or later than with the present settings."""
    others = [result for result in results if result.comparison is not None]
    if not others:
        return
    st.subheader("Question by question", anchor=False)
    best = max(others, key=lambda result: result.comparison.wins - result.comparison.losses if result.comparison else 0)
    names = [result.name for result in others]
    chosen = st.selectbox(
        "Against the present settings",
        names,
        index=names.index(best.name),
        key="changes_of",
        format_func=_named,
        width=320,
    )
    comparison = next(result.comparison for result in others if result.name == chosen)
    if comparison is None or not comparison.changes:
        st.caption("No question is answered earlier or later.")
        return
    changes = sorted(comparison.changes, key=lambda change: change.is_win)
    st.html(
        '<div class="figures"><table><thead><tr><th>Question</th><th></th><th>Rank</th><th>Tokens</th></tr></thead>'
        f"<tbody>{''.join(map(_change_html, changes))}</tbody></table></div>"
    )
    st.caption(
        f"{counted(comparison.ties, 'other question')} alike. Rank: place of the first passage with some of the answer."
    )


def _change_html(change: Change) -> str:
    sign = '<span class="win">better</span>' if change.is_win else '<span class="loss">worse</span>'
    ranks, tokens = (" \u2192 ".join(_number(one) for one in pair) for pair in (change.ranks, change.tokens))
    return (
        f'<tr><td class="text">{html.escape(change.question)}</td><td>{sign}</td><td>{ranks}</td><td>{tokens}</td></tr>'
    )


def _show_verdicts(measured: Evaluation) -> None:
    """Show how well "probably not in your documents" tells the questions apart."""
    st.subheader("Questions that nothing answers", anchor=False)
    if not measured.n_absent:
        st.caption(
            "There are none. Add some, with *Nothing answers it*: then you see how often the warning "
            "“probably not in your documents” is right."
        )
        return
    rows = []
    for result in measured.results:
        verdicts = result.verdicts
        auroc = _figure_html(verdicts.auroc) if verdicts.auroc is not None else ""
        caught = f"{verdicts.caught:.0%}" if verdicts.caught is not None else ""
        rows.append(
            f"<tr><td>{html.escape(_named(result.name))}</td><td>{caught}</td><td>{verdicts.warned:.0%}</td>"
            f"<td>{auroc}</td></tr>"
        )
    st.html(
        '<div class="figures"><table><thead><tr><th>Settings</th>'
        '<th title="Share of the questions that nothing answers that are told “probably not in your documents”: the '
        'more the better.">Told</th>'
        '<th title="Share of the questions with an answer that are told so too: the fewer the better.">'
        "Told wrongly</th>"
        '<th title="Chance that a question with an answer has more support than one without: 0.5 is a coin, 1 is '
        f'perfect (AUROC).">Told apart</th></tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )
    answerable, absent = counted(measured.n_answerable, "question"), measured.n_absent
    st.caption(
        f"Of {absent} that nothing answers: **told** “probably not in your documents”. Of {answerable} with an "
        "answer: **told wrongly**. **Told apart**: 0.5 is a coin, 1 is perfect."
    )
