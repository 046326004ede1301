"""What autocontext.llm promises, tried against the scripted server of fake_llm.py over real connections."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from autocontext.datatypes import ModelOptions, Piece
from autocontext.errors import ModelError
from autocontext.llm import StreamJob, ThinkSplitter, is_ollama, stream_answer
from autocontext.llm_errors import explain
from autocontext.model_server import find_context_size, list_models
from tests.fake_llm import ANSWER, FakeLLM

pytestmark = pytest.mark.usefixtures("clean_environment", "litellm")
PATIENCE = 30.0  # seconds; only a failing test waits so long
LONG_ANSWER = " ".join(str(number) for number in range(1200))  # of different words: litellm stops a loop by itself
PROTOCOLS = pytest.mark.parametrize("protocol", ["openai", "ollama"])


@pytest.fixture
def closed_address() -> str:
    """Return an address where nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def options_for(llm: FakeLLM, protocol: str, scenario: str, **more: object) -> ModelOptions:
    return replace(ModelOptions(model=f"{protocol}/{scenario}", api_base=llm.base(protocol), timeout=PATIENCE), **more)


def text_of(pieces: list[Piece], kind: str = "text") -> str:
    return "".join(piece.text for piece in pieces if piece.kind == kind)


def ask(options: ModelOptions) -> list[Piece]:
    return list(stream_answer("Who?", options))


def failure(action: Callable[[], object]) -> ModelError:
    with pytest.raises(ModelError) as caught:
        action()
    return caught.value


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "autocontext-answer"]


# ---- the answer ------------------------------------------------------------------------------------------------------


@PROTOCOLS
def test_the_answer_comes_in_pieces_and_ends_with_the_figures(llm: FakeLLM, protocol: str) -> None:
    pieces = ask(options_for(llm, protocol, "ok"))

    assert [piece.text for piece in pieces[:-1]] == llm.words()
    assert pieces[-1] == Piece("done", "", "stop", prompt_tokens=42, completion_tokens=8)


@pytest.mark.parametrize(
    ("protocol", "scenario"),
    [(p, s) for p in ("openai", "ollama") for s in ("reasoning", "think-tags", "think-tokens")],
)
def test_thinking_is_kept_apart_from_the_answer(llm: FakeLLM, protocol: str, scenario: str) -> None:
    pieces = ask(options_for(llm, protocol, scenario))

    assert text_of(pieces).strip() == ANSWER
    assert text_of(pieces, "thinking").strip() == "Let me look at the context."


@PROTOCOLS
def test_without_counts_of_the_server_there_are_figures_all_the_same(llm: FakeLLM, protocol: str) -> None:
    done = ask(options_for(llm, protocol, "no-usage"))[-1]

    assert (done.kind, done.finish_reason) == ("done", "stop")
    assert done.prompt_tokens is None or done.prompt_tokens >= 0


def test_the_cost_of_a_hosted_model_is_told(llm: FakeLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", llm.openai_base)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-own")

    done = ask(ModelOptions(model="openai/gpt-4o-mini"))[-1]

    assert done.cost == pytest.approx((42 * 0.15 + 8 * 0.60) / 1_000_000)
    assert llm.chats()[0].headers["authorization"] == "Bearer sk-own"


@PROTOCOLS
def test_a_server_of_ones_own_has_no_known_cost(llm: FakeLLM, protocol: str) -> None:
    assert ask(options_for(llm, protocol, "gpt-4o-mini"))[-1].cost is None


@PROTOCOLS
def test_an_answer_cut_by_the_token_limit_says_so(llm: FakeLLM, protocol: str) -> None:
    pieces = ask(options_for(llm, protocol, "length"))

    assert text_of(pieces) == ANSWER
    assert pieces[-1].finish_reason == "length"


@PROTOCOLS
def test_messages_of_a_chat_arrive_as_they_are(llm: FakeLLM, protocol: str) -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]

    list(stream_answer(chat, options_for(llm, protocol, "ok")))

    arrived = llm.chats()[0].body["messages"]
    assert [{"role": m["role"], "content": m["content"]} for m in arrived] == chat


