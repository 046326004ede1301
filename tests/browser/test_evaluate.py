"""What only a browser shows of measuring: mark an answer, measure, take the best settings, and take that back."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, ask, button, go, settle, text_file, upload

pytestmark = pytest.mark.browser
LONG = "Tea is tea and " + "much more besides " * 20 + "too."


def test_an_answer_is_marked_settings_are_measured_taken_and_undone(open_page) -> None:
    page = open_page()
    go(page, "Documents")
    upload(page, "files", [text_file("long.txt", LONG), text_file("short.txt", "Tea is hot.")])
    expect(page.get_by_role("heading", name="2 documents")).to_be_visible()
    settle(page)
    go(page, "Ask")
    ask(page, "tea?")
    card = page.locator("[class*=st-key-passage_]", has_text="Tea is hot.").last
    card.get_by_role("button", name="This answers it").click()
    expect(card.get_by_role("button", name="Marked as the answer")).to_be_visible()
    settle(page)

    go(page, "Evaluate")
    expect(page.get_by_role("heading", name="1 question")).to_be_visible()
    page.get_by_text("Measure", exact=True).click()
    settle(page)
    page.get_by_text("How rankings are put together").click()
    settle(page)
    page.locator(".st-key-measure button").click()
    table = page.locator(".figures").first
    expect(table).to_contain_text("Present settings")
    expect(table).to_contain_text("Fusion")
    settle(page)
    use = button(page, "Use these settings")
    expect(use).to_be_visible()
    use.click()
    expect(page.locator(".st-key-undo_bar")).to_be_visible()
    settle(page)
    page.locator(".st-key-undo_settings button").click()
    expect(page.get_by_text("The settings are as they were before.")).to_be_visible()


def test_the_page_fits_a_phone(open_page) -> None:
    page = open_page("/evaluate", size=PHONE)
    expect(page.get_by_role("heading", name="Evaluate")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
