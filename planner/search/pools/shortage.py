"""Where no plan on pools of chips fits in memory: a lean one.

As `planner.search.uneven.shortage`: by the relaxation of LB2 every row has a least limit on the
memory of a chip, the same for all pools, at which its stages have room for all layers. From the
least of those the limit rises until there is a plan.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.base.arrays import BoolArray, IntArray
from planner.cost.pools.pools import Pool
from planner.plan import Plan
from planner.question.options import SpaceOptions
from planner.search.deadline import Deadline, OutOfTime
from planner.search.limits import Limits
from planner.search.pools.bounds import pooled_forms, pooled_second
from planner.search.pools.pools import best_on_pools
from planner.search.pools.rows import pooled_rows
from planner.search.uneven.shortage import least_limit

ANY = 0.99
"""A gap within which almost any plan is."""
_CLOSE = 1.01  # how near the least limit is found
_LONGER = 100.0  # times the longest of the least step times
_DOUBLINGS = 12
_LIMITS = (1.0, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0)


def lean_plan(
    pools: Sequence[Pool], options: SpaceOptions, limits: Limits, deadline: float | None
) -> Plan | None:
    """A plan that needs little more memory on a chip than every plan does; None: none is found.

    Args:
        pools, options, limits: What was searched, and within what; limits on costs do not count.
        deadline: `time.perf_counter` value at which the search ends; None: at none.
    """
    lowest = min(limits.chip_bytes(pool.model) for pool in pools)
    try:
        least = _least_limit(pools, options, max(lowest, 1.0), Deadline(deadline))
    except OutOfTime:
        return None
    if least is None:
        return None
    for factor in _LIMITS:
        held = Limits(memory_bytes=least * factor)
        found = best_on_pools(pools, options, held, gap=ANY, deadline=deadline)
        if found.plan is not None:
            return found.plan
    return None


def _least_limit(
    pools: Sequence[Pool], options: SpaceOptions, known: float, deadline: Deadline
) -> float | None:
    """A limit in bytes at which rows have room, near the least one above `known`."""
    rows = pooled_rows(pools, options, deadline)
    if not len(rows):
        return None
    forms = pooled_forms(rows, tuple(pool.model.clocks(wanted=False) for pool in pools))
    upper_s = float(forms.step_s(forms.slowest).max()) * _LONGER

    def roomy(held: Limits, at: IntArray) -> BoolArray:
        deadline.check()
        return np.isfinite(pooled_second(held, rows.take(at), forms.take(at), upper_s))

    least, at = least_limit(roomy, len(rows), known, _CLOSE, _DOUBLINGS)
    return least if len(at) else None