def test_a_plain_prompt_is_one_user_message(llm: FakeLLM) -> None:
    ask(options_for(llm, "openai", "ok"))

    assert llm.chats()[0].body["messages"] == [{"role": "user", "content": "Who?"}]


def test_ten_answers_at_once_do_not_mix(llm: FakeLLM) -> None:
    answers: dict[int, str] = {}

    def run(number: int) -> None:
        answers[number] = text_of(ask(options_for(llm, ["openai", "ollama"][number % 2], "ok")))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert answers == dict.fromkeys(range(10), ANSWER)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_think_tags_are_found_wherever_the_stream_is_cut(size: int) -> None:
    text = "\n<think>a <b> </thin </think>Answer with <think> in it"
    splitter = ThinkSplitter()

    pieces = [piece for i in range(0, len(text), size) for piece in splitter.feed(text[i : i + size])]
    pieces += splitter.feed("", last=True)

    assert text_of(pieces, "thinking") == "a <b> </thin "
    assert text_of(pieces) == "Answer with <think> in it"


@pytest.mark.parametrize("text", ["<", "<thi", " < 3 is a heart", "plain", "  "])
def test_an_answer_that_only_begins_like_a_tag_is_not_lost(text: str) -> None:
    splitter = ThinkSplitter()

    assert text_of([*splitter.feed(text), *splitter.feed("", last=True)]) == text


# ---- what is sent ----------------------------------------------------------------------------------------------------


def test_ollama_is_given_the_context_size_and_told_not_to_cut_the_prompt(llm: FakeLLM) -> None:
    ask(options_for(llm, "ollama", "ok", num_ctx=16384))

    body = llm.last("/api/chat").body
    assert body["options"] == {"num_ctx": 16384, "num_predict": 512, "temperature": 0.0}
    assert body["truncate"] is False
    assert body["model"] == "ok"


def test_the_long_name_of_ollama_is_the_same(llm: FakeLLM) -> None:
    options = replace(options_for(llm, "ollama", "ok", num_ctx=8192), model="ollama_chat/ok")

    assert text_of(ask(options)) == ANSWER
    assert llm.last("/api/chat").body["options"]["num_ctx"] == 8192


