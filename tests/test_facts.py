"""What of a text can be checked, and in which forms two texts share it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocontext.facts import find_facts


def forms(text: str) -> set[str]:
    return {form for fact in find_facts(text) for form in fact.forms}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,200", "1200"),
        ("1.200", "1,200"),
        ("1 200", "1200"),
        ("1'200", "1200"),
        ("486 300", "486,300"),
        ("3.0", "3"),
        ("3,4", "3.4"),
        ("１２", "12"),
        ("eleven", "11"),
        ("elf", "11"),
        ("onze", "11"),
        ("ocho", "8"),
        ("twenty-four", "24"),
        ("dreiundzwanzig", "23"),
        ("viertausend", "4,000"),
        ("百四十六", "146"),
        ("二〇〇三年", "2003"),
        ("三百二十円", "320 yen"),
        ("28 October", "2023-10-28"),
        ("28 October", "October 28, 2023"),
        ("28. Oktober", "28.10.2023"),
        ("le 28 octobre", "28/10/2023"),
        ("10月28日", "28 de octubre"),
        ("5:40 pm", "17.40 Uhr"),
        ("17:45", "5:45 p.m."),
        ("9 am", "9:00"),
        ("noon", "12:00"),
        ("Tuesdays", "Dienstag"),
        ("火曜日", "Tuesday"),
        ("C₆H₁₀O", "C6H10O"),
    ],
)
def test_a_fact_is_the_same_in_other_words(one: str, other: str) -> None:
    assert forms(one) & forms(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,200", "1201"),
        ("1.25", "125"),
        ("28 October", "27 October"),
        ("17:45", "17:54"),
        ("F-13", "F-14"),
        ("Monday", "Tuesday"),
        ("INV-2024-017", "INV-2024-011"),
    ],
)
def test_other_facts_share_no_form(one: str, other: str) -> None:
    assert not forms(one) & forms(other)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("15 minutes", "minute"),
        ("15 Minuten", "minute"),
        ("15-minute", "minute"),
        ("£4,380", "pound"),
        ("12 per cent", "percent"),
        ("12%", "percent"),
        ("60 °C", "degree"),
        ("60 degrees Celsius", "degree"),
        ("5km", "kilometre"),
        ("400円", "yen"),
        ("47 bakeries", ""),
    ],
)
def test_a_number_knows_its_unit(text: str, unit: str) -> None:
    (number,) = (fact for fact in find_facts(text) if fact.kind == "number")
    assert number.unit == unit


def kinds(text: str) -> list[tuple[str, str]]:
    return [(text[fact.start : fact.end], fact.kind) for fact in find_facts(text)]


def test_names_are_capitals_within_a_sentence_but_not_german_nouns() -> None:
    assert kinds("It was won by Jory Pasternak.") == [("won", "word"), ("Jory", "name"), ("Pasternak", "name")]
    assert kinds("Erbaut wurde die Hütte von Matthäus Brändle") == [
        ("Erbaut", "word"),
        ("Hütte", "word"),
        ("Matthäus", "name"),
        ("Brändle", "name"),
    ]


@pytest.mark.parametrize("text", ["1. \n2) \n(3) ", "in passage 2", "It is so.", "", "…", "[1]"])
def test_what_says_nothing_is_no_fact(text: str) -> None:
    assert [kind for _, kind in kinds(text.replace("[1]", "   "))] == (["word"] if "passage" in text else [])


@given(st.text())
def test_facts_of_any_text_are_in_order_and_do_not_overlap_and_have_forms(text: str) -> None:
    facts = [fact for fact in find_facts(text) if fact.kind != "word"]
    assert all(0 <= fact.start < fact.end <= len(text) and fact.forms for fact in facts)
    assert all(a.end <= b.start for a, b in pairwise(facts))


@given(st.text(alphabet="0123456789.,:-/' ±年月日時一十百千万aApPmM°C£%"))
def test_odd_numbers_break_nothing(text: str) -> None:
    assert all(fact.forms for fact in find_facts(text))
