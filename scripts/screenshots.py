"""Take the pictures of the app that the documentation shows.

Starts the app and the scripted model server of the tests, goes from the sample collection to an answer, and from there
the way of ``docs/tutorial.md``, in a real Chromium, and writes ``docs/images/PAGE_{light,dark,phone}.png``.

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
from tests.conftest import DATA
from tests.fake_llm import FakeLLM

IMAGES = Path("docs") / "images"
TALL = (1280, 1280)  # what moved stands below the settings
QUESTION = "Which colleague argues against the sceptic down the hall?"  # that of the tutorial


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
        take(page, "ask_dark", dark=True)
        take(page, "ask_phone", size=PHONE)
        go(page, "Documents")
        take(page, "documents_light")
        inspect(page)
        take(page, "inspect_light")
        compare(page)
        take(page, "compare_dark", size=TALL, dark=True)
        evaluate(page)
        take(page, "evaluate_light")
        go(page, "Settings")
        take(page, "settings_phone", size=PHONE)
        take(page, "settings_light")
        browser.close()


def inspect(page: Page) -> None:
    """Ask the tutorial's question on the Inspect page."""
    go(page, "Inspect")
    page.get_by_label("Question", exact=True).fill(QUESTION)
    button(page, "Find passages").click()
    expect(page.locator(".st-key-chosen")).to_contain_text("1 · data/meeting")
    settle(page)


def compare(page: Page) -> None:
    """Move the slider from words to meaning."""
    go(page, "Compare")
    page.get_by_role("radio", name="Words or meaning").click()
    settle(page)
    slider = page.get_by_role("slider")
    for _ in range(6):  # of five hundredths
        slider.focus()
        page.keyboard.press("ArrowRight")
        settle(page)
    expect(page.get_by_text("70 % meaning", exact=True).first).to_be_visible()
    expect(page.locator(".moved tbody tr").first).to_be_visible()


def evaluate(page: Page) -> None:
    """Measure weights on the sample's questions."""
    go(page, "Evaluate")
    button(page, "Import").click()
    page.locator("[class*=st-key-import_questions_] input[type=file]").set_input_files(DATA / "questions.jsonl")
    expect(page.get_by_text("Questions (53)")).to_be_visible()
    settle(page)
    page.keyboard.press("Escape")
    page.get_by_text("Measure", exact=True).click()
    settle(page)
    page.get_by_text("Weight of meaning against words").click()
    settle(page)
    page.locator(".st-key-measure button").click()
    expect(page.locator(".st-key-best")).to_contain_text("answered earlier")


def ask_model(page: Page, llm: FakeLLM) -> None:
    """Ask the scripted model, which counts the prompt's tokens as the page does, and wait for the end."""
    counted = re.search(r"about ([\d,]+) of", page.get_by_test_id("stProgress").last.inner_text())
    if counted:
        llm.prompt_tokens = int(counted.group(1).replace(",", ""))
    button(page, "Ask model").click()
    expect(button(page, "Stop")).to_be_visible()
    expect(page.locator(".st-key-answer")).to_contain_text("Copy the answer")
    expect(button(page, "Ask model")).to_be_enabled()


def take(page: Page, name: str, *, size: tuple[int, int] = WIDE, dark: bool = False) -> None:
    """Write what the window shows, when nothing moves any more."""
    page.emulate_media(color_scheme="dark" if dark else "light")
    page.set_viewport_size({"width": size[0], "height": size[1]})
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
