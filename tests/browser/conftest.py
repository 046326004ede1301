"""The app's own server, a real Chromium, and what the browser tests do over and over.

The tests use Playwright's driver with the system's Chromium: its path is taken from the variable ``CHROMIUM``, else
from ``PATH``. Where there is none the tests are skipped, or fail if ``AUTOCONTEXT_REQUIRE_BROWSER`` is set.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from tests.fake_llm import FakeLLM

ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
CHROMIUM_ARGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
).split()
PATIENCE = 90.0  # seconds; only a failing test, or the first one on a busy machine, waits so long
WIDE, PHONE = (1280, 900), (390, 844)
QUESTION = "Who says that economics is bullshit?"
# A page that is not the first one looks for these under its own address before it finds them at the root.
_HARMLESS = ("/_stcore/health", "/_stcore/host-config")
expect.set_options(timeout=PATIENCE * 1000)


class Server:
    """The app on a free port, as a user starts it."""

    def __init__(self, *, warm_up: bool = True) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.pages: list[Page] = []
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the server
        keys = ("_API_KEY", "_API_BASE", "_BASE_URL")
        environment = {name: value for name, value in os.environ.items() if not name.endswith(keys)}
        environment |= {"AUTOCONTEXT_WARM_UP": str(int(warm_up)), "AUTOCONTEXT_MODEL": "ollama/gemma3"}
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless=true"]
        self._process = subprocess.Popen(
            [*command, f"--server.port={port}"],
            cwd=ROOT,
            env=environment | {"NO_PROXY": "127.0.0.1,localhost"},
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    def __enter__(self) -> Self:
        """Wait until it answers."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=1) as answer:
                    if answer.read() == b"ok":
                        return self
            except OSError:
                time.sleep(0.05)
        self.__exit__(None, None, None)
        raise RuntimeError("the app does not start")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the pages that show it, since a browser complains of a server that goes, and end the process."""
        for page in self.pages:
            page.close()
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)
        self._log.close()

    def log(self) -> str:
        """Return what it has printed so far."""
        return os.pread(self._log.fileno(), 1_000_000, 0).decode()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not Path(CHROMIUM).is_file():
        missing = f"no Chromium at {CHROMIUM}: install it, or set CHROMIUM to its path"
        if os.environ.get("AUTOCONTEXT_REQUIRE_BROWSER"):
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def server(browser: Browser) -> Iterator[Server]:
    """Return the app that most tests share; each page that a test opens is a session of its own."""
    with Server() as running:
        yield running


@pytest.fixture(scope="module")
def keeping(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return an app with a place for collections, that the tests of a module share: each needs names of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTOCONTEXT_DATA", str(tmp_path_factory.mktemp("kept")))
        with Server() as running:
            yield running


@pytest.fixture
def llm() -> Iterator[FakeLLM]:
    with FakeLLM() as running:
        yield running


@pytest.fixture
def open_page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[..., Page]]:
    """Return ``open_page("/documents", size=PHONE, dark=True)``: a new browser window at an address of the app.

    A test fails if one of its pages asks another machine for anything, or reports an error.
    """
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def make(path: str = "/", *, size: tuple[int, int] = WIDE, dark: bool = False, at: Server | None = None) -> Page:
        url = (at or request.getfixturevalue("server")).url
        context = new_context(browser, url, size, dark=dark)
        contexts.append(context)
        context.on("request", lambda sent: None if is_local(sent.url) else complaints.append(f"asked {sent.url}"))
        context.on("weberror", lambda error: complaints.append(f"page error: {error.error}"))
        context.on("console", lambda message: complaints.append(message.text) if is_error(message) else None)
        page = context.new_page()
        page.on("websocket", lambda socket: None if is_local(socket.url) else complaints.append(f"asked {socket.url}"))
        if at is not None:
            at.pages.append(page)
        page.goto(url + path)
        settle(page)
        return page

    yield make
    for context in contexts:
        context.close()
    assert complaints == []


def new_context(browser: Browser, url: str, size: tuple[int, int], *, dark: bool) -> BrowserContext:
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        is_mobile=size == PHONE,
        has_touch=size == PHONE,
    )
    context.set_default_timeout(PATIENCE * 1000)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=url)
    return context


def is_local(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("data", "blob") or parts.hostname == "127.0.0.1"


def is_error(message) -> bool:
    return message.type == "error" and not urlsplit(message.location.get("url", "")).path.endswith(_HARMLESS)


# ---- what a user does ------------------------------------------------------------------------------------------------


def settle(page: Page) -> None:
    """Wait until the script has run, and all that it draws is there."""
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    page.wait_for_function("!document.querySelector('[data-testid=stSkeleton]') && document.fonts.status === 'loaded'")


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def go(page: Page, label: str) -> None:
    """Click a page's name in the menu."""
    close_messages(page)
    page.locator(".st-key-menu").get_by_role("link", name=label).click()
    expect(page).to_have_title(f"{label} · AutoContext")
    settle(page)


def close_messages(page: Page) -> None:
    """Click the messages away, as they would go by themselves after some seconds: on a phone they lie over the menu."""
    page.wait_for_function(
        "() => { const messages = [...document.querySelectorAll('[data-testid=stToast]')];"
        "messages.forEach(one => one.querySelector('[aria-label=Close]')"
        "?.dispatchEvent(new MouseEvent('click', {bubbles: true}))); return !messages.length; }",
        polling=100,
    )


def add_sample(page: Page) -> None:
    """Click on the sample collection and wait until it can be asked."""
    button(page, "Try the sample collection").click()
    expect(page.get_by_label("Question", exact=True)).to_be_visible()
    settle(page)


def upload(page: Page, kind: str, files: object) -> None:
    """Give files to the widget for a ``"folder"`` or for single ``"files"``."""
    page.locator(f"[class*=st-key-{kind}_] input[type=file]").set_input_files(files)


def text_file(name: str, text: str) -> dict[str, object]:
    """Return a file that exists in the browser only."""
    return {"name": name, "mimeType": "text/plain", "buffer": text.encode()}


def add_notes(page: Page) -> None:
    """Upload two short files, which is much faster than the sample collection, and go on to the question."""
    go(page, "Documents")
    upload(page, "files", [text_file("salt.txt", "Salt melts at 801 degrees."), text_file("tea.txt", "Tea is hot.")])
    expect(page.get_by_role("heading", name="2 documents")).to_be_visible()
    settle(page)
    go(page, "Ask")


def ask(page: Page, question: str = QUESTION) -> None:
    page.get_by_label("Question", exact=True).fill(question)
    button(page, "Find passages").click()
    expect(page.locator(".st-key-passage_1")).to_be_visible()
    settle(page)


def choose_model(page: Page, model: str, address: str) -> None:
    """Type a model's name and, behind the popover, its address."""
    page.get_by_label("Model", exact=True).fill(model)
    page.keyboard.press("Enter")
    settle(page)
    button(page, "Address and key").click()
    page.get_by_label("Address", exact=True).fill(address)
    page.keyboard.press("Enter")
    settle(page)
    page.keyboard.press("Escape")
    expect(page.get_by_label("Address", exact=True)).to_be_hidden()


def shown_prompt(page: Page) -> str:
    """Return the text of the prompt's code element, which is the last one of the page."""
    return page.get_by_test_id("stCode").last.locator("code").text_content() or ""
