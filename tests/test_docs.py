"""What the documents say holds."""

from __future__ import annotations

import dataclasses
import re
import shlex
import shutil
from pathlib import Path

import pytest

import autocontext
from autocontext import Settings
from autocontext.__main__ import _parser, main
from autocontext.errors import SettingsError
from autocontext.settings_change import cost_of_change
from autocontext.settings_explained import setting_of, setting_paths, with_values
from autocontext.ui.frame import PAGES as MENU
from scripts import describe_settings
from scripts.describe_settings import ALL, CHECK, COSTS, CUT, NEW_FILES, NOTHING, RANGES, Range, cost_of
from tests.conftest import DATA, ROOT
from tests.shown import near, same_line

README = (ROOT / "README.md").read_text("utf-8")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
PAGES = {path: path.read_text("utf-8") for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def test_the_library_example_runs_and_finds_pauli(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert "data/economics.txt line 1 {'bm25': 1, 'dense': 1}" in out
    assert "Pauli Blendergast says that economics is bullshit" in out
    assert " strong " in out


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Settings)])
def test_every_setting_is_in_the_readme(field):
    assert f"| `{field}` |" in README


def test_every_command_line_of_a_page_is_understood():
    shown = re.findall(r"^```(\w*)\n(.*?)^```$", "\n".join(PAGES.values()), re.S | re.M)
    commands = "".join(text for language, text in shown if language in ("", "sh"))
    lines = [line for line in commands.splitlines() if "python -m autocontext" in line]
    assert len(lines) == 19
    for line in lines:
        words = shlex.split(line.rpartition("python -m autocontext ")[2])
        assert callable(_parser().parse_args(words).run)


def test_every_page_of_the_menu_is_in_the_readme():
    assert [row.split(" | ")[0] for row in re.findall(r"^\| ([A-Z]\w+ \| .*) \|$", README, re.M)][: len(MENU)] == [
        label for _, label, _ in MENU
    ]


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md", "docs/models.md", "docs/collections.md"])
def test_what_a_page_tells_to_click_on_is_in_the_app(name):
    app = " ".join(path.read_text("utf-8") for path in (*ROOT.glob("pages/*.py"), *ROOT.glob("autocontext/**/*.py")))
    words = " ".join(PAGES[ROOT / name].split())
    labels = set(re.findall(r"(?<!\*)\*([A-Z][^*]*)\*(?!\*)", words))
    assert labels
    assert {label for label in labels if f'"{label}' not in app and f"**{label}" not in app} == set()


@pytest.mark.parametrize("target", ["run", "test", "lint", "bench"])
def test_every_make_target_in_the_readme_exists(target):
    assert f"make {target}" in README
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_and_section_that_a_page_links_to_exists(page):
    for target, section in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", PAGES[page]):
        linked = page.parent / target if target else page
        assert linked.exists(), target
        if section:
            titles = re.findall(r"^#+ (.+)$", linked.read_text("utf-8"), re.M)
            assert section in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}, section


def test_every_picture_is_shown_and_small():
    shown = {name for page in PAGES.values() for name in re.findall(r"images/(\w+\.png)\)", page)}
    assert {path.name for path in (ROOT / "docs" / "images").iterdir()} == shown
    assert all((ROOT / "docs" / "images" / name).stat().st_size < 150_000 for name in shown)


# --- docs/tutorial.md, docs/algorithms.md: what is shown is what comes out --------------------------------------------

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)


def shown_steps(name: str) -> list[tuple[str, str, str]]:
    """Return the language and text of each block of a page, with the output that is shown after it, if any."""
    found = BLOCK.findall(PAGES[ROOT / "docs" / name])
    steps = [[language, text, ""] for language, text in found if language != "text"]
    position = -1
    for language, text in found:
        if language == "text":
            steps[position][2] = text
        else:
            position += 1
    return [(language, text, output) for language, text, output in steps]


def missing_part(shown: str, printed: str) -> str:
    """Return the first part of a shown output that was not printed, or ""; "..." stands for lines left out."""
    lines, position = printed.splitlines(), 0
    parts = [part.strip("\n").splitlines() for part in re.split(r"^\.\.\.$", shown, flags=re.M)]
    for part in filter(None, parts):
        starts = range(position, len(lines) - len(part) + 1)
        fits = (n for n in starts if all(map(same_line, part, lines[n : n + len(part)])))
        start = next(fits, None)
        if start is None:
            return "\n".join(part)
        position = start + len(part)
    return ""


