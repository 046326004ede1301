"""What the two pages promise, each a test: they run in Streamlit's own test runner, without a browser and a model.

The pages leave long work to threads, so `settle` reruns them until it is done, as the browser's timer does.
"""

from __future__ import annotations

import html
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

from autocontext import AutoContext, Settings, loaders
from autocontext.settings import LimitOptions
from autocontext.ui.ask import EXAMPLES
from autocontext.ui.frame import _describe
from autocontext.ui.jobs import IndexJob
from autocontext.ui.state import UiState
from tests.conftest import DATA, ROOT, HashEncoder
from tests.fake_llm import ANSWER, FakeLLM
from tests.pdf_files import drawn

PATIENCE = 60.0  # seconds; only a failing test waits so long
PAGES = ("app.py", "pages/documents.py")
CHAT = "pages/chat.py"
PROTOCOLS = pytest.mark.parametrize("protocol", ["openai", "ollama"])
QUESTION = "Who says that economics is bullshit?"
SALT_QUESTION = "Which salt melts at 801 degrees?"
BREAD_QUESTION = "Which bread bakes at 230 degrees?"
SALT = {"notes/salt.txt": "Salt melts at 801 degrees.", "notes/bread.txt": "Bread bakes at 230 degrees."}
BROKEN_PDF = b"%PDF-1.4\nthis is no PDF"
HOSTILE = (
    "![x](http://evil/x.png)",
    "<img src=x onerror=alert(1)>",
    "$a^2$",
    ":red[x]",
    "[x](javascript:alert(1))",
)
pytestmark = pytest.mark.usefixtures("clean_environment")
KEY = "sk-typed-by-the-user-0123456789"


@pytest.fixture
def session(encoder: HashEncoder) -> Callable[..., AppTest]:
    """Return a maker of browser sessions with an own collection, on a page: ``session({"a.txt": "Text."})``."""

    def make(files: Mapping[str, str | bytes] | None = None, page: str = "app.py") -> AppTest:
        at = AppTest.from_file(ROOT / "app.py", default_timeout=PATIENCE)
        at.session_state["autocontext"] = UiState(engine=AutoContext(encoder=encoder))
        if files:
            data = {name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()}
            state_of(at).index(list(data.items()))
        if page != "app.py":
            at.switch_page(page)
        return settle(at)

    return make


# ---- helpers ---------------------------------------------------------------------------------------------------------


def state_of(at: AppTest) -> UiState:
    return at.session_state["autocontext"]


def run(at: AppTest) -> AppTest:
    at.run()
    assert not at.exception, [element.message for element in at.exception]
    return at


def settle(at: AppTest) -> AppTest:
    """Rerun the page until nothing goes on behind it."""
    deadline = time.monotonic() + PATIENCE
    run(at)
    while state_of(at).index_job is not None or answering(at):
        assert time.monotonic() < deadline, "a job did not come to its end"
        time.sleep(0.02)
        run(at)
    return at


def answering(at: AppTest) -> bool:
    job = state_of(at).answer_job
    return job is not None and job.running


def go(at: AppTest, page: str) -> AppTest:
    return run(at.switch_page(page))


def click(at: AppTest, label: str) -> AppTest:
    """Click the first button with this label, and wait for what it started."""
    next(button for button in at.button if button.label == label).click()
    return settle(at)


def ask(at: AppTest, question: str) -> AppTest:
    field(at, "Question").set_value(question)
    return click(at, "Find passages")


def field(at: AppTest, label: str) -> Any:
    return next(element for element in [*at.text_input, *at.number_input] if element.label == label)


def choose(at: AppTest, label: str, value: object) -> AppTest:
    field(at, label).set_value(value)
    return settle(at)


def ask_model(at: AppTest, model: str, address: str, key: str = "") -> AppTest:
    for label, value in (("Model", model), ("Address", address), ("Key", key)):
        choose(at, label, value)
    return click(at, "Ask model")


def upload(at: AppTest, files: Mapping[str, bytes], kind: str = "A whole folder") -> AppTest:
    widget = next(element for element in at.file_uploader if element.label == kind)
    for name, data in files.items():
        widget.upload(name, data)
    return settle(at)


def rows(at: AppTest) -> dict[str, tuple[str, str]]:
    """Return the files of the Documents page by name, as they are shown: status and reason."""
    shown = {}
    for block in blocks(at.main):
        if str(block.key).startswith("file_"):
            name, *reason = [html.unescape(re.sub("<[^>]*>", "", element.value)) for element in block.html]
            status = re.search(r": (\w+)\]$", block.markdown[0].value)
            shown[name] = (status.group(1) if status else "", " ".join(reason))
    return shown


def blocks(block: Any) -> Iterator[Any]:
    return (node for node in block if hasattr(node, "children"))


def passages(at: AppTest) -> list[str]:
    """Return the text of each passage, as it is shown."""
    cards = [block for block in blocks(at.main) if str(block.key).startswith("passage_")]
    return [html.unescape(re.sub("<[^>]*>", "", card.html[1].value)) for card in cards]


def prompt_of(at: AppTest) -> str:
    return at.code[-1].value  # an answer's stands before it


