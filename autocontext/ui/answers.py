"""A model's answer while it arrives and after, with what was found about it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from autocontext.citations import AnswerCheck, CheckedSentence
from autocontext.ui.jobs import AnswerJob
from autocontext.ui.passages import anchor
from autocontext.ui.safe import answer_html, plain


def show_answer(job: AnswerJob, stop: Callable[[], None], prefix: str = "", *, outdated: bool = False) -> None:
    """Draw an answer as it is now; while it arrives, with a button to stop it.

    Parameters
    ----------
    stop
        What the button does.
    prefix
        Of the passages' cards that ``[n]`` leads to.
    outdated
        Whether the prompt it was given to is no longer the one on the page.
    """
    answer = job.answer
    if answer.unseen:
        st.error(plain(answer.unseen), icon=":material/content_cut:")
    if answer.thinking:
        with st.expander("The model's notes to itself"):
            st.text(answer.thinking)
    anchors = {number: anchor(prefix, number) for number in range(1, len(answer.prompt.evidence) + 1)}
    if job.running:
        if answer.text:
            st.html(answer_html(answer.text + " ▌", anchors, numbered=answer.prompt.numbered))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{'Answering' if answer.text else 'Waiting for the model'} · {job.seconds:.0f} s")
            st.button("Stop", key=f"{prefix}stop_answer", icon=":material/stop_circle:", on_click=stop)
        return
    if answer.text:
        check = job.check
        missing = [span for sentence in check.sentences for span in sentence.not_found]
        notes = [note for sentence in check.sentences if (note := _note(answer.text, sentence))]
        st.html(answer_html(answer.text, anchors, missing, notes, numbered=answer.prompt.numbered))
    _show_ending(job, prefix, outdated=outdated)


def _note(text: str, sentence: CheckedSentence) -> tuple[int, int] | None:
    """Return what is written at the end of a sentence that cites nothing, and where."""
    if sentence.status not in ("matched", "unmatched"):
        return None
    end = next(n for n in range(sentence.end, sentence.start, -1) if text[n - 1].isalnum())
    while end < sentence.end and text[end] in ".!?。！？…)]\"'":
        end += 1
    return end, sentence.passages[0] if sentence.passages else 0


def _show_ending(job: AnswerJob, prefix: str, *, outdated: bool) -> None:
    answer = job.answer
    if job.error is not None:
        st.error(plain(str(job.error)), icon=":material/error:")
        if job.error.detail:
            with st.expander("What the server said"):
                st.text(job.error.detail)
    if answer.text and not answer.complete:
        why = "you stopped it" if job.stopped else "it broke off" if job.error else "it reached the answer length"
        st.caption(f":orange-badge[incomplete] {why}")
    elif job.stopped:
        st.caption("Stopped before the first word.")
    if answer.text:
        with st.container(gap="xsmall"):
            _show_check(job.check)
    if outdated:
        st.caption(":orange-badge[earlier prompt] this answer was given to the prompt as it was then")
    if answer.usage is not None:
        st.caption(plain(answer.usage.told(answer.options.model)))
    if answer.text:
        with st.expander("Copy the answer", key=f"{prefix}copy_answer"):
            st.code(answer.text, language=None, wrap_lines=True)


def _show_check(check: AnswerCheck) -> None:
    """Tell what was found about the answer, the worst first; each source with its place."""
    if check.says_not_in_documents:
        st.caption(":gray-badge[not in the documents] says the model")
    for citation in check.citations:
        if citation.evidence is None:
            st.caption(f"\\[{citation.number}\\] :red-badge[no such passage] the model made this source up")
        else:
            chunk = citation.evidence.chunk
            st.caption(f"\\[{citation.number}\\] {plain(chunk.document)}, {plain(chunk.place)}")
    if check.not_found:
        st.caption(f":orange-badge[not found in the passages] {plain(', '.join(check.not_found))}")
    for text, cited, others in check.elsewhere:
        st.caption(f":orange-badge[another source] {plain(f'{text!r} does not stand in {cited}, but in {others}')}")
    statuses = [sentence.status for sentence in check.sentences]
    if "unmatched" in statuses:
        count = statuses.count("unmatched")
        st.caption(f":orange-badge[no passage matches] {count} of {len(statuses)} sentences")
    if "matched" in statuses:
        st.caption("≈n: matched, not cited. The passage shares the sentence's words; the model did not name it.")
