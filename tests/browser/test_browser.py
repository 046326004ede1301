"""The app in a real browser, against its own server: what only a browser can show."""

from __future__ import annotations

import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from autocontext import AutoContext
from autocontext.ui.frame import PAGES
from tests.browser.conftest import (
    PATIENCE,
    PHONE,
    QUESTION,
    Server,
    add_notes,
    add_sample,
    ask,
    button,
    choose_model,
    go,
    settle,
    shown_prompt,
    text_file,
    upload,
)
from tests.fake_llm import ANSWER, FakeLLM

pytestmark = pytest.mark.browser
BROKEN_PDF = b"%PDF-1.4\nthis is no PDF"


def rows(page: Page) -> dict[str, str]:
    """Return what is told of each file, by name."""
    shown = {}
    for row in page.locator("[class*=st-key-file_]:has(.source)").all():
        lines = row.inner_text().splitlines()
        shown[row.locator(".source").inner_text()] = " ".join(line for line in lines if line)
    return shown


def texts_until(page: Page, selector: str, is_last: Callable[[str], bool]) -> list[str]:
    """Return each different text that an element has, until one of them is the last."""
    seen: list[str] = []
    deadline = time.monotonic() + PATIENCE
    while not (seen and is_last(seen[-1])):
        assert time.monotonic() < deadline, seen[-3:]
        for text in page.locator(selector).all_inner_texts():
            if text not in seen:
                seen.append(text)
        page.wait_for_timeout(30)
    return seen


# ---- the way through -------------------------------------------------------------------------------------------------


def sample_is_indexed_with_progress(page: Page) -> None:
    expect(page.get_by_role("heading", name="Ask your own documents")).to_be_visible()
    button(page, "Try the sample collection").click()
    expect(page.locator(".st-key-progress")).to_contain_text("of")
    expect(page.get_by_label("Question", exact=True)).to_be_visible()
    settle(page)
    expect(page.locator(".st-key-progress")).to_have_count(0)


def prompt_is_copied(page: Page) -> str:
    page.get_by_test_id("stCode").last.hover()
    page.get_by_role("button", name="Copy to clipboard").last.click()
    return page.evaluate("navigator.clipboard.readText()")


@pytest.mark.parametrize("protocol", ["openai", "ollama"])
def test_from_the_sample_to_a_streamed_answer(open_page, llm: FakeLLM, sample: AutoContext, protocol: str) -> None:
    page = open_page()
    sample_is_indexed_with_progress(page)

    ask(page)
    expect(page.locator(".st-key-passage_1")).to_contain_text("Pauli Blendergast says that economics is bullshit.")
    expect(page.locator(".st-key-passage_1 mark").last).to_have_text("bullshit")
    prompt = shown_prompt(page)
    assert prompt == str(sample.get_prompt(QUESTION))
    assert prompt_is_copied(page) == prompt

    llm.delay = 0.15
    llm.answer = f"{ANSWER} It is said in the first minute of the first lecture of every term."
    choose_model(page, f"{protocol}/ok", llm.base(protocol))
    button(page, "Ask model").click()
    seen = texts_until(page, ".st-key-answer", lambda text: "Copy the answer" in text)
    partial = {text.partition(" ▌")[0] for text in seen if " ▌" in text}
    assert len(partial) >= 3
    assert all(llm.answer.startswith(text) for text in partial)
    assert llm.answer in seen[-1]
    assert "[1] data/economics.txt, line 1" in seen[-1]
    assert f"{protocol}/ok · {llm.counted} tokens in · {len(llm.words())} tokens out" in seen[-1]
    expect(button(page, "Ask model")).to_be_enabled()
    assert [message["content"] for message in llm.chats()[0].body["messages"]] == [prompt]


