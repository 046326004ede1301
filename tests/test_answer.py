"""An answer while it arrives and after, over real HTTP."""

from __future__ import annotations

import pytest

from autocontext.budget import fit_context
from autocontext.citations import find_citations
from autocontext.datatypes import ModelOptions
from autocontext.errors import ModelError
from tests.fake_llm import ANSWER, FakeLLM

FILES = {"a.txt": "Pauli says that economics is bullshit.", "b.txt": "Economics is a science, says Odalys."}


@pytest.fixture
def ac(make_context):
    return make_context(FILES)


@pytest.mark.parametrize("protocol", ["openai", "ollama"])
def test_the_pieces_make_the_text_and_the_figures_follow(ac, protocol):
    with FakeLLM() as llm:
        base = llm.openai_base if protocol == "openai" else llm.ollama_base
        answer = ac.ask("Who says that economics is bullshit?", model=f"{protocol}/ok", api_base=base)
        pieces = list(answer)
    assert len(pieces) > 3
    assert "".join(pieces) == answer.text == str(answer) == ANSWER
    assert answer.complete
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == llm.counted
    assert answer.usage.seconds > 0
    (citation,) = answer.citations
    assert citation.number == 1
    assert citation.evidence == answer.prompt.evidence[0]


def test_what_is_sent_is_the_prompt_to_the_byte(ac):
    with FakeLLM() as llm:
        answer = ac.ask("Who?", model="ollama/ok", api_base=llm.ollama_base)
        list(answer)
        (message,) = llm.last("/api/chat").body["messages"]
    assert (message["role"], message["content"]) == ("user", str(answer.prompt))


def test_ollama_is_given_a_context_that_holds_prompt_and_answer(ac):
    with FakeLLM() as llm:
        list(
            ac.ask("Who?", model="ollama/ok", api_base=llm.ollama_base, options=ModelOptions(model="", max_tokens=5000))
        )
        assert llm.last("/api/chat").body["options"]["num_ctx"] == 8192


def test_the_context_is_the_smallest_step_that_fits(ac):
    prompt = ac.get_prompt("Who?")
    assert fit_context(prompt, ModelOptions(model="ollama/x", max_tokens=512)).num_ctx == 4096
    assert fit_context(prompt, ModelOptions(model="ollama/x", max_tokens=20_000)).num_ctx == 32_768
    assert fit_context(prompt, ModelOptions(model="ollama/x", num_ctx=2048)).num_ctx == 2048
    assert fit_context(prompt, ModelOptions(model="openai/x")).num_ctx is None


def test_a_broken_answer_keeps_what_came(ac):
    with FakeLLM() as llm:
        answer = ac.ask("Who?", model="openai/cut", api_base=llm.openai_base)
        with pytest.raises(ModelError):
            list(answer)
    assert answer.text == "Pauli Blendergast says"
    assert not answer.complete


def test_notes_of_a_reasoning_model_are_no_part_of_the_answer(ac):
    with FakeLLM() as llm:
        answer = ac.ask("Who?", model="openai/reasoning", api_base=llm.openai_base)
        assert "".join(answer) == ANSWER
    assert answer.thinking == "Let me look at the context."


@pytest.mark.parametrize("protocol", ["openai", "ollama"])
def test_a_thought_whose_first_tag_never_came_is_no_part_of_the_answer(ac, protocol):
    with FakeLLM() as llm:
        answer = ac.ask("Who?", model=f"{protocol}/think-unopened", api_base=llm.base(protocol))
        list(answer)
    assert (answer.text, answer.thinking) == (ANSWER, "Let me look at the context.")


@pytest.mark.parametrize("protocol", ["openai", "ollama"])
@pytest.mark.parametrize(("counted", "told"), [(2050, "The model saw only 2,050 of about "), (5000, "")])
def test_a_prompt_that_the_server_cut_is_told(make_context, protocol, counted, told):
    sentences = [" ".join(f"Salt number {n * 60 + k} melts at {k} degrees." for k in range(60)) for n in range(12)]
    files = {f"{n}.txt": text for n, text in enumerate(sentences)}
    ac = make_context(files, retrievers=("bm25",))
    with FakeLLM() as llm:
        llm.prompt_tokens = counted
        answer = ac.ask(
            "Which salt melts?", f"{protocol}/ok", llm.base(protocol), num_results=400, max_tokens=5000,
            options=ModelOptions(model="", max_tokens=512),
        )  # fmt: skip
        list(answer)
    assert 4700 < answer.prompt.tokens <= 5000
    assert answer.unseen.startswith(told)
    assert bool(answer.unseen) == bool(told)


def test_an_answer_is_read_once(ac):
    with FakeLLM() as llm:
        answer = ac.ask("Who?", model="openai/ok", api_base=llm.openai_base)
        list(answer)
        with pytest.raises(ModelError, match="ask again"):
            list(answer)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It is so [1].", [1]),
        ("Both [2, 1] and [1; 2].", [2, 1]),
        ("[9] and [0]", [9, 0]),
        ("No source [a], [], [1234567]", []),
        ("", []),
    ],
)
def test_citations_are_read_once_each_in_order(ac, text, numbers):
    prompt = ac.get_prompt("Who says that economics is bullshit?")
    found = find_citations(text, prompt)
    assert [citation.number for citation in found] == numbers
    assert all((c.evidence is not None) == (c.number in (1, 2)) for c in found)


def test_address_and_key_in_the_options_are_not_dropped(ac):
    options = ModelOptions(model="openai/ok", api_base="http://127.0.0.1:9/v1", api_key="k")
    answer = ac.ask("Who?", model="openai/ok", options=options)
    assert (answer.options.api_base, answer.options.api_key) == ("http://127.0.0.1:9/v1", "k")


def test_nothing_is_a_citation_where_the_prompt_does_not_number(make_context):
    prompt = make_context(FILES, template="seed").get_prompt("Who says that economics is bullshit?")
    assert find_citations("It is so [1].", prompt) == ()