def answers(at: AppTest) -> list[str]:
    """Return the text of each answer on the page, as it is read."""
    shown = [element.value for element in at.html if element.value.startswith('<div class="answer">')]
    return [html.unescape(re.sub("<[^>]*>", "", value)).strip() for value in shown]


def captions(at: AppTest) -> list[str]:
    """Return the captions as they are read: without Markdown's backslashes."""
    return [re.sub(r"\\(.)", r"\1", value) for value in at.caption.values]


def errors(at: AppTest) -> list[str]:
    return [re.sub(r"\\(.)", r"\1", value) for value in at.error.values]


def strings(message: Message) -> Iterator[str]:
    """Yield every text that an element sends to the browser, but its id."""
    for descriptor, value in message.ListFields():
        if descriptor.name in ("id", "form_id"):
            continue
        values = list(value.values()) if isinstance(value, Mapping) else value if descriptor.is_repeated else [value]
        for item in values:
            if isinstance(item, str):
                yield item
            elif isinstance(item, Message):
                yield from strings(item)


def sent(at: AppTest, *, without: tuple[str, ...] = ()) -> str:
    """Return all that the page sends to the browser, in one text; `without` names kinds of elements."""
    nodes = [node for node in [*at.main, *at.toast] if node.type not in without]
    return "\n".join(text for node in nodes if isinstance(node.proto, Message) for text in strings(node.proto))


# ---- the frame -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("page", "title"), zip(PAGES, ["Ask your own documents", "Documents"], strict=True))
def test_each_page_can_be_the_first_of_a_session(session, page: str, title: str) -> None:
    at = session(page=page)

    assert [link.value for link in at.get("page_link")][:2] == ["Ask", "Chat"]
    assert at.header.values == [title]


def test_a_session_without_a_state_gets_one() -> None:
    at = run(AppTest.from_file(ROOT / "app.py", default_timeout=PATIENCE))

    assert dict(state_of(at).engine.documents) == {}


def test_an_empty_session_offers_the_sample_and_own_documents(session) -> None:
    at = session()

    assert [button.label for button in at.button] == ["Try the sample collection"]
    assert "Add your own documents" in [link.value for link in at.get("page_link")]
    assert not at.text_input
    assert [button.label for button in go(at, PAGES[1]).button] == ["Try the sample collection"]


@pytest.mark.parametrize("page", PAGES)
def test_one_click_on_the_sample_leads_to_the_question(session, page: str) -> None:
    at = click(session(page=page), "Try the sample collection")

    assert len(state_of(at).engine.documents) == len([p for p in DATA.iterdir() if p.suffix != ".jsonl"])
    go(at, "app.py")
    assert field(at, "Question").value == ""
    assert list(at.pills[0].options) == list(EXAMPLES)


def test_an_example_is_asked_by_one_click(session) -> None:
    at = click(session(), "Try the sample collection")

    at.pills[0].set_value(EXAMPLES[0])
    settle(at)

    assert field(at, "Question").value == EXAMPLES[0]
    assert "Pauli Blendergast says that economics is bullshit." in passages(at)[0]
    assert not at.pills


# ---- documents -------------------------------------------------------------------------------------------------------


def test_single_files_become_a_row_each(session) -> None:
    at = upload(session(page=PAGES[1]), {"b.txt": b"Bread.", "a.md": b"# Salt\n\nSalt melts."}, "Single files")

    assert rows(at) == {"a.md": ("added", ""), "b.txt": ("added", "")}
    assert at.subheader.values == ["2 documents · 2 passages"]


def test_a_folder_becomes_a_row_a_file_also_for_those_that_cannot_be_read(session) -> None:
    folder = {
        "notes/a.txt": b"Salt melts.",
        "notes/sub/b.md": b"Bread bakes.",
        "notes/sub/日本語.txt": "塩は溶ける。".encode(),
        "notes/setup.exe": b"MZ",
        "notes/broken.pdf": BROKEN_PDF,
        "notes/empty.txt": b"",
    }

    at = upload(session(page=PAGES[1]), folder)

    assert rows(at) == {
        "notes/a.txt": ("added", ""),
        "notes/sub/b.md": ("added", ""),
        "notes/sub/日本語.txt": ("added", ""),
        "notes/setup.exe": ("skipped", ".exe is a program: such files are not read."),
        "notes/broken.pdf": ("failed", "It is damaged or not a PDF; open it in a viewer and save it again."),
        "notes/empty.txt": ("failed", "It holds no text."),
    }
    assert list(rows(at))[:3] == ["notes/broken.pdf", "notes/empty.txt", "notes/setup.exe"], "problems come first"
    assert list(state_of(at).engine.documents) == ["notes/a.txt", "notes/sub/b.md", "notes/sub/日本語.txt"]


def test_the_limits_of_what_is_uploaded_are_told(session) -> None:
    at = session(page=PAGES[1])
    told = "The fields take up to 500 MB a file, but one over 50 MB, or with more than 50,000,000 characters"
    assert told in " ".join(captions(at))


