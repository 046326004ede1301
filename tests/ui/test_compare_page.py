"""What the Compare and the Settings page promise, in Streamlit's own test runner."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from autocontext import AutoContext, Settings
from autocontext.collections import Collections
from autocontext.errors import StoreError
from autocontext.settings import ChunkOptions
from autocontext.settings_explained import EXPLAINED, setting_of
from autocontext.settings_file import settings_from_toml, settings_to_toml
from autocontext.ui.library import Library, library
from autocontext.ui.settings_page import GROUPS
from autocontext.ui.state import UiState
from tests.conftest import ROOT, HashEncoder
from tests.ui.test_jobs import GatedEncoder

PATIENCE = 60.0  # seconds; only a failing test waits so long
COMPARE, SETTINGS = "pages/compare.py", "pages/settings.py"
FILES = {
    "notes/salt.txt": "Salt melts at 801 degrees. It tastes salty. Cooks like salt. Salt is cheap. It is white.",
    "notes/bread.txt": "Bread bakes at 230 degrees. It needs salt. Bakers get up early. Rye is dark. Wheat is light.",
    "notes/tea.txt": "Tea is hot. It steeps for two minutes. Salt spoils it. Green tea is mild. Black tea is strong.",
}
QUESTION = "What melts at 801 degrees and tastes of salt?"
HOSTILE = "![x](http://evil/x.png) <img src=x onerror=alert(1)>"
pytestmark = pytest.mark.usefixtures("clean_environment")


@pytest.fixture
def session(encoder: HashEncoder) -> Callable[..., AppTest]:
    """Return a maker of sessions on a page, with documents and a question."""

    def make(page: str, files: dict[str, str] | None = None, question: str = QUESTION, **settings: Any) -> AppTest:
        at = AppTest.from_file(ROOT / "app.py", default_timeout=PATIENCE)
        engine = AutoContext(settings=Settings(**settings), encoder=encoder)
        engine.add_files([(name, text.encode()) for name, text in (FILES if files is None else files).items()])
        state = UiState(engine=engine)
        state.ask(question)
        at.session_state["autocontext"] = state
        at.switch_page(page)
        return settle(at)

    return make


def state_of(at: AppTest) -> UiState:
    return at.session_state["autocontext"]


def settle(at: AppTest) -> AppTest:
    """Rerun until nothing goes on behind the page."""
    deadline = time.monotonic() + PATIENCE
    while True:
        at.run()
        assert not at.exception, [element.message for element in at.exception]
        job = state_of(at).comparing.job
        if state_of(at).index_job is None and (job is None or not job.running):
            return at
        assert time.monotonic() < deadline
        time.sleep(0.02)


def click(at: AppTest, label: str, which: int = 0) -> AppTest:
    [button for button in at.button if button.label == label][which].click()
    return settle(settle(at))


def choose(at: AppTest, kind: str) -> AppTest:
    at.segmented_control(key="_compare_what").set_value(kind)
    return settle(settle(at))


def table(at: AppTest) -> list[list[str]]:
    """Return the rows of What moved as they are read: the passage's place, then a cell a choice."""
    shown = next((element.value for element in at.html if '<div class="moved">' in element.value), "")
    rows = re.findall(r"<tr><td.*?</tr>", shown)
    return [
        [
            re.search(r'class="source">(.*?)<', row)[1],
            *(
                " ".join(html.unescape(text) for text in re.findall(r'class="(?:number|sign)">(.*?)<', cell))
                for cell in row.split("</td>")[1:-1]
            ),
        ]
        for row in rows
    ]


def texts(at: AppTest) -> str:
    found = [*at.caption.values, *at.markdown.values, *at.error.values, *at.warning.values]
    return re.sub(r"\\(.)", r"\1", "\n".join(found))


# ---- compare ---------------------------------------------------------------------------------------------------------


def test_without_documents_the_page_says_how_to_begin(session) -> None:
    at = session(COMPARE, {}, "")
    assert [header.value for header in at.header] == ["Ask your own documents"]


