"""No regular expression takes time beyond the length of its text, whatever is repeated in it."""

import functools
import re
from collections.abc import Sequence
from pathlib import Path

from support.cases import each
from support.expressions import Expression, expressions, is_slow, texts

ROOT = Path(__file__).parents[2]
PACKAGES = ("planner", "solvers", "hardware_db", "models_db", "strict_yaml", "frozen_records")


@functools.cache
def modules() -> tuple[Path, ...]:
    return tuple(path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))


def those_with_expressions() -> list[str]:
    found = (path for path in modules() if "import re\n" in path.read_text(encoding="utf-8"))
    return [path.relative_to(ROOT).as_posix() for path in found]


def slow_in(found: Sequence[Expression]) -> list[str]:
    """The expressions that take long, each with a text."""
    return [
        f"{one.place}: {method} of {one.compiled.pattern} on {start!r} + n * {piece!r} + {end!r}"
        for one in found
        for method in one.methods
        for start, piece, end in texts(one.compiled)
        if is_slow(one.compiled, method, start, piece, end)
    ]


@each("name", those_with_expressions())
def test_every_expression_takes_time_in_proportion_to_its_text(name: str) -> None:
    found = expressions(ROOT, ROOT / name, modules)
    assert not slow_in(found)


@each(
    "pattern, method",
    [
        (r"(?:<!--.*?-->\s*)*<system", "match"),
        (r"(?m)^\s*(?:[A-Z_]+=\S*\s+|srun\s.*)*deepspeed\s", "search"),
        (r"memory \(MB\) \|.*?max allocated: ", "search"),
        (r"^\s*(\d[\d_]*\.?\d*)\s*([A-Za-z]*)\s*$", "match"),
        (r"(.*?)\s*(J/B)?$", "match"),
        (r"(?m)^\s*GPU0\s", "search"),
        (r"[a-z_]+([._][a-z_0-9]+)*", "fullmatch"),
    ],
)
def test_those_that_go_back_are_found(pattern: str, method: str) -> None:
    compiled = re.compile(pattern)
    assert any(is_slow(compiled, method, *text) for text in texts(compiled))
