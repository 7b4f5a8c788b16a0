"""The fastest plan over all rows and all ways to fill their stages, with the proof that it is.

The fastest uniform plan is the first incumbent. LB0 drops meshes with micro-batch and schedule,
LB1, LB2 and a limit on power drop rows (`planner.search.uneven.bounds.time`, `power`); the rows
that are left have their stage problems solved exactly, the least bound first, until the next bound
is no better than the incumbent, which every solved row may improve. What is dropped has a bound,
and the least of all bounds is that of the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from planner.base.arrays import BoolArray, FloatArray
from planner.base.progress import Progress
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals, memory_table
from planner.frameworks.rules import TARGET, broken
from planner.objectives import Costs
from planner.plan import Plan, PlanTable
from planner.question.options import SpaceOptions
from planner.results.certificate import LAUNCHABLE, UnevenFound
from planner.search.driver import Found
from planner.search.limits import Limits
from planner.search.rows import SAME, Range, RowSpace
from planner.search.space import Trail
from planner.search.uneven.bounds.launchable_memory import launchable_bound
from planner.search.uneven.bounds.least_power import always_above
from planner.search.uneven.bounds.memory import by_fullest, fits_in_memory
from planner.search.uneven.bounds.power import powered_bound, ranged_bound
from planner.search.uneven.bounds.time import (
    RowForms,
    clocked_forms,
    first_bound,
    gains_from_waiting,
    longest_step_s,
    partial_plan_lower,
)
from planner.search.uneven.columns.columns import RowColumns, row_columns
from planner.search.uneven.counts import Counted, logical_meshes
from planner.search.uneven.launchable import launchable_rows
from planner.search.uneven.rows import Rows, cross_rows, uneven_partial_plans
from planner.search.uneven.terms import row_terms
from planner.search.uniform.space import PartialPlans

_AT_A_TIME = 200_000  # rows whose bounds are in memory at once
_WIDER = 1.5  # how the limit grows while no plan is known
_WIDER_POWERED = 1.01  # at first, where a limit on power makes the bounds tight


def best_time(
    model: CostModel,
    options: SpaceOptions,
    limits: Limits,
    chips: int,
    *,
    uniform: Found | None = None,
    gap: float = 0.0,
    deadline: float | None = None,
    on_progress: Progress | None = None,
    trail: Trail | None = None,
) -> UnevenFound:
    """The fastest plan on some chips, uniform or not.

    Args:
        model, options, limits: What is searched, and within what. Only a limit on power, or a
            schedule in which a slower stage may gain (`gains_from_waiting`), makes lower clocks
            worth their time.
        chips: Chips that plans use.
        uniform: The uniform plans that were found; None: none were looked for.
        gap: The search may end once no plan is faster by more than this share.
        deadline: `time.perf_counter` value at which it ends.
        on_progress: Called with (what, done, of).
        trail: Where the stage problems of rows are kept; None: nowhere.
    """
    space = UnevenSpace(model, options, limits.on_chips(model, chips), chips, gap, deadline)
    if uniform is not None and len(uniform.points):
        at = int(np.argmin(uniform.points[:, 0]))
        space.start_from(uniform.plans.plan(at), *map(float, uniform.points[at, :2]))
    found = space.fastest(on_progress, trail)
    some = found.plan is not None
    return UnevenFound(
        plans=PlanTable.from_plans([] if found.plan is None else [found.plan]),
        points=np.array([[found.time_s, found.energy_j]]) if some else np.empty((0, 2)),
        status=found.status,
        bound=np.array([found.bound_s, 0.0]),
        front_complete=False,
        certificate=found.certificate,
        seconds=found.seconds,
    )


class UnevenSpace(RowSpace[Rows]):
    """Plans on one machine whose stages may differ.

    LB0 drops meshes with micro-batch and schedule, LB1, LB2 and a limit on power drop rows
    (`planner.search.uneven.bounds.time`, `power`).
    """

    def __init__(
        self,
        model: CostModel,
        options: SpaceOptions,
        limits: Limits,
        chips: int,
        gap: float,
        deadline: float | None,
    ) -> None:
        super().__init__(limits.longest_s(model, chips), gap, deadline)
        self.model, self.options, self.limits, self.chips = model, options, limits, chips
        self.clocks = model.clocks(wanted=options.clocks)
        self.tightens = limits.power_w is not None

    def start(self) -> float:
        """Meshes with micro-batch and schedule; the least of their bounds."""
        self.partial_plans = uneven_partial_plans(self.model, (self.chips,), self.options)
        self.count = self.remaining = len(self.partial_plans)
        self.considered = self.partial_plans.counts
        self.lower = partial_plan_lower(self.model, self.partial_plans, self.options, self.until)
        return float(self.lower.min(initial=np.inf))

    def ranges(self, wanted_s: float) -> Iterator[Range]:
        """All step times at once; where neither a plan nor a limit is known, slower and slower."""
        if np.isfinite(wanted_s):
            yield Range(0.0, np.inf)
            return
        lowest, highest = self._range(self.partial_plans)
        ceiling = max(float(self.lower.min(initial=np.inf)), lowest)
        wider = _WIDER if self.limits.power_w is None else _WIDER_POWERED
        while ceiling < highest:
            ceiling = min(ceiling * wider, highest)
            yield Range(lowest, ceiling)
            wider = min(wider**2, _WIDER)

    def _range(self, partial_plans: PartialPlans) -> tuple[float, float]:
        """Seconds between which plans take; 0 where none fits in memory or is within the power."""
        rows = cross_rows(self.model, partial_plans, self.options, self.until)
        rows = rows.take(np.flatnonzero(fits_in_memory(self.model, self.limits, rows, self.until)))
        lowest = 0.0
        if self.limits.power_w is not None and len(rows):
            forms = clocked_forms(self.model, rows, self.clocks)
            powered = self._powered(rows, forms, self.best.longest_s * (1 + SAME))
            rows, lowest = self._within_power(rows, forms, powered), float(powered.min())
        if not len(rows):
            return 0.0, 0.0
        clock = row_terms(self.model, rows, self.clocks[-1:])
        return lowest, longest_step_s(self.model, rows, clock)

    def narrowed(self, wanted_s: float) -> list[tuple[Rows, FloatArray]]:
        """What LB0, LB1, LB2 and a limit on power leave."""
        kept = np.flatnonzero(self.lower < wanted_s)
        self.remaining, refused, counted = len(kept), Counter[str](), Counted()
        counted.add("LB0", logical_meshes(self.partial_plans), self.lower, kept)
        self.funnel, parts = counted.stages(), []
        for at in np.array_split(kept, len(kept) // _AT_A_TIME + 1):
            self.until.check()
            rows = cross_rows(self.model, self.partial_plans.take(at), self.options, self.until)
            refused.update({n: c for n, c in rows.counts.items() if TARGET in n})
            self.refused = dict(refused)
            parts.append(self._bounded(rows, counted, wanted_s))
        self.funnel = counted.stages()
        return parts

    def _bounded(self, rows: Rows, counted: Counted, wanted_s: float) -> tuple[Rows, FloatArray]:
        """The rows that LB1 and LB2 leave, by the layers of their fullest device, with LB2."""
        if not len(rows):
            return rows, np.empty(0)
        forms = clocked_forms(self.model, rows, self.clocks)
        first = first_bound(forms)
        kept = np.flatnonzero(first < wanted_s)
        counted.add("LB1", rows.logical_meshes, first, kept)
        at = self._fitting("LB2", rows.take(kept), forms.take(kept), counted, wanted_s)
        if self.options.runnable_in and len(at[0]):
            rows = launchable_rows(self.model, self.options, at[0])
            at = self._fitting(
                f"LB2{LAUNCHABLE}",
                rows,
                clocked_forms(self.model, rows, self.clocks),
                counted,
                wanted_s,
            )
        rows, forms, bounds = at
        if self.limits.power_w is not None:
            bounds = np.maximum(bounds, self._powered(rows, forms, wanted_s))
            kept = np.flatnonzero(bounds < wanted_s)
            counted.add("LB power", rows.logical_meshes, np.minimum(bounds, wanted_s), kept)
            rows, forms, bounds = rows.take(kept), forms.take(kept), bounds[kept]
        rows, of, bounds = by_fullest(self.model, rows, forms, bounds)
        if self.limits.power_w is not None:
            above = self._always_above(rows, forms.take(of))
            kept = np.flatnonzero(~above)
            known = np.where(above, np.inf, bounds)
            counted.add("least power", rows.logical_meshes, known, kept)
            rows, bounds = rows.take(kept), bounds[kept]
        return rows, bounds

    def _within_power(self, rows: Rows, forms: RowForms, powered: FloatArray) -> Rows:
        """Those of rows, by the layers of their fullest device, that may be within the power."""
        kept = np.flatnonzero(np.isfinite(powered))
        split, of = rows.take(kept).by_fullest(self.model.job.model.layers)
        above = self._always_above(split, forms.take(kept[of]))
        return split.take(np.flatnonzero(~above))

    def _always_above(self, rows: Rows, forms: RowForms) -> BoolArray:
        return always_above(self.model, self.limits, rows, forms, self.clocks, self.until)

    def _fitting(
        self, name: str, rows: Rows, forms: RowForms, counted: Counted, wanted_s: float
    ) -> tuple[Rows, RowForms, FloatArray]:
        """The rows that LB2 leaves, with their forms and LB2."""
        second = launchable_bound(self.model, self.limits, rows, forms, wanted_s)
        kept = np.flatnonzero(second < wanted_s)
        bounds = np.where(np.isfinite(second), second, wanted_s)
        counted.add(name, rows.logical_meshes, bounds, kept)
        return rows.take(kept), forms.take(kept), second[kept]

    def _powered(self, rows: Rows, forms: RowForms, wanted_s: float) -> FloatArray:
        at = (self.model, self.limits, rows, forms, self.clocks, self.until)
        return powered_bound(*at, wanted_s)

    def tightened(self, rows: Rows, wanted_s: float) -> FloatArray:
        """(n,) better bounds of rows under a limit on power."""
        forms = clocked_forms(self.model, rows, self.clocks)
        at = (self.model, self.limits, rows, forms, self.clocks, self.until)
        return ranged_bound(*at, wanted_s)

    def stage_problem(self, rows: Rows, row: int, wanted_s: float) -> RowColumns | None:
        """The stage problem of a row, with the clocks that may pay."""
        slowed = gains_from_waiting(self.model, rows.plans.take(np.array([row])))[0]
        lower = self.limits.power_w is not None or slowed
        clocks = self.clocks if lower else self.clocks[:1]
        at = (self.model, self.limits, rows, row, clocks, wanted_s)
        return row_columns(*at, deadline=self.until)

    def costs(self, plan: Plan) -> Costs | None:
        """What a plan takes; None where a target refuses it, or it is not within the limits."""
        table = PlanTable.from_plans([plan])
        if any(broken(self.model, table, target=target) for target in self.options.runnable_in):
            return None
        totals = evaluate_totals(self.model, table)
        fits, _ = self.limits.memory(self.model, table, memory_table(self.model, table))
        allowed, _ = self.limits.costs(
            self.model, totals.step_time_s, totals.energy_j, table.chips.astype(np.float64)
        )
        if not fits[0] or not (allowed is None or allowed[0]):
            return None
        return Costs(step_time_s=float(totals.step_time_s[0]), energy_j=float(totals.energy_j[0]))
