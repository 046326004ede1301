"""The parts of the Compare page: one question under several settings, side by side."""

from __future__ import annotations

import html
from collections.abc import Sequence

import streamlit as st

from autocontext import retrievers
from autocontext.comparison import (
    Choice,
    Comparison,
    Outcome,
    Place,
    Row,
    bm25_choices,
    meaning_of,
    method_choices,
    model_choices,
    retriever_choices,
    size_choices,
    weigh,
    with_present,
)
from autocontext.errors import SettingsError
from autocontext.settings_change import Cost
from autocontext.ui.local import why_not_local
from autocontext.ui.passages import RETRIEVERS, show_cards
from autocontext.ui.safe import plain
from autocontext.ui.state import UiState
from autocontext.ui.undo import show_undo
from autocontext.wording import SUPPORT, counted

KINDS = {
    "bm25": ("Word search", "How the word search (BM25) scores: k1 and b."),
    "size": ("Passage size", "How many sentences a passage has: 1, 3 or 5."),
    "weights": ("Words or meaning", "How much the words of the question count against its meaning."),
    "method": ("Fusion", "How the retrievers' rankings become one."),
    "retrievers": ("Retrievers", "Each retriever alone, and all of them together."),
    "model": ("Embedding model", "Another model that turns passages and question into vectors."),
}
_COLOURS = {"strong": "green", "weak": "orange", "none": "red"}
_MOVES = {"same": "=", "up": "↑ {}", "down": "↓ {}", "new": "new", "gone": "gone", "out": ""}
_TOLD = {
    "same": "the same place in the prompt",
    "up": "{} up in the prompt",
    "down": "{} down in the prompt",
    "new": "new in the prompt",
    "gone": "not in the prompt any more",
    "out": "not in the prompt",
}
_SNIPPET = 400
_STYLE = """<style>
.moved table { border-collapse: collapse; width: 100%; table-layout: fixed; }
.moved th { text-align: center; font-weight: 600; font-size: 0.875rem; padding: 0.35rem 0.5rem; }
.moved th:first-child { text-align: left; width: 55%; }
.moved th, .moved td { border-bottom: 1px solid rgba(128, 128, 128, 0.25); }
.moved td { padding: 0.5rem; text-align: center; vertical-align: middle; min-width: 3.6rem; }
.moved td.what { text-align: left; }
.moved td.what .snippet { font-size: 0.9rem; line-height: 1.4; overflow-wrap: anywhere; display: -webkit-box;
  -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; }
.moved .number { display: block; font-size: 1.15rem; font-weight: 600; line-height: 1.3; }
.moved .sign { display: block; font-size: 0.8rem; opacity: 0.85; white-space: nowrap; }
.moved .up, .moved .new { background: rgba(33, 160, 90, 0.16); }
.moved .down { background: rgba(255, 176, 32, 0.18); }
.moved .gone { background: rgba(230, 70, 70, 0.15); }
.moved .out .number { font-weight: 400; opacity: 0.6; font-size: 0.95rem; }
.moved td .of { display: none; }
.ends { display: flex; justify-content: space-between; font-size: 0.875rem; opacity: 0.75; margin-top: -0.6rem;
  position: relative; }
.ends .now { position: absolute; transform: translateX(-50%); white-space: nowrap; }
@media (max-width: 640px) {
  .moved thead { display: none; }
  .moved table, .moved tbody { display: block; }
  .moved tbody tr { display: flex; flex-wrap: wrap; border-top: 2px solid rgba(128, 128, 128, 0.3); }
  .moved td { flex: 1 1 0; min-width: 0; padding: 0.35rem 0.2rem; border-bottom: none; overflow-wrap: anywhere; }
  .moved td.what { flex: 0 0 100%; width: auto; }
  .moved td .of { display: block; font-size: 0.75rem; opacity: 0.75; }
}
</style>"""


def show_question(state: UiState) -> None:
    """Draw the question's field; it is the same question as on the Ask page."""
    st.header("Compare settings", anchor=False)
    st.write(
        "The same question under other settings, side by side. Nothing changes until you click *Use these settings*."
    )
    with st.form("compare_form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        asked = st.text_input(
            "Question", state.question, key="_compare_question", placeholder="What do you want to know?"
        )
        if st.form_submit_button("Compare", type="primary", icon=":material/compare_arrows:") and asked.strip():
            state.ask(asked)
    with st.spinner("Searching… the first question also loads the embedding model."):
        state.refresh()


def show_choice(state: UiState) -> None:
    """Draw what can be compared, and what belongs to it."""
    comparing = state.comparing
    st.segmented_control(
        "What to compare",
        list(KINDS),
        default=comparing.what,
        key="_compare_what",
        required=True,
        format_func=lambda kind: KINDS[kind][0],
        on_change=lambda: _keep(state, "what"),
    )
    st.caption(KINDS[comparing.what][1])
    if comparing.what == "weights":
        _show_slider(state)
    elif comparing.what == "model":
        _show_model(state)


def _keep(state: UiState, name: str) -> None:
    setattr(state.comparing, name, st.session_state[f"_compare_{name}"])


