"""Collections and folders of this machine in the app: what survives a reload, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from autocontext.collections import Collections
from autocontext.ui import library as library_module
from autocontext.ui.library import Library
from autocontext.ui.local import refusal
from tests.conftest import ROOT, HashEncoder
from tests.ui.test_jobs import GatedEncoder
from tests.ui.test_pages import click, field, go, rows, run, settle, state_of, upload

DOCUMENTS, COLLECTIONS = "pages/documents.py", "pages/collections.py"
LOCAL = {"Host": "127.0.0.1:8501"}
HOSTILE = "![x](http://evil/x.png) $a$ :red[x] <b>"
pytestmark = pytest.mark.usefixtures("clean_environment")


@pytest.fixture(autouse=True)
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    """Return what a process of its own would have: no collection is open in it."""
    shared = Library(Collections(tmp_path / "data"), HashEncoder())
    library_module.library.cache_clear()
    for module in ("autocontext.ui.library", "autocontext.ui.state", "autocontext.ui.collections"):
        monkeypatch.setattr(f"{module}.library", lambda: shared)
    monkeypatch.setattr("autocontext.ui.local.request_headers", lambda: LOCAL)
    return shared


def session(address: str = "", page: str = "app.py") -> AppTest:
    """Open the app as a browser does at an address: a new session."""
    at = AppTest.from_file(ROOT / "app.py", default_timeout=60)
    if address:
        at.query_params["collection"] = address
    if page != "app.py":
        at.switch_page(page)
    return settle(at)


def submit(at: AppTest, key: str, name: str) -> AppTest:
    at.text_input(key=f"name_{key}").set_value(name)
    at.button(key=f"do_{key}").click()
    return settle(at)


def said(values) -> list[str]:
    return [re.sub(r"\\(.)", r"\1", value) for value in values]


@pytest.fixture
def kept(library: Library) -> str:
    """Keep two documents in a collection and return its id."""
    at = upload(session(page=DOCUMENTS), {"a.txt": b"Salt melts.", "b.pdf": b"no pdf"})
    submit(go(at, COLLECTIONS), "keep", "Kitchen")
    (one,) = library.collections.listed()
    return one.id


def test_documents_of_the_session_are_kept_and_the_address_says_where(library: Library) -> None:
    at = upload(session(page=DOCUMENTS), {"a.txt": b"Salt melts."})
    assert any("Kept in this session only" in text for text in at.markdown.values)
    assert library.collections.listed() == []

    submit(go(at, COLLECTIONS), "keep", "Kitchen")

    (one,) = library.collections.listed()
    assert (one.name, one.n_documents) == ("Kitchen", 1)
    assert at.query_params["collection"] in (one.id, [one.id])
    go(at, DOCUMENTS)
    assert any("Kept in the collection **Kitchen**" in text for text in at.markdown.values)
    assert at.query_params["collection"] in (one.id, [one.id])


def test_a_reload_opens_the_same_collection_with_its_rows_and_embeds_nothing(library: Library, kept: str) -> None:
    before = library.encoder.texts_encoded

    at = session(kept, DOCUMENTS)

    assert rows(at) == {
        "a.txt": ("unchanged", ""),
        "b.pdf": ("failed", "It is damaged or not a PDF; open it in a viewer and save it again."),
    }
    assert library.encoder.texts_encoded == before
    go(at, "app.py")
    field(at, "Question").set_value("When does salt melt?")
    click(at, "Find passages")
    assert state_of(at).prompt.evidence[0].chunk.document == "a.txt"


def test_a_new_session_is_not_the_collection_but_offers_it(kept: str) -> None:
    at = session()
    assert dict(state_of(at).engine.documents) == {}
    at.button(key=f"go_on_{kept}").click()
    settle(at)
    assert list(state_of(at).engine.documents) == ["a.txt"]


def test_two_sessions_of_one_collection_see_each_others_changes_and_no_others_do(library: Library, kept: str) -> None:
    one, two, other = session(kept, DOCUMENTS), session(kept, DOCUMENTS), session(page=DOCUMENTS)

    upload(one, {"c.txt": b"Tea steeps."})

    assert "c.txt" in rows(run(two))
    assert rows(run(other)) == {}
    two.button(key="remove_a.txt").click()
    settle(two)
    assert "a.txt" not in rows(run(one))


def test_what_another_program_wrote_is_there_at_the_next_click(library: Library, kept: str) -> None:
    at = session(kept, DOCUMENTS)
    program = library.collections.open(kept, HashEncoder())
    program.add("from-outside.txt", b"Cats sleep.")
    program.close()
    assert "from-outside.txt" in rows(run(at))


def test_a_reload_in_the_middle_of_indexing_sees_it_go_on(library: Library, kept: str) -> None:
    library.encoder = encoder = GatedEncoder()
    before = session(page=DOCUMENTS)
    state_of(before).open_collection(library.collections.create("Slow"))
    address = state_of(before).collection
    state_of(before).index([("c.txt", b"Tea steeps.")])
    assert encoder.reached.wait(30)

    after = AppTest.from_file(ROOT / "app.py", default_timeout=60)
    after.query_params["collection"] = address
    run(after.switch_page(DOCUMENTS))

    assert state_of(after).indexing
    assert after.get("progress")[0].text.startswith("Read 1 of 1 files, embedded 0 of 1 passages so far")
    encoder.gate.set()
    assert rows(settle(after)) == {"c.txt": ("added", "")}


def test_the_first_documents_can_be_asked_while_the_others_come(library: Library) -> None:
    class Pausing(GatedEncoder):
        def encode(self, texts):
            is_early = self.texts_encoded < 150 or len(texts) < 16  # a question, not a batch
            return HashEncoder.encode(self, texts) if is_early else super().encode(texts)

    library.encoder = encoder = Pausing()
    at = session()
    files = [(f"n{n}.txt", f"This is the first note {n}.".encode()) for n in range(400)]
    state_of(at).index(files)
    assert encoder.reached.wait(30)

    run(at)

    assert "can be asked already" in at.get("progress")[0].text
    field(at, "Question").set_value("first note")
    next(button for button in at.button if button.label == "Find passages").click()
    run(at)
    assert state_of(at).indexing
    assert state_of(at).prompt.evidence
    encoder.gate.set()
    settle(at)
    assert len(state_of(at).engine.documents) == 400


@pytest.mark.parametrize("address", ["../../etc/passwd", "nowhere-1234", "<b>"])
def test_an_address_that_names_no_collection_is_said_and_dropped(address: str) -> None:
    at = session(address)
    assert said(at.toast.values) == ["This collection is not here any more. It was deleted, or is another user's."]
    assert state_of(at).collection == ""
    assert "collection" not in at.query_params


def test_a_collection_is_renamed_copied_and_deleted(library: Library, kept: str) -> None:
    at = session(kept, COLLECTIONS)
    submit(at, f"rename_{kept}", "Cellar")
    submit(at, f"copy_{kept}", "Copy of it")
    assert [one.name for one in library.collections.listed()] == ["Cellar", "Copy of it"]
    assert state_of(at).collection_name == "Cellar"

    at.checkbox(key=f"sure_{kept}").check()
    run(at)
    at.button(key=f"delete_{kept}").click()
    settle(at)

    assert [one.name for one in library.collections.listed()] == ["Copy of it"]
    assert state_of(at).collection == ""
    assert any("deleted or moved" in text or "not here any more" in text for text in said(at.toast.values))


def test_a_name_that_is_taken_is_said_and_nothing_is_lost(library: Library, kept: str) -> None:
    at = upload(session(page=DOCUMENTS), {"c.txt": b"Tea."})
    submit(go(at, COLLECTIONS), "keep", "KITCHEN")
    assert said(at.error.values) == ["There is a collection of this name already. Take another name."]
    assert list(state_of(at).engine.documents) == ["c.txt"]


def test_an_export_is_imported_as_another_collection(library: Library, kept: str) -> None:
    data = library.collections.export(kept)
    at = session(page=COLLECTIONS)
    at.file_uploader[0].upload("kitchen.db", data)
    settle(at)
    assert state_of(at).collection_name == "Kitchen (2)"
    assert list(state_of(at).engine.documents) == ["a.txt"]
    at.file_uploader[0].upload("evil.db", b"nonsense")
    settle(at)
    assert said(at.error.values) == ["This file is damaged, or was made by another program. Nothing was imported."]


def test_the_limits_of_the_prompt_are_kept_with_the_collection(library: Library, kept: str) -> None:
    at = session(kept)
    field(at, "Question").set_value("salt")
    click(at, "Find passages")
    field(at, "Passages at most").set_value(2)
    settle(at)
    again = session(kept)
    assert state_of(again).num_results == 2


def test_going_back_to_the_session_leaves_the_collection_as_it_is(library: Library, kept: str) -> None:
    at = session(kept, COLLECTIONS)
    click(at, "Back to this session only")
    assert dict(state_of(at).engine.documents) == {}
    assert "collection" not in at.query_params
    assert [one.n_documents for one in library.collections.listed()] == [1]


def test_vectors_are_counted_and_cleared(library: Library) -> None:
    at = upload(session(page=DOCUMENTS), {"a.txt": b"Salt melts."})
    assert any("1 in the memory of the server" in text for text in said(go(at, COLLECTIONS).caption.values))
    click(at, "Clear them")
    assert library.memory.size == (0, 0)
    assert at.button(key="clear_vectors").disabled


def test_a_hostile_name_reaches_no_markdown_raw(library: Library) -> None:
    at = upload(session(page=DOCUMENTS), {"a.txt": b"Salt."})
    submit(go(at, COLLECTIONS), "keep", HOSTILE)
    for page in (COLLECTIONS, DOCUMENTS, "app.py"):
        go(at, page)
        assert not any(part in text for text in at.markdown.values for part in ("![x]", " $a$", "[x]("))
    again = session()
    assert not any("![x]" in button.label for button in again.button)


# --- folders of this machine ---


def test_a_folder_is_added_synced_and_removed(library: Library, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("Salt melts.")
    at = session(page=DOCUMENTS)
    field(at, "Folder").set_value(str(folder))
    click(at, "Add folder")
    assert rows(at) == {"notes/a.txt": ("added", "")}

    (folder / "a.txt").rename(folder / "b.txt")
    encoded = library.encoder.texts_encoded
    click(at, "Sync")
    assert rows(at) == {"notes/b.txt": ("added", "Renamed from notes/a.txt.")}
    assert library.encoder.texts_encoded == encoded

    at.button(key="forget_notes").click()
    settle(at)
    assert rows(at) == {}
    assert (folder / "b.txt").is_file()


def test_a_folder_that_is_none_is_said(tmp_path: Path) -> None:
    at = session(page=DOCUMENTS)
    field(at, "Folder").set_value(str(tmp_path / "nowhere"))
    click(at, "Add folder")
    assert said(at.error.values) == [f"{tmp_path / 'nowhere'}: this is not a folder"]


def test_watching_syncs_when_something_has_changed_and_come_to_rest(library: Library, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("Salt melts.")
    at = session(page=DOCUMENTS)
    field(at, "Folder").set_value(str(folder))
    click(at, "Add folder")
    state = state_of(at)
    state.watching = True
    (folder / "b.txt").write_text("Tea steeps.")
    assert [state.sync_changed(), state.sync_changed()] == [False, True]
    settle(at)
    assert sorted(rows(at)) == ["notes/a.txt", "notes/b.txt"]
    assert [state.sync_changed(), state.sync_changed()] == [False, False]


@pytest.mark.parametrize(
    ("address", "headers", "allowed"),
    [
        ("127.0.0.1", {"Host": "127.0.0.1:8501"}, True),
        ("localhost", {"host": "localhost:8501"}, True),
        ("127.0.0.1", {"Host": "[::1]:8501"}, True),
        ("", {"Host": "127.0.0.1:8501"}, False),
        ("0.0.0.0", {"Host": "127.0.0.1:8501"}, False),
        ("192.168.1.5", {"Host": "192.168.1.5:8501"}, False),
        ("127.0.0.1", {"Host": "notes.example.org"}, False),
        ("127.0.0.1", {"Host": "127.0.0.1.evil.org:8501"}, False),
        ("127.0.0.1", {}, False),
        ("127.0.0.1", {"Host": "127.0.0.1:8501", "X-Forwarded-For": "10.0.0.9"}, False),
    ],
)
def test_folders_are_opened_for_this_machine_only(address: str, headers: dict[str, str], allowed: bool) -> None:
    assert (refusal(address, headers) == "") is allowed


def test_elsewhere_the_page_says_why_and_has_no_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autocontext.ui.local.request_headers", lambda: {"Host": "notes.example.org"})
    at = session(page=DOCUMENTS)
    assert any("cannot be opened here" in text for text in at.caption.values)
    assert not [one for one in at.text_input if one.label == "Folder"]
