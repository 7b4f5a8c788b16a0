"""The fastest plan on pools of different chips over all rows, with the proof that it is.

As `planner.search.uneven.certificate`, with the rows, bounds and columns of pools: LB1 and LB2 drop
rows (`planner.search.pools.bounds`); stage problems of the rest are solved exactly, the least
bound first. No plan is known at first, so the rows are searched below a ceiling that rises until
there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from planner.base.arrays import FloatArray
from planner.base.progress import Progress
from planner.cost.breakdown import peak_flop_per_s
from planner.cost.energy.meter import pooled_meter
from planner.cost.pools.evaluate import evaluate_stages
from planner.cost.pools.pools import Pool, owners, without_pools
from planner.objectives import Costs
from planner.plan import Plan, PlanTable
from planner.question.options import SpaceOptions
from planner.search.limits import Limits, model_flop
from planner.search.pools.bounds import PooledForms, pooled_forms, pooled_second
from planner.search.pools.columns import pooled_columns, pooled_standing_w
from planner.search.pools.rows import PooledRows, pooled_rows
from planner.search.rows import Fastest, Range, RowSpace
from planner.search.space import Trail
from planner.search.uneven.columns.columns import RowColumns
from planner.search.uneven.counts import Counted

_AT_A_TIME = 50_000  # rows whose bounds are in memory at once
_RISES = (1.02, 1.1, 1.3, 2.0, 4.0, 16.0, 256.0, 1e6)
"""Ceilings over the least bound."""


def best_on_pools(
    pools: Sequence[Pool],
    options: SpaceOptions,
    limits: Limits,
    *,
    gap: float = 0.0,
    deadline: float | None = None,
    on_progress: Progress | None = None,
    trail: Trail | None = None,
) -> Fastest:
    """The fastest plan on all chips of all pools.

    Args:
        pools: At least two.
        options, limits: What is searched, and within what; clocks are the highest.
        gap: The search may end once no plan is faster by more than this share.
        deadline: `time.perf_counter` value at which it ends.
        on_progress: Called with (what, done, of).
        trail: Where the stage problems of rows are kept; None: nowhere.
    """
    space = PoolSpace(tuple(pools), options, limits, gap, deadline)
    return space.fastest(on_progress, trail)


class PoolSpace(RowSpace[PooledRows]):
    """Plans on pools of different chips, at full clock.

    LB1 and LB2 drop rows (`planner.search.pools.bounds`).
    """

    def __init__(
        self,
        pools: tuple[Pool, ...],
        options: SpaceOptions,
        limits: Limits,
        gap: float,
        deadline: float | None,
    ) -> None:
        super().__init__(_longest_s(pools, limits), gap, deadline)
        limits = limits.metered(pooled_meter(pools, limits.power_boundary))
        self.pools, self.options, self.limits = pools, options, limits
        self.clocks = tuple(pool.model.clocks(wanted=False) for pool in pools)
        self.formed: list[tuple[PooledRows, PooledForms, FloatArray]] = []

    def start(self) -> float:
        """Rows with their forms and LB1; the least of it."""
        rows = pooled_rows(self.pools, self.options, self.until)
        self.count, self.considered = len(rows), rows.own[0].counts
        self.remaining = self.count
        if not self.count or self._waits_for_too_much():
            return 0.0
        self.formed = [self._formed(part) for part in _parts(rows)]
        return min((float(first.min()) for _, _, first in self.formed if len(first)), default=0.0)

    def ranges(self, wanted_s: float) -> Iterator[Range]:
        """Below ceilings that rise until a plan is known."""
        lowest = min((float(first.min()) for _, _, first in self.formed if len(first)), default=0.0)
        for rise in _RISES if self.formed else ():
            yield Range(lowest, lowest * rise)
            if lowest * rise >= self.best.longest_s:
                return

    def _waits_for_too_much(self) -> bool:
        """Whether waiting alone draws what the limit lets through: every plan draws more."""
        power_w = self.limits.power_w
        return power_w is not None and pooled_standing_w(self.pools) >= power_w

    def _formed(self, rows: PooledRows) -> tuple[PooledRows, PooledForms, FloatArray]:
        """Rows with their forms and LB1."""
        self.until.check()
        forms = pooled_forms(rows, self.clocks)
        return rows, forms, forms.step_s(forms.slowest)

    def narrowed(self, wanted_s: float) -> list[tuple[PooledRows, FloatArray]]:
        """What LB1 and LB2 leave."""
        self.remaining, counted, parts = self.count, Counted(), []
        for rows, _, first in self.formed:
            counted.add("LB1", rows.logical_meshes, first, np.flatnonzero(first < wanted_s))
        self.funnel = counted.stages()
        for every, forms, first in self.formed:
            self.until.check()
            at = np.flatnonzero(first < wanted_s)
            rows = every.take(at)
            second = pooled_second(self.limits, rows, forms.take(at), wanted_s)
            kept = np.flatnonzero(second < wanted_s)
            bounds = np.where(np.isfinite(second), second, wanted_s)
            counted.add("LB2", rows.logical_meshes, bounds, kept)
            parts.append((rows.take(kept), second[kept]))
        self.funnel = counted.stages()
        return parts

    def stage_problem(self, rows: PooledRows, row: int, wanted_s: float) -> RowColumns | None:
        """The stage problem of a row."""
        return pooled_columns(self.limits, rows, row, self.clocks, wanted_s, self.until)

    def costs(self, plan: Plan) -> Costs | None:
        """What a plan takes; None where it draws more than the limit."""
        table = PlanTable.from_plans([without_pools(plan)])
        step = evaluate_stages(self.pools, owners(self.pools, plan), table)[1].step
        time_s, joules = float(step.time[0, 0]), float(step.energy[0, 0])
        if self.limits.power_w is not None and joules > self.limits.power_w * time_s:
            return None
        return Costs(step_time_s=time_s, energy_j=joules)


def _parts(rows: PooledRows) -> list[PooledRows]:
    """The rows in parts that fit in memory."""
    count = len(rows) // _AT_A_TIME + 1
    return [rows.take(at) for at in np.array_split(np.arange(len(rows)), count)]


def _longest_s(pools: Sequence[Pool], limits: Limits) -> float:
    """Seconds that the limits on step time and utilization allow a step."""
    longest = np.inf if limits.step_time_s is None else limits.step_time_s
    if limits.mfu is None:
        return longest
    peak = sum(pool.chips * peak_flop_per_s(pool.model) for pool in pools)
    return min(longest, model_flop(pools[0].model) / (limits.mfu * peak))
