"""Divisors and nearest values, as rules and their messages need them."""

from __future__ import annotations

from collections.abc import Sequence


def divisors(number: int) -> list[int]:
    """All divisors, ascending."""
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return small + [number // d for d in reversed(small) if d * d != number]


def nearest(value: int, allowed: Sequence[int]) -> str:
    """The allowed numbers, ascending, next to `value`, as words: "8 or 10"; "none"."""
    below = [number for number in allowed if number < value]
    above = [number for number in allowed if number > value]
    return " or ".join(str(number) for number in [*below[-1:], *above[:1]]) or "none"


def nearest_divisors(value: int, number: int) -> str:
    """The divisors of `number` next to `value`, as words."""
    return nearest(value, divisors(number))