def test_without_a_question_one_is_asked_for(session) -> None:
    at = session(COMPARE, question="")
    assert "Type a question first." in texts(at)
    at.text_input(key="_compare_question").set_value(QUESTION)
    assert len(table(click(at, "Compare"))) == 3
    assert state_of(at).question == QUESTION


def test_three_pairs_stand_side_by_side_with_their_prompts(session) -> None:
    at = session(COMPARE)
    assert [code.value.endswith("Answer:") for code in at.code] == [True, True, True]
    assert [button.label for button in at.button if "se" in button.label and button.key][-3:] == [
        "Use these settings",
        "In use",
        "Use these settings",
    ]
    assert "favours short passages" in texts(at)
    assert len(table(at)) == 3


def test_the_page_shows_the_prompt_of_the_ask_page(session) -> None:
    at = session(COMPARE)
    base = at.code[1].value
    at.switch_page("app.py")
    assert settle(at).code[-1].value == base


def test_other_sizes_begin_with_a_click_and_say_before_what_they_cost(session, encoder) -> None:
    at = session(COMPARE, chunking=ChunkOptions(sentence_tokens=0))
    encoded = encoder.texts_encoded
    choose(at, "size")
    assert "This embeds about 18 passages at most; your documents stay as they are." in texts(at)
    assert encoder.texts_encoded - encoded <= 1
    click(at, "Start")
    assert len(at.code) == 3
    outcomes = state_of(at).comparing.result.outcomes
    assert [outcome.settings.chunking.sentences for outcome in outcomes] == [1, 3, 5]

    encoded = encoder.texts_encoded  # all of it is kept: another look costs nothing
    choose(at, "bm25")
    choose(at, "size")
    assert len(at.code) == 3
    assert encoder.texts_encoded == encoded


@pytest.mark.parametrize(("meaning", "retriever"), [(0, "bm25"), (100, "dense")])
def test_an_end_of_the_slider_is_that_retriever_alone_and_reaches_the_search(
    session, meaning: int, retriever: str
) -> None:
    at = choose(session(COMPARE), "weights")
    ends = "".join(e.value for e in at.html)
    assert ends.index("words only<") < ends.index("clamp(9rem, 39%,") < ends.index("now: 39 % meaning<")
    assert ends.index("now: 39 % meaning<") < ends.index("meaning only<")
    at.select_slider(key="_compare_meaning").set_value(meaning)
    settle(settle(at))
    outcome = state_of(at).comparing.result.outcomes[1]
    assert {name for item in outcome.prompt.evidence for name in item.hits} == {retriever}

    click(at, "Use these settings")
    assert state_of(at).engine.retrievers == (retriever,)
    assert {name for item in state_of(at).engine.search(QUESTION) for name in item.hits} == {retriever}


def test_settings_are_used_by_a_click_and_undone_by_another(session) -> None:
    at = session(COMPARE)
    before = state_of(at).engine.settings
    click(at, "Use these settings", 1)
    assert (state_of(at).engine.settings.bm25.k1, state_of(at).engine.settings.bm25.b) == (2.0, 1.0)
    assert "Changed: k1, b." in texts(at)
    click(at, "Undo")
    assert state_of(at).engine.settings == before


@pytest.mark.parametrize(("kind", "columns"), [("method", 3), ("weights", 2), ("retrievers", None)])
def test_each_kind_is_compared_at_once_where_it_costs_nothing(session, kind: str, columns: int | None) -> None:
    at = choose(session(COMPARE), kind)
    if columns is not None:
        assert len(at.code) == columns
    assert len(at.code) == len(state_of(at).comparing.result.outcomes) >= 2
    assert {len(row) for row in table(at)} == {1 + len(at.code)}


