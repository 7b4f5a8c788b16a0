"""Where the best plan changes as a number grows: solved on both sides, 0.1 % apart.

Between two values with different winners, the crossing of these two plans is found by evaluating
them alone; the question is then solved just below and just above it. Where the winners there are
the two plans, the change is located; else what lies on each side is looked at in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import sqrt

from frozen_records import dataclass
from planner.results.plan import PlanResult

APART = 1.001
"""Ratio of the two values between which a change is located."""
_MOST = 24
"""Solved values between two neighbours; beyond, a change is told as wide as it is known."""
_HALVINGS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A value and the best plan there; None: none fits.

    Attributes:
        at: The value.
        best: The plan with its costs, at full clock where only a power cap lowers it.
        proved: That it is best, or that none fits.
    """

    at: float
    best: PlanResult | None
    proved: bool = True

    def alike(self, other: Place) -> bool:
        """Whether the same plan is best at another value, or none at both."""
        mine, others = (None if one.best is None else one.best.plan for one in (self, other))
        return mine == others


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Two values between which the best plan changes, and no third one is known between."""

    below: Place
    above: Place

    @property
    def located(self) -> bool:
        """Whether they are within `APART`."""
        return self.above.at / self.below.at <= APART * (1 + 1e-9)

    @property
    def proved(self) -> bool:
        """Whether the plan on either side is proved to be best there."""
        return self.below.proved and self.above.proved


Better = Callable[[float, PlanResult, PlanResult], bool]


def turns_between(
    below: Place, above: Place, solve: Callable[[float], Place], better: Better
) -> list[Turn]:
    """The changes between two values, ascending.

    Args:
        below, above: The two values, with their winners.
        solve: The winner at another value, proved.
        better: Whether the first of two plans is better than the second at a value.
    """
    found: list[Turn] = []
    parts, left = [(below, above)], _MOST
    while parts:
        low, high = parts.pop(0)
        if low.alike(high):
            continue
        if high.at / low.at <= APART * (1 + 1e-9) or left <= 0:
            found.append(Turn(below=low, above=high))
            continue
        middle = _crossing(low, high, better)
        step = sqrt(APART)
        inner = [solve(at) for at in (middle / step, middle * step) if low.at < at < high.at]
        left -= len(inner)
        every = [low, *inner, high]
        parts = [*pairwise(every), *parts]
    return sorted(found, key=lambda turn: turn.below.at)


def _crossing(low: Place, high: Place, better: Better) -> float:
    """Where the winner of the upper value overtakes that of the lower; else their middle."""
    middle = sqrt(low.at * high.at)
    if low.best is None or high.best is None:
        return middle
    below, above = low.at, high.at
    for _ in range(_HALVINGS):
        if above / below <= 1 + (APART - 1) / 10:
            break
        at = sqrt(below * above)
        if better(at, high.best, low.best):
            above = at
        else:
            below = at
    found = sqrt(below * above)
    near_end = found <= low.at * APART or found >= high.at / APART
    return middle if near_end else found