def _show_slider(state: UiState) -> None:
    now = round(100 * meaning_of(state.engine.settings))
    at = state.comparing.meaning if state.comparing.meaning is not None else 5 * round(now / 5)
    st.select_slider(
        "Words or meaning",
        range(0, 101, 5),
        at,
        key="_compare_meaning",
        format_func=lambda share: {0: "words only", 100: "meaning only"}.get(share, f"{share} % meaning"),
        on_change=lambda: _keep(state, "meaning"),
        help="At an end the other side is not searched at all.",
    )
    st.html(
        f'{_STYLE}<div class="ends"><span>words only</span><span class="now" style="left: clamp(9rem, {now}%, '
        f'100% - 9.5rem)">now: {now} % meaning</span><span>meaning only</span></div>'
    )


def _show_model(state: UiState) -> None:
    st.text_input(
        "Embedding model",
        state.comparing.model,
        key="_compare_model",
        placeholder="multi-qa-MiniLM-L6-cos-v1, or /home/me/models/mine",
        on_change=lambda: _keep(state, "model"),
        help="The name of a sentence-transformers model, or a folder that holds one.",
    )
    st.toggle(
        "Download it if it is not on this machine",
        state.comparing.download,
        key="_compare_download",
        on_change=lambda: _keep(state, "download"),
    )


def choices_of(state: UiState) -> tuple[Choice, ...]:
    """Return what is compared, the settings in use among it.

    Raises
    ------
    SettingsError
        If a choice cannot work.
    """
    settings, comparing = state.engine.settings, state.comparing
    if comparing.what == "size":
        made = size_choices(settings)
    elif comparing.what == "weights":
        share = comparing.meaning if comparing.meaning is not None else 5 * round(20 * meaning_of(settings))
        label = {0: "words only", 100: "meaning only"}.get(share, f"{share} % meaning")
        made = (Choice(label.capitalize(), weigh(settings, share / 100), "Where the slider stands."),)
    elif comparing.what == "method":
        made = method_choices(settings)
    elif comparing.what == "retrievers":
        named = {name: RETRIEVERS[name][0] if name in RETRIEVERS else name for name in retrievers.available()}
        made = tuple(
            Choice(named.get(choice.label, choice.label), choice.settings, choice.note)
            for choice in retriever_choices(settings, list(named))
        )
    elif comparing.what == "model":
        models = [comparing.model.strip()] if comparing.model.strip() else []
        made = model_choices(settings, models, allow_download=comparing.download)
        refusal = why_not_local()
        if refusal and any(choice.settings.encoder.folder is not None for choice in made):
            raise SettingsError(refusal)
    else:
        made = bm25_choices(settings)
    return with_present(settings, made)


def show_comparison(state: UiState) -> None:
    """Compare, and draw what came out of it; what takes longer begins with a click, and says before what it costs."""
    choices = choices_of(state)
    if len(choices) < 2:
        st.caption("Name a model to compare with the one in use.")
        return
    begun = state.compare(choices, begin=False)
    if not begun and not state.compare(choices, begin=_is_quick(state, choices)):
        with st.container(horizontal=True, vertical_alignment="center"):
            if st.button("Start", type="primary", icon=":material/play_arrow:", key="start_compare"):
                state.compare(choices, begin=True)
                st.rerun()
            st.caption(plain(_cost(state, choices)))
        return
    job = state.comparing.job
    if job is not None and job.running:
        st.fragment(_show_progress, run_every=0.4)(state)
    elif job is not None and job.error:
        st.error(plain(job.error), icon=":material/error:")
    elif state.comparing.result is None:
        st.caption("Stopped. Passages that were embedded by then are not embedded again.")
        if st.button("Go on", icon=":material/play_arrow:", key="resume_compare"):
            state.comparing.forget_result()
            state.compare(choices, begin=True)
            st.rerun()
    else:
        _show_result(state, state.comparing.result, choices)


def _is_quick(state: UiState, choices: Sequence[Choice]) -> bool:
    """Whether nothing has to be embedded, so that no click is needed before it."""
    return not any(cost.passages for cost in _costs(state, choices))


def _costs(state: UiState, choices: Sequence[Choice]) -> list[Cost]:
    """Return what each choice costs that was not made before; of those that cut and embed alike, the dearest alone."""
    engine, comparing = state.engine, state.comparing
    costs: dict[tuple[object, object], Cost] = {}
    for settings in (choice.settings for choice in choices):
        if not comparing.kept.holds(engine, settings):
            cost, alike = comparing.cost(engine, settings), (settings.chunking, settings.encoder)
            costs[alike] = max(costs.get(alike, cost), cost, key=lambda one: one.passages)
    return list(costs.values())


def _cost(state: UiState, choices: Sequence[Choice]) -> str:
    """Say what is embedded for a comparison."""
    costs = _costs(state, choices)
    if warnings := [cost.warning for cost in costs if cost.warning]:
        return " ".join(warnings)
    passages = sum(cost.passages for cost in costs)
    times = [cost.seconds for cost in costs if cost.passages]
    known = [seconds for seconds in times if seconds is not None]
    time = f", about {max(1, round(sum(known))):,} seconds" if known and len(known) == len(times) else ""
    return f"This embeds about {counted(passages, 'passage')} at most{time}; your documents stay as they are."


