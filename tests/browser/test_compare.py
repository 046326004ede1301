"""What only a browser shows of Compare and Settings: a slider moved by keys, a reload, a phone, the bar that stays."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Server, button, go, settle
from tests.browser.test_collections import keep_notes

pytestmark = pytest.mark.browser


def ask_on_compare(page: Page, question: str) -> None:
    go(page, "Compare")
    page.get_by_label("Question", exact=True).fill(question)
    button(page, "Compare").click()
    expect(page.locator(".moved tbody tr")).to_have_count(2)
    settle(page)


def test_the_slider_by_keys_its_settings_used_kept_over_a_reload_and_undone(open_page, keeping: Server) -> None:
    page = open_page(at=keeping)
    keep_notes(page, "Kitchen")
    ask_on_compare(page, "Is salt hot?")
    page.get_by_role("radio", name="Words or meaning").click()
    slider = page.get_by_role("slider")
    expect(slider).to_be_visible()
    settle(page)
    slider.focus()
    page.keyboard.press("Home")
    expect(page.get_by_text("Words only", exact=True).first).to_be_visible()
    settle(page)
    button(page, "Use these settings").click()
    expect(page.get_by_text(re.compile("^Changed: .*Weights"))).to_be_visible()
    settle(page)

    go(page, "Settings")
    expect(page.get_by_label("Weight of Dense")).to_have_value("0")
    page.reload()
    settle(page)
    expect(page.get_by_label("Weight of Dense")).to_have_value("0")
    expect(page.locator(".st-key-menu")).to_contain_text("Kitchen")

    page.get_by_label("Weight of Dense").fill("0.5")
    page.keyboard.press("Enter")
    expect(page.locator(".st-key-settings_bar")).to_contain_text("This embeds 2 passages at most")
    button(page, "Save").click()
    expect(button(page, "Undo")).to_be_visible()
    settle(page)
    button(page, "Undo").click()
    old_and_new = page.get_by_label("Weight of Dense")  # for a moment the field that goes stands beside the new one
    expect(old_and_new.first).to_have_value("0")
    expect(old_and_new).to_have_count(1)


def test_another_size_runs_in_the_background_and_fits_a_phone(open_page, keeping: Server) -> None:
    page = open_page(at=keeping, size=PHONE, dark=True)
    keep_notes(page, "Cellar")
    ask_on_compare(page, "Is salt hot?")
    page.get_by_role("radio", name="Passage size").click()
    expect(page.get_by_text("5 sentences", exact=True).first).to_be_visible()
    settle(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")

    go(page, "Settings")
    field = page.get_by_label("k1", exact=True)
    field.fill("2")
    page.keyboard.press("Enter")
    expect(page.locator(".st-key-settings_bar")).to_contain_text("1 change")
    field.scroll_into_view_if_needed()
    expect(page.locator(".st-key-settings_bar")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
