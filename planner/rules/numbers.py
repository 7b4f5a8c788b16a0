"""Divisors, as rules and their messages need them."""

from __future__ import annotations


def divisors(number: int) -> list[int]:
    """All divisors, ascending."""
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return small + [number // d for d in reversed(small) if d * d != number]


def nearest_divisors(value: int, number: int) -> str:
    """The divisors of `number` next to `value`, as words: "8 or 10"."""
    below = [d for d in divisors(number) if d < value]
    above = [d for d in divisors(number) if d > value]
    return " or ".join(str(d) for d in [*below[-1:], *above[:1]])
