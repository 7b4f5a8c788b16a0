"""1F1B: one forward and one backward pass in turn.

Stage i runs pp - i - 1 forward passes, then one forward and one backward pass in turn, then the
backward passes that are left. It holds min(m, pp - i) micro-batches, and waits for all stages while
the pipeline fills and drains:

    bubble = sum_i t_i - t_max + (pp - 1) (p2p + c_mb)

This is exact for equal stages. Where stages differ it is an upper estimate, but for one case: two
slow stages before the last ones whose forward and backward passes take different shares (one
recomputes, one does not). Stage s runs w_s = min(pp - s - 1, m - 1) forward passes ahead, in which
both are waited for, as in GPipe; no step takes more than

    max_s sum_{i <= s} t_i + (m - 1 - w_s) t_max + w_s (max_{i <= s} F_i + max_{i <= s} B_i),

of which the formula takes s = pp - 1, where w_s = 0. The rest is a few per cent of a step of few
micro-batches.

Source: Narayanan et al., arXiv:2104.04473, section 2.2.1, figure 4 top.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.schedules.orders import Orders, alternating, orders_from
from planner.schedules.schedule import Schedule


class OneFOneB(Schedule):
    """See the module."""

    name = "1f1b"
    source = "Narayanan et al., arXiv:2104.04473, section 2.2.1"
    uneven = True

    def least_bubble(self, pp: IntArray, v: IntArray) -> FloatArray:
        """All other stages, of equal ones."""
        return np.asarray((pp - 1) / pp / v)

    def orders(self, pp: int, m: int, v: int = 1) -> Orders:
        """See the module."""
        self.check(pp, m, v)
        return orders_from(
            [alternating(pp, m, 1, min(pp - stage - 1, m)) for stage in range(pp)], 1, m
        )


SCHEDULE = OneFOneB()
