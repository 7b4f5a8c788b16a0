"""Flags that are refused in the house's words, and figures of runs that can be read."""

from pathlib import Path

import pytest
from support.cases import each

from cli.answers import SMALL
from cli.command import planner, refused

LONG = "9" * 5001
TOO_LONG = "a number of 5,001 digits is too long; at most 640 are read"


@pytest.mark.parametrize("text", ["x", "1.5", "", "1e3"])
def test_a_row_that_is_no_number(text: str, written: Path) -> None:
    assert refused("evaluate", written, "--row", text) == [
        f"row: {text!r} is not a whole number; the first plan is row 1"
    ]


def test_a_row_with_thousands_of_digits(written: Path) -> None:
    assert refused("evaluate", written, "--row", LONG) == [f"row: {TOO_LONG}"]


@each("flag", [
    "--seq-len", "--batch-tokens", "--lora-rank", "--max-memory", "--max-power", "--time-limit",
    "--max-step-time", "--min-mfu", "--train-tokens", "--price-per-chip-hour",
    "--carbon-intensity",
])  # fmt: skip
def test_a_flag_with_thousands_of_digits(flag: str) -> None:
    assert refused("solve", *SMALL, flag, LONG) == [f"{flag.removeprefix('--')}: {TOO_LONG}"]


@each("digits", [LONG, f"{'0' * 5000}1"])
def test_a_fixed_value_with_thousands_of_digits(digits: str) -> None:
    assert refused("solve", *SMALL, "--fix", f"tp={digits}") == [f"fix: tp: {TOO_LONG}"]


@each(("ep", "near"), [(3, "2 or 4"), (16, "8"), (7, "4 or 8")])
def test_experts_that_do_not_divide_name_the_nearest(ep: int, near: str) -> None:
    job = ("--model", "mixtral-8x7b", "--hardware", "h100-sxm5-80", "--chips", 64)
    assert refused("solve", *job, "--fix", f"ep={ep}") == [
        f"fix: ep {ep} does not divide the 8 experts of mixtral-8x7b; nearest: {near}"
    ]


@each(("arguments", "name"), [
    (("solve", *SMALL, "-o", ""), "output"),
    (("solve", *SMALL, "--output="), "output"),
    (("solve", *SMALL, "--pareto", "front.csv", "--pareto", ""), "pareto"),
    (("solve", "", "--chips", "8"), "job-file"),
    (("evaluate", ""), "plan-file"),
])  # fmt: skip
def test_a_file_without_a_name(arguments: tuple[object, ...], name: str) -> None:
    assert refused(*arguments) == [f"{name}: the name of the file is empty"]


@each(("flag", "value", "shown"), [
    ("--max-memory", "0", "0"), ("--batch-tokens", "-4194304", "-4194304"),
    ("--train-tokens", "-2", "-2"), ("--max-step-time", "-1.5s", "'-1.5s'"),
])  # fmt: skip
def test_whole_numbers_are_echoed_as_whole_numbers(flag: str, value: str, shown: str) -> None:
    assert refused("solve", *SMALL, flag, value) == [
        f"{flag.removeprefix('--')}: {shown}: must be greater than 0"
    ]


def test_a_run_shorter_than_one_step(written: Path) -> None:
    outcome = planner("evaluate", written, "--train-tokens", "1e3", "--show", "run")
    rows = dict(line.split(maxsplit=1) for line in outcome.out.splitlines() if " " in line)
    assert outcome.code == 0
    assert 0 < float(rows["steps"]) < 1
    energy, unit = rows["energy"].split()
    assert unit == "Wh"
    assert 0 < float(energy) < 1