def test_the_outcome_of_a_batch_is_told_once(session) -> None:
    at = session(page=PAGES[1])
    at.file_uploader[1].upload("a.txt", b"Salt melts.").upload("b.exe", b"MZ")
    told = run(at).toast.values
    while state_of(at).index_job is not None:
        told += run(at).toast.values
    told += run(at).toast.values

    assert [re.sub(r"\\(.)", r"\1", text) for text in told] == ["Done: 1 added, 1 skipped."]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_hostile_notice_reaches_no_markdown_raw(session, hostile: str) -> None:
    at = session()
    state_of(at).notice = hostile

    assert len(run(at).toast) == 1
    assert hostile not in sent(at)


def test_the_same_folder_again_is_unchanged_and_encodes_nothing(session, encoder: HashEncoder) -> None:
    folder = {name: text.encode() for name, text in SALT.items()}
    at = upload(session(page=PAGES[1]), folder)
    encoded = encoder.texts_encoded

    upload(at, folder)

    assert rows(at) == dict.fromkeys(sorted(folder), ("unchanged", ""))
    assert encoder.texts_encoded == encoded == 2


def test_a_changed_file_replaces_the_old_one(session) -> None:
    at = session(SALT, page=PAGES[1])

    upload(at, {"notes/salt.txt": b"Salt is white."})

    assert rows(at)["notes/salt.txt"] == ("changed", "")
    assert state_of(at).engine.documents["notes/salt.txt"].text == "Salt is white."


def test_the_upload_widgets_are_emptied(session) -> None:
    at = upload(session(page=PAGES[1]), {"a.txt": b"Salt."})

    assert [widget.value for widget in at.file_uploader] == [[], []]


def test_five_clicks_elsewhere_read_and_encode_nothing(session, encoder, monkeypatch) -> None:
    read: list[str] = []
    load = loaders.load
    monkeypatch.setattr(loaders, "load", lambda name, *given: read.append(name) or load(name, *given))
    at = ask(session(SALT), SALT_QUESTION)
    encoded, chunks = encoder.texts_encoded, state_of(at).engine.chunks

    for _ in range(2):
        go(at, PAGES[1])
        go(at, PAGES[0])
    choose(at, "Answer length in tokens", 64)

    assert sorted(read) == sorted(SALT)
    assert encoder.texts_encoded == encoded
    assert state_of(at).engine.chunks is chunks


def test_a_removed_file_is_out_of_the_prompt(session) -> None:
    at = ask(session(SALT), "At how many degrees does bread bake and salt melt?")
    assert "801" in prompt_of(at)

    go(at, PAGES[1])
    at.button(key="remove_notes/salt.txt").click()
    settle(at)

    assert rows(at) == {"notes/bread.txt": ("added", "")}
    go(at, PAGES[0])
    assert "801" not in prompt_of(at)
    assert "230" in prompt_of(at)


def test_the_row_of_a_file_that_is_no_document_can_be_removed(session) -> None:
    at = session({"a.txt": "Salt.", "b.exe": b"MZ"}, page=PAGES[1])

    at.button(key="remove_b.exe").click()
    settle(at)

    assert rows(at) == {"a.txt": ("added", "")}


@pytest.mark.parametrize("n_paragraphs", [1, 40])
def test_a_replaced_file_is_in_the_prompt_at_once(session, n_paragraphs: int) -> None:
    filling = "\n\n".join(f"Paragraph {number}. It is long. It ends." for number in range(n_paragraphs))
    at = ask(session({"a.txt": "The melting point is unknown.", "b.txt": filling}), "What is the melting point?")

    for degrees in range(700, 710):
        state_of(at).index([("a.txt", f"The melting point is {degrees}.".encode())])
        settle(at)
        assert f"The melting point is {degrees}." in prompt_of(at)


def test_letters_that_look_wrong_can_be_read_in_another_way(session) -> None:
    text = "Το αλάτι λιώνει στους 801 βαθμούς."
    at = session({"a.txt": text.encode("cp1253"), "b.txt": "Salt melts."}, "pages/documents.py")
    (choice,) = at.selectbox  # none for b.txt, which is certain
    assert choice.value == "cp1253"
    choice.set_value("cp1251")
    run(at)
    assert text.encode("cp1253").decode("cp1251") in [element.value for element in at.code]
    click(at, r"Read as cp1251")
    assert rows(at)["a.txt"] == ("changed", "Read as cp1251, as you said.")
    assert state_of(at).engine.documents["a.txt"].text == text.encode("cp1253").decode("cp1251")


def test_remove_all_asks_first(session) -> None:
    at = click(session(SALT, page=PAGES[1]), "Remove all")

    assert any(value.startswith("2 documents will leave this session.") for value in at.markdown.values)
    assert at.button(key="confirm_remove_all").label == "Remove all"  # what it does: tests/browser
    run(at)
    assert sorted(rows(at)) == sorted(SALT)


def test_many_files_come_in_pages_and_can_be_found_by_name(session) -> None:
    at = session({f"n{number:02}.txt": f"Note {number}." for number in range(45)}, page=PAGES[1])
    assert list(rows(at)) == [f"n{number:02}.txt" for number in range(20)]

    at.get("pagination")[0].set_value(3)
    settle(at)
    assert list(rows(at)) == [f"n{number:02}.txt" for number in range(40, 45)]

    choose(at, "Find a file", "N1")
    assert list(rows(at)) == [f"n{number:02}.txt" for number in range(10, 20)]
    choose(at, "Find a file", "nowhere")
    assert rows(at) == {}
    assert "No file has this in its name." in at.caption.values


