"""The parts of the Inspect page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import streamlit as st

from autocontext.datatypes import Chunk
from autocontext.explanation import (
    LABELS,
    NOT_RETURNED,
    Explanation,
    Row,
    sentence_closeness,
    to_csv,
    to_json,
    to_records,
)
from autocontext.statistics import READ_SAMPLE, Statistics
from autocontext.ui import charts
from autocontext.ui.page_view import show_page_button
from autocontext.ui.passages import RETRIEVERS, show_limits
from autocontext.ui.safe import marked_html, plain, text_html
from autocontext.ui.state import UiState
from autocontext.why_not import LONGEST, WhyNot
from autocontext.wording import counted

_TABLE_ROWS = 10  # that are seen at once
_MOST_LISTED = 200  # places of one kind of trouble
_ALL = "All"


# --- what was found ---------------------------------------------------------------------------------------------------


def show_found(state: UiState) -> None:
    """Draw what every retriever found for the question, as pictures, as a table, and one passage in full."""
    if state.problem:
        st.error(plain(state.problem), icon=":material/error:")
        show_limits(state)
    explained = state.explanation
    if explained is None:
        if not state.problem:
            st.caption("Ask a question, to see what each retriever found for it, and what became of it.")
        return
    if not explained.rows:
        st.caption("No passage has anything in common with this question.")
        return
    _show_summary(explained)
    _show_charts(explained)
    rows = _filtered(explained)
    if not rows:
        st.caption("No passage is left by these filters.")
        return
    chosen = _show_table(explained, rows)
    _show_downloads(rows)
    _show_chosen(state, chosen)


def _show_summary(explained: Explanation) -> None:
    inside = len(explained.prompt.evidence)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{counted(len(explained.rows), 'passage')}** found, {inside} in the prompt", width="content")
        for said in explained.weighings:
            label, color, icon = RETRIEVERS.get(said.retriever, (said.retriever, "gray", None))
            st.badge(
                f"{label} weighs {said.weight:.2f}",
                icon=icon,
                color=color,  # type: ignore[arg-type]
                help=f"{said.setting:g} in the settings; it can judge this question by {said.trust:.0%}. "
                + ("Alone it is not scaled." if len(explained.weighings) == 1 else "A weight is scaled by that."),
            )
        whole = sum(explained.seconds.values())
        with st.popover(f"{_duration(whole)} in all", icon=":material/timer:", type="tertiary"):
            for name, seconds in explained.seconds.items():
                with st.container(horizontal=True):
                    st.text(LABELS.get(name, name))
                    st.space("stretch")
                    st.text(_duration(seconds), width="content")
            st.caption("Index: built for the first question only. Verdict: is the answer likely in the documents?")


def _duration(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms" if seconds < 1 else f"{seconds:,.1f} s"


def _show_charts(explained: Explanation) -> None:
    names = explained.retrievers
    if len(names) == 1:
        st.vega_lite_chart(charts.contributions(explained.rows, names), key="contributions")
        return
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(
            "**Where they agree**",
            help="Each point is a passage. Both retrievers like those at the top left; "
            "those in the gray bands only one of them has returned. Point at one to see what it is.",
        )
        pairs = {
            f"{LABELS.get(one, one)} and {LABELS.get(other, other)}": (one, other)
            for one, other in combinations(names, 2)
        }
        pair = next(iter(pairs))
        if len(pairs) > 1:
            pair = st.segmented_control(
                "Retrievers", list(pairs), default=pair, key="pair", label_visibility="collapsed", required=True
            )
        st.vega_lite_chart(charts.ranks(explained.rows, *pairs[pair]), key="ranks")
    with right:
        st.markdown(
            "**What each gave**",
            help="The fused score of the best passages is the sum of what each retriever "
            "gave. A passage that is in the prompt has its number there.",
        )
        st.vega_lite_chart(charts.contributions(explained.rows, names), key="contributions")


def _filtered(explained: Explanation) -> list[Row]:
    found_by: dict[str, Callable[[Row], bool]] = {_ALL: lambda _row: True}
    names = explained.retrievers
    if len(names) > 1:
        found_by["Each of them"] = lambda row: len(row.found_by) == len(names)
        for name in names:
            found_by[LABELS.get(name, name)] = lambda row, name=name: name in row.found_by  # type: ignore[misc]
        for name in names:
            found_by[f"Only {LABELS.get(name, name)}"] = lambda row, name=name: row.found_by == (name,)  # type: ignore[misc]
    in_prompt: dict[str, Callable[[Row], bool]] = {
        _ALL: lambda _row: True,
        "In the prompt": lambda row: row.number is not None,
        "Left out": lambda row: row.number is None,
    }
    files = sorted({row.chunk.document for row in explained.rows})
    with st.container(horizontal=True, vertical_alignment="bottom", key="filters"):
        finder = st.selectbox("Found by", list(found_by), key="found_by", width=170)
        inside = st.selectbox("Prompt", list(in_prompt), key="in_prompt", width=150)
        file = st.selectbox("File", [_ALL, *files], key="in_file", width=230)
        words = st.text_input("Text has", key="text_has", placeholder="Words of the passage", width=230)
    wanted = words.strip().casefold()
    return [
        row
        for row in explained.rows
        if found_by.get(finder, found_by[_ALL])(row)
        and in_prompt[inside](row)
        and file in (_ALL, row.chunk.document)
        and wanted in row.chunk.text.casefold()
    ]


def shown_table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the table as it is shown: the records of the download, empty cells for what was not returned."""
    return [
        {
            name: None if value == NOT_RETURNED and name.endswith((" rank", " score", " contribution")) else value
            for name, value in record.items()
        }
        for record in to_records(rows)
    ]


