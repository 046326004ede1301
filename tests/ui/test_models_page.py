"""The Models page, the form of the prompt, and what of both the Ask page shows; without a browser."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from autocontext.datatypes import ModelOptions
from tests.fake_llm import ANSWER, FakeLLM
from tests.ui import test_pages
from tests.ui.test_pages import (
    KEY,
    PATIENCE,
    PROTOCOLS,
    SALT,
    SALT_QUESTION,
    ask,
    ask_model,
    captions,
    choose,
    click,
    errors,
    field,
    go,
    prompt_of,
    run,
    sent,
    state_of,
)

pytestmark = pytest.mark.usefixtures("clean_environment")
session = test_pages.session
MODELS = "pages/models.py"
KINDS = {"openai": "OpenAI-compatible", "ollama": "Ollama"}


def labels(at: AppTest) -> list[str]:
    return [button.label for button in at.button]


def shown_html(at: AppTest) -> str:
    return " ".join(element.proto.body for element in at.get("html"))


def try_model(at: AppTest) -> AppTest:
    """Click the test's button and wait for what comes of it."""
    next(button for button in at.button if button.label == "Test").click()
    run(at)
    deadline = time.monotonic() + PATIENCE
    while state_of(at).test_job.running:
        assert time.monotonic() < deadline
        time.sleep(0.02)
        run(at)
    return run(at)


def open_models(make: Any, model: str = "ollama/gemma3", address: str = "", key: str = "") -> AppTest:
    at = make(SALT, MODELS)
    for label, value in (("Model", model), ("Address", address), ("Key", key)):
        choose(at, label, value)
    return at


def list_models(at: AppTest, protocol: str) -> AppTest:
    at.selectbox(key="server_kind").set_value(KINDS[protocol])
    return click(at, "List models")


# ---- models ----------------------------------------------------------------------------------------------------------


@PROTOCOLS
def test_a_servers_models_are_listed_and_one_is_taken_for_every_page(session, llm: FakeLLM, protocol: str) -> None:
    at = list_models(open_models(session, "x", llm.base(protocol), KEY), protocol)

    assert f"{protocol}/gemma3:270m" in shown_html(at)
    assert llm.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    at.button(key="use_listed_0").click()
    run(at)

    assert field(at, "Model").value == f"{protocol}/gemma3:270m"
    assert at.button(key="use_listed_0").label == "Chosen"
    ask(go(at, "app.py"), SALT_QUESTION)
    assert field(at, "Model").value == f"{protocol}/gemma3:270m"
    click(at, "Ask model")
    assert llm.chats()[-1].body["model"] == "gemma3:270m"
    assert llm.chats()[-1].headers["authorization"] == f"Bearer {KEY}"


def test_a_server_without_an_address_cannot_be_listed(session) -> None:
    assert errors(list_models(open_models(session), "openai")) == [
        "Type the server's address above, for example http://localhost:1234/v1."
    ]


def test_a_server_that_is_down_or_empty_is_told(session, llm: FakeLLM) -> None:
    at = list_models(open_models(session, address=f"{llm.url}/page"), "ollama")
    assert errors(at) == [
        f"{llm.url}/page does not answer with a list of models. Check the address: it may be that of another server."
    ]

    llm.models = []
    at = list_models(open_models(session, address=llm.url), "ollama")
    assert errors(at) == ["The server answers, but has no models. For Ollama, fetch one with: ollama pull gemma3"]


@PROTOCOLS
def test_the_test_says_that_the_model_answers_and_what_it_takes(session, llm: FakeLLM, protocol: str) -> None:
    at = try_model(open_models(session, f"{protocol}/ok", llm.base(protocol)))

    told = at.success[0].value.replace("\\", "")
    assert told.startswith(f"It answers: {protocol}/ok · 42 tokens in · 8 tokens out · ")
    assert at.text[0].value == ANSWER
    takes = [line for line in captions(at) if line.startswith(("It takes", "How much"))]
    assert takes == [
        "It takes 32,768 tokens in all (Ollama says so)."
        if protocol == "ollama"
        else "How much it takes in all is not known: set its context size, or keep the token budget small."
    ]


def test_the_test_says_in_a_sentence_why_a_model_does_not_answer(session, llm: FakeLLM) -> None:
    at = try_model(open_models(session, "openai/401", llm.openai_base, KEY))

    assert errors(at) == [f"{llm.openai_base} refused the API key. Check it, and that it may use openai/401."]
    assert KEY not in sent(at, without=("text_input",))


