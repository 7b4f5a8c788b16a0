"""Values of the question, or of the job that it became, as people say them: `10 GB`, `2 h`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from planner.base.messages import shown
from planner.base.units import (
    show_bytes,
    show_percent,
    show_seconds,
    show_watt_hours,
    show_watts,
    unit_for,
)
from planner.question.asked import BY_NAME

_NUMBER = re.compile(r"[-+]?[0-9.,]+([eE][-+]?[0-9]+)?")
_Show = Callable[[float, int], str]
_EXACT = 3
"""More digits of what was asked for, which is a round number where people asked."""
_DIGITS = 12
"""Of numbers without a unit."""
_MANY, _MOST = 1e9, 1e21
"""Tokens between are told with a prefix."""


def _amount(value: float, more: int) -> str:
    """`4,096`, `1.5`."""
    return f"{value:,.{_DIGITS + more}g}"


def _tokens(value: float, more: int) -> str:
    """`4,194,304`, `15.6 T`."""
    if not _MANY <= abs(value) < _MOST:
        return _amount(value, more)
    size, prefix = unit_for(value, "")
    return f"{_amount(value / size, more)} {prefix}"


_UNITS: dict[str, _Show] = {
    "bytes": show_bytes,
    "bytes per second": lambda value, more: f"{show_bytes(value, more)}/s",
    "seconds": show_seconds,
    "watts": show_watts,
    "joules": lambda value, more: show_watt_hours(value / 3600, more),
    "mm^2": lambda value, more: f"{_amount(value, more)} mm^2",
    "tokens": _tokens,
    "grams": lambda value, more: f"{_amount(value, more)} g/kWh",
}
"""By the units of `planner.question.asked`; others count something that the field names."""
_SYMBOLS = {
    "bytes": "B", "bytes per second": "B/s", "seconds": "s", "watts": "W", "joules": "J",
    "mm^2": "mm^2", "grams": "g/kWh",
}  # fmt: skip
_ENDINGS: dict[str, _Show] = {
    "_w_per_chip": lambda value, more: f"{show_watts(value, more)} per chip",
    "_bytes": show_bytes,
    "_w": show_watts,
}
"""By the ends of names of a job."""


def value_words(name: str, value: Any, more: int = 0) -> str:
    """A value of a field as people say it; of several with commas between them.

    >>> value_words("max_memory", 10e9), value_words("max_oom_risk", 0.05)
    ('10 GB', '5 %')
    >>> value_words("fix", {"pp": ["2", "4"], "sharding": ["zero1"]})
    'pp=2, 4, sharding=zero1'

    Args:
        name: Of the field.
        value: JSON-ready; text is as it was typed.
        more: Digits beyond those of what people ask for.
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={value_words('', each, more)}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(value_words(name, each, more) for each in value)
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return shown(value)
    return _shows(name)(value, _EXACT + more)


def _shows(name: str) -> _Show:
    """What words the numbers of a field."""
    if (field := BY_NAME.get(name)) is not None:
        return show_percent if field.kind == "share" else _UNITS.get(field.unit, _amount)
    return next((show for end, show in _ENDINGS.items() if name.endswith(end)), _amount)


def field_words(name: str) -> str:
    """`power cap`: the name of a field, or of `power_cap_w` of a job, whose unit the value has."""
    end = next((end for end in _ENDINGS if name.endswith(end) and name not in BY_NAME), "")
    return name.removesuffix(end).replace("_", " ")


def symbol_of(name: str) -> str:
    """`B`: the unit of the numbers of a field; empty: the field names what it counts, or none."""
    field = BY_NAME.get(name)
    return "" if field is None else _SYMBOLS.get(field.unit, "")


def as_typed(given: Mapping[str, Any]) -> Callable[[str, float], str]:
    """Words for numbers that were typed with a unit; of others empty.

    Args:
        given: Fields as they were given.
    """

    def words(name: str, number: float) -> str:
        has_unit = symbol_of(name) or (name in BY_NAME and BY_NAME[name].kind == "share")
        text = given.get(name)
        typed = (
            number and has_unit and isinstance(text, str) and not _NUMBER.fullmatch(text.strip())
        )
        return value_words(name, number) if typed else ""

    return words
