"""Lower bounds on the step time of the plans of a row within a limit on the mean power.

With D(z) at most E + z T of every plan of the row (`solvers.stages.energy_bounds`), E <= P T gives

    (P + z) T >= D(z),    T >= max over z of D(z) / (P + z)

for the prices z at which settings tie, and for z = -P_standing, where D is what kernels alone cost:
where the limit leaves nothing for them there is no plan. Rows that this leaves have a D(z) in which
the stages hold what memory lets them. With the slowest stage between two times, the same holds of
the D(z) of that range, and T is no less than its least: the least over the ranges is a bound
(`solvers.stages.energy_bounds.BottleneckBound`), made of the rows that are about to be solved.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.base.arrays import FloatArray
from planner.cost.context import CostModel
from planner.cost.energy.energy import standing_w
from planner.search.deadline import Deadline
from planner.search.limits import Limits
from planner.search.uneven.bounds.energy import (
    full_work,
    mean_bounds,
    memory_bounds,
    slowest_ranges,
)
from planner.search.uneven.bounds.time import RowForms
from planner.search.uneven.rows import Rows
from solvers.stages.energy_bounds import BottleneckBound, MeanBound, bottleneck_bound

_ROUNDED_UP = 1 + 1e-12
_LATER = 1 + 1e-6


def powered_bound(
    model: CostModel,
    limits: Limits,
    rows: Rows,
    forms: RowForms,
    clocks: FloatArray,
    deadline: Deadline,
    upper_s: float = np.inf,
) -> FloatArray:
    """(n,) seconds below which no plan of a row is within the limit; 0: no limit, inf: none is.

    Args:
        model: Job and machine.
        limits: Power of all chips, in the mean over a step; memory per chip.
        rows: n rows of as many chips.
        forms: Theirs.
        clocks: (k,) relative clocks.
        deadline: When to give up.
        upper_s: Slower plans are not wanted; rows that need more time by the mean alone are left.

    Raises:
        OutOfTime: The deadline passed.
    """
    if limits.power_w is None or not len(rows):
        return np.zeros(len(rows))
    chips = int(rows.plans.chips[0])
    waiting_w = chips * standing_w(model, chips)
    mean = mean_bounds(model, rows, forms, clocks, deadline)
    found = soonest_within(mean, limits.power_w, waiting_w)
    at = np.flatnonzero(found < upper_s)
    few = (rows.take(at), forms.take(at), mean.take(at))
    memory = memory_bounds(model, limits, *few, clocks, found[at], deadline)
    found[at] = np.maximum(found[at], soonest_within(memory, limits.power_w, waiting_w))
    return found


def ranged_bound(
    model: CostModel,
    limits: Limits,
    rows: Rows,
    forms: RowForms,
    clocks: FloatArray,
    deadline: Deadline,
    upper_s: float,
) -> FloatArray:
    """(n,) as `powered_bound`, by ranges of the slowest stage; for plans within `upper_s` only.

    Arguments and errors are the same, but there is a limit on power, and `upper_s` is finite.
    """
    mean = mean_bounds(model, rows, forms, clocks, deadline)
    prices = price_within(mean, limits.most_w)[:, None]
    beyond = np.full(len(rows), upper_s * _LATER)
    work = full_work(model, limits, rows, forms, clocks)
    ranges = bottleneck_bound(work, slowest_ranges(forms, beyond), prices, beyond)
    found = ranges_within(ranges, limits.most_w).least.min(axis=1)
    return np.asarray(np.minimum(found, upper_s))


def price_within(mean: MeanBound, power_w: float) -> FloatArray:
    """(n,) the price of a second at which rows need the most time within a limit on power."""
    best = (mean.values / (power_w + mean.prices)).argmax(axis=1)
    return np.asarray(mean.prices[np.arange(len(best)), best])


def ranges_within(ranges: BottleneckBound, power_w: float) -> BottleneckBound:
    """The same bound, with the seconds that each range needs within a limit on power."""
    soonest = (ranges.values / (power_w * _ROUNDED_UP + ranges.prices[:, None])).max(axis=2)
    return replace(ranges, least=np.maximum(ranges.least, soonest))


def soonest_within(mean: MeanBound, power_w: float, waiting_w: float) -> FloatArray:
    """(n,) seconds that the joules of rows need within a limit on power; inf: no time is enough.

    Args:
        mean: Bounds on the joules of n rows.
        power_w: Mean power at most.
        waiting_w: What flows whatever happens.
    """
    power_w *= _ROUNDED_UP
    left_w = power_w - waiting_w
    if left_w <= 0:
        return np.where(mean.still > 0, np.inf, 0.0)
    soonest = (mean.values / (power_w + mean.prices)).max(axis=1)
    return np.asarray(np.maximum(soonest, mean.still / left_w))