def test_what_moved_is_told_by_number_and_sign(session) -> None:
    at = choose(session(COMPARE, num_results=2, weights={"dense": 0.0}), "retrievers")
    assert "This embeds about 3 passages at most" in texts(at)  # with no weight nothing was embedded yet
    click(at, "Start")
    compared = state_of(at).comparing.result
    cells = [cell for row in table(at) for cell in row[1:]]
    assert len(cells) == len(compared.rows) * len(compared.outcomes)
    signs = {"same": "=", "up": "↑", "down": "↓", "new": "new", "gone": "gone", "out": ""}
    for row, shown in zip(compared.rows, table(at), strict=True):
        assert shown[0] == f"{row.chunk.document} · {row.chunk.place}"
        for outcome, cell in zip(compared.outcomes, shown[1:], strict=True):
            if outcome.label != compared.base:
                assert signs[compared.move(row, outcome.label).kind] in cell


def test_a_model_is_named_before_it_is_compared(session) -> None:
    at = choose(session(COMPARE), "model")
    assert "Name a model to compare with the one in use." in texts(at)


def test_removed_documents_leave_the_comparison(session) -> None:
    at = session(COMPARE)
    state_of(at).remove(["notes/salt.txt"])
    assert state_of(at).comparing.result is None
    assert "notes/salt.txt" not in str(table(settle(at)))


def test_a_stopped_comparison_can_go_on(session) -> None:
    at = choose(session(COMPARE, chunking=ChunkOptions(sentence_tokens=0)), "size")
    state = state_of(at)
    click(at, "Start")
    state.comparing.job.result = None  # as it is after Stop
    settle(at)
    assert "Stopped." in texts(at)
    click(at, "Go on")
    assert len(at.code) == 3


def test_a_hostile_name_reaches_no_markdown_raw(session) -> None:
    at = session(COMPARE, {f"{HOSTILE}.txt": "Salt melts at 801 degrees."})
    shown = [*at.markdown.values, *at.caption.values, *(button.label for button in at.button)]
    assert not [text for text in shown if "](http" in text or "<img" in text]
    assert not [element.value for element in at.html if "<img" in element.value]


# ---- settings --------------------------------------------------------------------------------------------------------


def field(at: AppTest, path: str) -> Any:
    version = state_of(at).draft.version
    key = f"set_{path}_{version}"
    kinds = [at.number_input, at.text_input, at.toggle, at.segmented_control, at.pills, at.selectbox]
    return next(element for kind in kinds for element in kind if element.key == key)


def change(at: AppTest, path: str, value: object) -> AppTest:
    field(at, path).set_value(value)
    return settle(at)


def button(at: AppTest, key: str) -> Any:
    return at.button(key=key)


def test_every_setting_has_its_field_with_its_meaning_and_default(session) -> None:
    at = session(SETTINGS)
    shown = texts(at)
    assert sorted(path for _, _, paths in GROUPS for path in paths) == sorted(EXPLAINED)
    for path, explained in EXPLAINED.items():
        assert explained.text in shown, path
        assert any(element.key == f"default_{path}" for element in at.button), path
    assert "Default: 3,000." in shown
    assert "reloading the page brings the defaults back" in shown


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("num_results", 3, "Passages at most: 5 → 3. This costs nothing"),
        ("bm25.k1", 2.0, "k1: 1.5 → 2. This costs nothing"),
        ("chunking.sentences", 1, "Sentences a passage: 3 → 1. This cuts 3 documents again."),
        ("fusion", "union", "Fusion: scores → union."),
        ("retrievers", ["bm25"], "Retrievers: bm25 and dense → bm25."),
        ("template", "seed", "Form of the prompt: default → seed."),
        ("pdf.ocr", True, "Read scanned pages: off → on."),
        ("limits.seconds", 60.0, "New limits hold for files that are read from now on"),
    ],
)
def test_a_change_says_what_it_costs_and_is_saved_by_a_click(session, path: str, value: Any, told: str) -> None:
    at = change(session(SETTINGS), path, value)
    assert told in texts(at)
    before = state_of(at).engine.settings
    assert not button(at, "save_settings").disabled
    button(at, "save_settings").click()
    settle(settle(at))
    kept = state_of(at).engine.settings
    assert kept != before
    assert EXPLAINED[path].label in texts(at)  # the line with Undo
    assert state_of(at).draft.values == {}
    button(at, "undo_settings").click()
    settle(settle(at))
    assert state_of(at).engine.settings == before
    shown = field(at, path).value
    assert (tuple(shown) if isinstance(shown, list) else shown) == setting_of(before, path)


