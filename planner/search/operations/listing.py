"""Plans that may be on the front once every operation has a clock of its own, with a first bound.

At a lower clock kernels take longer, and nothing gets faster: a plan takes at least the step time
that it has at the highest clock, T_0. Its kernels need the least joules at the lowest clock, where
the joules of arithmetic over its seconds at the highest clock, (P_busy(f) - P_wait) / f, are least
(`lowest_is_leanest`); all chips wait for T_0 at least. So its step needs no less than

    E >= D(lowest clock) + P_standing T_0                D: joules of a step above waiting

for any clocks of its operations. A partial plan has the same bound of the least seconds and joules
that any plan on it needs. Plans that are not below the front with these are none of a better one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.cost.context import CostModel
from planner.cost.energy.energy import running_w, standing_w
from planner.plan import Plan
from planner.search.rounding import ROUNDED_DOWN
from planner.search.uniform.batch import Batch
from planner.search.uniform.engine import UniformSpace

_AT_A_TIME = 4096  # partial plans


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Plans with their placements, n of them.

    Attributes:
        time_s: (n,) at the highest clock.
        least_j: (n,) no clocks need less.
        labels: (n, 3) which batch, plan and placement.
        batches: Those that hold them.
    """

    time_s: FloatArray
    least_j: FloatArray
    labels: IntArray
    batches: Sequence[Batch]

    def plan(self, at: int) -> Plan:
        """One of them, at the highest clock."""
        batch, plan, placement = self.labels[at].tolist()
        found: Plan = self.batches[batch].plan_at(plan, placement, 0).plan(0)
        return found

    def within(self, limit_s: float, below_j: float) -> IntArray:
        """Those that a limit on the time leaves and that may need less, the least bound first."""
        rows = np.flatnonzero((self.time_s <= limit_s) & (self.least_j < below_j))
        return np.asarray(rows[np.argsort(self.least_j[rows], kind="stable")])


def lowest_is_leanest(model: CostModel) -> bool:
    """Whether kernels need the least joules at the lowest clock of the chip, whatever they do."""
    clocks = model.clocks(wanted=True)
    added = running_w(model, clocks)
    return bool((added >= 0).all() and (np.diff(added / clocks) <= 0).all())


def plans_below(space: UniformSpace, front: FloatArray) -> Listed:
    """All plans that the bound above does not put on or above a front.

    Args:
        space: The plans.
        front: (f, 2) step times, ascending, and joules, descending.

    Raises:
        OutOfTime: The deadline of the space passed.
    """
    nodes, batches = space.nodes(), list[Batch]()
    chips = nodes.partial_plans.chips
    watts = {n: n * standing_w(space.model, n) for n in np.unique(chips).tolist()}
    standing = np.array([watts[n] for n in chips.tolist()])
    low = _bounds(nodes.corners[:, :, 0], nodes.corners[:, :, 1], standing)
    wanted = np.flatnonzero(_below(front, *low))
    found = []
    for start in range(0, len(wanted), _AT_A_TIME):
        batch = space.batch(nodes.partial_plans.take(wanted[start : start + _AT_A_TIME]))
        if batch is not None:
            found.append(_of_batch(batch, len(batches), front))
            batches.append(batch)
    none = (np.empty(0), np.empty(0), np.empty((0, 3), dtype=np.int64))
    times, least, labels = (np.concatenate(part) for part in zip(none, *found, strict=True))
    return Listed(time_s=times, least_j=least, labels=labels, batches=batches)


def _of_batch(batch: Batch, number: int, front: FloatArray) -> tuple[FloatArray, ...]:
    """Times, bounds and labels of the plans of a batch that may be on a better front."""
    assert batch.candidates is not None
    rows = batch.candidates.expand(np.arange(len(batch.space)))
    cost = batch.candidates.costs(rows)
    shape = (len(rows), len(batch.clocks))
    standing = (batch.candidates.standing_w * batch.candidates.chips)[rows.plan]
    times, energies = (np.broadcast_to(part, shape) for part in (cost.time, cost.energy))
    time_s, least_j = _bounds(times, energies, standing)
    kept = _below(front, time_s, least_j)
    labels = np.stack([np.full(len(rows), number), rows.plan, rows.placement], axis=1)
    return time_s[kept], least_j[kept], labels[kept]


def _bounds(
    times: FloatArray, energies: FloatArray, standing: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(n,) least step time, and least joules, from those at each clock, the highest first."""
    above = energies[:, -1] - times[:, -1] * standing
    least = np.maximum(above, 0.0) + times[:, 0] * standing
    return times[:, 0], least * ROUNDED_DOWN


def _below(front: FloatArray, time_s: FloatArray, least_j: FloatArray) -> BoolArray:
    """(n,) whether some point of the front, no faster, needs more joules than at least that."""
    first = np.searchsorted(front[:, 0], time_s)
    joules = np.append(front[:, 1], -np.inf)
    return np.asarray(least_j < joules[first])