def test_too_many_files_at_once_get_rows_that_say_so(session) -> None:
    at = session(page=PAGES[1])
    state_of(at).engine.change_settings(Settings(limits=LimitOptions(files=2)))

    upload(at, {f"{name}.txt": b"Salt." for name in "abc"})

    assert [status for status, _ in rows(at).values()] == ["skipped", "added", "added"]
    assert rows(at)["c.txt"][1] == "Over 2 files or 1000 MB at once: add it in another round."


def test_a_click_elsewhere_does_not_break_indexing(session) -> None:
    at = session(page=PAGES[1])
    state_of(at).index([(f"n{number}.txt", b"Salt melts. " * 50) for number in range(30)])

    for page in PAGES * 3:
        go(at, page)

    settle(at)
    assert len(state_of(at).engine.documents) == 30


# ---- question, passages, prompt --------------------------------------------------------------------------------------


def test_a_question_shows_passages_the_exact_prompt_and_its_tokens(session) -> None:
    at = click(session(), "Try the sample collection")

    ask(at, QUESTION)

    prompt = state_of(at).engine.get_prompt(QUESTION, 5, 3000)
    assert passages(at) == [item.chunk.text for item in prompt.evidence]
    assert "Pauli Blendergast says that economics is bullshit." in passages(at)[0]
    assert prompt_of(at) == str(prompt)
    parts = ", ".join(f"{part.name} {part.tokens:,}" for part in prompt.parts)
    assert at.get("progress")[0].text == f"about {prompt.tokens:,} of 3,000 tokens ({parts})"
    assert sum(part.tokens for part in prompt.parts) == prompt.tokens


def test_each_passage_tells_who_found_it_and_its_score(session) -> None:
    at = ask(session(SALT), SALT_QUESTION)

    card = next(block for block in blocks(at.main) if block.key == "passage_1")
    first = state_of(at).prompt.evidence[0]
    assert (
        card.html[0].value
        == '<div class="source" id="passage-1">1 · notes/salt.txt</div><div class="where">line 1</div>'
    )
    assert card.html[1].value.startswith('<div class="passage"><mark>Salt</mark> ')
    assert [badge.value for badge in card.markdown] == [
        f":violet-badge[:material/notes: BM25 #1 · {first.hits['bm25'].score:.2f}]",
        f":blue-badge[:material/hub: Dense #1 · {first.hits['dense'].score:.2f}]",
    ]


def test_what_was_found_and_left_out_is_listed_with_the_reason(session) -> None:
    at = ask(click(session(), "Try the sample collection"), QUESTION)

    choose(at, "Token budget", 150)

    left_out = state_of(at).prompt.left_out
    expander = next(block for block in at.expander if "left out" in block.label)
    assert expander.label == f"{len(left_out)} found, but left out of the prompt"
    told = [re.sub(r"\\(.)", r"\1", caption.value) for caption in expander.caption]
    assert len(told) == len(left_out) > 0
    assert all(
        re.match(r"Left out: needs about \d+ tokens, \d+ were left\. .*(BM25|Dense) #\d+", line) for line in told
    )


def test_a_second_question_takes_the_place_of_the_first(session) -> None:
    at = ask(session(SALT), SALT_QUESTION)

    ask(at, BREAD_QUESTION)

    assert state_of(at).question == BREAD_QUESTION
    assert f"\nQuestion: {BREAD_QUESTION}\n" in prompt_of(at)
    assert field(at, "Question").value == BREAD_QUESTION


def test_a_question_after_an_example_is_asked(session) -> None:
    at = click(session(), "Try the sample collection")
    at.pills[0].set_value(EXAMPLES[0])
    settle(at)

    ask(at, BREAD_QUESTION)
    ask(at, "What does fault code F-13 mean?")

    assert state_of(at).question == "What does fault code F-13 mean?"


def test_the_question_and_its_result_survive_a_visit_to_the_other_page(session) -> None:
    at = ask(session(SALT), SALT_QUESTION)

    go(go(at, PAGES[1]), PAGES[0])

    assert field(at, "Question").value == SALT_QUESTION
    assert f"\nQuestion: {SALT_QUESTION}\n" in prompt_of(at)


def test_an_empty_question_shows_nothing(session) -> None:
    at = ask(session(SALT), "   ")

    assert (list(at.code), passages(at), errors(at)) == ([], [], [])


def test_an_absent_answer_is_told_before_any_model_is_asked(session) -> None:
    at = click(session(), "Try the sample collection")

    assert not ask(at, QUESTION).warning
    at = ask(click(session(), "Try the sample collection"), "What is the capital of Mongolia?")

    support = state_of(at).prompt.support
    assert support.level != "strong"
    warning = re.sub(r"\\(.)", r"\1", at.warning[0].value)
    assert "in your documents.**" in warning
    assert all(reason in warning for reason in support.reasons)


