"""Numbers in options and files are of the digits 0 to 9, wherever they are read."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from cli.command import planner
from support.cases import each

from planner.base.errors import InputError
from planner.base.numerals import LEAST, MOST, beyond, is_digits, number_of
from planner.base.units import (
    parse_bytes,
    parse_count,
    parse_joules,
    parse_mm2,
    parse_quantity,
    parse_seconds,
    parse_share,
    parse_watts,
    parse_whole,
    parse_within,
    pattern_of,
    printed_number,
)
from planner.question.asked import BY_NAME
from planner.question.asked.flags import field_in
from planner.question.request import request_from
from planner.studies.sweep.question.conditions import condition_of

ROOT = Path(__file__).parents[2]
ODD = (
    "8_0", "8_", "_8", "1__000", "1_00", "1000_000", "\u0668", "\uff18", "8\u0660",
    "1_0.5", "1.0_0",
)  # fmt: skip
JOB: dict[str, Any] = {
    "model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8, "batch_tokens": 2**20,
}  # fmt: skip


@each("text", ODD)
def test_no_parser_takes_them(text: str) -> None:
    for parse, unit in (
        (number_of, ""), (parse_count, ""), (parse_count, "Ki"), (parse_whole, ""),
        (parse_bytes, "GB"), (parse_seconds, "h"), (parse_within, "d@90%"), (parse_watts, "W"),
        (parse_joules, "GWh"), (parse_mm2, "mm2"), (parse_share, "%"),
        (lambda text: parse_quantity(text, "B/s", "bandwidth"), "GB/s"),
        (lambda text: parse_within(f"60d@{text}"), ""),
    ):  # fmt: skip
        with pytest.raises((InputError, ValueError)):
            parse(text + unit)  # type: ignore[operator]
    assert printed_number(text) is None
    assert not is_digits(text)
    assert re.search(pattern_of("count"), text) is None
    if text[0] != "_":  # a name
        with pytest.raises(InputError):
            condition_of(f"chips < {text}")


@each(("text", "value"), [("1_000", 1000), ("12_000_000.5", 12_000_000.5), (" -7 ", -7)])
def test_thousands_may_be_parted(text: str, value: float) -> None:
    assert number_of(text) == value
    assert parse_count(text) == value
    assert value < 0 or re.search(pattern_of("count"), text)
    assert condition_of(f"chips == {text.strip()}").holds({"chips": value})


@each(("size", "refusal"), [
    (LEAST, ""), (MOST, ""), (LEAST / 2, "must be at least 1e-30"),
    (2 * MOST, "must be at most 1e+30"), (0.0, "must be greater than 0"),
])  # fmt: skip
def test_the_ends_of_what_sizes_may_be_are_sizes(size: float, refusal: str) -> None:
    assert beyond(size) == refusal
    asked = {**JOB, "train_tokens": 1e9, "mtbf": size}
    if not refusal:
        assert request_from(asked).mtbf == size
        return
    with pytest.raises(InputError, match=f"mtbf: .*{re.escape(refusal)}"):
        request_from(asked)


@each("name", [name for name, field in BY_NAME.items() if field.kind in (
    "whole", "wholes", "sizes", "quantity", "share", "number", "choices",
)])  # fmt: skip
def test_no_field_of_a_question_takes_them(name: str) -> None:
    field = BY_NAME[name]
    sizes = ("mean=1_0,cv=1", "1\u0660=1", "fsdp=1_0", "h100-sxm5-80=1_0,a100-sxm4-80=\u0661")
    for text in ("1_0", "\u0661", "\uff11", "1_0%", "\u0661%", "1_0d", "\uff11d", *sizes):
        given: Any = [f"pp={text}"] if field.kind == "choices" else text
        with pytest.raises(InputError):
            request_from({**JOB, name: field_in(field, given)})


def test_no_whole_number_of_a_command_is_one(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    for text in ("2_0", "\u0662"):
        (line,) = planner("check", plan, "--log", plan, "--steps", text).mistakes
        assert "steps" in line


def test_nothing_reads_other_digits() -> None:
    """`\\d` and `isdecimal` take those of every script, `int` and `float` of text `_` as well."""
    for path in sorted((ROOT / "planner").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        assert "\\d" not in source, path
        if path.name != "numerals.py":
            assert not re.search(r"\.is(decimal|digit|numeric)\(", source), path
        if "ValueError" in source:
            assert list(_tried(ast.parse(source))) == [], path


def _tried(tree: ast.Module) -> list[str]:
    """Calls of `float` whose failure is caught: of text that a user wrote."""
    return [
        ast.unparse(call)
        for node in ast.walk(tree)
        if isinstance(node, ast.Try)
        if any("ValueError" in ast.unparse(one.type) for one in node.handlers if one.type)
        for part in node.body
        for call in ast.walk(part)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "float"
    ]
