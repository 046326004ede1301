"""How the context is shared between prompt and answer, and what is told when the server cut the prompt."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocontext import AutoContext, Settings, split_into_sentences
from autocontext.budget import CONTEXT_STEPS, fit_context, plan_budget, what_was_cut
from autocontext.datatypes import Chunk, ContextSize, Evidence, ModelOptions, Prompt, Support
from autocontext.errors import BudgetError, ModelError, SettingsError
from autocontext.model_server import find_context_size
from autocontext.model_table import known_context_size
from autocontext.prompt import build_prompt, neutralise
from autocontext.templates import TEMPLATES
from autocontext.tokens import count_tokens, fewest_tokens
from tests.conftest import HashEncoder
from tests.fake_llm import FakeLLM

GEMMA = ModelOptions(model="ollama/gemma3")
SAID = "Ollama says so"


def prompt_of(n_passages: int, words_each: int = 400, template: str = "default") -> Prompt:
    """Return a prompt with passages of a known length: each word is one token."""
    chunks = [Chunk(n, "a.txt", f"P{n}" + " word" * words_each, 0, 1, 1) for n in range(n_passages)]
    return build_prompt(
        "When does salt melt?",
        [Evidence(chunk, 1.0, {}, ()) for chunk in chunks],
        Support("strong", 1.0, ()),
        template=template,
        max_chunks=n_passages or 1,
        max_tokens=10**6,
        count_tokens=count_tokens,
    )


# --- the budget ---


def test_without_a_known_context_the_setting_is_the_budget():
    budget = plan_budget(3000, GEMMA, None)
    assert (budget.max_tokens, budget.reserve, budget.note) == (3000, 512, "")


def test_a_large_context_leaves_the_setting_as_it_is():
    budget = plan_budget(3000, GEMMA, ContextSize(8192, SAID))
    assert (budget.max_tokens, budget.note) == (3000, "")


def test_a_small_context_leaves_what_the_answer_and_the_margin_of_30_percent_leave():
    budget = plan_budget(3000, GEMMA, ContextSize(4096, SAID))
    assert budget.max_tokens == 2707 == int((4096 - 512 - 64) / 1.3)
    assert budget.note == (
        "The prompt may have 2,707 tokens instead of 3,000: the model takes 4,096 in all (Ollama says so), of which "
        "512 are kept for the answer and some because models count differently."
    )


def test_openais_own_models_need_no_margin():
    size = ContextSize(4096, "as litellm's table says")
    assert plan_budget(9000, ModelOptions(model="openai/gpt-4"), size).max_tokens == 4096 - 512 - 64
    local = ModelOptions(model="openai/qwen", api_base="http://localhost:1234/v1")
    assert plan_budget(9000, local, size).max_tokens == 2707


def test_no_room_beside_the_answer_is_told_with_the_cure():
    with pytest.raises(
        SettingsError, match=r"takes 512 tokens in all \(as it is set\), and 512 are kept.*shorter answer"
    ):
        plan_budget(3000, GEMMA, ContextSize(512, "as it is set"))


@given(
    context=st.integers(200, 300_000), reserve=st.integers(16, 4000), wanted=st.integers(50, 10**6),
    model=st.sampled_from(["ollama/x", "openai/x", "gemini/x"]),
)  # fmt: skip
def test_prompt_and_answer_never_need_more_than_the_context(context, reserve, wanted, model):
    options = ModelOptions(model=model, max_tokens=reserve)
    try:
        budget = plan_budget(wanted, options, ContextSize(context, SAID))
    except SettingsError:
        assert context - reserve < 64 + 2
        return
    assert 1 <= budget.max_tokens <= wanted
    margin = 1.0 if model == "openai/x" else 1.3
    assert budget.max_tokens * margin + reserve + 64 <= context
    assert bool(budget.note) == (budget.max_tokens < wanted)


# --- where the context size is known from ---


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize(
    ("length", "more", "tokens", "source"),
    [
        (8192, {}, 8192, SAID),
        (131_072, {}, 32_768, "the largest context size that is set for Ollama"),
        (131_072, {"max_num_ctx": 65_536}, 65_536, "the largest context size that is set for Ollama"),
        (8192, {"context_size": 4096}, 4096, "as it is set"),
        (8192, {"context_size": 16_384}, 8192, SAID),
        (8192, {"num_ctx": 2048}, 2048, "as it is set"),
        (None, {}, 32_768, "the largest context size that is set for Ollama"),
    ],
)
def test_ollama_says_how_much_a_model_takes_and_the_settings_cap_it(length, more, tokens, source):
    with FakeLLM() as llm:
        llm.context_length = length
        options = ModelOptions(model="ollama/gemma3:270m", api_base=llm.ollama_base, api_key="typed", **more)
        assert find_context_size(options) == ContextSize(tokens, source)
        if "num_ctx" not in more:
            assert llm.last("/api/show").body == {"model": "gemma3:270m"}
            assert llm.last("/api/show").headers["authorization"] == "Bearer typed"


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize("path", ["/page", "/redirect", ":1"])
def test_a_server_that_does_not_say_is_no_error(path):
    with FakeLLM() as llm:
        options = ModelOptions(model="ollama/x", api_base=llm.ollama_base + path)
        assert find_context_size(options) == ContextSize(32_768, "the largest context size that is set for Ollama")


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("openai/gpt-4o-mini", 128_000),
        ("gemini/gemini-2.5-flash", 1_048_576),
        ("anthropic/claude-sonnet-4-5", 200_000),
        ("openai/none-of-them", None),
        ("mistral/gpt-4o-mini", None),
        ("gpt-4o-mini", None),
        ("", None),
    ],
)
def test_litellms_table_knows_hosted_models(model, tokens):
    assert known_context_size(model) == tokens
    found = find_context_size(ModelOptions(model=model))
    assert found == (tokens and ContextSize(tokens, "as litellm's table says"))


def test_a_model_at_an_own_address_is_not_taken_for_the_hosted_one_of_its_name():
    own = ModelOptions(model="openai/gpt-4o-mini", api_base="http://127.0.0.1:9/v1")
    assert find_context_size(own) is None
    assert find_context_size(replace(own, context_size=2048)) == ContextSize(2048, "as it is set")


# --- the context that Ollama is asked for ---


@pytest.mark.parametrize(
    ("answer", "num_ctx"), [(512, 4096), (3500, 8192), (7000, 8192), (9000, 16_384), (30_000, 32_768)]
)
def test_the_smallest_step_that_holds_prompt_and_answer_is_asked_for(answer, num_ctx):
    prompt = prompt_of(1)
    options = replace(GEMMA, max_tokens=answer)
    assert prompt.tokens * 1.3 + 64 + answer <= num_ctx
    assert fit_context(prompt, options).num_ctx == num_ctx


def test_a_models_own_limit_is_taken_where_it_lies_between_two_steps():
    size = ContextSize(6000, SAID)
    assert fit_context(prompt_of(1), replace(GEMMA, max_tokens=4500), size).num_ctx == 6000
    assert fit_context(prompt_of(1), GEMMA, ContextSize(2048, SAID)).num_ctx == 2048


def test_above_the_cap_nothing_is_sent_and_the_sentence_says_what_to_do():
    with pytest.raises(ModelError) as caught:
        fit_context(prompt_of(5), GEMMA, ContextSize(2048, SAID))
    needed = -int(-prompt_of(5).tokens * 1.3 // 1) + 64 + 512
    assert caught.value.kind == "context_window"
    assert str(caught.value) == (
        f"Prompt and answer need a context of about {needed:,} tokens, but ollama/gemma3 gets at most 2,048 (Ollama "
        "says so). Use a smaller token budget or fewer passages, allow a shorter answer, or raise the limit."
    )


def test_other_servers_are_asked_for_no_context():
    options = ModelOptions(model="openai/x")
    assert fit_context(prompt_of(1), options, ContextSize(10, SAID)) == options


@pytest.mark.usefixtures("clean_environment", "litellm")
def test_asking_keeps_the_prompt_within_the_models_context(make_context):
    files = {f"{n}.txt": f"Salt number {n} melts at {800 + n} degrees." + " Salt is salt." * 2 for n in range(60)}
    ac = make_context(files, retrievers=("bm25",))
    with FakeLLM() as llm:
        llm.context_length = 1024
        answer = ac.ask("Which salt melts?", "ollama/ok", llm.ollama_base, num_results=50)
        list(answer)
        options = llm.last("/api/chat").body["options"]
    assert answer.prompt.max_tokens == int((1024 - 512 - 64) / 1.3)
    assert len(answer.prompt.evidence) < 50
    assert (options["num_ctx"], options["num_predict"]) == (1024, 512)
    assert all(left.reason for left in answer.prompt.left_out)


# --- what the server cut ---


@pytest.mark.parametrize("reported", [None, 0, 5200, 5000, 4300, 3900])
def test_a_count_that_can_be_another_tokenizers_is_no_alarm(reported):
    prompt = prompt_of(12)
    assert 4900 < prompt.tokens < 5100
    assert what_was_cut(prompt, reported) == ""


def test_a_short_prompt_is_no_alarm():
    assert what_was_cut(prompt_of(0), 10) == ""


@pytest.mark.parametrize("template", ["default", "guarded", "seed"])
def test_a_prompt_that_was_cut_is_told_with_the_passages_that_are_lost(template):
    prompt = prompt_of(12, template=template)
    told = what_was_cut(prompt, 2050)
    sent = count_tokens(prompt.text)
    assert told.startswith(f"The model saw only 2,050 of about {sent:,} tokens of the prompt; ")
    first_whole = round((sent - 2050) / (count_tokens(prompt.text) / 12.2))
    match = re.search(r"the rules, passages 1 to (\d+) and the beginning of passage (\d+) are lost\.", told)
    assert match, told
    assert abs(int(match[1]) - first_whole) <= 1
    assert int(match[2]) == int(match[1]) + 1
    assert "smaller token budget" in told


@pytest.mark.parametrize("step", [2048, 2050, 4096, 4090])
def test_a_count_at_a_usual_size_is_an_alarm_also_where_little_is_lost(step):
    prompt = prompt_of(2, words_each=(step + 200) // 2)
    assert what_was_cut(prompt, step).startswith(f"The model saw only {step:,} of about ")


def test_where_only_rules_are_lost_no_passage_is_named():
    prompt = prompt_of(3, template="word " * 500 + "{query}\n{context}")
    told = what_was_cut(prompt, count_tokens(prompt.text) - 600)
    assert told == "" or "passage" in told
    prompt = prompt_of(1, words_each=100, template="word " * 2000 + "{query}\n{context}")
    assert "a part of the rules is lost" in what_was_cut(prompt, 1200)


def test_the_lower_of_two_counts_is_that_of_the_newer_encoding_for_other_languages():
    assert fewest_tokens("The quick brown fox.") == count_tokens("The quick brown fox.")
    text = "日本語の文章はトークンの数がかなり違います。" * 20
    assert fewest_tokens(text) < 0.9 * count_tokens(text)


# --- 200 collections ---

WORDS = "salt melt bread oven tide moon lamp oil bird nest tea leaf fee club note gold iron rain snow river".split()
SENTENCE = st.lists(st.sampled_from(WORDS), min_size=2, max_size=9).map(lambda w: f"{' '.join(w).capitalize()}.")
DOCUMENT = st.lists(SENTENCE, min_size=1, max_size=12).map(" ".join)


@given(
    texts=st.lists(DOCUMENT, min_size=1, max_size=6),
    question=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
    max_tokens=st.integers(30, 700),
    num_results=st.integers(1, 8),
    template=st.sampled_from(sorted(TEMPLATES)),
    retrievers=st.sampled_from([("bm25",), ("dense",), ("bm25", "dense")]),
)
@settings(max_examples=200)
def test_in_200_collections_nothing_is_over_the_budget_cut_or_lost(
    texts, question, max_tokens, num_results, template, retrievers
):
    ac = AutoContext(settings=Settings(template=template, retrievers=retrievers), encoder=HashEncoder())
    ac.add_files([(f"{n}.txt", text.encode()) for n, text in enumerate(texts)])
    try:
        prompt = ac.get_prompt(question, num_results, max_tokens)
    except BudgetError as error:  # the cure that it tells has to work
        max_tokens = max(max_tokens + 1, error.needed)
        prompt = ac.get_prompt(question, num_results, max_tokens)

    assert count_tokens(prompt.text) <= prompt.tokens <= max_tokens == prompt.max_tokens
    assert sum(part.tokens for part in prompt.parts) == prompt.tokens
    found = ac.search(question, 1000)
    candidates = {
        item.chunk.number
        for place, item in enumerate(found)
        if place < num_results or any(hit.rank <= num_results for hit in item.hits.values())
    }
    inside = [item.chunk.number for item in prompt.evidence]
    outside = [left.evidence.chunk.number for left in prompt.left_out]
    # Whatever was found is in it or left out; what takes the place of a near-duplicate comes from further down.
    assert len({*inside, *outside}) == len(inside + outside)
    assert candidates <= {*inside, *outside}
    copies = sum(left.copy_of is not None for left in prompt.left_out)
    assert copies or candidates == {*inside, *outside}
    assert all(left.reason for left in prompt.left_out)
    assert len(inside) <= num_results
    for item in prompt.evidence:
        sentences = split_into_sentences(ac.documents[item.chunk.document].text)
        text = item.chunk.text
        assert any(
            text == " ".join(sentences[i:j]) for i in range(len(sentences)) for j in range(i, len(sentences) + 1)
        )
        assert f"{neutralise(text)}\n---\n" in prompt.text
    assert len(re.findall(r"^--- CONTEXT.* ---$", prompt.text, re.M)) == 1
    assert len(re.findall(r"^--- END CONTEXT.* ---$", prompt.text, re.M)) == 1


def test_the_steps_double():
    assert CONTEXT_STEPS[:4] == (4096, 8192, 16_384, 32_768)