def test_a_budget_too_small_is_a_sentence_and_can_be_raised_again(session) -> None:
    at = ask(session(SALT), " ".join([SALT_QUESTION] * 6))

    choose(at, "Token budget", 50)

    assert errors(at)[0].startswith("The question and the instructions alone take about ")
    assert not at.code
    choose(at, "Token budget", 2000)
    assert (errors(at), "801" in prompt_of(at)) == ([], True)


@pytest.mark.parametrize(("num_results", "max_tokens"), [(150, 2_000_000), (1, 40)])
def test_limits_that_other_pages_allow_are_shown(session, num_results: int, max_tokens: int) -> None:
    at = session(SALT)
    state_of(at).use_settings(
        replace(state_of(at).engine.settings, num_results=num_results, max_tokens=max_tokens), "Done."
    )
    ask(at, SALT_QUESTION)

    assert (field(at, "Passages at most").value, field(at, "Token budget").value) == (num_results, max_tokens)


def test_other_limits_make_another_prompt(session) -> None:
    at = ask(click(session(), "Try the sample collection"), QUESTION)

    choose(at, "Passages at most", 2)
    assert len(passages(at)) == 2
    assert prompt_of(at) == str(state_of(at).engine.get_prompt(QUESTION, 2, 3000))

    choose(at, "Token budget", 150)
    assert prompt_of(at) == str(state_of(at).engine.get_prompt(QUESTION, 2, 150))
    assert "of 150 tokens" in at.get("progress")[0].text


def test_settings_survive_a_visit_to_the_other_page(session) -> None:
    at = ask(session(SALT), SALT_QUESTION)
    chosen = {
        "Model": "openai/some-model",
        "Address": "http://127.0.0.1:1/v1",
        "Key": KEY,
        "Answer length in tokens": 99,
        "Passages at most": 1,
        "Token budget": 700,
    }
    for label, value in chosen.items():
        choose(at, label, value)

    for _ in range(2):
        go(go(at, PAGES[1]), PAGES[0])

    assert {label: field(at, label).value for label in chosen} == chosen
    assert "of 700 tokens" in at.get("progress")[0].text


# ---- the model -------------------------------------------------------------------------------------------------------


@PROTOCOLS
def test_the_model_is_asked_and_its_answer_shown_with_source_and_usage(session, llm: FakeLLM, protocol: str) -> None:
    at = ask(click(session(), "Try the sample collection"), QUESTION)

    ask_model(at, f"{protocol}/ok", llm.base(protocol))

    assert ANSWER in answers(at)
    evidence = state_of(at).prompt.evidence
    assert f"[1] data/economics.txt, {evidence[0].chunk.place}" in captions(at)
    usage = [
        line for line in captions(at) if line.startswith(f"{protocol}/ok · {llm.counted} tokens in · 8 tokens out · ")
    ]
    assert len(usage) == 1
    assert at.code[0].value == ANSWER
    assert [message["content"] for message in llm.chats()[0].body["messages"]] == [prompt_of(at)]
    assert not errors(at)
    assert not at.button(key="ask_model").disabled


def test_a_source_that_the_model_made_up_is_told(session, llm: FakeLLM) -> None:
    llm.answer = "It says so [1] and [9]."
    at = ask(session(SALT), SALT_QUESTION)

    ask_model(at, "openai/ok", llm.openai_base)

    cited = [line for line in captions(at) if line.startswith("[")]
    assert cited == ["[1] notes/salt.txt, line 1", "[9] :red-badge[no such passage] the model made this source up"]


def test_the_models_notes_are_kept_apart_from_the_answer(session, llm: FakeLLM) -> None:
    at = ask_model(ask(session(SALT), SALT_QUESTION), "openai/reasoning", llm.openai_base)

    assert [text.value for text in at.text] == ["Let me look at the context."]
    assert ANSWER in answers(at)


def test_no_model_cannot_be_asked(session) -> None:
    at = ask(session(SALT), SALT_QUESTION)

    choose(at, "Model", "  ")

    assert at.button(key="ask_model").disabled


@PROTOCOLS
@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("401", "{base} refused the API key. Check it, and that it may use {protocol}/401."),
        ("echo-key", "{base} refused the API key. Check it, and that it may use {protocol}/echo-key."),
        (
            "empty",
            "{base} answered with nothing. Use a smaller token budget, or check that the address is that of a "
            "language model.",
        ),
    ],
)
def test_a_failure_is_one_sentence_without_traceback_and_key(
    session, llm: FakeLLM, protocol: str, model: str, sentence: str
) -> None:
    at = ask_model(ask(session(SALT), SALT_QUESTION), f"{protocol}/{model}", llm.base(protocol), KEY)

    assert errors(at) == [sentence.format(base=llm.base(protocol), protocol=protocol)]
    everything = sent(at, without=("text_input",))
    assert "Traceback" not in everything
    assert KEY not in everything
    assert "sk-" not in everything
    assert not at.button(key="ask_model").disabled


