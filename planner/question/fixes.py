"""The values of a plan that a question fixes, as typed: `fix` of flags, job files and Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from planner.base.errors import InputError
from planner.base.fields import plain_whole, refusal
from planner.base.messages import MOST_MISTAKES, shown
from planner.plan.choices import fixed_text


def read_fixes(value: Any) -> Any:
    """Values of `fix` as tuples of text; every one that no plan has is refused."""
    if not isinstance(value, dict):
        return value
    fixes: dict[Any, tuple[str, ...]] = {}
    problems: list[str] = []
    for name, given in value.items():
        if len(problems) >= MOST_MISTAKES:
            break
        values = tuple(given) if isinstance(given, list | tuple) else (given,)
        if not values or not all(isinstance(item, str | int | float) for item in values):
            problems.append(f"{shown(name)}: {shown(given)} must be a value or a list of values")
            continue
        field = name if isinstance(name, str) else shown(name)
        fixes[name] = tuple(_checked(field, map(_text, values), problems))
    if problems:
        more = ["and more"] if len(problems) >= MOST_MISTAKES else []
        raise refusal("\n".join(dict.fromkeys(problems[: MOST_MISTAKES - 1] + more)))
    return fixes


def _text(value: str | float) -> str:
    """A value of `fix` as a flag gives it."""
    return value if isinstance(value, str) else shown(plain_whole(value))


def _checked(name: str, texts: Iterable[str], problems: list[str]) -> Iterator[str]:
    """Values of a field of `fix` as plans have them; what is wrong with others joins `problems`."""
    for text in texts:
        if len(problems) >= MOST_MISTAKES:
            break
        try:
            yield fixed_text(name, text)
        except InputError as error:
            problems.append(str(error).removeprefix("fix: "))
