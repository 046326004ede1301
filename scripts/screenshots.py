"""Take the pictures of the app that the documentation shows.

Starts the app and the scripted model server of the tests, goes from the sample collection to an answer in a real
Chromium, and writes ``docs/images/{ask_light,ask_dark,documents_light,ask_phone}.png``.

Run it from the root of the repository::

    python -m scripts.screenshots

It needs what the browser tests need: playwright, and Chromium (``CHROMIUM`` may name it).
"""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.conftest import (
    CHROMIUM,
    CHROMIUM_ARGS,
    PHONE,
    WIDE,
    Server,
    add_sample,
    ask,
    button,
    choose_model,
    go,
    new_context,
    settle,
)
from tests.fake_llm import FakeLLM

IMAGES = Path("docs") / "images"


def main() -> None:
    """Take all pictures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with Server() as server, FakeLLM(delay=0.1) as llm, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGS)
        page = new_context(browser, server.url, WIDE, dark=False).new_page()
        page.goto(server.url)
        settle(page)
        add_sample(page)
        ask(page)
        choose_model(page, "ollama/gemma3", llm.ollama_base)
        ask_model(page, llm)
        ask_model(page, llm)  # the first time waits for litellm's import, which would be in the picture
        take(page, "ask_light")
        page.emulate_media(color_scheme="dark")
        take(page, "ask_dark")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        take(page, "ask_phone")
        page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
        go(page, "Documents")
        take(page, "documents_light")
        browser.close()


def ask_model(page: Page, llm: FakeLLM) -> None:
    """Ask the scripted model, which counts the prompt's tokens as the page does, and wait for the end."""
    counted = re.search(r"about ([\d,]+) of", page.get_by_test_id("stProgress").last.inner_text())
    if counted:
        llm.prompt_tokens = int(counted.group(1).replace(",", ""))
    button(page, "Ask model").click()
    expect(button(page, "Stop")).to_be_visible()
    expect(page.locator(".st-key-answer")).to_contain_text("Copy the answer")
    expect(button(page, "Ask model")).to_be_enabled()


def take(page: Page, name: str) -> None:
    """Write what the window shows, when nothing moves any more."""
    expect(page.get_by_test_id("stToast")).to_have_count(0)
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    settle(page)
    page.wait_for_timeout(500)  # colours fade
    path = IMAGES / f"{name}.png"
    page.screenshot(path=path)
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
