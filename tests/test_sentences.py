"""Where sentences end, that nothing is lost between them, and that long texts cost linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocontext.sentences import sentence_spans, split_into_sentences

LONG = "a line that is longer than a line that stands for itself"


@pytest.mark.parametrize(
    "sentences",
    [
        ["One.", "Two!", "Three?", "Four…", "Five"],
        ["Dr. Low met Mrs. Dalloway at 3.30 p.m. on Monday.", "Nobody knew why."],
        ["It cost $3.50, e.g. for Tea, i.e. 1.5 cups.", "See No. 5 and Fig. 3 there."],
        ["J. S. Bach wrote it.", "The answer is no.", "Then he left."],
        ["The year was 1908.", "It rained."],
        ["Open readme.txt or example.org/a.b now.", "Done."],
        ['He said "Stop."', "Then he left."],
        ["She asked (why?) and he said “Because.”", "So it was."],
        ["Is it so?!", "Yes..."],
        ["wait... what?", "Yes."],
        ["Am 29. Juli 1908 kam der 3. Mann.", "Danach war im 19. Jahrhundert z. B. nichts."],
        ["Die 2. Fahrt kostet ca. 5 Euro usw. und mehr.", "Ende."],
    ],
)
def test_sentences_on_one_line_are_told_apart(sentences):
    assert split_into_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("猫が来た。「早い。」と言った！本当？", ["猫が来た。", "「早い。」", "と言った！", "本当？"]),
        ("我来了。他走了", ["我来了。", "他走了"]),
        ("राम घर गया। वह सो गया।", ["राम घर गया।", "वह सो गया।"]),
        ("هل هذا صحيح؟ نعم.", ["هل هذا صحيح؟", "نعم."]),
    ],
)
def test_other_scripts_have_their_own_stops(text, sentences):
    assert split_into_sentences(text) == sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("# Salt\nIt melts late.\n## Use\nFor soup.", ["# Salt", "It melts late.", "## Use", "For soup."]),
        ("Shopping\n- milk\n- old bread\n* eggs", ["Shopping", "- milk", "- old bread", "* eggs"]),
        ("Steps:\n1. Mix it.\n2. Bake it\n10) Eat", ["Steps:", "1. Mix it.", "2. Bake it", "10) Eat"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\nAfter", ["| a | b |", "|---|---|", "| 1 | 2 |", "After"]),
        ("Mr Smith\n12 High Street\nLondon", ["Mr Smith", "12 High Street", "London"]),
        *((f"{LONG}\n{line}", [LONG, line]) for line in ("- milk", "a) milk", "| milk |", "> milk", "```", "2) x")),
        (f"## {LONG}\ntext", [f"## {LONG}", "text"]),
        (f"| {LONG} |\ntext", [f"| {LONG} |", "text"]),
        ("One paragraph\n \t\nand another", ["One paragraph", "and another"]),
        (
            "This is a line of a plain text that is wrapped\nSomewhere in its middle, as mails\nare.",
            ["This is a line of a plain text that is wrapped\nSomewhere in its middle, as mails\nare."],
        ),
        ("apples, pears,\nPlums and more", ["apples, pears,\nPlums and more"]),
        ("short line\ngoes on in lower case", ["short line\ngoes on in lower case"]),
    ],
)
def test_lines_that_stand_for_themselves_are_sentences_and_wrapped_ones_are_not(text, sentences):
    assert split_into_sentences(text) == sentences


@pytest.mark.parametrize("text", ["", " ", "\n\n\n", " \t\n\x0b\u3000\u2028 \n"])
def test_blanks_alone_hold_no_sentence(text):
    assert sentence_spans(text) == []


PIECES = st.sampled_from(
    [
        "\n",
        "\n\n",
        " ",
        "\t",
        "\u3000",
        ". ",
        "。",
        "!",
        "?”",
        "a",
        "Dr.",
        "z.B.",
        "3.",
        "# H",
        "- x",
        "| r |",
        "```",
        "猫",
    ]
)


@given(st.text(max_size=80) | st.lists(PIECES | st.text(max_size=3), max_size=40).map("".join))
@settings(max_examples=300)
def test_sentences_ascend_and_leave_out_nothing_but_blanks(text):
    position = 0
    for start, end in sentence_spans(text):
        assert position <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        assert not text[position:start].strip()
        position = end
    assert not text[position:].strip()


def _seconds(text: str) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        sentence_spans(text)
        times.append(time.perf_counter() - start)
    return min(times)


@pytest.mark.parametrize(
    ("unit", "times"),
    [
        pytest.param(" ", 250_000, id="blanks"),
        pytest.param("\n", 20_000, id="newlines"),
        pytest.param("word ", 50_000, id="one line without stops"),
        pytest.param("a.", 40_000, id="stops without blanks"),
        pytest.param("a. ", 10_000, id="initials"),
        pytest.param(")", 100_000, id="closers"),
        pytest.param("🎉" * 405 + "\n", 300, id="long lines without stops"),
    ],
)
def test_eight_times_the_text_takes_about_eight_times_as_long(unit, times):
    assert _seconds(unit * times * 8) / _seconds(unit * times) < 24


def test_a_run_of_dots_is_read_once():
    assert split_into_sentences("." * 200_000 + "a") == ["." * 200_000 + "a"]
