"""The command line as a user has it: a process, its streams and its exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from autocontext import generate_embeddings
from autocontext.__main__ import main
from tests.conftest import ROOT
from tests.fake_llm import ANSWER, FakeLLM


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "salt.txt").write_text("Salt melts at 801 degrees. It tastes salty.")
    (folder / "tea.md").write_text("# Tea\n\nGreen tea steeps for two minutes.")
    (folder / "broken.pdf").write_bytes(b"not a pdf")
    return folder


def run(*arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "autocontext", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        env={**os.environ, **env},
        timeout=240,
        check=False,
    )


def test_prompt_prints_the_prompt_and_nothing_else_on_stdout(notes):
    done = run("prompt", notes, "At how many degrees does salt melt?")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Based on the following context, please answer the question:\n")
    assert done.stdout.endswith("\nAnswer:\n")
    assert "[1] (notes/salt.txt)\nSalt melts at 801 degrees." in done.stdout
    assert "notes/broken.pdf: failed: It is damaged or not a PDF" in done.stderr
    assert "2 added, 1 failed" in done.stderr


def test_a_prompt_has_the_form_of_a_template_file(notes, bm25_only, tmp_path, capsys):
    (tmp_path / "own.txt").write_text("{context}\nIn one word: {query}\n")
    assert main(["prompt", str(notes), "How hot?", "--template-file", str(tmp_path / "own.txt"), *bm25_only]) == 0
    assert capsys.readouterr().out.endswith("--- END CONTEXT ---\nIn one word: How hot?\n")

    (tmp_path / "own.txt").write_text("{query}")
    assert main(["prompt", str(notes), "How hot?", "--template-file", str(tmp_path / "own.txt"), *bm25_only]) == 1
    assert "The field {context} is missing" in capsys.readouterr().err


def test_embed_prints_a_json_array_and_nothing_else():
    done = run("embed", stdin="Salt melts.\nTee zieht.\n")
    assert done.returncode == 0, done.stderr
    vectors = np.array(json.loads(done.stdout))
    assert vectors.shape == (2, 384)
    assert np.allclose(vectors, generate_embeddings(["Salt melts.", "Tee zieht."]), atol=1e-5)


def test_embed_of_nothing_is_an_empty_array():
    assert run("embed").stdout == "[]\n"


@pytest.fixture
def bm25_only():
    return ["--retrievers", "bm25"]


def test_ask_prints_the_answer_and_its_sources_apart(notes, bm25_only, capsys):
    with FakeLLM() as llm:
        code = main(
            ["ask", str(notes), "Who says it?", "--model", "openai/ok", "--api-base", llm.openai_base, *bm25_only]
        )
    out, err = capsys.readouterr()
    assert code == 0
    assert out == ANSWER + "\n"
    assert "[1] notes/" in err or "[1] is not in the prompt" in err


def test_tokens_and_seconds_and_the_smaller_budget_are_told(notes, bm25_only, capsys):
    with FakeLLM() as llm:
        llm.context_length = 2000
        main(
            ["ask", str(notes), "How many degrees does salt take?", "--model", "ollama/ok", "--api-base",
             llm.ollama_base, "--answer-tokens", "99", *bm25_only]
        )  # fmt: skip
        options = llm.last("/api/chat").body["options"]
    err = capsys.readouterr().err
    assert re.search(rf"^ollama/ok · {llm.counted} tokens in · 8 tokens out · \d+\.\d s$", err, re.M)
    assert re.search(r"^rules \d+, context \d+, question \d+$", err, re.M)
    assert "The prompt may have 1,413 tokens instead of 3,000: the model takes 2,000 in all (Ollama says so)" in err
    assert (options["num_ctx"], options["num_predict"]) == (2000, 99)


def test_what_is_left_out_is_told_with_the_reason(notes, bm25_only, capsys):
    assert main(["prompt", str(notes), "Does salt melt?", "--max-tokens", "66", *bm25_only]) == 0
    err = capsys.readouterr().err
    assert re.search(r"^left out: notes/salt\.txt, line 1: needs about 2\d tokens, \d+ were left$", err, re.M)


def test_a_context_size_that_only_the_user_knows_makes_the_prompt_smaller(notes, bm25_only, capsys):
    assert main(["prompt", str(notes), "Salt?", "--context-size", "800", "--answer-tokens", "300", *bm25_only]) == 0
    err = capsys.readouterr().err
    assert "The prompt may have 335 tokens instead of 3,000: the model takes 800 in all (as it is set)" in err
    assert " of 335 tokens; " in err

    assert main(["prompt", str(notes), "Salt?", "--context-size", "300", *bm25_only]) == 1
    assert "No room is left for the prompt" in capsys.readouterr().err
    assert main(["prompt", str(notes), "Salt?", "--context-size", "-5", *bm25_only]) == 1
    assert "must be 1 or more" in capsys.readouterr().err


def test_a_prompt_that_was_cut_and_an_answer_that_was_cut_are_told(notes, bm25_only, capsys):
    (notes / "long.txt").write_text(" ".join(f"Salt number {n} melts at {n} degrees." for n in range(60)))
    with FakeLLM() as llm:
        llm.prompt_tokens = 50
        main(
            ["ask", str(notes), "Which salt number?", "--model", "openai/length", "--api-base", llm.openai_base,
             "--num-results", "20", *bm25_only]
        )  # fmt: skip
    err = capsys.readouterr().err
    assert "The model saw only 50 of about " in err
    assert "The answer is not complete: it reached its length." in err


def test_models_lists_those_of_a_server(capsys):
    with FakeLLM() as llm:
        assert main(["models", "--api-base", llm.ollama_base]) == 0
        assert main(["models", "openai", "--api-base", llm.openai_base]) == 0
    out = capsys.readouterr().out
    assert out.split() == ["ollama/gemma3:270m", "ollama/ok", "openai/gemma3:270m", "openai/ok"]
    assert main(["models", "openai"]) == 1
    assert "Give the server's address" in capsys.readouterr().err


def test_a_source_that_does_not_exist_is_told(notes, bm25_only, capsys):
    with FakeLLM(answer="Salt does [1], as it says in [7].") as llm:
        main(
            [
                "ask",
                str(notes),
                "What melts?",
                "--model",
                "ollama/ok",
                "--api-base",
                llm.ollama_base,
                *bm25_only,
                "--num-results",
                "1",
            ]
        )
    assert "[7] is not in the prompt: the model made it up." in capsys.readouterr().err


def test_a_model_that_cannot_be_reached_is_one_sentence_and_exit_code_1(notes, bm25_only, capsys):
    code = main(
        ["ask", str(notes), "What melts?", "--model", "ollama/x", "--api-base", "http://127.0.0.1:9", *bm25_only]
    )
    out, err = capsys.readouterr()
    assert (code, out) == (1, "")
    assert "autocontext: Nothing answers at http://127.0.0.1:9" in err
    assert "Traceback" not in err


def test_a_broken_answer_keeps_what_came_and_fails(notes, bm25_only, capsys):
    with FakeLLM() as llm:
        code = main(
            ["ask", str(notes), "What melts?", "--model", "openai/cut", "--api-base", llm.openai_base, *bm25_only]
        )
    out, _ = capsys.readouterr()
    assert code == 1
    assert out == "Pauli Blendergast says\n"


@pytest.mark.parametrize("end", ["quit\n", "QUIT\n", "exit\n", ""])
def test_chat_answers_until_quit_or_the_end_of_input(notes, bm25_only, end):
    done = run("chat", notes, *bm25_only, stdin=f"At how many degrees does salt melt?\n\n{end}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("--- CONTEXT ---") == 1
    assert "801" in done.stdout


def test_chat_goes_on_after_an_error(notes, bm25_only, monkeypatch, capsys):
    lines = iter(["What melts?\n", "What steeps?\n", "quit\n"])
    monkeypatch.setattr("sys.stdin", type("In", (), {"readline": lambda _: next(lines), "isatty": lambda _: False})())
    code = main(["chat", str(notes), "--model", "ollama/x", "--api-base", "http://127.0.0.1:9", *bm25_only])
    assert code == 0
    assert capsys.readouterr().err.count("Nothing answers at") == 2


def talk(monkeypatch, *lines: str) -> None:
    said = iter([*(f"{line}\n" for line in lines), "quit\n"])
    monkeypatch.setattr("sys.stdin", type("In", (), {"readline": lambda _: next(said), "isatty": lambda _: False})())


def test_chat_searches_a_follow_up_with_the_topic_and_exports(notes, bm25_only, monkeypatch, capsys, tmp_path):
    talk(monkeypatch, "At how many degrees does salt melt?", "How does it taste?")
    with FakeLLM(answer="Salty, since 2018.") as llm:
        model = ["--model", "openai/ok", "--api-base", llm.openai_base]
        code = main(["chat", str(notes), *model, *bm25_only, "--export", str(tmp_path / "talk.md")])
        asked = llm.chats()[-1].body["messages"][0]["content"]
    err = capsys.readouterr().err
    assert code == 0
    assert "searched for: degrees salt melt: How does it taste?" in err
    assert "Not found in the passages: 2018." in err
    assert "Question: At how many degrees does salt melt?\nAnswer: Salty, since 2018.\n" in asked
    exported = (tmp_path / "talk.md").read_text("utf-8")
    assert "## 1. At how many degrees does salt melt?" in exported
    assert "> Salty, since 2018\\." in exported


def test_chat_lets_the_model_rewrite_a_follow_up(notes, bm25_only, monkeypatch, capsys):
    talk(monkeypatch, "At how many degrees does salt melt?", "How does it taste?")
    with FakeLLM(answer="How does salt taste?") as llm:
        main(["chat", str(notes), "--model", "openai/ok", "--api-base", llm.openai_base, *bm25_only, "--rewrite"])
        assert len(llm.chats()) == 3
    assert "searched for: How does salt taste?" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["prompt", "ask", "chat", "embed", "compare-bm25", "compare-chunks"])
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    assert "usage: python -m autocontext" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["prompt", "folder"], ["ask", "folder", "question"]])
def test_wrong_usage_is_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--max-tokens", "10"], "raise the token budget"),
        (["--retrievers", "bm52"], "choose from bm25, dense"),
        (["--sentences", "0"], "at least 1 sentence"),
    ],
)
def test_a_setting_that_cannot_work_is_a_sentence_and_exit_code_1(notes, arguments, sentence, capsys):
    assert main(["prompt", str(notes), "What melts?", "--retrievers", "bm25", *arguments]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err


def test_a_folder_without_anything_to_read_says_so(tmp_path, capsys):
    assert main(["prompt", str(tmp_path), "What?", "--retrievers", "bm25"]) == 1
    assert "holds no file with text" in capsys.readouterr().err


def test_a_store_is_kept_between_runs(notes, tmp_path, bm25_only, capsys):
    arguments = ["prompt", str(notes), "What melts?", *bm25_only, "--store", str(tmp_path / "x.db")]
    assert main(arguments) == 0
    assert main(arguments) == 0
    assert "2 unchanged, 1 failed" in capsys.readouterr().err


def test_a_mistyped_folder_does_not_empty_the_store(notes, tmp_path, bm25_only, capsys):
    store = ["--store", str(tmp_path / "x.db")]
    main(["prompt", str(notes), "What melts?", *bm25_only, *store])
    (tmp_path / "elsewhere").mkdir()
    main(["prompt", str(tmp_path / "elsewhere"), "What melts?", *bm25_only, *store])
    main(["prompt", str(notes), "What melts?", *bm25_only, *store])
    *_, last = (line for line in capsys.readouterr().err.splitlines() if line.endswith("chunks"))
    assert "2 unchanged, 1 failed" in last


def test_a_file_that_left_the_folder_leaves_the_store(notes, tmp_path, bm25_only, capsys):
    arguments = ["prompt", str(notes), "What melts?", *bm25_only, "--store", str(tmp_path / "x.db")]
    main(arguments)
    (notes / "salt.txt").unlink()
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "1 unchanged, 1 removed, 1 failed" in err
    assert "801" not in out.rpartition("Based on")[2]


def test_sync_tells_what_has_changed_and_nothing_the_second_time(notes, tmp_path, bm25_only):
    store = tmp_path / "notes.db"
    first = run("sync", notes, "--store", store, *bm25_only)
    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines() == [
        "failed\tnotes/broken.pdf\tIt is damaged or not a PDF; open it in a viewer and save it again.",
        "added\tnotes/salt.txt",
        "added\tnotes/tea.md",
    ]
    (notes / "broken.pdf").unlink()
    assert run("sync", notes, "--store", store).stdout == ""
    (notes / "tea.md").rename(notes / "green.md")
    (notes / "salt.txt").write_text("Salt is white.")
    assert run("sync", notes, "--store", store).stdout.splitlines() == [
        "added\tnotes/green.md\tRenamed from notes/tea.md.",
        "changed\tnotes/salt.txt",
        "removed\tnotes/tea.md",
    ]


def test_a_store_keeps_its_settings_until_others_are_given(notes, tmp_path, bm25_only, capsys):
    store = str(tmp_path / "notes.db")
    text = "".join(f"Sentence {n} is here with {'many words ' * 20}in it. " for n in range(6))
    (notes / "salt.txt").write_text(text)
    chunks = {}
    for n, options in enumerate(([*bm25_only, "--sentences", "1"], [], ["--sentences", "2"], [])):
        assert main(["sync", str(notes), "--store", store, *options]) == 0
        chunks[n] = re.search(r"(\d+) chunks", capsys.readouterr().err)[1]
    assert int(chunks[0]) == int(chunks[1]) > int(chunks[2]) == int(chunks[3])


def test_sync_without_a_store_says_what_it_needs(notes):
    done = run("sync", notes)
    assert (done.returncode, done.stderr) == (
        1,
        "autocontext: sync keeps its index in a file: name it with --store FILE.\n",
    )


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_sync_without_a_time_to_wait_says_what_it_needs(notes, tmp_path, seconds, capsys):
    assert main(["sync", str(notes), "--store", str(tmp_path / "s.db"), "--watch", "--interval", seconds]) == 1
    assert capsys.readouterr().err == "autocontext: --interval is a number of seconds above 0, up to 86,400.\n"


def test_watching_syncs_what_comes_until_it_is_ended(notes, tmp_path, bm25_only):
    command = [
        "-m",
        "autocontext",
        "sync",
        notes,
        "--store",
        tmp_path / "n.db",
        "--watch",
        "--interval",
        "0.1",
        *bm25_only,
    ]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, *map(str, command)], cwd=ROOT, text=True, **streams) as process:
        try:
            assert process.stdout is not None
            assert [process.stdout.readline().split()[0] for _ in range(3)] == ["failed", "added", "added"]
            (notes / "new.txt").write_text("Cats sleep.")
            assert process.stdout.readline().startswith("failed\tnotes/broken.pdf")
            assert process.stdout.readline() == "added\tnotes/new.txt\n"
            (notes / "new.txt").unlink()
            assert process.stdout.readline().startswith("failed\tnotes/broken.pdf")
            assert process.stdout.readline() == "removed\tnotes/new.txt\n"
        finally:
            process.send_signal(signal.SIGINT)
    assert process.returncode == 130


def test_ask_gives_all_that_is_known_as_json(notes, llm):
    done = run(
        *("ask", notes, "When does salt melt?", "--retrievers", "bm25", "--model", "openai/x"),
        *("--api-base", llm.base("openai"), "--json"),
        AUTOCONTEXT_API_KEY="key",
    )
    record = json.loads(done.stdout)
    assert record["answer"] == ANSWER
    assert record["complete"] is True
    assert [(each["number"], each["document"]) for each in record["citations"]] == [(1, "notes/salt.txt")]
    assert record["passages"][0]["text"].startswith("Salt melts at 801 degrees.")
    assert record["usage"]["completion_tokens"] > 0


def test_chat_gives_a_line_of_json_for_each_question(notes):
    done = run("chat", notes, "--retrievers", "bm25", "--json", stdin="When does salt melt?\nWhat steeps?\n")
    assert [json.loads(line)["question"] for line in done.stdout.splitlines()] == [
        "When does salt melt?",
        "What steeps?",
    ]


def test_sync_gives_a_line_of_json_for_each_file_that_is_not_as_before(notes, tmp_path, capsys):
    main(["sync", str(notes), "--store", str(tmp_path / "notes.db"), "--retrievers", "bm25", "--json"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["name"], row["status"]) for row in rows] == [
        ("notes/broken.pdf", "failed"), ("notes/salt.txt", "added"), ("notes/tea.md", "added"),
    ]  # fmt: skip


def test_models_are_listed_as_json(llm, capsys):
    assert main(["models", "openai", "--api-base", llm.base("openai"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == ["openai/gemma3:270m", "openai/ok"]
