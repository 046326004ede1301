"""The Inspect page in a real browser: choosing a row, the files, the pictures, a phone."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import PHONE, button, go, settle, text_file, upload

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=alert(1)>=1+1 salt.txt"
NOTES = {
    "salt.txt": "Salt melts at 801 degrees, and boils at 1413.",
    "tea.txt": "Tea is best at 80 degrees.",
    "snow.txt": "Snow melts at 0 degrees.",
    HOSTILE: "=HYPERLINK(1) Salt is in every sea.",
}
QUESTION = "At how many degrees does salt melt?"


def open_inspect(open_page, **window) -> Page:
    page = open_page("/documents", **window)
    upload(page, "files", [text_file(name, text) for name, text in NOTES.items()])
    expect(page.get_by_role("heading", name=f"{len(NOTES)} documents")).to_be_visible()
    settle(page)
    go(page, "Inspect")
    page.get_by_label("Question", exact=True).fill(QUESTION)
    button(page, "Find passages").click()
    expect(page.locator(".st-key-chosen")).to_contain_text("1 · salt.txt")
    settle(page)
    return page


def click_row(page: Page, number: int) -> None:
    """Click the box of a row of the table, which is drawn: 35 pixels a row, under a head of 35."""
    table = page.get_by_test_id("stDataFrame")
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 20, box["y"] + 35 * number + 18)
    settle(page)


def saved(page: Page, name: str) -> str:
    with page.expect_download() as download:
        button(page, name).click()
    return Path(download.value.path()).read_text("utf-8-sig")


def tooltip_over(page: Page, chart: Locator) -> str:
    """Move over a picture until it tells what is there."""
    box = chart.bounding_box()
    assert box is not None
    tooltip = page.locator("#vg-tooltip-element.visible")
    for across in range(20, 100, 5):
        for down in range(15, 100, 5):
            page.mouse.move(box["x"] + box["width"] * across / 100, box["y"] + box["height"] * down / 100)
            if tooltip.count() and "<img" in tooltip.inner_text():
                return tooltip.inner_text()
    return ""


def test_a_row_is_chosen_and_its_passage_shown_and_the_files_hold_the_rows(open_page) -> None:
    page = open_inspect(open_page)
    rows = json.loads(saved(page, "JSON"))
    assert [row["place"] for row in rows] == [1, 2, 3, 4]
    assert rows[0]["document"] == "salt.txt"

    for number in (3, 2):
        click_row(page, number)
        chosen = page.locator(".st-key-chosen")
        expect(chosen).to_contain_text(f"{number} · {rows[number - 1]['document']}")
        expect(chosen).to_contain_text(rows[number - 1]["text"])

    page.get_by_test_id("stDataFrame").hover()
    expect(page.get_by_test_id("stDataFrame").get_by_test_id("stElementToolbar")).to_be_visible()
    expect(page.get_by_role("button", name="Download as CSV", include_hidden=True)).to_have_count(1)
    expect(page.get_by_role("button", name="Download as CSV")).to_have_count(0)  # it would not be safe from formulas
    table = list(csv.DictReader(saved(page, "CSV").splitlines()))
    assert [row["bm25 score"] for row in table] == [str(row["bm25 score"]) for row in rows]
    (formula,) = (row["text"] for row in table if "HYPERLINK" in row["text"])
    assert formula.startswith("'=HYPERLINK")


def test_names_in_pictures_and_tables_are_only_text(open_page) -> None:
    page = open_inspect(open_page)  # it fails if anything is asked of another machine
    charts = page.get_by_test_id("stVegaLiteChart")
    expect(charts).to_have_count(2)
    charts.last.scroll_into_view_if_needed()
    assert HOSTILE in tooltip_over(page, charts.last)


def test_on_a_phone_nothing_scrolls_sideways_in_any_tab(open_page) -> None:
    page = open_inspect(open_page, size=PHONE)
    for tab, seen in (
        ("What was found", "Where they agree"),
        ("Why not?", "A sentence that you expected in the prompt"),
        ("How documents were cut", "Length of the passages"),
    ):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_text(seen).first).to_be_visible()
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