def test_a_weight_is_typed_by_retriever(session) -> None:
    at = session(SETTINGS)
    next(element for element in at.number_input if element.label == "Weight of Dense").set_value(0.2)
    settle(at)
    assert "Weights: dense 0.65 → dense 0.2." in texts(at)
    button(at, "save_settings").click()
    settle(settle(at))
    assert state_of(at).engine.settings.weights == {"dense": 0.2}


@pytest.mark.parametrize(
    ("changes", "where", "told"),
    [
        ({"chunking.overlap": 3}, "chunking.overlap", "below the 3 sentences of a passage, not 3."),
        ({"bm25.b": 1.5}, "bm25.b", "b must lie between 0 and 1, not 1.5."),
        ({"retrievers": []}, "retrievers", "At least one retriever is needed."),
        ({"chunking.overlap": 2, "chunking.sentences": 2}, "chunking.sentences", "below the 2 sentences"),
        ({"chunking.overlap": 3, "num_results": 4}, "chunking.overlap", "below the 3 sentences"),
    ],
)
def test_what_cannot_be_is_told_beside_its_field_and_not_saved(session, changes, where: str, told: str) -> None:
    at = session(SETTINGS)
    for path, value in changes.items():
        change(at, path, value)
    assert button(at, "save_settings").disabled
    (error,) = at.error
    assert told in re.sub(r"\\(.)", r"\1", error.value)
    _, problems = state_of(at).draft.check(state_of(at).engine)
    assert list(problems) == [where]


def test_changes_that_only_work_together_are_taken(session) -> None:
    at = session(SETTINGS)
    change(at, "chunking.overlap", 4)
    change(at, "chunking.sentences", 6)
    assert not at.error
    assert not button(at, "save_settings").disabled


def test_one_setting_and_all_go_back_to_their_defaults(session) -> None:
    at = session(SETTINGS, num_results=9, candidates=50)
    button(at, "default_num_results").click()
    settle(settle(at))
    assert state_of(at).draft.values == {"num_results": 5}
    click(at, "All to default")
    assert state_of(at).draft.values == {"candidates": 300, "num_results": 5}
    button(at, "save_settings").click()
    settle(settle(at))
    assert state_of(at).engine.settings == Settings()


def toasts(at: AppTest) -> list[str]:
    return [re.sub(r"\\(.)", r"\1", toast.value) for toast in at.toast]


def test_saved_is_said_when_it_is_true(session) -> None:
    at = change(session(SETTINGS, chunking=ChunkOptions(sentence_tokens=0)), "chunking.sentences", 1)
    state_of(at).engine._given_encoder = state_of(at).engine.__dict__["_found_encoder"] = slow = GatedEncoder()
    button(at, "save_settings").click()
    at.run()
    assert slow.reached.wait(PATIENCE)
    assert toasts(at.run()) == []
    slow.gate.set()
    told = []
    while state_of(at).index_job is not None:
        told += toasts(at.run())
    assert [*told, *toasts(at.run())] == ["Saved for this session."]
    assert state_of(at).draft.values == {}


@pytest.mark.parametrize("error", [StoreError("The disk is full."), RuntimeError("a bug")])
def test_what_is_not_saved_is_told_until_it_is_seen_and_stays_a_change(session, monkeypatch, error) -> None:
    at = change(session(SETTINGS), "num_results", 9)

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(AutoContext, "change_settings", fail)
    button(at, "save_settings").click()
    settle(at)
    settle(at)
    assert toasts(at) == []
    (shown,) = at.error.values
    assert re.sub(r"\\(.)", r"\1", shown).startswith(("The disk is full.", "Indexing failed (RuntimeError)."))
    assert state_of(at).draft.values == {"num_results": 9}
    assert (state_of(at).num_results, state_of(at).settings_before) == (5, None)
    button(at, "dismiss_failure").click()
    assert not settle(at).error