def _show_table(explained: Explanation, rows: Sequence[Row]) -> Row:
    """Draw the rows; return the one that is chosen, the best one to begin with."""
    columns: dict[str, Any] = {
        "place": st.column_config.NumberColumn("Place", width=55, pinned=True, help="In the fused ranking"),
        "prompt": st.column_config.TextColumn(
            "Prompt", width=110, help="Its number in the prompt, or why it is not in"
        ),
        "document": st.column_config.TextColumn("File", width=150),
        "text": st.column_config.TextColumn("Text", width=190),
        "score": st.column_config.NumberColumn("Score", format="%.4f", width=70, help="The sum of the contributions"),
    }
    for name in explained.retrievers:
        label = LABELS.get(name, name)
        columns |= {
            f"{name} rank": st.column_config.NumberColumn(f"{label} rank", format="%d", width=90),
            f"{name} score": st.column_config.NumberColumn(f"{label} score", format="%.4f", width=95),
            f"{name} contribution": st.column_config.NumberColumn(f"{label} gave", format="%.4f", width=95),
            f"{name} weight": st.column_config.NumberColumn(f"{label} weight", format="%.4f", width=100),
        }
    columns |= {
        "where": st.column_config.TextColumn("Where", width=90),
        "heading": st.column_config.TextColumn("Heading", width=160),
    }
    key = f"rows_{abs(hash((id(explained), tuple(row.place for row in rows))))}"  # other rows: another table
    event = st.dataframe(
        shown_table(rows),
        column_config=columns,
        column_order=list(columns),
        hide_index=True,
        height=35 * (min(len(rows), _TABLE_ROWS) + 1) + 3,
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": [0]}},
        placeholder=NOT_RETURNED,
        key=key,
    )
    picked = event["selection"]["rows"]
    return rows[picked[0]] if picked and picked[0] < len(rows) else rows[0]


def _show_downloads(rows: Sequence[Row]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            f"{counted(len(rows), 'row')}; click one to see it below. The files hold these rows.", width="content"
        )
        st.space("stretch")
        for label, name, kind, made in (
            ("CSV", "passages.csv", "text/csv", lambda: to_csv(rows).encode("utf-8-sig")),
            ("JSON", "passages.json", "application/json", lambda: to_json(rows)),
        ):
            st.download_button(
                label, made, name, kind, icon=":material/download:", type="tertiary", on_click="ignore",
                key=f"save_{label}",
                help="A text that a spreadsheet would run as a formula has an apostrophe before it."
                if label == "CSV" else None,
            )  # fmt: skip


def _show_chosen(state: UiState, row: Row) -> None:
    """Draw one passage in its document, with the question's words and the nearest sentence marked."""
    explained = state.explanation
    if explained is None:
        return
    question = explained.prompt.searched
    near = _nearest_sentence(state, question, row.chunk.text)
    with st.container(border=True, gap="small", key="chosen"):
        _show_head(row)
        spans = state.engine.matched_spans(question, row.chunk.text)
        show_in_context(state, row.chunk, spans, [near[:2]] if near else [])
        with st.container(horizontal=True, gap="small"):
            _show_opinions(row)
            show_page_button(row.chunk, "inspected")
        parts = " + ".join(
            f"{said.contribution:.4f} {LABELS.get(said.retriever, said.retriever)}"
            for said in row.opinions
            if said.contribution is not None
        )
        legend = f" Underlined: the sentence nearest in meaning, cosine {near[2]:.2f}." if near else ""
        st.caption(f"Score {row.score:.4f} = {parts}. Marked: words of the question.{legend}")