def test_other_servers_are_not_sent_what_only_ollama_knows(llm: FakeLLM) -> None:
    ask(options_for(llm, "openai", "ok", num_ctx=16384))

    assert llm.chats()[0].body == {
        "model": "ok",
        "messages": [{"role": "user", "content": "Who?"}],
        "max_tokens": 512,
        "temperature": 0.0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


@PROTOCOLS
def test_a_key_of_the_environment_never_reaches_a_typed_address(
    llm: FakeLLM, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-SECRET")
    monkeypatch.setenv("OLLAMA_API_KEY", "ol-SECRET")

    ask(options_for(llm, protocol, "ok"))
    list_models(options_for(llm, protocol, "ok"))

    give_up_at = time.monotonic() + PATIENCE
    while protocol == "ollama" and llm.requests[-1].path != "/api/show" and time.monotonic() < give_up_at:
        time.sleep(0.02)  # litellm asks for the price in the background

    assert len(llm.requests) >= 2
    assert "SECRET" not in repr(llm.requests)
    assert llm.chats()[0].headers["authorization"] == "Bearer none"


@PROTOCOLS
def test_a_typed_address_gets_our_headers_and_the_typed_key_only(
    llm: FakeLLM, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_ORGANIZATION", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "LITELLM_USER_AGENT", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, f"SECRET-{name}")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: SECRET\nAuthorization: Bearer SECRET\nuser-agent: SECRET")

    ask(options_for(llm, protocol, "ok", api_key="typed"))
    list_models(options_for(llm, protocol, "ok", api_key="typed"))
    find_context_size(options_for(llm, protocol, "ok", api_key="typed"))

    assert len(llm.requests) >= 2
    assert "SECRET" not in repr(llm.requests)
    headers = dict(llm.chats()[0].headers)
    assert headers.pop("x-stainless-raw-response", "true") == "true"
    assert headers.pop("authorization") == "Bearer typed"
    assert headers.pop("user-agent") == "autocontext"
    assert set(headers) <= {"host", "accept", "accept-encoding", "connection", "content-type", "content-length"}


@pytest.mark.parametrize(
    "model",
    [
        "vertex_ai/gemini-2.5-flash", "watsonx/x", "gigachat/x", "groq/x", "anthropic/x", "hosted_vllm/x", "azure/x",
        "custom_openai/x", "text-completion-openai/x", "litellm_proxy/x",
    ],
)  # fmt: skip
def test_only_providers_whose_connection_is_ours_get_an_address(
    llm: FakeLLM, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk-SECRET")

    error = failure(lambda: ask(ModelOptions(model=model, api_base=llm.url, api_key="typed")))

    assert error.kind == "bad_address"
    assert "or write openai/ for a server with OpenAI's protocol." in str(error)
    assert llm.requests == []


def test_a_name_without_a_provider_sends_no_key_to_an_address_that_looks_like_a_provider(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk-SECRET")

    options = ModelOptions(model="x", api_base="http://api.groq.com/openai/v1")

    assert failure(lambda: ask(options)).kind == "bad_address"


@PROTOCOLS
def test_a_typed_key_is_sent_without_the_blanks_around_it(llm: FakeLLM, protocol: str) -> None:
    options = options_for(llm, protocol, "ok", api_key=" typed-key\n")

    ask(options)
    list_models(options)

    listing = next(request for request in llm.requests if request.method == "GET")
    assert llm.chats()[0].headers["authorization"] == "Bearer typed-key"
    assert listing.headers["authorization"] == "Bearer typed-key"


@PROTOCOLS
def test_an_address_may_end_with_a_slash(llm: FakeLLM, protocol: str) -> None:
    options = options_for(llm, protocol, "ok", api_base=f" {llm.base(protocol)}/ ")

    assert text_of(ask(options)) == ANSWER
    assert len(list_models(options)) == 2


@PROTOCOLS
def test_a_redirect_is_not_followed(llm: FakeLLM, protocol: str) -> None:
    with FakeLLM() as elsewhere:
        llm.redirect_to = f"{elsewhere.url}/v1/chat/completions"

        error = failure(lambda: ask(options_for(llm, protocol, "redirect")))

        assert error.kind == "redirect"
        assert str(error) == (
            f"{llm.base(protocol)} sends on to another address, which is not followed: your text would go elsewhere. "
            "Type the address that it ends at, for example with https:// for http://."
        )
        assert elsewhere.requests == []


# ---- failures --------------------------------------------------------------------------------------------------------

TOO_LONG = (
    "The prompt is longer than the context window of {protocol}/{scenario}. Use fewer passages or a smaller token "
    "budget, or a model with a larger window (Ollama: a larger context size)."
)
NOTHING = (
    "{base} answered with nothing. Use a smaller token budget, or check that the address is that of a language model."
)
CUT = "The answer broke off: the connection was lost, or the server reported an error. Ask again."
FAILURES = [
    ("401", "wrong_key", "{base} refused the API key. Check it, and that it may use {protocol}/401."),
    ("403", "wrong_key", "{base} refused the API key. Check it, and that it may use {protocol}/403."),
    ("402", "quota", "The account at {base} has no credit left. Add credit, or choose another model."),
    (
        "memory",
        "memory",
        "memory needs more memory than {base} has free. Choose a smaller model, or a smaller context size.",
    ),
    ("embed", "no_chat", "embed is no model that answers, for example one for embeddings. Choose a chat model."),
    ("429", "rate_limit", "{base} says that there were too many requests. Wait a little and ask again."),
    ("quota", "quota", "The account at {base} has no credit left. Add credit, or choose another model."),
    ("500", "server_error", "{base} failed to answer. Ask again; if it stays so, look at the server's log."),
    ("503", "overloaded", "{base} is overloaded or still starting. Wait a little and ask again."),
    ("404", "model_not_found", None),
    ("context", "context_window", TOO_LONG),
    ("llamacpp-context", "context_window", TOO_LONG),
    (
        "filter",
        "content_filter",
        "The content filter of {base} refused the prompt. Ask in other words, or choose another model.",
    ),
    ("empty", "empty", NOTHING),
    ("garbage", "empty", NOTHING),
    ("blank", "empty", NOTHING),
    (
        "length-empty",
        "empty",
        "{protocol}/length-empty used all its tokens before the answer began. Allow a longer answer.",
    ),
    ("cut", "cut", CUT),
    ("no-end", "cut", CUT),
    ("error-in-stream", "cut", CUT),
]


@PROTOCOLS
@pytest.mark.parametrize(("scenario", "kind", "sentence"), FAILURES, ids=[row[0] for row in FAILURES])
def test_a_failure_is_one_sentence_after_one_request(
    llm: FakeLLM, protocol: str, scenario: str, kind: str, sentence: str | None
) -> None:
    error = failure(lambda: ask(options_for(llm, protocol, scenario)))

    assert error.kind == kind, error.detail
    if sentence is not None:
        assert str(error) == sentence.format(base=llm.base(protocol), protocol=protocol, scenario=scenario)
    assert len(llm.chats()) == 1
    assert "Traceback" not in error.detail
    assert "\n" not in error.detail
    assert "litellm" not in str(error) + error.detail


@pytest.mark.parametrize(
    ("protocol", "scenario", "kind"),
    [
        ("openai", "nothing", "cut"),
        ("ollama", "nothing", "empty"),
        ("openai", "garbage-stream", "cut"),
        ("ollama", "garbage-stream", "empty"),
        ("openai", "filter-stream", "content_filter"),
        ("ollama", "truncate", "context_window"),
    ],
)
def test_a_failure_that_only_one_protocol_has(llm: FakeLLM, protocol: str, scenario: str, kind: str) -> None:
    assert failure(lambda: ask(options_for(llm, protocol, scenario))).kind == kind


@PROTOCOLS
def test_a_silent_server_is_given_up_after_the_timeout(llm: FakeLLM, protocol: str) -> None:
    error = failure(lambda: ask(options_for(llm, protocol, "hang", timeout=0.5)))

    assert error.kind == "timeout"
    assert str(error).startswith(f"{llm.base(protocol)} sent nothing for 0.5 s.")
    assert len(llm.chats()) == 1


@PROTOCOLS
def test_a_server_that_falls_silent_in_the_answer_is_given_up_and_its_words_are_kept(
    llm: FakeLLM, protocol: str
) -> None:
    kept: list[Piece] = []

    error = failure(lambda: kept.extend(stream_answer("Who?", options_for(llm, protocol, "stall", timeout=0.5))))

    assert error.kind == "timeout"
    assert text_of(kept) == "Pauli Blendergast says"
    assert len(llm.chats()) == 1


@PROTOCOLS
def test_a_host_that_is_not_known_is_told(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_such_name(*_arguments: object, **_more: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", no_such_name)
    options = ModelOptions(model=f"{protocol}/x", api_base="http://no-such-host.example")

    for error in (failure(lambda: ask(options)), failure(lambda: list_models(options))):
        assert error.kind == "unreachable"
        assert str(error) == (
            "The host of http://no-such-host.example is not known. Check its spelling and the network."
        )


@PROTOCOLS
def test_https_for_a_server_without_it_is_told(llm: FakeLLM, protocol: str) -> None:
    address = llm.base(protocol).replace("http:", "https:")
    options = options_for(llm, protocol, "ok", api_base=address)

    for error in (failure(lambda: ask(options)), failure(lambda: list_models(options))):
        assert error.kind == "no_tls"
        assert str(error) == (
            f"No secure connection to {address}. Check whether its address begins with http:// or https://, and its "
            "certificate."
        )


@PROTOCOLS
def test_a_long_answer_is_stopped_at_the_deadline(llm: FakeLLM, protocol: str) -> None:
    llm.delay, llm.answer = 0.1, LONG_ANSWER

    error = failure(lambda: ask(options_for(llm, protocol, "ok", deadline=0.5)))

    assert error.kind == "timeout"
    assert str(error).startswith("The answer took longer than 0.5 s and was stopped.")
    assert llm.disconnected.wait(PATIENCE)


@PROTOCOLS
def test_what_came_before_the_break_is_kept(llm: FakeLLM, protocol: str) -> None:
    kept: list[Piece] = []

    # extend() keeps what the generator gave before it raised.
    error = failure(lambda: kept.extend(stream_answer("Who?", options_for(llm, protocol, "cut"))))

    assert error.kind == "cut"
    assert text_of(kept) == "Pauli Blendergast says"


@PROTOCOLS
def test_the_words_of_a_broken_answer_are_not_taken_for_those_of_the_error(llm: FakeLLM, protocol: str) -> None:
    llm.answer = "content_filter context window and so on"

    assert failure(lambda: ask(options_for(llm, protocol, "cut"))).kind == "cut"


def test_a_model_that_repeats_itself_is_stopped(llm: FakeLLM) -> None:
    llm.answer = "again " * 400

    assert failure(lambda: ask(options_for(llm, "openai", "ok"))).kind == "loop"


def test_a_missing_model_names_the_cure(llm: FakeLLM) -> None:
    sentence = "Ollama has no model '404'. Fetch it with: ollama pull 404"
    assert str(failure(lambda: ask(options_for(llm, "ollama", "404")))) == sentence

    error = failure(lambda: ask(options_for(llm, "openai", "404")))
    assert error.kind == "model_not_found"
    assert str(error).startswith(f"{llm.openai_base} knows no model '404'.")


def test_an_address_with_the_wrong_path_is_told_from_a_missing_model(llm: FakeLLM) -> None:
    error = failure(lambda: ask(options_for(llm, "ollama", "ok", api_base=llm.openai_base)))
    assert error.kind == "bad_address"
    assert str(error).startswith(f"There is no Ollama at {llm.openai_base}.")

    error = failure(lambda: ask(options_for(llm, "openai", "ok", api_base=llm.url)))
    assert "most end with /v1" in str(error)


@pytest.mark.parametrize(
    ("model", "cure"),
    [
        ("openai/x", "Check the address, and that the server is running."),
        ("ollama/x", "Is Ollama running? Start it with: ollama serve"),
        ("ollama_chat/x", "Is Ollama running? Start it with: ollama serve"),
    ],
)
def test_a_server_that_is_down_is_told(closed_address: str, model: str, cure: str) -> None:
    options = ModelOptions(model=model, api_base=closed_address)

    for error in (failure(lambda: ask(options)), failure(lambda: list_models(options))):
        assert (error.kind, str(error)) == ("unreachable", f"Nothing answers at {closed_address}. {cure}")


@PROTOCOLS
@pytest.mark.parametrize("base", ["localhost:11434", "not a url", "file:///etc/passwd", "http://", "http://host:port"])
def test_what_is_no_address_is_told_before_anything_is_sent(protocol: str, base: str) -> None:
    options = ModelOptions(model=f"{protocol}/x", api_base=base)

    for error in (failure(lambda: ask(options)), failure(lambda: list_models(options))):
        assert error.kind == "bad_address"
        assert "is not an address. Write one like http://localhost:11434 or https://example.org/v1." in str(error)


@pytest.mark.parametrize(
    ("model", "kind", "beginning"),
    [
        ("", "bad_model", "No model is named. Write provider/model"),
        ("  ", "bad_model", "No model is named. Write provider/model"),
        (" ollama/gemma3", "bad_model", "The model's name begins or ends with a blank. Write 'ollama/gemma3'."),
        ("ollama/gemma3\n", "bad_model", "The model's name begins or ends with a blank. Write 'ollama/gemma3'."),
        ("ollama/", "bad_model", "'ollama/' names a provider but no model."),
        ("gemma3", "unknown_provider", "'gemma3' does not name a provider that litellm knows."),
        ("olama/gemma3", "unknown_provider", "'olama/gemma3' does not name a provider that litellm knows."),
        ("Ollama/gemma3", "unknown_provider", "'Ollama/gemma3' does not name a provider that litellm knows."),
        ("{where}/x", "unknown_provider", "'{where}/x' does not name a provider that litellm knows."),
    ],
)
def test_a_name_that_cannot_be_right_is_told(model: str, kind: str, beginning: str) -> None:
    error = failure(lambda: ask(ModelOptions(model=model)))

    assert error.kind == kind
    assert str(error).startswith(beginning)


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai/gpt-4o", "OPENAI_API_KEY"),
        ("gemini/gemini-2.5-flash", "GEMINI_API_KEY"),
        ("groq/llama-3.1-8b-instant", "GROQ_API_KEY"),
    ],
)
def test_a_missing_key_is_told_with_its_variable(model: str, variable: str) -> None:
    error = failure(lambda: ask(ModelOptions(model=model)))

    assert error.kind == "missing_key"
    assert variable in str(error)


def test_a_missing_litellm_is_told(llm: FakeLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)

    error = failure(lambda: ask(options_for(llm, "ollama", "ok")))

    assert error.kind == "not_installed"
    assert str(error).endswith("Install it with: pip install litellm")


# ---- secrets ---------------------------------------------------------------------------------------------------------


@PROTOCOLS
@pytest.mark.parametrize("key", ["typed-key", "sk-proj-abc123", "AIzaSyA-1234567890"])
def test_a_key_that_the_server_repeats_is_not_shown(llm: FakeLLM, protocol: str, key: str) -> None:
    error = failure(lambda: ask(options_for(llm, protocol, "echo-key", api_key=key)))

    assert error.kind == "wrong_key"
    assert "Not a valid key: ***" in error.detail
    assert key not in str(error)


@pytest.mark.parametrize(
    "key",
    ["sk-proj-abc123", "sk-ant-api03-x_y", "Bearer eyJhbGciOi", "AIzaSyA-1234567890", "gsk_abcd1234", "key=abc.def"],
)
def test_what_looks_like_a_key_is_not_shown(key: str) -> None:
    error = explain(RuntimeError(f"the key '{key}' is wrong"), ModelOptions(model="openai/x"))

    assert error.detail.startswith("the key '***")
    assert key not in error.detail


def test_a_key_of_the_environment_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "0123456789abcdef")

    error = explain(RuntimeError("0123456789abcdef is no key"), ModelOptions(model="mistral/x"))

    assert error.detail == "*** is no key"


def test_a_key_is_taken_out_before_the_detail_is_shortened() -> None:
    options = ModelOptions(model="openai/x", api_key="abcdefgh")

    assert "abcd" not in explain(RuntimeError("." * 396 + "abcdefgh"), options).detail


@pytest.mark.parametrize("key", ["schlüssel", "two words\nand a line", "•••"])
def test_a_key_that_cannot_be_one_is_told_without_it(llm: FakeLLM, key: str) -> None:
    error = failure(lambda: ask(options_for(llm, "openai", "ok", api_key=key)))

    assert error.kind == "wrong_key"
    assert key not in str(error) + error.detail
    assert llm.requests == []


@PROTOCOLS
@pytest.mark.parametrize("password", ["pw", "p@w", "p/w"])
def test_an_address_is_shown_without_its_password(closed_address: str, protocol: str, password: str) -> None:
    options = ModelOptions(model=f"{protocol}/x", api_base=closed_address.replace("//", f"//user:{password}@"))

    for error in (failure(lambda: ask(options)), failure(lambda: list_models(options))):
        assert closed_address in str(error)
        assert password not in str(error) + error.detail
        assert "user" not in str(error) + error.detail


def test_what_was_typed_before_an_at_sign_is_never_shown() -> None:
    without_scheme = ModelOptions(model="ollama/x", api_base="user:pw@host:99")
    assert str(failure(lambda: ask(without_scheme))).startswith("'host:99' is not an address.")

    error = explain(RuntimeError("500 for url 'http://user:pw@host/v1'"), ModelOptions(model="openai/x"))
    assert error.detail == "500 for url 'http://host/v1'"


def test_the_detail_is_short() -> None:
    assert explain(RuntimeError("." * 5000), ModelOptions(model="openai/x")).detail == "." * 400


def test_a_traceback_in_the_providers_text_is_left_out() -> None:
    text = "litellm.APIConnectionError: it failed\nTraceback (most recent call last):\n  File 'x.py'"

    assert explain(RuntimeError(text), ModelOptions(model="gemini/x")).detail == "it failed"


# ---- lists of models -------------------------------------------------------------------------------------------------


@PROTOCOLS
def test_the_models_of_a_server_are_listed_as_they_are_asked(llm: FakeLLM, protocol: str) -> None:
    assert list_models(options_for(llm, protocol, "")) == [f"{protocol}/gemma3:270m", f"{protocol}/ok"]


def test_the_list_is_made_by_the_server_that_the_environment_names(
    llm: FakeLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_API_BASE", llm.url)

    assert list_models(ModelOptions(model="ollama/")) == ["ollama/gemma3:270m", "ollama/ok"]


def test_a_provider_without_an_address_is_not_asked_for_a_list() -> None:
    assert list_models(ModelOptions(model="gemini/gemini-2.5-flash")) == []


@PROTOCOLS
@pytest.mark.parametrize(
    ("path", "kind"), [("page", "no_model_list"), ("x", "no_model_list"), ("redirect", "redirect")]
)
def test_a_server_without_a_list_is_told(llm: FakeLLM, protocol: str, path: str, kind: str) -> None:
    error = failure(lambda: list_models(options_for(llm, protocol, "", api_base=f"{llm.url}/{path}")))

    assert error.kind == kind
    assert str(error).startswith(f"{llm.url}/{path} ")
    assert len(llm.requests) == 1


@pytest.mark.parametrize(
    ("model", "expected"),
    [("ollama/gemma3", True), ("ollama_chat/gemma3", True), ("openai/ollama", False), ("ollama", False), ("", False)],
)
def test_ollama_is_known_by_its_prefix(model: str, expected: bool) -> None:
    assert is_ollama(model) is expected


# ---- shared servers --------------------------------------------------------------------------------------------------


@pytest.fixture
def allow(tmp_path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a maker of the list of allowed models."""

    def write(text: str) -> None:
        (tmp_path / "allowed.txt").write_text(text)
        monkeypatch.setenv("AUTOCONTEXT_ALLOWED_MODELS", str(tmp_path / "allowed.txt"))

    return write


@PROTOCOLS
def test_a_listed_model_at_its_address_is_asked(llm: FakeLLM, protocol: str, allow: Callable[[str], None]) -> None:
    address = llm.base(protocol).replace("http:", "HTTP:")
    allow(f"# for all\n{protocol}/g*   {address}/  # in the cellar\n\nopenai/gpt-4o")

    assert text_of(ask(options_for(llm, protocol, "gemma3:270m"))) == ANSWER
    assert list_models(options_for(llm, protocol, "")) == [f"{protocol}/gemma3:270m"]


@PROTOCOLS
@pytest.mark.parametrize(
    "listed", ["{protocol}/other {base}", "{protocol}/ok http://127.0.0.1:1", "{protocol}/ok", "# none"]
)
def test_what_is_not_listed_is_refused_before_anything_is_sent(
    llm: FakeLLM, protocol: str, listed: str, allow: Callable[[str], None]
) -> None:
    allow(listed.format(protocol=protocol, base=llm.base(protocol)))

    error = failure(lambda: ask(options_for(llm, protocol, "ok")))
    find_context_size(options_for(llm, protocol, "ok"))

    assert error.kind == "not_allowed"
    names = listed.partition(" ")[0].format(protocol=protocol).replace("#", "none")
    assert str(error) == (
        f"This server allows its listed models and addresses only. Choose one of its models: {names}."
    )
    assert llm.requests == []


def test_no_list_is_fetched_from_an_address_that_is_not_listed(llm: FakeLLM, allow: Callable[[str], None]) -> None:
    allow("openai/* http://127.0.0.1:1/v1")

    assert failure(lambda: list_models(options_for(llm, "openai", ""))).kind == "not_allowed"
    assert llm.requests == []


def test_a_list_that_cannot_be_read_allows_nothing(llm: FakeLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in ("/no/such/file", ""):
        monkeypatch.setenv("AUTOCONTEXT_ALLOWED_MODELS", path)

        for action in (ask, list_models):
            error = failure(lambda action=action: action(options_for(llm, "openai", "ok")))
            assert error.kind == "not_allowed"
            assert str(error).endswith("Correct AUTOCONTEXT_ALLOWED_MODELS on the server.")
    assert llm.requests == []


# ---- stopping --------------------------------------------------------------------------------------------------------


@PROTOCOLS
def test_closing_the_stream_stops_the_server(llm: FakeLLM, protocol: str) -> None:
    llm.delay, llm.answer = 0.05, LONG_ANSWER
    stream = stream_answer("Who?", options_for(llm, protocol, "ok"))

    next(stream)
    stream.close()

    assert llm.disconnected.wait(PATIENCE)


@PROTOCOLS
def test_a_job_gives_the_same_pieces(llm: FakeLLM, protocol: str) -> None:
    pieces = [piece for piece in StreamJob("Who?", options_for(llm, protocol, "ok")).pieces() if piece]

    assert text_of(pieces) == ANSWER
    assert pieces[-1] == Piece("done", "", "stop", prompt_tokens=42, completion_tokens=8)


@PROTOCOLS
def test_a_job_leaves_its_caller_free_while_the_server_is_silent(llm: FakeLLM, protocol: str) -> None:
    pieces = StreamJob("Who?", options_for(llm, protocol, "hang", timeout=10)).pieces(poll=0.05)

    assert next(pieces) is None
    before = time.monotonic()
    pieces.close()
    assert time.monotonic() - before < 5  # not the timeout

    llm.closing.set()  # the server's next byte, so to say
    for worker in workers():
        worker.join(PATIENCE)
    assert workers() == []


@PROTOCOLS
@pytest.mark.parametrize("how", ["cancel", "leave"])
def test_a_cancelled_or_left_job_disconnects_in_the_middle_of_the_answer(llm: FakeLLM, protocol: str, how: str) -> None:
    llm.delay, llm.answer = 0.05, LONG_ANSWER
    job = StreamJob("Who?", options_for(llm, protocol, "ok"))
    pieces = job.pieces()

    while next(pieces) is None:
        pass
    job.cancel() if how == "cancel" else pieces.close()

    assert llm.disconnected.wait(PATIENCE)


def test_a_failure_comes_through_a_job(llm: FakeLLM) -> None:
    error = failure(lambda: list(StreamJob("Who?", options_for(llm, "openai", "401")).pieces()))

    assert error.kind == "wrong_key"


def test_a_job_keeps_the_deadline_even_if_the_server_is_silent(llm: FakeLLM) -> None:
    job = StreamJob("Who?", options_for(llm, "openai", "hang", deadline=0.3))

    error = failure(lambda: list(job.pieces(poll=0.05)))

    assert str(error).startswith("The answer took longer than 0.3 s and was stopped.")


def test_a_mistake_of_ours_ends_a_job_instead_of_hanging_it(llm: FakeLLM) -> None:
    no_messages: list[dict[str, str]] = [None]  # type: ignore[list-item]

    error = failure(lambda: list(StreamJob(no_messages, options_for(llm, "openai", "ok")).pieces()))

    assert error.kind == "bug"


# ---- weight ----------------------------------------------------------------------------------------------------------


def test_importing_the_module_imports_no_client() -> None:
    code = "import sys, autocontext.llm; print({'litellm', 'openai', 'httpx'} & set(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.stdout.strip(), done.stderr) == ("set()", "")