def test_discard_lets_go_of_all_changes_and_the_fields_show_what_is_saved(session) -> None:
    at = change(session(SETTINGS), "num_results", 9)
    button(at, "discard_settings").click()
    settle(settle(at))
    assert state_of(at).draft.values == {}
    assert field(at, "num_results").value == 5


def test_a_change_that_is_not_saved_survives_a_visit_to_another_page(session) -> None:
    at = change(session(SETTINGS), "num_results", 9)
    at.switch_page("app.py")
    settle(at)
    at.switch_page(SETTINGS)
    settle(at)
    assert field(at, "num_results").value == 9
    assert state_of(at).engine.settings.num_results == 5


def test_settings_are_taken_from_a_file_and_saved_after_a_look(session) -> None:
    at = session(SETTINGS)
    at.file_uploader[0].upload("own.toml", b"num_results = 2\n[bm25]\nk1 = 1.2\n", "application/toml")
    settle(settle(at))
    assert state_of(at).draft.values == {"num_results": 2, "bm25.k1": 1.2}
    assert state_of(at).engine.settings == Settings()
    button(at, "save_settings").click()
    settle(settle(at))
    assert state_of(at).engine.settings.bm25.k1 == 1.2


def test_a_file_that_cannot_be_taken_over_is_told_and_changes_nothing(session) -> None:
    at = session(SETTINGS)
    at.file_uploader[0].upload("own.toml", b"num_result = 2", "application/toml")
    settle(settle(at))
    assert "There is no setting 'num_result'; did you mean num_results?" in texts(at)
    assert state_of(at).draft.values == {}
    change(at, "num_results", 4)
    button(at, "discard_settings").click()
    settle(settle(at))
    assert not at.error


def test_folders_of_the_machine_are_not_for_pages_of_another_one(session, monkeypatch) -> None:
    for module in ("compare", "settings_page"):
        monkeypatch.setattr(f"autocontext.ui.{module}.why_not_local", lambda: "Only on the machine itself.")
    at = session(SETTINGS)
    assert field(at, "encoder.folder").disabled
    at.file_uploader[0].upload("own.toml", b"[encoder]\nfolder = '/home/me'\n", "application/toml")
    settle(settle(at))
    assert "The file cannot be taken over: it names a folder. Only on the machine itself." in texts(at)
    assert state_of(at).draft.values == {}

    at = choose(session(COMPARE), "model")
    at.text_input(key="_compare_model").set_value("/home/me/model")
    settle(settle(at))
    assert "Only on the machine itself." in texts(at)
    assert "/home" not in str(state_of(at).comparing.result)


def test_another_collection_begins_with_its_own_settings_and_no_changes(
    session, tmp_path, monkeypatch, encoder
) -> None:
    shared = Library(Collections(tmp_path), encoder)
    monkeypatch.setattr("autocontext.ui.state.library", lambda: shared)
    id_ = shared.collections.create("Kitchen", replace(Settings(), num_results=7))
    at = change(session(SETTINGS), "num_results", 9)
    state_of(at).open_collection(id_)
    settle(settle(at))
    assert field(at, "num_results").value == 7
    assert "Saved with the collection **Kitchen**" in texts(at)
    change(at, "num_results", 3)
    button(at, "save_settings").click()
    settle(settle(at))
    assert shared.collections.open(id_, encoder).settings.num_results == 3
    assert library() is not shared


def test_the_exported_file_is_that_of_the_saved_settings(session) -> None:
    at = session(SETTINGS, num_results=4)
    (export,) = at.get("download_button")
    assert export.proto.label == "Export"
    assert settings_from_toml(settings_to_toml(state_of(at).engine.settings)).num_results == 4
