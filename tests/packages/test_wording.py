"""What pydantic finds is said in the house's words, and once."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from support.cases import each

from planner.base.flat import csv_records
from planner.base.messages import LONGEST_NUMBER, Origin, too_long
from planner.base.mistakes import misspelt, mistakes
from planner.base.units import show_steps, show_watt_hours


class Inner(BaseModel):
    """A mapping in a mapping."""

    model_config = ConfigDict(extra="forbid", strict=True)
    size: int = Field(multiple_of=4)
    width: int = 1


class Outer(BaseModel):
    """One field of every form."""

    model_config = ConfigDict(extra="forbid", strict=True)
    inner: Inner = Inner(size=4)
    words: Annotated[list[str], Field(min_length=1, max_length=2)] = ["a"]
    text: Annotated[str, Field(min_length=2, max_length=3, pattern="^a")] = "ab"
    whole: Annotated[int, Field(gt=0, lt=10)] = 1
    share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 1.0
    choice: Literal["one", "two"] = "one"
    pair: tuple[int, int] = (1, 2)
    flag: bool = True
    other: bytes = b""


def lines(data: Any) -> list[str]:
    """What is said of the data."""
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(data)
    known = (*Outer.model_fields, *Inner.model_fields)
    return mistakes(caught.value, Origin().label, known)


@each(("field", "value", "words"), [
    ("words", [], "[]: must have at least 1 entry"),
    ("words", ["a"] * 3, "['a', 'a', 'a']: must have at most 2 entries"),
    ("words", None, "null: must be a list"),
    ("text", "a", "'a': must have at least 2 characters"),
    ("text", "abcd", "'abcd': must have at most 3 characters"),
    ("text", "bcd", "'bcd': is not written as it has to be here"),
    ("text", 7, "7: must be text"),
    ("whole", 0, "0: must be greater than 0"),
    ("whole", 10, "10: must be less than 10"),
    ("whole", "x", "'x': must be a whole number"),
    ("whole", 1.5, "1.5: must be a whole number"),
    ("share", 2.0, "2: must be at most 1"),
    ("share", float("inf"), "inf: must be a finite number"),
    ("choice", "won", "'won' is not one of one, two; did you mean 'one' or 'two'?"),
    ("pair", 1, "1: must be a list"),
    ("flag", "on", "'on': must be true or false"),
    ("inner", 1, "1: must be a mapping of fields to values"),
    ("other", 1, "1: cannot stand here"),
])  # fmt: skip
def test_every_mistake_has_words_of_the_house(field: str, value: Any, words: str) -> None:
    (line,) = lines({field: value})
    assert line.startswith(f"{field}: {words}")


def test_a_multiple() -> None:
    assert lines({"inner": {"size": 3}}) == ["inner.size: 3: must be a multiple of 4"]


def test_a_misspelt_field_is_not_missing_too() -> None:
    line = "inner.siz: unknown field; did you mean 'size'?"
    assert lines({"inner": {"siz": 4}}) == [line]
    assert lines({"inner": {"widht": 4}}) == [
        "inner.size: is missing", "inner.widht: unknown field; did you mean 'width'?",
    ]  # fmt: skip


def test_fields_at_the_top_that_are_misspelt() -> None:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({"flg": True, "inner": {"siz": 4}})
    assert misspelt(caught.value, (*Outer.model_fields, *Inner.model_fields)) == {"flag"}


@each(("value", "text"), [
    (-1.0, "-1"), (-4194304.0, "-4194304"), (-1.5, "-1.5"), (-1e300, "-1e+300"),
])  # fmt: skip
def test_whole_numbers_are_echoed_as_such(value: float, text: str) -> None:
    assert lines({"share": value}) == [f"share: {text}: must be at least 0"]


def test_numbers_that_are_too_long() -> None:
    assert too_long("9" * LONGEST_NUMBER) == too_long("x" * 5000) == ""
    assert too_long(f"-{'9' * 5001}") == (
        "a number of 5,001 digits is too long; at most 640 are read"
    )
    assert csv_records(f"a\n{'9' * 5001}\n", ()) == [{"a": "9" * 5001}]


@each(("value", "text"), [
    (0.0297581, "0.02976 Wh"), (0.0, "0 Wh"), (12.0, "12 Wh"), (999.94, "999.9 Wh"),
    (1000.0, "1 kWh"), (6.498e7, "64.98 MWh"), (1e-9, "1e-09 Wh"),
])  # fmt: skip
def test_the_energy_of_a_run_is_never_in_thousandths(value: float, text: str) -> None:
    assert show_watt_hours(value) == text


@each(("value", "text"), [
    (0.000238419, "0.000238"), (4.0, "4"), (9.25, "9.25"), (10.4, "10"), (476837.2, "476,837"),
    (1e-300, "1e-300"),
])  # fmt: skip
def test_few_steps_are_told_with_their_fraction(value: float, text: str) -> None:
    assert show_steps(value) == text