def test_a_second_question_takes_the_place_of_the_first(open_page) -> None:
    page = open_page()
    add_notes(page)
    ask(page, "When does salt melt?")

    ask(page, "Is tea hot?")

    expect(page.get_by_test_id("stCode").last).to_contain_text("Question: Is tea hot?", timeout=5_000)
    expect(page.get_by_label("Question", exact=True)).to_have_value("Is tea hot?")
    ask(page, "Is salt hot?")
    expect(page.get_by_test_id("stCode").last).to_contain_text("Question: Is salt hot?", timeout=5_000)


def test_the_keyboard_is_enough(open_page) -> None:
    page = open_page()
    add_notes(page)

    tab_to(page, "input", "Question")
    page.keyboard.type("When does salt melt?")
    page.keyboard.press("Enter")

    expect(page.locator(".st-key-passage_1")).to_contain_text("Salt melts at 801 degrees.")


def tab_to(page: Page, element: str, name: str) -> None:
    """Press Tab until an element of this name has the focus."""
    for _ in range(15):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "[document.activeElement.localName, document.activeElement.ariaLabel ?? "
            "document.activeElement.innerText ?? '']"
        )
        if focused[0] == element and focused[1].endswith(name):
            return
    pytest.fail(f"Tab does not lead to {name}")


# ---- documents -------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "salt.txt": b"Salt melts at 801 degrees. It dissolves in water. It is white.",
        "bread.md": b"# Bread\n\nBread bakes at 230 degrees. It rises first. It cools last.",
        "sub/tide.txt": b"The tide turns every six hours. The moon pulls it. Fishermen know it.",
        "sub/deep/lamp.txt": b"The lamp of the lighthouse is lit at dusk. It burns oil. It is cleaned at noon.",
        "sub/deep/café 日本語.txt": "Das Café öffnet um sieben Uhr. Es schließt um neun. Montags ist Ruhetag.".encode(),
        "birds.markdown": b"Swifts sleep in the air. They land to nest. They leave in August.",
        "setup.exe": b"MZ\0\0",
        "sub/broken.pdf": BROKEN_PDF,
    }
    for name, data in files.items():
        path = tmp_path / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "notes"


def test_a_folder_is_uploaded_asked_and_removed(open_page, folder: Path) -> None:
    page = open_page("/documents")

    upload(page, "folder", folder)

    expect(page.get_by_role("heading", name="6 documents")).to_be_visible()
    settle(page)
    shown = rows(page)
    paths = [path for path in folder.rglob("*") if path.is_file()]
    assert sorted(shown) == sorted(f"notes/{path.relative_to(folder).as_posix()}" for path in paths)
    assert "damaged or not a PDF" in shown["notes/sub/broken.pdf"]
    assert "failed" in shown["notes/sub/broken.pdf"]
    assert "skipped" in shown["notes/setup.exe"]
    assert all("added" in shown[name] for name in shown if not name.endswith((".exe", ".pdf")))

    go(page, "Ask")
    ask(page, "When is the lamp of the lighthouse lit?")
    expect(page.locator(".st-key-passage_1 .source")).to_have_text("1 · notes/sub/deep/lamp.txt")
    expect(page.locator(".st-key-passage_1")).to_contain_text("lit at dusk")

    go(page, "Documents")
    button(page, "Remove all").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("6 documents will leave this session.")
    dialog.get_by_role("button", name="Remove all").click()
    expect(page.get_by_text("No documents yet.")).to_be_visible()
    assert rows(page) == {}


def test_a_click_elsewhere_does_not_break_indexing(open_page) -> None:
    page = open_page("/documents")
    notes = [f"Note {n} of file {{}} tells of salt and bread. It is long. It ends here." for n in range(20)]
    files = [text_file(f"n{number}.txt", "\n\n".join(notes).format(*[number] * 20)) for number in range(12)]

    upload(page, "files", files)
    expect(page.locator(".st-key-progress")).to_be_visible()
    go(page, "Ask")
    expect(page.locator(".st-key-progress")).to_be_visible()  # else it was over too soon to show anything

    expect(page.get_by_label("Question", exact=True)).to_be_visible()
    ask(page, "What does note 19 of file 11 tell of?")
    go(page, "Documents")
    expect(page.get_by_role("heading", name="12 documents · 48 passages")).to_be_visible()
    assert all("4 passages" in told for told in rows(page).values())


