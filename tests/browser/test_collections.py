"""What only a browser and a server show of collections: a reload, a restart, a download, a thousand files."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Server, ask, button, go, settle, text_file, upload

pytestmark = pytest.mark.browser


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AUTOCONTEXT_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def keep_notes(page: Page, name: str) -> None:
    """Add two notes, and keep them in a collection."""
    go(page, "Documents")
    upload(page, "files", [text_file("salt.txt", "Salt melts at 801 degrees."), text_file("tea.txt", "Tea is hot.")])
    expect(page.get_by_role("heading", name="2 documents")).to_be_visible()
    settle(page)
    page.locator(".stMain").get_by_role("link", name="Keep them").click()
    expect(page).to_have_title("Collections · AutoContext")
    button(page, "Keep the 2 documents of this session").click()
    page.get_by_label("Name", exact=True).first.fill(name)
    page.keyboard.press("Enter")
    expect(page.locator(".st-key-menu")).to_contain_text(name)
    settle(page)


def test_a_reload_and_a_restart_keep_the_collection_and_the_answers_place(open_page, data_folder: Path) -> None:
    with Server() as server:
        page = open_page(at=server)
        keep_notes(page, "Kitchen")
        go(page, "Ask")
        ask(page, "When does salt melt?")
        assert "collection=kitchen-" in page.url

        page.reload()
        settle(page)

        ask(page, "When does salt melt?")
        expect(page.locator(".st-key-passage_1")).to_contain_text("Salt melts at 801 degrees.")
        address = page.url.partition("/?")[2]

    with Server() as server:
        page = open_page(f"/documents?{address}", at=server)
        expect(page.get_by_role("heading", name="2 documents")).to_be_visible()
        fresh = open_page(at=server)
        expect(button(fresh, "Kitchen · 2 documents")).to_be_visible()
        assert "collection" not in fresh.url


def test_an_export_is_a_file_that_can_be_imported(open_page, keeping: Server, tmp_path: Path) -> None:
    page = open_page(at=keeping)
    keep_notes(page, "Pantry")
    button(page, "More").click()
    with page.expect_download() as download:
        button(page, "Export").click()
    saved = tmp_path / "saved.db"
    download.value.save_as(saved)
    assert saved.read_bytes().startswith(b"SQLite format 3")
    page.keyboard.press("Escape")
    button(page, "Import").click()
    page.locator("[class*=st-key-import_] input[type=file]").set_input_files(saved)
    expect(page.locator(".st-key-menu")).to_contain_text("Pantry (2)")


def test_a_folder_of_this_machine_is_kept_in_step_by_itself(open_page, keeping: Server, tmp_path: Path) -> None:
    folder = tmp_path / "My notes"
    folder.mkdir()
    (folder / "salt.txt").write_text("Salt melts at 801 degrees.")
    page = open_page("/documents", at=keeping)
    page.get_by_text("Folders of this machine", exact=True).click()
    page.get_by_label("Folder", exact=True).fill(str(folder))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="1 document")).to_be_visible()
    settle(page)
    page.get_by_text("Sync by itself while this page is open").click()
    settle(page)
    (folder / "tea.txt").write_text("Tea is hot.")
    expect(page.get_by_role("heading", name="2 documents")).to_be_visible()


def test_a_thousand_notes_by_folder_upload(open_page, keeping: Server, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for n in range(1000):
        (folder / f"n{n:04}.md").write_text(f"# Note {n}\n\nThis is the note of number {n}.\n")
    page = open_page("/documents", at=keeping, size=PHONE)
    started = time.monotonic()
    upload(page, "folder", folder)
    expect(page.locator(".st-key-progress")).to_contain_text("of 1,000 files")
    expect(page.get_by_role("heading", name="1,000 documents")).to_be_visible()
    settle(page)
    assert time.monotonic() - started < 300
    expect(page.get_by_text("n0019.md")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    expect(page.locator("[class*=st-key-file_]:has(.source)")).to_have_count(20)
