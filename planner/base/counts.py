"""Whole numbers between two ends, as people type them; refusals name both and the nearest."""

from __future__ import annotations

from planner.base.errors import InputError
from planner.base.messages import shown, too_long
from planner.base.units import parse_count, parse_whole


def whole_within(
    given: float | str, what: str, least: int, most: int, on: str = "", beside: str = ""
) -> int:
    """A whole number such as `8`, `1e3` or `4Ki`.

    Args:
        given: As typed, or the number.
        what: Names it in messages.
        least, most: What is allowed.
        beside: Of words that are allowed too, e.g. "all or ".
        on: What the ends are due to, with a space before it.

    Raises:
        InputError: It is none, or beyond them.

    >>> whole_within("1e3", "tp", 1, 2**31)
    1000
    """
    text, ends = str(given), f"from {least:,} to {most:,}{on}"
    said = f"{shown(given)} is not {beside}a whole number {ends}"
    try:
        value = parse_count(text, what)
    except InputError as error:
        raise InputError(f"{what}: {too_long(text) or said}") from error
    if value == round(value) and least <= (whole := parse_whole(text, what)) <= most:
        return whole
    raise InputError(f"{what}: {said}; nearest: {min(max(round(value), least), most):,}")
