"""Which of the plans that take the same time and energy is the answer.

Where computing hides all communication, many plans take the same time. Of those with the step time
and the energy of the optimum, the answer is the one with the least communication time (hidden or
not), then the least memory per chip, then the fewest mesh axes above 1, then the optimum that the
search found, which has the least label of its equals (`planner.search.space.LABEL`), then the first
by its choices. What differs by less than `SAME` counts as equal: the sums of two plans round
differently. All ties are compared at once, so that nothing depends on the order in which they are
met.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray, among
from planner.base.vocabulary import MESH_AXES
from planner.cost.evaluate import evaluate_table
from planner.objectives import Costs, Objective
from planner.plan import COLUMNS, PlanTable
from planner.search.columns import BOTH, Columns, column_of
from planner.search.rounding import SAME
from planner.search.uniform.batch import Batch, OpenedBatch
from planner.search.uniform.candidates import Rows
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.nodes import Nodes

_PARTIAL_PLANS_AT_A_TIME = 2048
_PLANS_AT_A_TIME = 8192
_CHOICES = tuple(name for name in COLUMNS if name != "order")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ties:
    """The plans that tie with an optimum.

    Attributes:
        space: What was searched.
        nodes: Its partial plans with their bounds.
        time_s, energy_j: Of the optimum.
        opened: Plans that were opened before, within the same limits.
        runs: Of the optimum, by objective of the whole run that was searched for.
    """

    space: UniformSpace
    nodes: Nodes
    time_s: float
    energy_j: float
    opened: OpenedBatch | None = None
    runs: Mapping[Objective, float] = field(default_factory=dict)

    def first(self, found: PlanTable) -> PlanTable:
        """The best of the plans that tie with `found`, a one-row table."""
        tables, keys, least = [found], list[FloatArray](), np.inf
        for ties in self._ties(found):
            others = ties.take(np.flatnonzero(~_same_as(found, ties)))
            if len(others) == 0:
                continue
            if not keys:
                keys.append(self._keys(found))
                least = float(keys[0][0, 0])
            of_others = self._keys(others)
            least = min(least, float(of_others[:, 0].min()))
            near = np.flatnonzero(of_others[:, 0] <= least * (1 + SAME))
            tables.append(others.take(near))
            keys.append(of_others[near])
        if not keys:
            return found
        every = PlanTable.joined(tables)
        return every.take(_first_by(np.concatenate(keys), every))

    def _ties(self, found: PlanTable) -> Iterator[PlanTable]:
        """The plans that tie, some at a time."""
        nodes = self.nodes
        reach = self._reach(nodes.corners, nodes.columns)
        alive = np.flatnonzero(reach & (nodes.partial_plans.chips == found.chips[0]))
        if (opened := self.opened) is not None and among(alive, opened.nodes).all():
            yield from self._ties_of(opened.batch, opened.corners, opened.on(alive))
            return
        space = replace(self.space, columns=(*BOTH, *self.runs), deadline=None)
        for start in range(0, len(alive), _PARTIAL_PLANS_AT_A_TIME):
            chosen = nodes.partial_plans.take(alive[start : start + _PARTIAL_PLANS_AT_A_TIME])
            if (batch := space.batch(chosen)) is not None:
                corners = batch.corners(bounded=True)
                yield from self._ties_of(batch, corners, np.arange(len(corners)))

    def _reach(self, corners: FloatArray, columns: Columns) -> np.ndarray:
        """(n,) where lower bounds leave room for the time and the energy of the optimum."""
        room = np.ones(corners.shape[:2], dtype=np.bool_)
        steps = zip(BOTH, (self.time_s, self.energy_j), strict=True)
        for objective, value in (*steps, *self.runs.items()):
            low = column_of(corners, columns, objective)
            if low is not None:
                room &= low <= value * (1 + SAME)
        return np.asarray(room.any(axis=1))

    def _ties_of(self, batch: Batch, corners: FloatArray, plans: IntArray) -> Iterator[PlanTable]:
        """The ties among some plans of a batch."""
        assert batch.candidates is not None
        plans = plans[self._reach(corners[plans], batch.columns)]
        for start in range(0, len(plans), _PLANS_AT_A_TIME):
            rows = batch.candidates.expand(plans[start : start + _PLANS_AT_A_TIME])
            row, clock = np.nonzero(self._tied(batch, rows))
            yield replace(
                batch.space.plans.take(rows.plan[row]),
                order=batch.placements.order[rows.placement[row]],
                layouts=batch.placements.layouts,
                clock=batch.clocks[clock],
            )

    def _tied(self, batch: Batch, rows: Rows) -> np.ndarray:
        """(r, k) candidates that take the time and the energy of the optimum, within the limits.

        And as much in the whole run, where that was searched for.
        """
        candidates = batch.candidates
        assert candidates is not None
        cost, shape = candidates.costs(rows), (len(rows), len(candidates.clocks))
        times, energies = (np.broadcast_to(part, shape) for part in (cost.time, cost.energy))
        tied = np.isclose(times, self.time_s, rtol=SAME, atol=0.0)
        tied &= np.isclose(energies, self.energy_j, rtol=SAME, atol=0.0)
        plan = np.repeat(rows.plan, len(candidates.clocks))
        costs = Costs(
            step_time_s=times.ravel(),
            energy_j=energies.ravel(),
            chips=candidates.chips[plan],
            run=batch.runs(plan, times.ravel(), energies.ravel()),
        )
        for objective, value in self.runs.items():
            alike = np.isclose(objective.values(costs), value, rtol=SAME, atol=0.0)
            tied &= alike.reshape(shape)
        allowed, _ = self.space.limits.costs(
            self.space.model, times.ravel(), energies.ravel(), candidates.chips[plan], costs.run
        )
        return tied if allowed is None else tied & allowed.reshape(shape)

    def _keys(self, plans: PlanTable) -> FloatArray:
        """(n, 3) communication seconds, bytes per chip, axes above 1."""
        costs = evaluate_table(self.space.model, plans)
        axes = np.sum([getattr(plans, name) > 1 for name in MESH_AXES], axis=0)
        sent = np.sum(list(costs.communication_s.values()), axis=0)
        return np.stack([sent, costs.memory_per_chip_bytes, axes.astype(np.float64)], axis=1)


def _same_as(one: PlanTable, plans: PlanTable) -> BoolArray:
    """(n,) plans that are a plan, a table of one row."""
    same = np.full(len(plans), one.layouts == plans.layouts)
    for name in COLUMNS:
        same &= getattr(plans, name) == getattr(one, name)
    return same


def _first_by(keys: FloatArray, plans: PlanTable) -> IntArray:
    """(1,) the plan that is least in the first column of its keys, of equals in the second, ...

    Of those equal in all, the first row if it is one, else the least by its choices.
    """
    rows = np.arange(len(keys))
    for column in keys.T:
        here = column[rows]
        rows = rows[here <= here.min() * (1 + SAME)]
    if rows[0] != 0:
        rows = rows[np.lexsort([getattr(plans, name)[rows] for name in _CHOICES[::-1]])]
    return rows[:1]