def test_documents_can_be_the_first_page_of_a_fresh_server(open_page) -> None:
    with Server(warm_up=False) as fresh:
        page = open_page("/documents", at=fresh)
        menu = page.locator(".st-key-menu")
        expect(menu.get_by_role("link").first).to_be_visible()
        settle(page)
        names = [link.inner_text().split()[-1] for link in menu.get_by_role("link").all()]
        assert names == [label for _, label, _ in PAGES]
        expect(page.get_by_role("heading", name="Documents")).to_be_visible()
        expect(page.get_by_test_id("stSidebarNav")).to_have_count(0)
        expect(page.get_by_test_id("stSidebar")).to_have_count(0)

        upload(page, "files", [{"name": "a.exe", "mimeType": "", "buffer": b"MZ"}])
        expect(page.get_by_text("a.exe", exact=True)).to_be_visible()
        page.keyboard.press("F5")
        expect(page.get_by_text("No documents yet.")).to_be_visible()
        settle(page)
        assert rows(page) == {}
        expect(menu.get_by_role("link")).to_have_count(len(PAGES))

        go(page, "Ask")
        expect(page.get_by_role("heading", name="Ask your own documents")).to_be_visible()
        assert "Traceback" not in fresh.log()
        page.close()


# ---- the model -------------------------------------------------------------------------------------------------------


def test_a_slow_answer_can_be_stopped_and_its_part_stays(open_page, llm: FakeLLM) -> None:
    llm.answer = " ".join(f"word{number}" for number in range(200))
    page = open_page()
    add_notes(page)
    ask(page)
    choose_model(page, "openai/slow", llm.openai_base)
    button(page, "Ask model").click()
    expect(page.locator(".st-key-answer")).to_contain_text("word2")

    start = time.monotonic()
    button(page, "Stop").click()
    expect(page.locator(".st-key-answer")).to_contain_text("you stopped it")
    expect(button(page, "Ask model")).to_be_enabled()

    assert time.monotonic() - start < 3
    expect(page.locator(".st-key-answer")).to_contain_text("word0 word1 word2")
    expect(button(page, "Stop")).to_have_count(0)
    assert llm.disconnected.wait(PATIENCE), "the model is still at work"


@pytest.mark.parametrize("protocol", ["openai", "ollama"])
def test_stop_works_within_a_second_while_the_server_is_silent(open_page, llm: FakeLLM, protocol: str) -> None:
    page = open_page()
    add_notes(page)
    ask(page, "When does salt melt?")
    choose_model(page, f"{protocol}/hang", llm.base(protocol))
    button(page, "Ask model").click()
    expect(page.locator(".st-key-answer")).to_contain_text("Waiting for the model")
    expect(button(page, "Stop")).to_be_visible()
    while not llm.chats():
        page.wait_for_timeout(50)

    start = time.monotonic()
    button(page, "Stop").click()
    expect(page.locator(".st-key-answer")).to_contain_text("Stopped before the first word.")
    assert time.monotonic() - start < 1
    expect(button(page, "Ask model")).to_be_enabled()


