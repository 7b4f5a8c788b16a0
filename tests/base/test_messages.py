"""How mistakes are worded: short, in one line, with the names that the user wrote."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import each

from planner import InputError
from planner.base.messages import (
    Attempts,
    Origin,
    clipped,
    did_you_mean,
    first_lines,
    not_one_of,
    one_line,
    printable,
    shortened,
    shown,
)


@each(("value", "text"), [
    (None, "null"), (True, "true"), (False, "false"), ("80Gb", "'80Gb'"), (1.5, "1.5"),
    (float("nan"), "nan"), ([1, "a", None], "[1, 'a', null]"), ({"tp": [1, 2]}, "{'tp': [1, 2]}"),
    ((), "[]"), ({}, "{}"), (list(range(9)), "[0, 1, 2, 3, ...]"), ([[[[1]]]], "[[[...]]]"),
    (10**9, "1000000000"), (10**99, "a number of about 100 digits"),
])  # fmt: skip
def test_values_are_shown_as_yaml_writes_them(value: Any, text: str) -> None:
    assert shown(value) == text


def test_a_set_is_shown_in_one_order() -> None:
    """Its own is that of hashes: of texts it is another in each process."""
    words = [f"w{at}" for at in range(9)]
    for one in (set(words), frozenset(words), set(reversed(words))):
        assert shown(one) == "{'w0', 'w1', 'w2', 'w3', ...}"
    assert shown({frozenset(words), 2, "a"}) == "{'a', 2, {'w0', 'w1', 'w2', 'w3', ...}}"
    assert shown(set()) == "set()"


def test_a_number_that_python_refuses_to_write_out_is_shown() -> None:
    assert shown(1 << 40_000) == "a number of about 12042 digits"


NESTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=300),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=40,
)


@settings(max_examples=300, deadline=None)
@given(value=NESTED)
def test_any_value_is_shown_in_one_short_line(value: Any) -> None:
    text = shown(value)
    assert len(text.splitlines()) <= 1
    assert len(text) < 6000


@settings(max_examples=300, deadline=None)
@given(text=st.text())
def test_any_text_becomes_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1
    assert printable(text).isprintable()
    if text.isprintable():
        assert one_line(text) == printable(text) == text


def test_the_nearest_names() -> None:
    axes = ("dp", "fsdp", "tp", "pp")
    assert did_you_mean("fspd", axes) == "; did you mean 'fsdp'?"
    assert did_you_mean("dpp", axes) == "; did you mean 'dp' or 'pp'?"
    assert did_you_mean("batch", axes) == ""
    assert did_you_mean("x" * 10**6, axes) == ""
    assert not_one_of("fspd", axes) == (
        "'fspd' is not one of dp, fsdp, tp, pp; did you mean 'fsdp'?"
    )


@each(("origin", "label"), [
    (Origin(), "seq_len"),
    (Origin(dashes=True), "seq-len"),
    (Origin(file="job.yaml", dashes=True), "job.yaml: seq_len"),
    (Origin(file="plan.yaml", section="job."), "plan.yaml: job.seq_len"),
    (Origin(file="job.yaml", arguments=frozenset({"seq_len"}), dashes=True), "seq-len"),
    (Origin(file="a\nb.yaml"), "a\\nb.yaml: seq_len"),
    (Origin(file="job.yaml", content=b"chips: 8\n\nseq_len: 0\n"), "job.yaml: line 3: seq_len"),
    (Origin(file="plan.yaml", section="job.", content="seq_len: 1\njob:\n  seq_len: 2\n"),
     "plan.yaml: line 3: job.seq_len"),
    (Origin(file="plan.yaml", section="job.", content="plan: 1\njob: {}\n"),
     "plan.yaml: line 2: job.seq_len"),
    (Origin(file="job.yaml", content=b"chips: 8\n"), "job.yaml: seq_len"),
])  # fmt: skip
def test_a_field_is_named_as_it_was_written(origin: Origin, label: str) -> None:
    assert origin.label(["seq_len"]) == label
    assert origin.blame("seq-len: 0 is too short", {"seq_len"}) == f"{label}: 0 is too short"
    assert origin.blame("elsewhere: 0", {"seq_len"}) == "elsewhere: 0"


def test_attempts_collect_every_mistake() -> None:
    def refuse(text: str) -> int:
        raise InputError(text)

    tried = Attempts(Origin(dashes=True), {"a_b"})
    assert tried.attempt(int, "8") == 8
    assert tried.attempt(refuse, "a_b: wrong\nb: wrong") is None
    tried.add(["c: wrong"])
    assert str(tried.error()) == "a-b: wrong\nb: wrong\nc: wrong"


def test_a_very_long_word_loses_its_middle() -> None:
    assert shortened("a: " + "x" * 5000 + ".yaml: no") == f"a: {'x' * 60}...{'x' * 54}.yaml: no"
    assert shortened("word " * 1000) == "word " * 1000


def test_a_line_far_longer_than_any_message_loses_its_middle() -> None:
    assert clipped("word " * 100) == "word " * 100
    line = clipped("a: " + "word " * 10_000 + "no")
    assert line.startswith("a: word ")
    assert line.endswith(" word no")
    assert len(line) < 1600


def test_the_first_lines_say_how_many_more_there_are() -> None:
    assert first_lines(["a", "b"], most=2) == ["a", "b"]
    assert first_lines(["a", "b", "c"], most=2) == ["a", "b", "and 1 more mistake"]
    assert first_lines(["a"], most=2, unread=1200) == ["a", "and 1,200 more mistakes"]


@each(("last", "said"), [
    ("and 7 more mistakes", "and 8 more mistakes"),
    ("graph: a.csv: and 1,997 more faults", "and 1,998 more mistakes"),
    ("and more", "and 2 more mistakes"),
    ("and more of it", "and 2 more mistakes"),
    ("d", "and 2 more mistakes"),
])  # fmt: skip
def test_what_is_counted_already_is_counted_once(last: str, said: str) -> None:
    assert first_lines(["a", "b", "c", last], most=2) == ["a", "b", said]
    assert first_lines(["a", "b", last], most=2)[2] in (last, "and 1 more mistake")


def test_what_is_needed_is_there_or_all_mistakes_are_raised() -> None:
    tried = Attempts(Origin(dashes=True), {"seq_len"})
    assert tried.needed(tried.attempt(int, "7")) == 7

    def refuse() -> int:
        raise InputError("seq_len: 0 is too short")

    assert tried.attempt(refuse) is None
    for found in (None, 7):
        with pytest.raises(InputError, match=r"^seq-len: 0 is too short$"):
            tried.needed(found)
