"""Numbers as they are typed: a few digits, rounded to the side on which a limit allows a plan."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

_DIGITS = 4


def rounded_up(value: float) -> str:
    """The shortest plain number of a few digits that is not below a value.

    >>> rounded_up(1.33612), rounded_up(0.00045671), rounded_up(6400.2)
    ('1.337', '0.0004568', '6401')
    """
    return _rounded(value, ROUND_CEILING)


def rounded_down(value: float) -> str:
    """The same, not above it."""
    return _rounded(value, ROUND_FLOOR)


def _rounded(value: float, mode: str) -> str:
    exact = Decimal(value)
    step = Decimal(1).scaleb(exact.adjusted() - _DIGITS + 1)
    return f"{(exact / step).to_integral_value(rounding=mode) * step:f}"