def test_a_click_elsewhere_in_an_answer_keeps_what_came_and_what_comes(open_page, llm: FakeLLM) -> None:
    llm.answer = " ".join(f"word{number}" for number in range(60))
    llm.delay = 0.1
    page = open_page()
    add_notes(page)
    ask(page, "When does salt melt?")
    choose_model(page, "openai/ok", llm.openai_base)
    button(page, "Ask model").click()
    expect(page.locator(".st-key-answer")).to_contain_text("word3")

    button(page, "Limits").click()
    expect(page.get_by_label("Token budget", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".st-key-answer")).to_contain_text("word0 word1 word2 word3")
    for name in ("Documents", "Models"):
        go(page, name)
    go(page, "Ask")
    expect(page.locator(".st-key-answer")).to_contain_text("word0 word1 word2 word3")

    expect(page.locator(".st-key-answer")).to_contain_text("Copy the answer")
    assert llm.answer in page.locator(".st-key-answer").inner_text()
    assert len(llm.chats()) == 1


def test_a_model_is_found_tested_and_taken_on_the_models_page(open_page, llm: FakeLLM) -> None:
    page = open_page("/models")
    page.get_by_label("Address", exact=True).fill(llm.ollama_base)
    page.keyboard.press("Enter")
    settle(page)
    button(page, "List models").click()
    expect(page.locator(".st-key-listed_0")).to_contain_text("ollama/gemma3:270m")
    page.locator(".st-key-use_listed_0 button").click()
    settle(page)
    # A new field takes the old one's place: for a moment there are two.
    expect(page.get_by_label("Model", exact=True).first).to_have_value("ollama/gemma3:270m")
    button(page, "Test").click()
    expect(page.locator(".st-key-model_test")).to_contain_text("It takes 32,768 tokens in all (Ollama says so).")
    button(page, "Add to favourites").click()
    expect(page.locator(".st-key-favourite_0")).to_contain_text("ollama/gemma3:270m")

    add_notes(page)
    ask(page, "When does salt melt?")
    button(page, "Ask model").click()
    expect(page.locator(".st-key-answer")).to_contain_text("ollama/gemma3:270m · ")
    assert llm.last("/api/chat").body["options"]["num_ctx"] == 4096
    assert llm.last("/api/chat").body["truncate"] is False


def test_the_form_of_the_prompt_is_edited_checked_and_used(open_page) -> None:
    page = open_page()
    add_notes(page)
    ask(page, "When does salt melt?")
    button(page, "Form").click()
    dialog = page.get_by_role("dialog")
    text = dialog.get_by_label("Template", exact=True)
    text.fill("{context}")
    text.press("Control+Enter")
    expect(dialog).to_contain_text("The field {query} is missing")
    expect(dialog.get_by_role("button", name="Use this form")).to_be_disabled()

    text.fill("{context}\nIn one word: {query}")
    text.press("Control+Enter")
    expect(dialog.get_by_test_id("stCode")).to_contain_text("In one word: When does salt melt?")
    dialog.get_by_role("button", name="Use this form").click()
    expect(dialog).to_have_count(0)
    settle(page)
    assert shown_prompt(page).endswith("--- END CONTEXT ---\nIn one word: When does salt melt?")


def test_an_answer_is_shown_as_it_was_written(open_page, llm: FakeLLM) -> None:
    llm.answer = r"Result:yes[1], 答案:是[2], **bold**, \$5 or $6, at 10:30, :red[x], a@b.example, <https:b.example>."
    page = open_page()
    add_notes(page)
    ask(page, "When does salt melt?")
    choose_model(page, "openai/ok", llm.openai_base)
    button(page, "Ask model").click()
    expect(page.locator(".st-key-answer")).to_contain_text("Copy the answer")

    paragraph = page.locator(".st-key-answer .answer")
    assert paragraph.inner_text().strip() == llm.answer.replace("**", "").replace("\\", "")
    expect(paragraph.locator("strong")).to_have_text("bold")
    expect(paragraph.locator("a:not([href^='#passage-'])")).to_have_count(0)


# ---- looks and safety ------------------------------------------------------------------------------------------------


