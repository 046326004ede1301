"""The list of the user's questions, and the search where their answers are marked."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from autocontext.errors import AutoContextError, QuestionError
from autocontext.questions import (
    Question,
    checked,
    lines_of,
    locate,
    merged,
    read_questions,
    with_answer,
    write_questions,
)
from autocontext.suggesting import Suggestion, passages_to_ask
from autocontext.ui import models
from autocontext.ui.evaluating import SuggestJob
from autocontext.ui.passages import show_cards
from autocontext.ui.safe import plain, text_html
from autocontext.ui.state import SAMPLE, UiState
from autocontext.wording import counted

SAMPLE_QUESTIONS = SAMPLE / "questions.jsonl"
PAGE_SIZE = 10
_MOST_SUGGESTIONS = 20
_QUOTE_SHOWN = 160


def show(state: UiState) -> None:
    """Draw the search that marks answers, what a model suggests, and the list."""
    _show_search(state)
    _show_suggestions(state)
    _show_list(state)


# --- marking ----------------------------------------------------------------------------------------------------------


def _show_search(state: UiState) -> None:
    evaluating, engine = state.evaluating, state.engine
    key = f"_evaluate_question_{evaluating.looked_at}"
    with st.form("evaluate_form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        asked = st.text_input(
            "A question of yours", evaluating.question, key=key, placeholder="What would you ask your documents?"
        )
        if st.form_submit_button("Find passages", type="primary", icon=":material/search:"):
            evaluating.question = asked.strip()
    if not evaluating.question:
        return
    with st.spinner("Searching… the first question also loads the embedding model."):
        prompt = evaluating.passages(engine)
    lines = lines_of(engine.questions, evaluating.question)
    is_nothing = bool(lines) and lines[0].document is None
    with st.container(horizontal=True, vertical_alignment="center"):
        if is_nothing:
            st.badge("nothing answers it", icon=":material/do_not_disturb_on:", color="orange")
        elif lines:
            st.badge(counted(len(lines), "answer") + " marked", icon=":material/check_circle:", color="green")
        else:
            st.caption("Mark each passage that answers it:", width="content")
        st.button(
            "Something does answer it" if is_nothing else "Nothing answers it",
            key="nothing_answers",
            icon=":material/do_not_disturb_on:",
            on_click=state.attempt,
            args=(evaluating.toggle_nothing, engine, evaluating.question),
            help="Questions that your documents cannot answer show how good the warning is that tells so.",
        )
        st.button(
            "The answer is not shown",
            key="quote_answer",
            icon=":material/format_quote:",
            type="tertiary",
            on_click=_start_edit,
            args=(state, "new"),
        )
        if st.button("Done", key="done_marking", icon=":material/close:", type="tertiary"):
            evaluating.look_at("")
            st.rerun()
    if evaluating.editing == "new":
        _show_edit(state, None, "new")
    if not prompt.evidence:
        st.caption("No passage has anything in common with this question.")
    show_cards(engine, prompt, range(1, len(prompt.evidence) + 1), "mark_")


def _start_edit(state: UiState, key: str) -> None:
    state.evaluating.editing = key


def _show_edit(state: UiState, line: Question | None, key: str) -> None:
    """Draw the fields of a line of the list, or of one more answer to the question that is looked at."""
    evaluating, names = state.evaluating, list(state.engine.documents)
    with st.form(f"edit_form_{key}"):
        text = st.text_input(
            "Question", line.question if line is not None else evaluating.question, key=f"edit_question_{key}"
        )
        document, quote = None, ""
        if line is None or line.document is not None:
            known = names.index(line.document) if line is not None and line.document in names else 0
            document = st.selectbox("Document", names, index=known, key=f"edit_document_{key}")
            quote = st.text_area(
                "The answer, word for word",
                line.quote or "" if line is not None else "",
                key=f"edit_quote_{key}",
                height=120,
                help="The words of the document that answer the question, and no more: short quotes measure sharper.",
            )
        with st.container(horizontal=True):
            saved = st.form_submit_button("Save", type="primary", icon=":material/check:")
            cancelled = st.form_submit_button("Cancel", type="tertiary")
    if saved:
        try:
            evaluating.change(state.engine, _edited(state, line, text, document, quote))
        except QuestionError as error:
            st.error(plain(str(error)), icon=":material/error:")
            return
    if saved or cancelled:
        evaluating.editing = ""
        st.rerun()


def _edited(state: UiState, line: Question | None, text: str, document: str | None, quote: str) -> list[Question]:
    """Return the questions with the edited line; QuestionError if it cannot be found in the document."""
    engine, known = state.engine, list(state.engine.questions)
    new = checked(
        Question(line.id if line else "new", text.strip(), document, quote.strip() or None if document else None)
    )
    if document is not None:
        place = locate(new, engine.documents)
        source = engine.documents[place.document]
        page = source.page_at(place.start)
        new = replace(new, document=place.document, quote=source.text[place.start : place.end], page=page)
    if line is None:
        return with_answer(known, new.question, new.document or "", new.quote or "", new.page)
    others = [one for one in known if one.question == new.question and one.id != line.id]
    if others:
        raise QuestionError("This question is in the list already.")
    same_id = [replace(one, question=new.question) if one.id == line.id else one for one in known]
    return [new if known[n] == line else one for n, one in enumerate(same_id)]


# --- the list ---------------------------------------------------------------------------------------------------------


def _show_list(state: UiState) -> None:
    evaluating, known = state.evaluating, state.engine.questions
    rows: dict[str, list[Question]] = {}
    for question in known:
        rows.setdefault(question.id, []).append(question)
    wanted = ""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.subheader(counted(len(rows), "question"), anchor=False)
        st.space("stretch")
        if len(rows) > PAGE_SIZE:
            wanted = st.text_input("Find a question", key="find_question", placeholder="Part of it", width=220)
        if evaluating.before is not None and evaluating.before != known:
            st.button(
                "Undo",
                key="undo_questions",
                icon=":material/undo:",
                on_click=state.attempt,
                args=(evaluating.undo, state.engine),
            )
        _show_import(state)
        st.download_button(
            "Export",
            lambda: write_questions(state.engine.questions),
            "questions.jsonl",
            "application/jsonl",
            icon=":material/download:",
            on_click="ignore",
            disabled=not known,
        )
    for sentence in evaluating.said:
        st.text(sentence)
    _offer_sample(state)
    if not rows:
        st.caption(
            "None yet. Ask one above and mark what answers it, or use *This answers it* on the Ask page while you "
            "work: ten questions show large differences, fifty show small ones."
        )
        return
    found = [lines for lines in rows.values() if wanted.casefold() in lines[0].question.casefold()]
    first = 0
    if len(found) > PAGE_SIZE:
        first = PAGE_SIZE * (st.pagination(-(-len(found) // PAGE_SIZE), key="question_page") - 1)
    if not found:
        st.caption("No question has this in it.")
    for lines in found[first : first + PAGE_SIZE]:
        _show_question(state, lines)


def _show_question(state: UiState, lines: list[Question]) -> None:
    id_ = lines[0].id
    with st.container(border=True, gap="small", key=f"question_{abs(hash(id_))}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.html(text_html(lines[0].question, "source"))
            st.space("stretch")
            st.button(
                "Passages",
                key=f"look_{id_}",
                icon=":material/search:",
                type="tertiary",
                on_click=state.evaluating.look_at,
                args=(lines[0].question,),
            )
            st.button(
                "Remove",
                key=f"remove_question_{id_}",
                icon=":material/delete:",
                type="tertiary",
                on_click=state.attempt,
                args=(state.evaluating.remove, state.engine, id_),
            )
        for number, line in enumerate(lines):
            _show_line(state, line, f"{id_}_{number}")


def _show_line(state: UiState, line: Question, key: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if line.document is None or line.quote is None:
            st.badge("nothing answers it", icon=":material/do_not_disturb_on:", color="orange")
        else:
            quote = " ".join(line.quote.split())
            shown = quote if len(quote) <= _QUOTE_SHOWN else f"{quote[:_QUOTE_SHOWN]}…"
            page = f", p. {line.page}" if line.page else ""
            with st.container(gap=None):
                st.html(text_html(f"{line.document}{page}: “{shown}”", "where"))
            if told := state.evaluating.missing(state.engine, line):
                st.badge("not found", icon=":material/error:", color="red", help=plain(told))
        st.button(
            "Edit",
            key=f"edit_{key}",
            icon=":material/edit:",
            type="tertiary",
            on_click=_start_edit,
            args=(state, key),
        )
    if state.evaluating.editing == key:
        _show_edit(state, line, key)


def _show_import(state: UiState) -> None:
    evaluating = state.evaluating
    with st.popover("Import", icon=":material/upload:"):
        st.caption(
            "A JSONL file: a line an answer, with id, question, document, quote and page. A document of null: nothing "
            "answers it."
        )
        file = st.file_uploader("Questions", key=f"import_questions_{evaluating.uploads}", max_upload_size=20)
    if file is not None:
        evaluating.uploads += 1  # a new, empty field
        evaluating.said = _take_in(state, file.name, file.getvalue())
        st.rerun()


def _offer_sample(state: UiState) -> None:
    """Offer the questions that come with the sample documents, where these are in and the questions are not."""
    data = SAMPLE_QUESTIONS.read_bytes()
    offered = [
        line for line in read_questions(data)[0] if line.document is None or line.document in state.engine.documents
    ]
    is_sample = any(line.document is not None for line in offered)
    if is_sample and not {line.question for line in state.engine.questions} >= {line.question for line in offered}:
        count = len({line.id for line in offered})
        if st.button(
            f"Take the sample's {counted(count, 'question')}", key="take_sample", icon=":material/auto_stories:"
        ):
            state.evaluating.said = _take_in(state, SAMPLE_QUESTIONS.name, write_questions(offered).encode())
            st.rerun()


def _take_in(state: UiState, name: str, data: bytes) -> list[str]:
    """Add the questions of a file to the list, and return what is to be said of it."""
    before = state.engine.questions
    try:
        read, problems = read_questions(data)
        state.evaluating.change(state.engine, merged(before, read))
    except AutoContextError as error:
        return [f"{name}: {error}"]
    added = len(state.engine.questions) - len(before)
    return [f"{name}: {counted(added, 'line')} added, {len(read) - added} known already.", *problems]


# --- suggestions ------------------------------------------------------------------------------------------------------


def _show_suggestions(state: UiState) -> None:
    evaluating = state.evaluating
    job = evaluating.suggesting
    with st.expander("Let a model suggest questions", icon=":material/lightbulb:", expanded=job is not None):
        st.caption(
            "The model reads one passage a call and makes a question of it. Each is yours to take or leave; reword it "
            "as you would ask it, or word search looks better than it is."
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            models.show_choice(state)
            number = st.number_input("Passages", 1, _MOST_SUGGESTIONS, 5, key="suggest_number", width=120)
            running = job is not None and job.running
            if st.button("Suggest", icon=":material/lightbulb:", disabled=running or not state.model.strip()):
                chunks = passages_to_ask(state.engine.chunks, state.engine.questions, int(number))
                evaluating.suggesting = SuggestJob(chunks, state.model_options())
                st.rerun()
        if job is not None:
            st.fragment(_show_suggested, run_every=0.5 if running else None)(state, running)


def _show_suggested(state: UiState, drawn_running: bool) -> None:
    job = state.evaluating.suggesting
    if job is None:
        return
    if job.running:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.progress(job.done / max(1, job.total), text=f"Asked for {job.done} of {job.total} passages")
            if st.button("Stop", key="stop_suggesting", icon=":material/stop_circle:"):
                job.stop()
    elif drawn_running:
        st.rerun()
    if job.error:
        st.error(plain(job.error), icon=":material/error:")
    if job.useless:
        st.caption(f"{counted(job.useless, 'answer')} of the model held no question.")
    if not job.total:
        st.caption("There is no passage left to ask for.")
    for number, suggestion in enumerate(list(job.found)):
        _show_suggestion(state, suggestion, number)


def _show_suggestion(state: UiState, suggestion: Suggestion, number: int) -> None:
    chunk = suggestion.chunk
    key = f"{abs(hash((suggestion.question, chunk.document, chunk.start)))}"
    with st.container(border=True, gap="small", key=f"suggestion_{number}"):
        text = st.text_input("Question", suggestion.question, key=f"suggested_{key}")
        st.html(text_html(f"{chunk.document}, {chunk.place}: “{suggestion.quote}”", "where"))
        with st.container(horizontal=True):
            if st.button("Take", key=f"take_{key}", icon=":material/check:", disabled=not text.strip()):
                state.attempt(state.evaluating.accept, state.engine, suggestion, text)
                st.rerun()
            if st.button("Leave", key=f"leave_{key}", icon=":material/close:", type="tertiary"):
                state.evaluating.discard(suggestion)
                st.rerun()
