"""Lower bounds on the step time of the plans of a row within a limit on the mean power.

With D(z) at most E + z T of every plan of the row (`solvers.stages.energy_bounds`), E <= P T gives

    (P + z) T >= D(z),    T >= max over z of D(z) / (P + z)

for the prices z at which settings tie, and for z = -P_standing, where D is what kernels alone cost:
where the limit leaves nothing for them there is no plan.
"""

from __future__ import annotations

import numpy as np

from planner.cost.context import CostModel
from planner.cost.energy import standing_w
from planner.plan import FloatArray
from planner.search.deadline import Deadline
from planner.search.limits import Limits
from planner.search.uneven.bounds import RowForms
from planner.search.uneven.energy_bounds import mean_bounds
from planner.search.uneven.rows import Rows
from solvers.stages.energy_bounds import MeanBound

_ROUNDED_UP = 1 + 1e-12


def powered_bound(
    model: CostModel,
    limits: Limits,
    rows: Rows,
    forms: RowForms,
    clocks: FloatArray,
    deadline: Deadline,
) -> FloatArray:
    """(n,) seconds below which no plan of a row is within the limit; 0: no limit, inf: none is.

    Args:
        model: Job and machine.
        limits: Power of all chips, in the mean over a step.
        rows: n rows of as many chips.
        forms: Theirs.
        clocks: (k,) relative clocks.
        deadline: When to give up.

    Raises:
        OutOfTime: The deadline passed.
    """
    if limits.power_w is None or not len(rows):
        return np.zeros(len(rows))
    mean, chips = mean_bounds(model, rows, forms, clocks, deadline), int(rows.plans.chips[0])
    return soonest_within(mean, limits.power_w, chips * standing_w(model, chips))


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
