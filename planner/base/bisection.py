"""Where a statement about a number turns true, by halving."""

from __future__ import annotations

from collections.abc import Callable

_HALVINGS = 60


def turn(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Two neighbouring numbers, the statement being false at the first and true at the second.

    Args:
        holds: The statement; it turns once, from false near `low` to true near `high`.
        low, high: The ends, in any unit; neither is tried.

    >>> below, above = turn(lambda x: x * x > 2.0, 0.0, 2.0)
    >>> round(below, 12), round(above, 12)
    (1.414213562373, 1.414213562373)
    """
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