@PROTOCOLS
def test_a_server_that_is_not_there_is_one_sentence(session, litellm, protocol: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    at = ask_model(ask(session(SALT), SALT_QUESTION), f"{protocol}/ok", address, KEY)

    assert len(errors(at)) == 1
    assert errors(at)[0].startswith(f"Nothing answers at {address}.")
    assert KEY not in sent(at, without=("text_input",))
    assert "Traceback" not in sent(at)


@PROTOCOLS
def test_a_typed_key_goes_to_the_server_and_is_shown_nowhere(session, llm: FakeLLM, protocol: str) -> None:
    at = ask_model(ask(session(SALT), SALT_QUESTION), f"{protocol}/ok", llm.base(protocol), KEY)

    assert llm.chats()[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in sent(at, without=("text_input",))
    assert KEY not in repr(state_of(at))
    for page in (PAGES[1], PAGES[0]):
        assert KEY not in sent(go(at, page), without=("text_input",))


@PROTOCOLS
def test_an_answer_that_breaks_off_stays_and_is_marked_incomplete(session, llm: FakeLLM, protocol: str) -> None:
    at = ask_model(ask(session(SALT), SALT_QUESTION), f"{protocol}/cut", llm.base(protocol))

    assert any(text.startswith("Pauli Blendergast says") for text in answers(at))
    assert ":orange-badge[incomplete] it broke off" in at.caption.values
    assert errors(at) == ["The answer broke off: the connection was lost, or the server reported an error. Ask again."]


def test_an_answer_cut_by_its_length_is_marked_incomplete(session, llm: FakeLLM) -> None:
    at = ask_model(ask(session(SALT), SALT_QUESTION), "openai/length", llm.openai_base)

    assert ":orange-badge[incomplete] it reached the answer length" in at.caption.values


@PROTOCOLS
def test_a_silent_model_can_be_stopped(session, llm: FakeLLM, protocol: str) -> None:
    at = ask(session(SALT), SALT_QUESTION)
    for label, value in (("Model", f"{protocol}/hang"), ("Address", llm.base(protocol))):
        choose(at, label, value)
    at.button(key="ask_model").click()
    run(at)
    assert any(line.startswith("Waiting for the model · ") for line in captions(at))
    assert at.button(key="ask_model").disabled

    start = time.monotonic()
    at.button(key="stop_answer").click()
    run(at)

    assert time.monotonic() - start < 3
    assert "Stopped before the first word." in at.caption.values
    assert not at.button(key="ask_model").disabled
    assert "Stop" not in [button.label for button in at.button]


def test_a_stopped_answer_keeps_its_part(session, llm: FakeLLM) -> None:
    at = ask(session(SALT), SALT_QUESTION)
    choose(at, "Address", llm.openai_base)
    choose(at, "Model", "openai/slow")
    at.button(key="ask_model").click()
    run(at)
    deadline = time.monotonic() + PATIENCE
    while "Pauli" not in state_of(at).answer_job.answer.text:
        assert time.monotonic() < deadline
        run(at)

    at.button(key="stop_answer").click()
    run(at)

    kept = state_of(at).answer_job.answer.text
    assert answers(at)[0].startswith(kept.strip())
    assert ANSWER.startswith(kept)
    assert ":orange-badge[incomplete] you stopped it" in at.caption.values


def test_an_answer_goes_on_while_the_other_page_is_visited(session, llm: FakeLLM) -> None:
    llm.delay = 0.05
    at = ask(session(SALT), SALT_QUESTION)
    choose(at, "Address", llm.openai_base)
    choose(at, "Model", "openai/ok")
    at.button(key="ask_model").click()
    run(at)

    go(at, PAGES[1])
    settle(go(at, PAGES[0]))

    assert ANSWER in answers(at)


def test_a_new_question_takes_the_old_answer_away(session, llm: FakeLLM) -> None:
    at = ask_model(ask(session(SALT), SALT_QUESTION), "openai/ok", llm.openai_base)
    go(go(at, PAGES[1]), PAGES[0])

    ask(at, BREAD_QUESTION)

    assert ANSWER not in sent(at)


# ---- what nobody vouches for -----------------------------------------------------------------------------------------


def test_two_sessions_never_see_each_others_text(session) -> None:
    ours = session({"notes/a.txt": "The secret word is marzipan."})
    theirs = session({"notes/a.txt": "The secret word is turnip."})

    for at, own, other in ((ours, "marzipan", "turnip"), (theirs, "turnip", "marzipan"), (ours, "marzipan", "turnip")):
        ask(at, "What is the secret word?")
        assert own in passages(at)[0]
        assert other not in sent(at)
        assert other not in sent(go(at, PAGES[1]))
        go(at, PAGES[0])
    go(ours, PAGES[1]).button(key="remove_notes/a.txt").click()
    settle(ours)

    assert "turnip" in prompt_of(run(theirs))


RAW_KINDS = ("html", "code", "text")  # these show their text literally, or are looked at by themselves


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_names_and_texts_reach_no_markdown_raw(session, llm: FakeLLM, hostile: str) -> None:
    names = [f"{hostile} good.txt", f"{hostile} bad.pdf", f"{hostile} bad.exe"]
    text = f"Salt {hostile} melts at 801 degrees."
    at = session(dict(zip(names, (text, BROKEN_PDF, b"MZ"), strict=True)), page=PAGES[1])
    shown = list(rows(at))
    everything = [sent(at, without=RAW_KINDS)]
    page_html = [element.value for element in at.html]

    ask_model(ask(go(at, PAGES[0]), SALT_QUESTION), "openai/ok", llm.openai_base)
    everything.append(sent(at, without=RAW_KINDS))
    page_html += [element.value for element in at.html]

    name = next(name for name in state_of(at).engine.documents)
    needles = {hostile, name.removesuffix(" good.txt")}
    assert all(needle not in text for needle in needles for text in everything)
    assert len(shown) == 3
    assert name in shown, "the name is shown as it is"
    assert passages(at) == [text]
    assert not any("<img" in value for value in page_html)
    assert any(line == f"[1] {name}, line 1" for line in captions(at)), "the source line shows the name as it is"


def test_a_hostile_question_reaches_no_markdown_raw(session) -> None:
    question = f"{SALT_QUESTION} {' '.join(HOSTILE)}"

    at = ask(session(SALT), question)

    assert all(hostile not in sent(at, without=(*RAW_KINDS, "text_input")) for hostile in HOSTILE)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_hostile_answer_reaches_no_markdown_raw(session, llm: FakeLLM, hostile: str) -> None:
    llm.answer = f"See {hostile} [1]."

    at = ask_model(ask(session(SALT), SALT_QUESTION), "openai/ok", llm.openai_base)

    assert hostile not in sent(at, without=RAW_KINDS)
    assert answers(at)[0].startswith(f"See {hostile} [1]."), "it is shown as it is"
    (markup,) = (element.value for element in at.html if element.value.startswith('<div class="answer">'))
    assert set(re.findall(r"<(\w+)", markup)) <= {"div", "p", "a", "mark", "span"}
    assert set(re.findall(r'href="([^"]*)"', markup)) <= {"#passage-1"}


def test_a_hostile_model_name_reaches_no_markdown_raw(session, llm: FakeLLM) -> None:
    at = ask(session(SALT), SALT_QUESTION)

    for hostile in HOSTILE:
        ask_model(at, f"openai/{hostile}", llm.openai_base)
        assert hostile not in sent(at, without=(*RAW_KINDS, "text_input"))
        ask_model(at, hostile, llm.openai_base)
        assert errors(at)[0].startswith(f"'{hostile}' does not name a provider")
        assert hostile not in sent(at, without=(*RAW_KINDS, "text_input"))


def test_hidden_and_large_files_do_not_crowd_out_the_notes() -> None:
    limits = LimitOptions(files=1, file_megabytes=0.00002)
    state = UiState(engine=AutoContext(Settings(limits=limits), HashEncoder()))
    hidden = [(f"vault/.git/objects/{n}", b"x") for n in range(5)]
    state.index([*hidden, ("vault/large.txt", b"x" * 21), ("vault/note.md", b"Salt melts.")])
    while not state.collect_index():
        pass
    assert list(state.engine.documents) == ["vault/note.md"]
    assert {name: row.status for name, row in state.files.items()} == {
        "vault/large.txt": "skipped",
        "vault/note.md": "added",
    }
    assert state.notice == "Done: 1 added, 1 skipped. 5 hidden files left alone."


def test_a_removed_text_stays_nowhere_in_the_session() -> None:
    state = UiState(engine=AutoContext(encoder=HashEncoder()))
    state.engine.add("a.txt", b"Salt melts at 801 degrees.")
    state.ask("When does salt melt?")
    state.refresh()
    assert "801" in str(state.prompt)
    state.remove(["a.txt"])
    assert "801" not in repr(state)


# ---- the Chat page ---------------------------------------------------------------------------------------------------

TALK = {
    "notes/econ.txt": "Pauli Blendergast says that economics is bullshit. He was born in a canal town in 1961.",
    "notes/salt.txt": "Salt melts at 801 degrees.",
}
FOLLOW_UP = "Where was he born?"


def say(at: AppTest, question: str) -> AppTest:
    """Ask on the Chat page and wait for the answer."""
    at.chat_input[0].set_value(question)
    run(at)
    deadline = time.monotonic() + PATIENCE
    while state_of(at).talk.running:
        assert time.monotonic() < deadline
        run(at)
    return run(at)


def chat_with(at: AppTest, llm: FakeLLM, model: str = "openai/ok") -> AppTest:
    go(at, CHAT)
    choose(at, "Address", llm.openai_base)
    return choose(at, "Model", model)


def test_a_follow_up_question_is_searched_with_the_topic_and_told_so(session, llm: FakeLLM) -> None:
    at = say(chat_with(session(TALK), llm), QUESTION)
    llm.answer = "In a canal town [1]."

    say(at, FOLLOW_UP)

    first, second = state_of(at).talk.turns
    assert second.prompt.searched == "Blendergast: Where was he born?"
    assert ":gray-badge[searched with the topic] Blendergast: Where was he born?" in captions(at)
    assert second.prompt.evidence[0].chunk.document == "notes/econ.txt"
    assert [turn.question for turn in second.prompt.history] == [QUESTION]
    assert answers(at) == [ANSWER, "In a canal town [1]."]
    assert llm.chats()[-1].body["messages"][0]["content"] == str(second.prompt)
    assert [code.value for code in at.code if code.value.startswith("Based on")] == [
        str(first.prompt),
        str(second.prompt),
    ]


def test_a_new_topic_is_searched_as_it_is(session, llm: FakeLLM) -> None:
    at = say(say(chat_with(session(TALK), llm), QUESTION), SALT_QUESTION)

    assert state_of(at).talk.turns[-1].prompt.searched == SALT_QUESTION
    assert not any("searched" in line for line in captions(at))


def test_without_a_model_each_question_makes_its_prompt(session) -> None:
    at = choose(go(session(TALK), CHAT), "Model", "")

    say(at, QUESTION)

    assert answers(at) == []
    assert [code.value for code in at.code] == [str(state_of(at).talk.turns[0].prompt)]


def test_the_model_may_rewrite_the_question_and_the_result_is_shown(session, llm: FakeLLM) -> None:
    at = say(chat_with(session(TALK), llm), QUESTION)
    at.toggle[0].set_value(True)
    run(at)
    llm.answer = "Where was Pauli Blendergast born?"

    say(at, FOLLOW_UP)

    assert ":gray-badge[searched rewritten by the model] Where was Pauli Blendergast born?" in captions(at)
    assert len(llm.chats()) == 3


def test_a_rewriting_that_fails_is_told_and_the_talk_goes_on(session, llm: FakeLLM) -> None:
    at = say(chat_with(session(TALK), llm), QUESTION)
    at.toggle[0].set_value(True)
    run(at)
    choose(at, "Model", "openai/500")

    say(at, FOLLOW_UP)

    assert any(line.startswith(":orange-badge[not rewritten]") for line in captions(at))
    assert state_of(at).talk.turns[-1].prompt.searched == "Blendergast: Where was he born?"


def test_the_shortened_history_is_told(session, llm: FakeLLM) -> None:
    llm.answer = "A long answer about salt. " * 60
    at = say(chat_with(session(TALK), llm), SALT_QUESTION)
    state_of(at).max_tokens = 300

    say(at, FOLLOW_UP)

    assert any(line.startswith(":orange-badge[history shortened] The oldest turn is not in") for line in captions(at))
    assert state_of(at).talk.turns[-1].prompt.tokens <= 300


def test_a_failure_stays_with_its_question(session, llm: FakeLLM) -> None:
    at = say(chat_with(session(TALK), llm, "openai/401"), QUESTION)

    assert errors(at)[0].startswith(f"{llm.openai_base} refused the API key.")
    say(choose(at, "Model", "openai/ok"), FOLLOW_UP)
    assert answers(at) == [ANSWER]


def test_a_silent_model_can_be_stopped_in_the_chat(session, llm: FakeLLM) -> None:
    at = chat_with(session(TALK), llm, "openai/hang")
    at.chat_input[0].set_value(QUESTION)
    run(at)

    at.button(key="turn-1-stop_answer").click()
    run(at)

    assert "Stopped before the first word." in at.caption.values


def test_the_conversation_is_cleared(session, llm: FakeLLM) -> None:
    at = say(chat_with(session(TALK), llm), QUESTION)

    click(at, "Clear")

    assert (state_of(at).talk.turns, answers(at)) == ([], [])


def test_a_removed_document_takes_the_talk_that_quotes_it_away(session, llm: FakeLLM) -> None:
    at = say(chat_with(session(TALK), llm), QUESTION)

    go(at, PAGES[1])
    at.button(key="remove_notes/econ.txt").click()
    settle(at)

    assert state_of(at).talk.turns == []
    assert "canal town" not in repr(state_of(at))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_questions_and_answers_reach_no_markdown_raw_in_the_chat(session, llm: FakeLLM, hostile: str) -> None:
    llm.answer = f"See {hostile} [1]."

    at = say(say(chat_with(session(TALK), llm), f"{SALT_QUESTION} {hostile}"), "And that?")

    assert hostile not in sent(at, without=RAW_KINDS)
    assert len(answers(at)) == 2


def test_a_passage_of_a_pdf_is_shown_on_its_page(session) -> None:
    at = session(
        {"notes/salt.pdf": drawn("Nothing here.", "Salt melts at 801 degrees."), "notes/b.txt": "Bread bakes."}
    )
    ask(at, SALT_QUESTION)
    assert [button.label for button in at.button].count("Show page") == 2
    click(at, "Show page")
    assert [caption.value for caption in at.caption if "marked" in caption.value] == [
        "Page 2 of 2: the passage is marked"
    ]


def test_a_page_that_is_not_at_hand_any_more_is_told(session) -> None:
    at = session({"notes/salt.pdf": drawn("Salt melts at 801 degrees.")})
    ask(at, SALT_QUESTION)
    state_of(at).engine._originals = {}
    click(at, "Show page")
    assert [warning.value for warning in at.warning if "at hand" in warning.value] == [
        "The file is not at hand any more, or has changed. Add it again to see its pages."
    ]
    state_of(at).remove(["notes/salt.pdf"])
    assert state_of(at).engine.original("notes/salt.pdf") is None


def test_pages_of_a_pdf_are_told_while_they_are_read() -> None:
    job = IndexJob.__new__(IndexJob)
    job._progress("Reading", 3, 9)
    job.chunks = (0, 0)
    job._progress("Pages", 12, 117)
    assert _describe(job, 0) == "Read 3 of 9 files, page 12 of 117 of a PDF"
