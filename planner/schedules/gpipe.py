"""GPipe: all forward passes, then all backward passes.

It holds the activations of all m micro-batches. Forward and backward passes go at the pace of the
slowest of each, which may be of two stages:

    bubble = that of 1F1B + (m - 1) (f_max + b_max - t_max)

Source: Huang et al., arXiv:1811.06965, figure 2c; micro-batches in the same order both ways.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.schedules.orders import Orders, alternating, orders_from
from planner.schedules.passes import StepTimes, of_rows
from planner.schedules.schedule import Schedule, StepForms


class GPipe(Schedule):
    """See the module."""

    name = "gpipe"
    source = "Huang et al., arXiv:1811.06965, figure 2c"
    uneven = True
    compared = ("forward", "backward")

    def in_flight(
        self, pp: IntArray, v: IntArray, m: FloatArray, position: FloatArray
    ) -> FloatArray:
        """All of them."""
        return np.minimum(m, m + 0.0 * position)

    def bubble_s(self, step: StepTimes, own: BoolArray) -> FloatArray:
        """See the module: what `least_bubble_s` says, and the wait for the slowest passes."""
        bubble = self.least_bubble_s(step, own)
        waits = own & (step.m > 1) & (step.pp > 1)
        rows = np.flatnonzero(np.broadcast_to(waits, (len(step.slowest), 1)))
        if len(rows):
            forward, backward = step.slowest_passes(rows)
            more = np.maximum(forward + backward - of_rows(step.slowest, rows), 0.0)
            bubble[rows] += (of_rows(step.m, rows) - 1) * more
        return bubble

    def least_bubble_s(self, step: StepTimes, own: BoolArray) -> FloatArray:
        """The wait for one stage: f_max + b_max - t_max may fall as times grow."""
        return step.others + step.ramp

    def least_bubble(self, pp: IntArray, v: IntArray) -> FloatArray:
        """All other stages, of equal ones."""
        return np.asarray((pp - 1) / pp / v)

    def step_forms(self, m: int, v: int, *, bubbles: bool) -> StepForms:
        """(m - 1) (P_forward + P_backward) + S_t."""
        if not bubbles:
            return super().step_forms(m, v, bubbles=False)
        return StepForms(
            sums=("time",), peaks=("forward", "backward"), forms=(((1,), (m - 1, m - 1)),)
        )

    def orders(self, pp: int, m: int, v: int = 1) -> Orders:
        """See the module."""
        self.check(pp, m, v)
        return orders_from([alternating(pp, m, 1, m) for _ in range(pp)], 1, m)


SCHEDULE = GPipe()