def _show_head(row: Row) -> None:
    heading = f" · {row.chunk.heading}" if row.chunk.heading else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container(gap=None):
            st.html(
                text_html(f"{row.place} · {row.chunk.document}", "source")
                + text_html(f"{row.chunk.place}{heading}", "where")
            )
        if row.number is not None:
            st.badge(f"in the prompt as passage {row.number}", color="green", icon=":material/check:")
        else:
            st.badge(plain(f"not in the prompt: {row.reason}"), color="gray")


def _show_opinions(row: Row) -> None:
    for said in row.opinions:
        label, color, icon = RETRIEVERS.get(said.retriever, (said.retriever, "gray", None))
        if said.rank is None:
            st.badge(f"{label}: {NOT_RETURNED}", color="gray", icon=icon)
        else:
            st.badge(f"{label} #{said.rank} · {said.score:.4f}", color=color, icon=icon)  # type: ignore[arg-type]


def show_in_context(
    state: UiState, chunk: Chunk, spans: Sequence[tuple[int, int]], near: Sequence[tuple[int, int]] = ()
) -> None:
    """Draw a passage with marks, and dimmer what stands before and after it in its document."""
    chunks = state.engine.chunks
    here = chunk.number if chunk.number < len(chunks) and chunks[chunk.number] is chunk else None
    before, after = (
        chunks[n].text if here is not None and 0 <= n < len(chunks) and chunks[n].document == chunk.document else ""
        for n in (chunk.number - 1, chunk.number + 1)
    )
    dim = "passage dim"
    st.html(
        (marked_html(before, (), css_class=dim) if before else "")
        + marked_html(chunk.text, spans, near)
        + (marked_html(after, (), css_class=dim) if after else "")
    )


def _nearest_sentence(state: UiState, question: str, text: str) -> tuple[int, int, float] | None:
    """Return the sentence of a passage that is nearest to the question; kept for the next run, as offsets only."""
    encoder = state.engine.encoder
    if encoder is None or "dense" not in state.engine.retrievers:
        return None
    key = (encoder.name, question, hash(text))
    if st.session_state.get("_nearest", (None,))[0] != key:
        sentences = sentence_closeness(encoder, question, text)
        best = max(sentences, key=lambda sentence: sentence[2], default=None)
        st.session_state["_nearest"] = (key, best)
    nearest: tuple[int, int, float] | None = st.session_state["_nearest"][1]
    return nearest


# --- why not ----------------------------------------------------------------------------------------------------------


def show_why_not(state: UiState) -> None:
    """Draw a field for a sentence that one expected, and what kept it out of the prompt."""
    if state.explanation is None:
        st.caption(
            "Ask a question first. Then paste a sentence that should have been in the prompt, to see what kept it out."
        )
        return
    with st.form("why_form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_area(
            "A sentence that you expected in the prompt",
            state.expected,
            key="_expected",
            height=90,
            max_chars=LONGEST,
            placeholder="Paste or type it; it need not be word for word.",
        )
        if st.form_submit_button("Why not?", type="primary", icon=":material/help:"):
            state.expected = st.session_state["_expected"]
    with st.spinner("Looking for it…"):
        state.look_for_expected()
    if state.why is not None:
        _show_verdict(state, state.why)


_LOOKS = {
    "in the prompt": ("In the prompt", "green", ":material/check_circle:"),
    "partly in the prompt": ("Partly in the prompt", "orange", ":material/splitscreen:"),
    "number of passages": ("Too few passages", "orange", ":material/format_list_numbered:"),
    "budget": ("The token budget is full", "orange", ":material/data_usage:"),
    "duplicate": ("It only repeats another passage", "gray", ":material/content_copy:"),
    "others are better": ("Other passages are better", "orange", ":material/leaderboard:"),
    "nothing in common": ("Nothing in common with the question", "red", ":material/link_off:"),
    "not in the documents": ("Not in the text of your documents", "red", ":material/search_off:"),
}