def _show_progress(state: UiState) -> None:
    job = state.comparing.job
    if job is None or not job.running:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", key="compare_progress"):
        embedded = f"embedded {job.done:,} of {job.total:,} passages" if job.total else "getting ready"
        st.progress(job.done / job.total if job.total else 0.0, text=plain(f"{job.label}: {embedded}"))
        if st.button("Stop", key="stop_compare", icon=":material/stop_circle:"):
            job.stop()


def _show_result(state: UiState, compared: Comparison, choices: Sequence[Choice]) -> None:
    columns = st.columns(len(compared.outcomes))
    for number, (column, choice, outcome) in enumerate(zip(columns, choices, compared.outcomes, strict=True)):
        with column, st.container(border=True, key=f"choice_{number}", height="stretch"):
            _show_outcome(state, compared, choice, outcome, number)
    if compared.rows:
        _show_moved(compared)
    else:
        st.caption("No passage has anything in common with this question, whatever the settings.")


def _show_outcome(state: UiState, compared: Comparison, choice: Choice, outcome: Outcome, number: int) -> None:
    st.markdown(f"**{plain(choice.label)}**")
    if choice.note:
        st.caption(plain(choice.note))
    prompt = outcome.prompt
    if prompt is None:
        st.warning(plain(outcome.problem), icon=":material/warning:")
        return
    said, told = SUPPORT[prompt.support.level]
    st.markdown(f":{_COLOURS[prompt.support.level]}-badge[answer {said}]", help=told)
    lines = [
        f"{counted(outcome.n_chunks, 'passage')} in all, {len(prompt.evidence)} in the prompt",
        f"about {prompt.tokens:,} of {prompt.max_tokens:,} tokens",
    ]
    if outcome.label == compared.base:
        lines.append("what the others are held against")
    else:
        both, either = compared.shared(outcome.label)
        lines.append(f"{both} of {either} passages are in both prompts")
    st.caption("  \n".join(map(plain, lines)))
    in_use = choice.settings == state.engine.settings
    label, icon = ("In use", ":material/check:") if in_use else ("Use these settings", ":material/tune:")
    if st.button(label, key=f"use_{number}", icon=icon, disabled=in_use or state.indexing, width="stretch"):
        state.use_settings(choice.settings, f"In use now: {choice.label}.")
        st.rerun()
    with st.expander("Prompt"):
        st.code(prompt.text, language=None, wrap_lines=True, height=320)
    with st.expander("Passages in it"):
        show_cards(state.engine, prompt, range(1, len(prompt.evidence) + 1), f"choice{number}_")


def _show_moved(compared: Comparison) -> None:
    st.subheader(
        "What moved",
        anchor=False,
        help="A number is the passage's place in the prompt. Arrows tell by how many places it went up or down "
        "against the settings in use. In brackets: its rank where it is not in the prompt. Passages of another size "
        "are one line if they hold the same sentences.",
    )
    labels = [outcome.label for outcome in compared.outcomes if outcome.prompt is not None]
    head = "".join(f'<th scope="col">{html.escape(label)}</th>' for label in labels)
    body = "".join(_row_html(compared, row, labels) for row in compared.rows)
    st.html(
        f'{_STYLE}<div class="moved"><table><thead><tr><th scope="col">Passage</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _row_html(compared: Comparison, row: Row, labels: Sequence[str]) -> str:
    text = " ".join(row.chunk.text.split())[:_SNIPPET]
    source = f"{row.chunk.document} · {row.chunk.place}"
    what = (
        f'<td class="what"><div class="source">{html.escape(source)}</div>'
        f'<div class="snippet">{html.escape(text)}</div></td>'
    )
    return f"<tr>{what}{''.join(_cell_html(compared, row, label) for label in labels)}</tr>"


def _cell_html(compared: Comparison, row: Row, label: str) -> str:
    place = row.places.get(label, Place())
    number = ", ".join(map(str, place.numbers)) or (f"({place.rank})" if place.rank is not None else "–")
    of = f'<span class="of">{html.escape(label)}</span>'  # for phones, where there is no head
    if label == compared.base:
        kind = "base" if place.numbers else "out"
        return f'<td class="{kind}">{of}<span class="number">{number}</span></td>'
    move = compared.move(row, label)
    told = _TOLD[move.kind].format(move.by)
    sign = f'<span class="sign">{_MOVES[move.kind].format(move.by)}</span>' if move.kind != "out" else ""
    return f'<td class="{move.kind}" title="{told}">{of}<span class="number">{number}</span>{sign}</td>'


def show(state: UiState) -> None:
    """Draw the page for documents that are there."""
    show_question(state)
    show_undo(state)
    if state.problem:
        st.error(plain(state.problem), icon=":material/error:")
    show_choice(state)
    if not state.question:
        st.caption("Type a question first.")
    elif state.indexing:
        st.caption("One moment: documents or settings are changing.")
    else:
        show_comparison(state)
