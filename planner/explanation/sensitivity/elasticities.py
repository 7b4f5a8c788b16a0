"""How much an answer leans on each number: elasticities, and the value at which another plan wins.

The elasticity of a result y in a number x is d ln y / d ln x: by how many per cent y changes when x
grows by one. It is taken from real evaluations at x / 1.01 and x * 1.01 (at the limit where the
number is a share that cannot grow so far):

    e = (ln y(x_high) - ln y(x_low)) / (ln x_high - ln x_low)

A kink between the two ends, such as communication that stops being hidden, is averaged over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, log
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.base.progress import Progress
from planner.cost.context import CostModel
from planner.cost.evaluate import Totals
from planner.explanation.contenders import Rival, values_of
from planner.explanation.sensitivity.changed import Changed
from planner.explanation.sensitivity.numbers import Lever, Number
from planner.objectives import ENERGY, MEMORY, TIME, Objective
from planner.plan import Plan

STEP = 1.01
"""Factor between a number and each of the two values at which it is evaluated."""
WIDEST = 2.0
"""Factor on a number within which another plan is looked for."""
LEAST = 5e-4
"""Elasticities of which none is as large are left out: 1 % would change the result by 5e-6."""
_SCAN = (1.1, 1.4, WIDEST)
_HALVINGS = 8
LARGEST, NEAREST, ASSUMED = 3, 4, 3
"""Numbers tried: the most elastic, those that close the distance to another plan first, and of what
is assumed those that do so first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elasticity:
    """What one per cent more of a number does, in per cent.

    Attributes:
        number: The number.
        time, energy, memory: Of step time, energy per step and bytes of the fullest chip.
    """

    number: Number
    time: float
    energy: float
    memory: float

    @property
    def largest(self) -> float:
        """The largest magnitude."""
        return max(abs(self.time), abs(self.energy), abs(self.memory))

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        parts = {name: getattr(self, name) for name in ("time", "energy", "memory")}
        return {"number": self.number.to_dict(), **parts}