def test_a_phone_never_scrolls_sideways(open_page, llm: FakeLLM) -> None:
    llm.answer = f"{ANSWER} {'verylongword' * 20}"
    page = open_page(size=PHONE)
    widths = page_widths(page)
    add_sample(page)
    ask(page)
    choose_model(page, "openai/ok", llm.openai_base)
    button(page, "Ask model").click()
    expect(page.locator(".st-key-answer")).to_contain_text("Copy the answer")
    widths += page_widths(page)
    llm.prompt_tokens = 50  # of more than 300: the banner is there as well
    button(page, "Ask model").click()
    expect(page.locator(".st-key-answer")).to_contain_text("The model saw only 50 of about ")
    widths += page_widths(page)
    button(page, "Form").click()
    expect(page.get_by_role("dialog")).to_contain_text("Use this form")
    widths += page_widths(page)
    page.keyboard.press("Escape")
    go(page, "Models")
    for name in ("Test", "Add to favourites", "List models"):
        button(page, name).click()
        settle(page)
    expect(page.locator(".st-key-favourite_0")).to_be_visible()
    widths += page_widths(page)
    go(page, "Documents")
    upload(page, "files", [text_file(f"{'verylongname' * 12}.txt", "Salt."), text_file(f"{'long name ' * 15}.exe", "")])
    expect(page.get_by_role("heading", name="12 documents")).to_be_visible()
    widths += page_widths(page)

    assert max(widths) <= PHONE[0] + 1


def page_widths(page: Page) -> list[int]:
    """Return the widest that the page and its scrolled main part are, with light and with dark colours."""
    widths = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        settle(page)
        widths += page.evaluate(
            "[document.documentElement, document.body, document.querySelector('[data-testid=stMain]')]"
            ".map(element => element.scrollWidth)"
        )
    page.emulate_media(color_scheme="light")
    return widths


class Attacker(ThreadingHTTPServer):
    """Counts the requests that reach it."""

    daemon_threads = True

    def __init__(self) -> None:
        self.hits: list[str] = []
        super().__init__(("127.0.0.1", 0), _AttackerHandler)
        self.url = f"http://127.0.0.1:{self.server_port}"


class _AttackerHandler(BaseHTTPRequestHandler):
    server: Attacker

    def do_GET(self) -> None:
        self.server.hits.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name http.server gives it
        """Say nothing."""


@pytest.fixture
def attacker() -> Iterator[Attacker]:
    with Attacker() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_hostile_names_texts_and_answers_fetch_nothing(open_page, llm: FakeLLM, attacker: Attacker) -> None:
    url = attacker.url
    hostile = (
        f'![x]({url}/a.png) <img src="{url}/b.png" onerror="fetch(\'{url}/c\')"> [x]({url}/d) <{url}/e> '
        f"<https:evil.example/e> ![x][1] $\\includegraphics{{{url}/f.png}}$ <script>fetch('{url}/g')</script> "
        f"![]({url}/h.png)"
    )
    llm.answer = f"See {hostile} [1]\n\n[1]: {url}/i.png\n\n| a |\n|---|\n| ![t]({url}/j.png) |\n\n![k]({url}/k.png)"
    name = f"![n]({url}/n.png) <img src={url}/o.png>"
    page = open_page("/documents")
    page.on("popup", lambda popup: attacker.hits.append("popup"))
    files = [(f"{name}.txt", f"Salt melts. {hostile}".encode()), (f"{name}.pdf", BROKEN_PDF), (f"{name}.exe", b"MZ")]

    upload(page, "files", [{"name": n, "mimeType": "", "buffer": data} for n, data in files])
    expect(page.get_by_role("heading", name="1 document ·")).to_be_visible()
    settle(page)
    assert len(rows(page)) == 3
    assert all("![n](http:" in shown for shown in rows(page)), "names are shown as they are"
    go(page, "Ask")
    ask(page, f"When does salt melt? {hostile}")
    expect(page.locator(".st-key-passage_1 .passage")).to_contain_text(hostile)
    choose_model(page, "openai/ok", llm.openai_base)
    button(page, "Ask model").click()
    expect(page.locator(".st-key-answer")).to_contain_text("Copy the answer")
    settle(page)
    page.wait_for_timeout(500)

    active = page.locator(".st-key-answer a:not([href^='#passage-']), .st-key-passage_1 a, .stMain img")
    assert [element.evaluate("element => element.outerHTML") for element in active.all()] == []
    assert attacker.hits == []
    urllib.request.urlopen(f"{url}/counted").close()
    assert attacker.hits == ["/counted"]


