"""Failure rates at which another choice would be better, for chips whose rate nobody published.

Days are t / G for every step, G the goodput. Of two choices the one that is faster without failures
is so at any rate above one at which their days are equal, since a larger job, or one with a longer
stall, loses more of its time the more often its chips fail: bisection of the logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.answers.run.sizes import step_time_of
from planner.base.bisection import turn
from planner.base.units import HOUR_S
from planner.cost.context import CostModel
from planner.cost.goodput.goodput import Pace, Upkeep, goodput
from planner.plan import Plan
from planner.results.recovery import OtherChoice

_TRIED = 60
_LEAST_S, _MOST_S = 1.0, 1e18


def half_of(model: CostModel, plan: Plan, pace: Pace, upkeep: Upkeep) -> OtherChoice | None:
    """Half of the chips, with half of the data ranks; None: the plan cannot be halved so."""
    axis = next((name for name in ("dp", "fsdp") if getattr(plan, name) % 2 == 0), None)
    if axis is None:
        return None
    step_s = step_time_of(model, replace(plan, **{axis: getattr(plan, axis) // 2}))
    if step_s is None:
        return None
    half = replace(pace, chips=plan.chips // 2, step_time_s=step_s)
    edge = equal_days_s(pace, half, upkeep)
    return None if edge is None else OtherChoice(chips=plan.chips // 2, chip_hours=edge / HOUR_S)


def another_of(pace: Pace, others: Sequence[Pace], upkeep: Upkeep) -> float | None:
    """Chip-hours per failure below which one of some other plans is faster; None: at no rate."""
    edges = [equal_days_s(pace, other, upkeep) for other in others]
    found = [edge for edge in edges if edge is not None]
    return max(found) / HOUR_S if found else None


def equal_days_s(first: Pace, other: Pace, upkeep: Upkeep) -> float | None:
    """Chip-seconds per failure at which two choices take as long; None: nowhere in between.

    Args:
        first: That is faster without failures.
        other: That may be faster with them.
        upkeep: How the run is kept going.
    """

    def ahead(theta_s: float) -> bool:
        """Whether the first is faster; also where neither ever ends."""
        mine, its = (_speed(theta_s, pace, upkeep) for pace in (first, other))
        return mine >= its

    low, high = math.log(_LEAST_S), math.log(_MOST_S)
    steps = np.linspace(high, low, _TRIED)
    behind = next((at for at in steps if not ahead(math.exp(at))), None)
    if behind is None:
        return None
    end = behind + (steps[0] - steps[1])
    return math.exp(turn(lambda at: ahead(math.exp(at)), behind, end)[1])


def _speed(theta_s: float, pace: Pace, upkeep: Upkeep) -> float:
    """Steps that count per second of wall time."""
    return float(goodput(theta_s, pace, upkeep).work) / float(pace.step_time_s)