def test_a_favourite_keeps_its_address_and_key_in_the_session_only(session, llm: FakeLLM) -> None:
    at = click(open_models(session, "openai/ok", llm.openai_base, KEY), "Add to favourites")
    for label, value in (("Model", "ollama/other"), ("Address", ""), ("Key", "")):
        choose(at, label, value)
    assert llm.openai_base in shown_html(at)
    assert "with a key" in shown_html(at)

    at.button(key="use_favourite_0").click()
    run(at)
    assert [field(at, label).value for label in ("Model", "Address", "Key")] == ["openai/ok", llm.openai_base, KEY]
    click(at, "Add to favourites")
    assert len(state_of(at).favourites) == 1, "the same model at the same address is one favourite"
    assert state_of(session()).favourites == []

    at.button(key="drop_favourite_0").click()
    assert "None yet. They are kept in this session only, with their keys." in captions(run(at))


def test_limits_of_the_page_are_those_of_the_request(session, llm: FakeLLM) -> None:
    at = open_models(session, "ollama/ok", llm.ollama_base)
    for label, value in (
        ("Answer length in tokens", 99), ("Context size in tokens", 2048), ("Largest context for Ollama", 8192),
        ("Seconds without a word", 7), ("Seconds for the whole answer", 70),
    ):  # fmt: skip
        choose(at, label, value)
    ask(go(at, "app.py"), SALT_QUESTION)
    click(at, "Ask model")

    assert state_of(at).answer_job.answer.options == ModelOptions(
        model="ollama/ok", api_base=llm.ollama_base, max_tokens=99, context_size=2048, max_num_ctx=8192, timeout=7,
        deadline=70, num_ctx=2048,
    )  # fmt: skip
    assert llm.last("/api/chat").body["options"] == {"num_ctx": 2048, "num_predict": 99, "temperature": 0.0}


def test_keys_of_the_environment_are_named_and_never_shown(session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "AIza-SECRET-SECRET")
    at = open_models(session)

    assert "Keys of the environment, for their providers' own addresses only: GEMINI_API_KEY." in captions(at)
    assert "SECRET" not in sent(at)


def test_the_chosen_model_is_what_other_pages_ask() -> None:
    script = """
from autocontext.ui.state import current_state
import streamlit as st
st.text(repr(current_state().model_options()))
"""
    at = AppTest.from_string(script, default_timeout=PATIENCE).run()
    assert "model='ollama/gemma3'" in at.text[0].value


# ---- shared servers --------------------------------------------------------------------------------------------------


@pytest.fixture
def allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, llm: FakeLLM) -> FakeLLM:
    (tmp_path / "allowed.txt").write_text(f"openai/ok {llm.openai_base}\nopenai/g* {llm.openai_base}\ngemini/x\n")
    monkeypatch.setenv("AUTOCONTEXT_ALLOWED_MODELS", str(tmp_path / "allowed.txt"))
    return llm


def test_a_shared_server_offers_its_addresses_and_models_only(session, allowed: FakeLLM) -> None:
    at = session(SALT, MODELS)

    address = next(element for element in at.selectbox if element.label == "Address")
    assert list(address.options) == [allowed.openai_base, "the provider's own"]
    assert [name in shown_html(at) for name in ("openai/ok", "openai/g*", "gemini/x")] == [True] * 3
    at.button(key="use_allowed_0").click()
    ask(go(run(at), "app.py"), SALT_QUESTION)
    click(at, "Ask model")
    assert state_of(at).answer_job.answer.text == ANSWER


def test_another_model_is_refused_on_a_shared_server(session, allowed: FakeLLM) -> None:
    at = ask(session(SALT), SALT_QUESTION)
    choose(at, "Model", "openai/slow")
    click(at, "Ask model")

    assert errors(at) == [
        "This server allows its listed models and addresses only. Choose one of its models: openai/ok, openai/g*, "
        "gemini/x."
    ]
    assert allowed.chats() == []


