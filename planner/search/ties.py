"""Which of the plans that take the same time and energy is the answer.

Where computing hides all communication, many plans take the same time. Of those with the step time
and the energy of the optimum, the answer is the one with the least communication time (hidden or
not), then the least memory per chip, then the fewest mesh axes above 1, then the first of the
space. What differs by less than `SAME` counts as equal: the sums of two plans round differently.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.base.vocabulary import MESH_AXES
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.plan import PlanTable
from planner.question.options import SpaceOptions
from planner.search.columns import BOTH, column_of
from planner.search.limits import Limits
from planner.search.uniform.batch import Batch, Tally, build_batch
from planner.search.uniform.candidates import Candidates, Rows
from planner.search.uniform.nodes import Nodes

SAME = 1e-9
_PARTIAL_PLANS_AT_A_TIME = 2048
_PLANS_AT_A_TIME = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Ties:
    """The plans that tie with an optimum.

    Attributes:
        model: Job, cluster, assumptions.
        options, limits: What was searched, and within what.
        clocks: (k,) relative clocks.
        nodes: The partial plans of that space with their bounds, time and energy first.
        time_s, energy_j: Of the optimum.
    """

    model: CostModel
    options: SpaceOptions
    limits: Limits
    clocks: FloatArray
    nodes: Nodes
    time_s: float
    energy_j: float

    def first(self, found: PlanTable) -> PlanTable:
        """The best of the plans that tie with `found`, a one-row table."""
        best, corners = found, self.nodes.corners
        times, energies = (column_of(corners, self.nodes.columns, one) for one in BOTH)
        unknown = np.full(corners.shape[:2], -np.inf)
        reach = self._reach(
            unknown if times is None else times, unknown if energies is None else energies
        ).any(axis=1)
        alive = np.flatnonzero(reach & (self.nodes.partial_plans.chips == found.chips[0]))
        for start in range(0, len(alive), _PARTIAL_PLANS_AT_A_TIME):
            chosen = self.nodes.partial_plans.take(alive[start : start + _PARTIAL_PLANS_AT_A_TIME])
            tally = Tally(plans={}, candidates={})
            batch = build_batch(self.model, chosen, self.options, self.limits, self.clocks, tally)
            if batch is not None:
                best = self._best_of(batch, best)
        return best

    def _reach(self, times: FloatArray, energies: FloatArray) -> np.ndarray:
        """Where lower bounds of a time and an energy leave room for those of the optimum."""
        slack = 1 + SAME
        return np.asarray((times <= self.time_s * slack) & (energies <= self.energy_j * slack))

    def _best_of(self, batch: Batch, best: PlanTable) -> PlanTable:
        """The best of `best` and the ties of a batch."""
        assert batch.candidates is not None
        corners = batch.corners(bounded=True)
        plans = np.flatnonzero(self._reach(corners[:, :, 0], corners[:, :, 1]).any(axis=1))
        for start in range(0, len(plans), _PLANS_AT_A_TIME):
            rows = batch.candidates.expand(plans[start : start + _PLANS_AT_A_TIME])
            row, clock = np.nonzero(self._tied(batch.candidates, rows))
            tied = replace(
                batch.space.plans.take(rows.plan[row]),
                order=batch.placements.order[rows.placement[row]],
                layouts=batch.placements.layouts,
                clock=self.clocks[clock],
            )
            best = self._better(best, tied)
        return best

    def _tied(self, candidates: Candidates, rows: Rows) -> np.ndarray:
        """(r, k) candidates that take the time and the energy of the optimum, within the limits."""
        cost, shape = candidates.costs(rows), (len(rows), len(self.clocks))
        times, energies = (np.broadcast_to(part, shape) for part in (cost.time, cost.energy))
        tied = np.isclose(times, self.time_s, rtol=SAME, atol=0.0)
        tied &= np.isclose(energies, self.energy_j, rtol=SAME, atol=0.0)
        chips = np.repeat(candidates.chips[rows.plan], len(self.clocks))
        allowed, _ = self.limits.costs(self.model, times.ravel(), energies.ravel(), chips)
        return tied if allowed is None else tied & allowed.reshape(shape)

    def _better(self, best: PlanTable, tied: PlanTable) -> PlanTable:
        """`best`, or the best of some ties if that is better."""
        if len(tied) == 0:
            return best
        rival = tied.take(_first_by(self._keys(tied)))
        mine, other = self._keys(best)[0], self._keys(rival)[0]
        return rival if _less(other, mine) else best

    def _keys(self, plans: PlanTable) -> FloatArray:
        """(n, 3) communication seconds, bytes per chip, axes above 1."""
        costs = evaluate_table(self.model, plans)
        axes = np.sum([getattr(plans, name) > 1 for name in MESH_AXES], axis=0)
        sent = np.sum(list(costs.communication_s.values()), axis=0)
        return np.stack([sent, costs.memory_per_chip_bytes, axes.astype(np.float64)], axis=1)


def _first_by(keys: FloatArray) -> IntArray:
    """(1,) the row that is least in the first column, of equals in the second, ..."""
    rows = np.arange(len(keys))
    for column in keys.T:
        here = column[rows]
        rows = rows[here <= here.min() * (1 + SAME)]
    return rows[:1]


def _less(left: FloatArray, right: FloatArray) -> bool:
    """Whether a key comes before another; values that differ by less than `SAME` are equal."""
    for mine, other in zip(left.tolist(), right.tolist(), strict=True):
        if abs(mine - other) > SAME * max(abs(mine), abs(other)):
            return bool(mine < other)
    return False
