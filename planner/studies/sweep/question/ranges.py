"""Values of one axis of a study: a list, or a range by a step or by a factor."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from planner.base.errors import InputError
from planner.base.messages import did_you_mean, shown
from planner.base.units import parse_count

MOST_VALUES = 100_000
_PARTS = ("from", "to", "step", "factor")
_NUMBER = re.compile(
    r"\s*((?>[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?))\s*+(\S*+)\s*"
)


def values_of(given: Any, name: str) -> tuple[Any, ...]:
    """The values of an axis.

    Args:
        given: A list, an array, one value, or `{from: 64, to: 1024, factor: 2}` with `factor` or
            `step`. Ends may have a unit, which all values then have.
        name: Of the axis, for messages.

    Raises:
        InputError: It is none of these, it holds no value, or one twice.
    """
    if isinstance(given, Mapping):
        return _range(given, name)
    given = _plain(given)
    values = tuple(map(_plain, given)) if isinstance(given, list | tuple | range) else (given,)
    if not values:
        raise InputError(f"{name}: has no values; give a list, or {{from, to, factor}}")
    if len(values) > MOST_VALUES:
        raise InputError(f"{name}: {len(values):,} values; at most {MOST_VALUES:,}")
    seen = set[str]()
    for value in values:
        text = repr(value)
        if text in seen:
            raise InputError(f"{name}: {shown(value)} is given twice")
        seen.add(text)
    return values


def _plain(value: Any) -> Any:
    """An array of numpy as a list, one of its numbers as a number of Python."""
    return value.tolist() if hasattr(value, "tolist") else value


def _range(given: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    if unknown := [key for key in given if key not in _PARTS]:
        raise InputError(
            f"{name}: {shown(unknown[0])} is not one of {', '.join(_PARTS)}"
            f"{did_you_mean(str(unknown[0]), _PARTS)}"
        )
    way = [key for key in ("step", "factor") if given.get(key) is not None]
    if given.get("from") is None or given.get("to") is None or len(way) != 1:
        raise InputError(f"{name}: a range has from, to, and either step or factor")
    (low, high), unit = _ends(given["from"], given["to"], name)
    by = _decimal(given[way[0]], f"{name}.{way[0]}", unit if way[0] == "step" else "")
    geometric = way[0] == "factor"
    if (geometric and (by <= 1 or low <= 0)) or by <= 0 or high < low:
        wanted = "a factor above 1 from a number above 0" if geometric else "a step above 0"
        raise InputError(f"{name}: a range goes up: {wanted}, and to is at least from")
    values, value = [], low
    while value <= high:
        values.append(_value(value, unit))
        if len(values) > MOST_VALUES:
            raise InputError(f"{name}: more than {MOST_VALUES:,} values")
        value = value * by if geometric else value + by
    return tuple(values)


def _ends(low: Any, high: Any, name: str) -> tuple[tuple[Decimal, Decimal], str]:
    """Both ends as numbers of one unit; of counts such as 512Ki and 4Mi as plain numbers."""
    parts = [_split(low, f"{name}.from"), _split(high, f"{name}.to")]
    units = {unit for _, unit in parts}
    if len(units) == 1:
        return (parts[0][0], parts[1][0]), units.pop()
    try:
        counts = [Decimal(repr(parse_count(str(end), name))) for end in (low, high)]
    except InputError as error:
        raise InputError(f"{name}: give from and to in one unit") from error
    return (counts[0], counts[1]), ""


def _split(value: Any, name: str) -> tuple[Decimal, str]:
    """A number and its unit."""
    match = None if isinstance(value, bool) else _NUMBER.fullmatch(str(value))
    if match is None:
        raise InputError(f"{name}: {shown(value)} is not a number")
    return Decimal(match[1]), match[2]


def _decimal(value: Any, name: str, unit: str) -> Decimal:
    """A number that has this unit or none."""
    number, own = _split(value, name)
    if own not in ("", unit):
        raise InputError(f"{name}: {shown(value)} is not in the unit of the ends, {unit or 'none'}")
    return number


def _value(number: Decimal, unit: str) -> Any:
    """A value as a file would hold it."""
    try:
        whole = number == number.to_integral_value()
    except InvalidOperation:  # more digits than any that is meant
        whole = False
    plain: int | float = int(number) if whole else float(number)
    return f"{plain}{unit}" if unit else plain