def test_a_broken_list_is_told_and_the_prompt_stays(session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOCONTEXT_ALLOWED_MODELS", "/no/such/file")
    at = ask(session(SALT), SALT_QUESTION)

    assert "Correct AUTOCONTEXT_ALLOWED_MODELS on the server." in errors(at)[0]
    assert "Salt melts at 801 degrees." in prompt_of(at)


# ---- the budget ------------------------------------------------------------------------------------------------------


def test_a_small_context_makes_a_smaller_prompt_and_says_so(session, llm: FakeLLM) -> None:
    llm.context_length = 900
    at = ask(session({f"{n}.txt": f"Salt {n} melts at {n} degrees." for n in range(40)}), "Which salt melts?")
    choose(at, "Passages at most", 40)
    for label, value in (("Model", "ollama/ok"), ("Address", llm.ollama_base)):
        choose(at, label, value)

    prompt = state_of(at).prompt
    assert prompt.max_tokens == int((900 - 512 - 64) / 1.3)
    assert prompt.tokens <= prompt.max_tokens
    assert len(prompt.evidence) < 40
    assert "512 more are kept for the answer; the model takes 900 (Ollama says so)." in captions(at)
    assert any(f"may have {prompt.max_tokens} tokens instead of 3,000" in line for line in captions(at))
    click(at, "Ask model")
    assert llm.last("/api/chat").body["options"]["num_ctx"] == 900


def test_no_room_for_a_prompt_is_told_and_can_be_mended(session, llm: FakeLLM) -> None:
    llm.context_length = 600
    at = ask(session(SALT), SALT_QUESTION)
    for label, value in (("Model", "ollama/ok"), ("Address", llm.ollama_base)):
        choose(at, label, value)
    choose(at, "Answer length in tokens", 590)

    assert errors(at)[0].startswith("No room is left for the prompt: the model takes 600 tokens in all")
    choose(at, "Answer length in tokens", 16)
    assert errors(at) == []
    assert "Salt melts at 801 degrees." in prompt_of(at)


@PROTOCOLS
def test_a_prompt_that_the_server_cut_gets_a_red_banner(session, llm: FakeLLM, protocol: str) -> None:
    text = " ".join(f"Salt number {n} melts at {n} degrees." for n in range(60))
    at = choose(ask(session({"a.txt": text}), "Which salt number melts?"), "Passages at most", 20)
    llm.prompt_tokens = 100
    ask_model(at, f"{protocol}/ok", llm.base(protocol))

    (banner,) = errors(at)
    assert banner.startswith("The model saw only 100 of about ")
    assert "the rules, passages 1 to " in banner


# ---- the form of the prompt ------------------------------------------------------------------------------------------


EDITOR = """
from autocontext.ui import state, template
template.show_editor(state.current_state())
"""


def own_form(at: AppTest, text: str) -> AppTest:
    """Return the editor of a session; Streamlit's test runner closes a dialog at each rerun, a browser does not."""
    editor = AppTest.from_string(EDITOR, default_timeout=PATIENCE)
    editor.session_state["autocontext"] = state_of(at)
    run(editor).text_area[0].set_value(text)
    return run(editor)


def test_the_form_can_be_opened_from_the_prompt(session) -> None:
    at = ask(session(SALT), SALT_QUESTION)
    next(button for button in at.button if button.label == "Form").click()
    run(at)

    assert at.text_area[0].value.startswith("Based on the following context")
    assert state_of(at).prompt.text in [code.value for code in at.code]


def test_an_own_form_is_previewed_and_used_from_then_on(session) -> None:
    at = ask(session(SALT), SALT_QUESTION)
    editor = own_form(at, "{context}\nIn one word: {query}")

    preview = editor.code[0].value
    assert preview.endswith(f"--- END CONTEXT ---\nIn one word: {SALT_QUESTION}")
    assert not prompt_of(at).endswith(SALT_QUESTION)
    click(editor, "Use this form")
    assert prompt_of(run(at)) == preview
    go(at, "pages/documents.py")
    assert prompt_of(go(at, "app.py")) == preview


def test_without_a_question_an_example_is_previewed(session) -> None:
    editor = own_form(session(SALT), "{query}\n{bare_context}")

    assert "When does salt melt?\n--- CONTEXT ---\nSalt melts at 801 degrees.\n" in editor.code[0].value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{context}", "The field {query} is missing"),
        ("{query}", "The field {context} is missing"),
        ("{query} {context} {name}", "There is no field {name}."),
        ("{query} {context} {context}", "The context stands in it more than once."),
        ("--- CONTEXT ---\n{context}\n{query}", "Take out the lines that mark the context"),
    ],
)
def test_a_form_that_cannot_be_used_is_told_and_not_used(session, text: str, told: str) -> None:
    at = own_form(ask(session(SALT), SALT_QUESTION), text)

    (error,) = errors(at)
    assert error.startswith(told)
    assert next(button for button in at.button if button.label == "Use this form").disabled
    assert state_of(at).engine.settings.template == "default"