@dataclass(frozen=True, slots=True, kw_only=True)
class Overtaking:
    """At which value of a number another plan becomes better.

    Attributes:
        number: The number.
        low, high: The largest value below its own, the smallest above, at which one of the plans
            that are worse now is better; None: none is down to half, up to twice the value (or its
            limit).
        low_plan, high_plan: What that plan does differently.
        low_tie, high_tie: Whether that plan ties with the plan at the value as it is, so that the
            change decides nothing that can be told; None: no plan, or times are bounds.
    """

    number: Number
    low: float | None
    high: float | None
    low_plan: str = ""
    high_plan: str = ""
    low_tie: bool | None = None
    high_tie: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        fields = ("low", "high", "low_plan", "high_plan", "low_tie", "high_tie")
        return {"number": self.number.to_dict(), **{name: getattr(self, name) for name in fields}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaning:
    """Totals of several plans on both sides of one number.

    Attributes:
        lever: The number.
        low, high: Its factors at the two ends.
        below, above: (n,) totals there, the plan itself first.
    """

    lever: Lever
    low: float
    high: float
    below: Totals
    above: Totals

    def slopes(self, of: Objective) -> FloatArray:
        """(n,) elasticities of a result of each plan."""
        rise = np.log(values_of(of, self.above)) - np.log(values_of(of, self.below))
        return np.asarray(rise / (log(self.high) - log(self.low)))

    @property
    def elasticity(self) -> Elasticity:
        """Of the plan itself."""
        return Elasticity(
            number=self.lever.number,
            time=float(self.slopes(TIME)[0]),
            energy=float(self.slopes(ENERGY)[0]),
            memory=float(self.slopes(MEMORY)[0]),
        )


def leanings(
    model: CostModel,
    found: Sequence[Lever],
    plans: Sequence[Plan],
    on_progress: Progress | None = None,
) -> list[Leaning]:
    """Both sides of every number, all plans in one table.

    Args:
        model: As it is.
        found: The numbers.
        plans: The plan itself, then others.
        on_progress: Called with (what, done, of).
    """
    on = Changed.of(model, plans)
    result = []
    for done, lever in enumerate(found):
        if on_progress is not None:
            on_progress("numbers", done, len(found))
        result.append(_leaning(on, lever))
    return result


def _leaning(on: Changed, lever: Lever) -> Leaning:
    low, high = 1 / STEP, min(STEP, _ceiling(lever.number))
    below, above = on.totals(lever.times(low)), on.totals(lever.times(high))
    return Leaning(lever=lever, low=low, high=high, below=below, above=above)


def largest_of_time(
    model: CostModel,
    found: Sequence[Lever],
    plan: Plan,
    most: int,
    on_progress: Progress | None = None,
) -> list[Elasticity]:
    """The numbers in which the time is most elastic: so many known ones, so many assumed ones.

    Each number is changed to one side first; both sides of those that are returned are evaluated,
    so that their elasticities are those of `leanings`.

    Args:
        model: As it is.
        found: The numbers.
        plan: The plan.
        most: How many of each.
        on_progress: Called with (what, done, of).
    """
    on = Changed.of(model, [plan])
    base, ranked = on.time_s(model), []
    for done, lever in enumerate(found):
        if on_progress is not None:
            on_progress("numbers", done, len(found))
        slope = abs(log(on.time_s(lever.times(1 / STEP)) / base) / log(STEP))
        if slope >= LEAST:
            ranked.append((slope, lever))
    ranked.sort(key=lambda pair: -pair[0])
    kept: list[Lever] = []
    for assumed in (False, True):
        kept += [one for _, one in ranked if one.number.is_assumed == assumed][:most]
    return sorted((_leaning(on, one).elasticity for one in kept), key=lambda one: -abs(one.time))


def _ceiling(number: Number) -> float:
    """The factor by which a number may grow."""
    return float("inf") if number.most is None else max(number.most / number.value, 1.0)


def elasticities(found: Sequence[Leaning]) -> list[Elasticity]:
    """Those that change anything, the largest first."""
    known = [leaning.elasticity for leaning in found]
    return sorted((one for one in known if one.largest >= LEAST), key=lambda one: -one.largest)


def overtakings(
    model: CostModel, found: Sequence[Leaning], plan: Plan, rivals: Sequence[Rival], of: Objective
) -> list[Overtaking]:
    """At which value of the numbers that count another plan becomes better.

    Looked at are the numbers in which the plan is most elastic, those that the slopes of both plans
    say to close the distance first, and the first of those that are assumed. Only rivals that
    are worse can overtake: those that are better or the same already are left out.

    Args:
        model: As it is.
        found: Both sides of every number, for the plan and the rivals.
        plan: The plan itself.
        rivals: The other plans, in the order of `found`.
        of: What is minimized.
    """
    worse = [row for row, rival in enumerate(rivals, 1) if rival.is_worse]
    if not worse or not found:
        return []
    behind = np.array([rivals[row - 1].behind for row in worse])
    slopes = np.array([leaning.slopes(of) for leaning in found])
    apart = np.abs(slopes[:, :1] - slopes[:, worse])
    nearest = np.min(behind / np.maximum(apart, 1e-12), axis=1)
    largest = np.argsort(-np.abs(slopes[:, 0]), kind="stable")[:LARGEST]
    soonest = np.argsort(nearest, kind="stable").tolist()
    guessed = [row for row in soonest if found[row].lever.number.is_assumed][:ASSUMED]
    rows = dict.fromkeys([*largest.tolist(), *soonest[:NEAREST], *guessed])
    kept = [rivals[row - 1] for row in worse]
    on = Changed.of(model, [plan, *(rival.plan for rival in kept)])
    return [_overtaking(on, found[row].lever, kept, of) for row in rows]


def _overtaking(on: Changed, lever: Lever, rivals: Sequence[Rival], of: Objective) -> Overtaking:
    def ahead(logarithm: float) -> int:
        """The plan that is best where the number has a factor; 0: still the plan itself."""
        return int(np.argmin(values_of(of, on.totals(lever.times(exp(logarithm))))))

    value, ceiling = lever.number.value, log(min(_ceiling(lever.number), WIDEST))
    ups = [min(log(factor), ceiling) for factor in _SCAN]
    high, by_high = _first(ups, ahead)
    low, by_low = _first([-log(factor) for factor in _SCAN], ahead)
    over, under = (rivals[row - 1] if row else None for row in (by_high, by_low))
    return Overtaking(
        number=lever.number,
        low=None if low is None else value * exp(low),
        high=None if high is None else value * exp(high),
        low_plan=under.change if under else "",
        high_plan=over.change if over else "",
        low_tie=under.tie if under else None,
        high_tie=over.tie if over else None,
    )


def _first(points: Sequence[float], ahead: Callable[[float], int]) -> tuple[float | None, int]:
    """Where another plan is ahead first, going outwards from 0, and which."""
    inside = 0.0
    for outside in points:
        winner = ahead(outside)
        if winner:
            return _narrowed(inside, outside, winner, ahead)
        inside = outside
    return None, 0


def _narrowed(
    inside: float, outside: float, winner: int, ahead: Callable[[float], int]
) -> tuple[float, int]:
    """The same between a point where none is ahead and one where one is, halved so often."""
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        at_middle = ahead(middle)
        if at_middle:
            outside, winner = middle, at_middle
        else:
            inside = middle
    return outside, winner
