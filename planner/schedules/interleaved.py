"""Interleaved 1F1B: v chunks of the model per stage, which micro-batches visit in groups of pp.

Stage i runs 2 (pp - i - 1) + (v - 1) pp forward passes first, then one forward and one backward
pass in turn. A pass is a v-th of a stage, so that a v-th of the bubble of 1F1B is left, and v times
as many messages are sent. A stage holds ((pp - i - 1) 2 + (v - 1) pp + 1) / v micro-batches
(Korthikanti et al., arXiv:2205.05198, equation for L/p).

A stage holds its chunks unequally often, and where they differ in size it matters which. After n
forward and n - w backward passes (w = (pp - i - 1) 2 + (v - 1) pp forward passes come first) it
holds f_c(n + 1) - f_(v-1-c)(n - w) micro-batches of chunk c, where f_c(n) counts those of the first
n visits, in groups of pp per chunk, that are to chunk c. Between the ends of such groups one count
grows by one and another shrinks by one with every pass, so what is held, linear in the counts, is
largest at such an end.

Micro-batches are a multiple of pp, as Megatron-LM's (schedules.py) need to be. PyTorch's
ScheduleInterleaved1F1B also takes r groups of more than pp, r = max(1, m // pp), where r divides m;
Megatron-Core takes larger groups by a flag. Those are not simulated.

Source: Narayanan et al., arXiv:2104.04473, section 2.2.2, figure 4 bottom.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray, FloatArray, IntArray, distinct
from planner.schedules.orders import Orders, alternating, chunks_in_flight, orders_from
from planner.schedules.schedule import Schedule


class Interleaved(Schedule):
    """See the module."""

    name = "interleaved"
    source = "Narayanan et al., arXiv:2104.04473, section 2.2.2"
    whole_groups = True
    uneven = True
    compared = ("time", "filling")

    def fits_interleave(self, v: IntArray) -> BoolArray:
        """With several chunks."""
        return np.asarray(v > 1)

    def in_flight(
        self, pp: IntArray, v: IntArray, m: FloatArray, position: FloatArray
    ) -> FloatArray:
        """See the module."""
        return np.minimum(m, ((pp - position - 1) * 2 + (v - 1) * pp + 1) / v)

    def most_in_flight(
        self, pp: IntArray, v: IntArray, m: FloatArray, position: FloatArray, chunks: FloatArray
    ) -> FloatArray:
        """See the module."""
        most = np.zeros(chunks.shape[:2])
        rows = np.flatnonzero(chunks.any(axis=(1, 2)))
        groups = np.minimum(np.maximum(np.ceil(m[:, 0] / pp), 1), 3).astype(np.int64)
        keys = [pp[rows], v[rows], groups[rows]]
        first, which = distinct(keys)
        for at, (stages, each, whole) in enumerate(np.stack(keys, axis=1)[first].tolist()):
            here = rows[which == at]
            held = chunks_in_flight(stages, each, stages * whole)
            place = np.clip(position[here], 0, stages - 1).astype(np.int64)
            for moment in range(held.shape[1]):
                now = np.zeros(place.shape)
                for chunk in range(each):
                    count = np.minimum(m[here], held[place, moment, chunk])
                    now = now + count * chunks[here, :, chunk]
                most[here] = np.maximum(most[here], now)
        return most

    def least_bubble(self, pp: IntArray, v: IntArray) -> FloatArray:
        """A v-th of all other stages, of equal ones."""
        return np.asarray((pp - 1) / pp / v)

    def orders(self, pp: int, m: int, v: int = 1) -> Orders:
        """See the module."""
        self.check(pp, m, v)
        if m % pp:
            raise ValueError(f"interleaved: {m} micro-batches are not a multiple of {pp} stages")
        first = [min(2 * (pp - stage - 1) + (v - 1) * pp, m * v) for stage in range(pp)]
        return orders_from([alternating(pp, m, v, warm_up) for warm_up in first], v, m)


SCHEDULE = Interleaved()
