"""Layouts of pipelines as text: Megatron-LM's and the short form."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import each

from planner.base.errors import InputError
from planner.plan.layout_text import layout_text, parse_layout, short_layout_text


@each(
    ("text", "layers"),
    [
        ("Et*7|(t*8|)*14t*7L", (7, *(8,) * 14, 7)),
        ("Et*3|(tt|)*29,|L", (3, *(2,) * 29, 0, 0)),  # DeepSeek-V3 without its m
        ("Et|t|(tt|)*2tL", (1, 1, 2, 2, 1)),
        ("E|tt|(t|t)*2|L", (0, 2, 1, 2, 1, 0)),
        ("EttL", (2,)),
        ("E, t | t L", (1, 1)),
        ("7,8*14,7", (7, *(8,) * 14, 7)),
        ("(3, 4)*2", (3, 4, 3, 4)),
        ("12", (12,)),
        ("0,4,0", (0, 4, 0)),
    ],
)
def test_what_is_meant(text: str, layers: tuple[int, ...]) -> None:
    assert parse_layout(text) == layers


@given(st.lists(st.integers(0, 40), min_size=1, max_size=40))
def test_both_forms_are_read_as_they_are_written(layers: list[int]) -> None:
    assert parse_layout(layout_text(layers)) == tuple(layers)
    assert parse_layout(short_layout_text(layers)) == tuple(layers)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=20))
def test_megatron_unrolls_the_text_to_the_same_chunks(layers: list[int]) -> None:
    """Its two substitutions, first of parentheses, then of single characters."""
    text = layout_text(layers)
    for pattern in (r"\(([^)]+)\)\*(\d+)", r"(.)\*(\d+)"):
        text = re.sub(pattern, lambda found: found[1] * int(found[2]), text)
    assert text[0] == "E"
    assert text[-1] == "L"
    assert [chunk.count("t") for chunk in text.split("|")] == layers


@each(
    ("text", "words"),
    [
        ("Et|x|L", "'x' is none of E, t, L, |, (, ), * and whole numbers at character 4"),
        ("Et*|L", "a whole number from 1 to 1,048,576 must follow * at character 4"),
        ("Et*0|L", "must follow * at character 4"),
        ("Et*", "must follow * at the end"),
        ("*3", "nothing to repeat at character 1"),
        ("8*3*2", "nothing to repeat at character 4"),
        ("E(t|", "a parenthesis is missing at the end"),
        ("Et)|L", "a closing parenthesis without an opening one at character 3"),
        ("E((t|)*2)*2L", "parentheses within parentheses at character 3"),
        ("Et|mL", "m (multi-token prediction, which costs nothing here; leave it out) stands"),
        ("tL", "E (embedding) must come first and once at character 1"),
        ("EtE|L", "E (embedding) must come first and once at character 3"),
        ("Et|t", "L (loss) must come last and once at the end"),
        ("EtL|tL", "L (loss) must come last and once"),
        ("Et5|L", "5 stands without * at character 3"),
        ("", "no chunk at the end"),
        ("7,,8", "a comma without a number at character 2"),
        ("7,", "a comma without a number at character 2"),
        ("9999999", "more than 1,048,576 layers at character 1"),
        ("t*1000000|" * 2, "more than 1,048,576 layers and chunks"),
        ("t*99999999999999999999", "a whole number from 1 to 1,048,576 must follow *"),
    ],
)
def test_what_is_wrong_says_where(text: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_layout(text)
    line = str(refused.value)
    assert words in line
    assert "\n" not in line
    assert line.endswith("e.g. Et*7|(t*8|)*14t*7L or 7,8*14,7")


def outcome_of(text: str) -> str:
    """The layers as text, or why there are none."""
    try:
        return short_layout_text(parse_layout(text))
    except InputError as error:
        return str(error)


@given(st.text(alphabet="Etm L|(),*0123456789x", max_size=24))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    assert "\n" not in outcome_of(text)