# ---- checked answers and the chat ------------------------------------------------------------------------------------


def say(page: Page, question: str) -> None:
    field = page.get_by_test_id("stChatInputTextArea")
    field.fill(question)
    field.press("Enter")


def top_of(page: Page, selector: str) -> float:
    return page.locator(selector).bounding_box()["y"]  # type: ignore[index]


def in_view(page: Page, selector: str) -> bool:
    return 0 <= top_of(page, selector) < page.viewport_size["height"]  # type: ignore[index]


@pytest.mark.parametrize("size", [(1280, 500), PHONE])
def test_a_citation_leads_to_its_card(open_page, llm: FakeLLM, size) -> None:
    page = open_page(size=size)
    add_notes(page)
    ask(page, "When does salt melt?")
    llm.answer = "At 801 degrees [1], not in 2018."
    choose_model(page, "openai/ok", llm.openai_base)
    button(page, "Ask model").click()
    expect(page.locator(".st-key-answer")).to_contain_text("Copy the answer")
    settle(page)

    expect(page.locator(".st-key-answer mark.missing")).to_have_text("2018")
    page.locator(".st-key-answer a.cite").click()

    page.wait_for_function("document.querySelector('#passage-1').matches(':target')")
    page.wait_for_timeout(500)
    assert in_view(page, "#passage-1")
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


@pytest.mark.parametrize("size", [(1280, 900), PHONE])
def test_a_follow_up_question_in_the_chat(open_page, llm: FakeLLM, size) -> None:
    page = open_page(size=size)
    go(page, "Documents")
    texts = {
        "pauli.txt": "Pauli Blendergast keeps bees. Blendergast was born in Toledo in 1961.",
        "tea.txt": "Tea is hot.",
    }
    upload(page, "files", [text_file(name, text) for name, text in texts.items()])
    expect(page.get_by_role("heading", name="2 documents")).to_be_visible()
    settle(page)
    go(page, "Chat")
    choose_model(page, "openai/ok", llm.openai_base)
    llm.answer = "It is Pauli Blendergast [1]."
    say(page, "Who keeps bees?")
    expect(page.locator(".st-key-turn-1-answer")).to_contain_text("Copy the answer")

    llm.answer = "In Toledo, in 1961 [1]. ![x](http://evil.example/x.png)"
    say(page, "Where was he born?")
    expect(page.locator(".st-key-turn-2-answer")).to_contain_text("Copy the answer")
    settle(page)

    turn = page.locator(".st-key-turn-2-answer")
    expect(turn).to_contain_text("Blendergast: Where was he born?")
    expect(turn.locator(".st-key-turn-2-passage_1")).to_contain_text("born in Toledo")
    assert (
        "Question: Who keeps bees?\nAnswer: It is Pauli Blendergast.\n"
        in llm.chats()[-1].body["messages"][0]["content"]
    )
    turn.locator("a.cite").first.click()
    page.wait_for_function("document.querySelector('#turn-2-passage-1').matches(':target')")
    page.wait_for_timeout(500)
    assert in_view(page, "#turn-2-passage-1")
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    with page.expect_download() as download:
        button(page, "Save").first.click()
    saved = Path(download.value.path()).read_text("utf-8")
    assert "## 2. Where was he born?" in saved
    assert "\\!\\[x\\]\\(http\\:\\/\\/evil" in saved
    button(page, "Clear").click()
    expect(page.get_by_test_id("stChatMessage")).to_have_count(0)
