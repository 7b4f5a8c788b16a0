"""The values of a plan that a question fixes, as typed: `fix` of flags, job files and Python."""

from __future__ import annotations

from typing import Any

from planner.base.errors import InputError
from planner.base.fields import plain_whole, refusal
from planner.base.messages import MOST_MISTAKES, shown, too_long
from planner.plan.choices import fixed_values


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
        fixes[name] = tuple(map(_text, values))
        problems += _fix_problems(name if isinstance(name, str) else shown(name), fixes[name])
    if problems:
        more = ["and more"] if len(problems) >= MOST_MISTAKES else []
        raise refusal("\n".join(dict.fromkeys(problems[: MOST_MISTAKES - 1] + more)))
    return fixes


def _text(value: str | float) -> str:
    """A value of `fix` as a flag gives it."""
    return value if isinstance(value, str) else shown(plain_whole(value))


def _fix_problems(name: str, texts: tuple[str, ...]) -> list[str]:
    """What is wrong with a field of `fix`, or with each of its values."""
    problems = []
    for text in texts:
        if refused := too_long(text):
            problems.append(f"{name}: {refused}")
            continue
        try:
            fixed_values(name, (text,))
        except InputError as error:
            problems.append(str(error).removeprefix("fix: "))
        if len(problems) >= MOST_MISTAKES:
            break
    return problems