@pytest.mark.parametrize("name", ["tutorial.md", "algorithms.md"])
def test_every_command_and_all_code_of_a_page_gives_what_is_shown(name, monkeypatch, tmp_path, capsys):
    shutil.copytree(DATA, tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    steps = shown_steps(name)
    assert len(steps) >= 4
    for language, text, output in steps:
        if language == "sh":
            words = shlex.split(text)
            assert words[:3] == ["python", "-m", "autocontext"]
            assert main(words[3:]) == 0, text
        elif language == "toml":
            Path(text.splitlines()[0].removeprefix("# ")).write_text(text, "utf-8")
        else:
            exec(compile(text, name, "exec"), {})
        printed = capsys.readouterr().out
        assert language == "toml" or output, text
        assert missing_part(output, printed) == "", printed


def test_an_output_that_is_not_what_comes_out_is_found_out():
    printed = "a 0.5000\nb 7\nc\n"
    assert missing_part("a 0.5001\n...\nc\n", printed) == ""
    assert missing_part("a 0.6\n...\nc\n", printed) == "a 0.6"
    assert missing_part("a 0.5\nc\n", printed) == "a 0.5\nc"
    assert missing_part("...\nb 8\n", printed) == "b 8"
    assert (near("0.885", "0.915"), near("50", "51"), near("7", "8")) == (False, True, False)


def test_the_tutorial_shows_every_command_that_explains_and_measures():
    shown = {shlex.split(text)[3] for language, text, _ in shown_steps("tutorial.md") if language == "sh"}
    assert shown == {"prompt", "search", "why", "stats", "compare-bm25", "compare-chunks", "eval"}


# --- docs/settings.md -------------------------------------------------------------------------------------------------

# Another value that can work, where it does not follow from the default.
OTHER = {
    "retrievers": ("bm25",),
    "fusion": "ranks",
    "weights": {"dense": 0.3},
    "template": "seed",
    "chunking.sentences": 5,
    "chunking.sentence_tokens": 0,
    "chunking.overlap": 1,
    "chunking.max_tokens": 20,
    "bm25.b": 0.5,
    "encoder.model": "another-model",
    "encoder.folder": Path("a-model"),
    "encoder.allow_download": False,
    "encoder.backend": "sentence-transformers",
    "pdf.ocr": True,
}


def test_the_page_of_settings_is_current():
    assert (ROOT / describe_settings.PAGE).read_text("utf-8") == describe_settings.page()


def test_every_setting_has_a_range_and_no_other():
    assert set(RANGES) == set(setting_paths()) >= set(COSTS)


@pytest.mark.parametrize("path", [path for path, told in RANGES.items() if isinstance(told, Range)])
def test_the_range_of_a_setting_is_what_it_takes(path):
    told = RANGES[path]
    assert isinstance(told, Range)
    step = 1 if isinstance(setting_of(Settings(), path), int) and not told.is_above else 0.001
    inside = [told.low + step if told.is_above else told.low, *([told.high] if told.high is not None else [1e9])]
    outside = [told.low if told.is_above else told.low - step, *([told.high + step] if told.high is not None else [])]
    for value in inside:
        with_values(Settings(), {path: value})
    for value in outside:
        with pytest.raises(SettingsError):
            with_values(Settings(), {path: value})


@pytest.mark.parametrize("path", list(setting_paths()))
def test_a_change_costs_what_the_page_says(make_context, path):
    ac = make_context({f"{n}.txt": "Salt melts at 801 degrees. It tastes salty. " * 9 for n in range(3)})
    default = setting_of(ac.settings, path)
    other = OTHER[path] if path in OTHER else default // 2 if isinstance(default, int) else default / 2
    cost = cost_of_change(ac.settings, with_values(ac.settings, {path: other}), ac)
    told = cost_of(path)
    assert (cost.documents > 0, cost.passages > 0, cost.for_new_files) == {
        NOTHING: (False, False, False),
        NEW_FILES: (False, False, True),
        CUT: (True, True, False),
        ALL: (True, True, False),
        CHECK: (True, False, False),
    }.get(told, (False, False, False)), told
    if told == ALL:
        assert cost.passages == len(ac.chunks)


# --- all pages --------------------------------------------------------------------------------------------------------


def test_every_module_has_its_line_in_the_architecture():
    for path in (ROOT / "autocontext").iterdir():
        if path.name.startswith(("__pycache__", "__init__")):
            continue
        assert path.name in ARCHITECTURE or path.stem in ARCHITECTURE, path.name


def test_the_version_is_the_same_everywhere():
    pyproject = (ROOT / "pyproject.toml").read_text("utf-8")
    assert f'version = "{autocontext.__version__}"' in pyproject
    assert autocontext.__version__ in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_litellm_is_pinned_to_one_release_everywhere():
    pins = {
        re.search(r"litellm==([\d.]+)", (ROOT / name).read_text("utf-8")).group(1)  # type: ignore[union-attr]
        for name in ("requirements.txt", "constraints.txt", "pyproject.toml", "docs/decisions/002-litellm-is-pinned.md")
    }
    assert len(pins) == 1