def _show_verdict(state: UiState, why: WhyNot) -> None:
    label, color, icon = _LOOKS[why.verdict]
    with st.container(border=True, gap="small", key="verdict"):
        st.badge(label, color=color, icon=icon)  # type: ignore[arg-type]
        st.markdown("\n".join(f"- {plain(sentence)}" for sentence in why.sentences))
        if why.place is None:
            return
        if why.chunk is None:
            document = state.engine.documents.get(why.place.document)
            if document is not None:
                st.html(
                    text_html(why.place.document, "source")
                    + marked_html(document.text[why.place.start : why.place.end], (), css_class="passage dim")
                )
            return
        heading = f" · {why.chunk.heading}" if why.chunk.heading else ""
        st.html(text_html(why.chunk.document, "source") + text_html(f"{why.chunk.place}{heading}", "where"))
        start, end = (offset - why.chunk.start for offset in (why.place.start, why.place.end))
        length = len(why.chunk.text)
        show_in_context(state, why.chunk, [(max(0, start), min(length, end))])
        show_page_button(why.chunk, "expected")


# --- how documents were cut -------------------------------------------------------------------------------------------


def show_statistics(state: UiState) -> None:
    """Draw figures on the chunks, and what is not good about them."""
    if not state.engine.chunks:
        st.caption("No document has any text yet.")
        return
    slot = st.empty()

    def tell(label: str, done: int, total: int) -> None:
        slot.progress(done / max(1, total), text=f"{label}: {done:,} of {total:,}")

    figures = state.look_at_chunks(tell)
    slot.empty()
    with st.container(horizontal=True):
        st.metric("Documents", f"{figures.documents:,}", border=True, width=150)
        st.metric("Passages", f"{figures.chunks:,}", border=True, width=150)
        st.metric("Tokens, median", f"{figures.median:,.0f}", border=True, width=150)
        st.metric(f"Longest, of {figures.limit:,}", f"{figures.longest[0].tokens:,}", border=True, width=150)
    for warning in figures.warnings:
        st.warning(plain(warning), icon=":material/warning:")
    if not figures.warnings:
        st.caption("Nothing to complain about.")
    st.markdown(
        "**Length of the passages**", help=f"In tokens of {figures.counter}: what the embedding model takes in."
    )
    st.vega_lite_chart(charts.lengths(figures.histogram), key="lengths")
    _show_places(figures)


def _show_places(figures: Statistics) -> None:
    st.markdown("**Longest and shortest**")
    sized = (*figures.longest, *reversed([item for item in figures.shortest if item not in figures.longest]))
    st.dataframe([{"Tokens": item.tokens, **_place(item.chunk)} for item in sized], hide_index=True, height="content")
    pages = [{"File": name, "Pages": ", ".join(map(str, empty))} for name, empty in figures.empty_pages.items()]
    copies = [
        {**_place(one), "Repeats": f"{of.document}, {of.place}", "How": how}
        for how, pairs in (("exactly", figures.exact_copies), ("nearly", figures.near_copies))
        for one, of in pairs
    ]
    words = set(figures.mid_word)
    cut = [{**_place(c), "Cut": "inside a word" if c in words else "inside a sentence"} for c in figures.mid_sentence]
    for one, more, listed in (
        ("passage ends inside a sentence", "passages end inside a sentence", cut),
        ("passage repeats another", "passages repeat others", copies),
        (
            "passage is only a heading",
            "passages are only a heading",
            [_place(chunk) for chunk in figures.only_headings],
        ),
        ("document has pages without text", "documents have pages without text", pages),
        ("document has no text", "documents have no text", [{"File": name} for name in figures.without_text]),
    ):
        if listed:
            with st.expander(f"{len(listed):,} {one if len(listed) == 1 else more}"):
                st.dataframe(listed[:_MOST_LISTED], hide_index=True)
                if len(listed) > _MOST_LISTED:
                    st.caption(f"The first {_MOST_LISTED} of {len(listed):,}; the file below has all.")
    if figures.unreadable is not None:
        of = f" (in {READ_SAMPLE:,} of them, evenly spread)" if figures.chunks > READ_SAMPLE else ""
        st.caption(f"The embedding model cannot read {figures.unreadable:.0%} of the passages{of}.")
    st.download_button(
        "All figures as JSON",
        lambda: json.dumps(figures.to_record(), ensure_ascii=False, indent=2),
        "statistics.json",
        "application/json",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
    )


def _place(chunk: Chunk) -> dict[str, Any]:
    return {"File": chunk.document, "Where": chunk.place, "Text": chunk.text}
