"""What the text of a change means as a value of its field."""

from __future__ import annotations

import math
from typing import Any

from planner.assumptions.fitted import is_hidden_share
from planner.base.errors import InputError
from planner.base.messages import shown
from planner.base.units import parse_quantity
from planner.question.changes.leaves import CALIBRATION, Leaf
from planner.question.changes.texts import Change

_SWITCHES = {"true": True, "false": False}


def value_of(leaf: Leaf, change: Change, before: Any) -> Any:
    """The value that a field gets.

    Args:
        leaf: The field.
        change: As it was written.
        before: Its value without the change; None: it has none.

    Raises:
        InputError: It is no such value.
    """
    if change.factor is not None and leaf.form in ("number", "numbers"):
        return _times(leaf, change, before, change.factor)
    if leaf.form == "switch":
        if change.value not in _SWITCHES:
            raise InputError(f"{change.path}: {shown(change.value)} is not true or false")
        return _SWITCHES[change.value]
    if leaf.form == "words":
        return [word.strip() for word in change.value.split(",")]
    if leaf.form == "numbers":
        return [_number(leaf, change, text) for text in change.value.split(",")]
    return change.value if leaf.form == "word" else _number(leaf, change, change.value)


def _times(leaf: Leaf, change: Change, before: Any, factor: float) -> Any:
    if before is None:
        raise InputError(
            f"{change.path}: {change.value} of nothing: the record has no {leaf.path}; give a value"
            f"{f' in {leaf.unit}' if leaf.unit else ''}"
        )
    if before == 0:
        raise InputError(f"{change.path}: it is 0, and so is {change.value} of it; give a value")
    if isinstance(before, list | tuple):
        return [_whole(leaf, change, one * factor) for one in before]
    return _whole(leaf, change, before if factor == 1 else before * factor)


def _number(leaf: Leaf, change: Change, text: str) -> Any:
    return _whole(leaf, change, quantity_of(leaf, text, change.path))


def quantity_of(leaf: Leaf, text: str, path: str) -> float:
    """A value of a field in SI units, which has its unit: 900 is no rate, 900GB/s is one.

    Args:
        leaf: The field.
        text: As it was written, no factor.
        path: Of the field, as it was written.

    Raises:
        InputError: It is no such value.
    """
    near = leaf.value if isinstance(leaf.value, int | float) else None
    return parse_quantity(text, leaf.unit, path, near)


def _whole(leaf: Leaf, change: Change, value: float) -> Any:
    """The number, as a whole one where only those are taken."""
    if leaf.record == CALIBRATION:
        share = "efficiency" in leaf.path or is_hidden_share(leaf.path)
        most = 1.0 if share and leaf.value <= 1 else math.inf
        if not (0 < value <= most or value == 0 == leaf.value):
            allowed = "above 0" if most == math.inf else "above 0 and at most 1"
            raise InputError(f"{change.path}: {value:g} is out of range; must be {allowed}")
    if not leaf.whole:
        return value
    if value != round(value):
        raise InputError(
            f"{change.path}: {value:g} is not a whole number; nearest: {max(round(value), 1)}"
        )
    return int(value)


def words_of(value: Any, unit: str) -> str:
    """`6.7e+12 B/s`, `true`, `1, 0.9`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(words_of(one, "") for one in value)
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f"{text} {unit}".rstrip()
