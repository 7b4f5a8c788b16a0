"""The fastest plan over all rows and all ways to fill their stages, with the proof that it is.

The fastest uniform plan is the first incumbent. LB0 drops meshes with micro-batch and schedule,
LB1, LB2 and a limit on power drop rows (`planner.search.uneven.bounds.time`, `power`); the rows
that are left have their stage problems solved exactly, the least bound first, until the next bound
is no better than the incumbent, which every solved row may improve. What is dropped has a bound,
and the least of all bounds is that of the answer.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from planner.base.arrays import FloatArray
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals, memory_table
from planner.frameworks.rules import TARGET, broken
from planner.plan import PlanTable
from planner.question.options import SpaceOptions
from planner.results.certificate import (
    ROUNDING,
    TOLD,
    Certificate,
    FunnelStage,
    UnevenFound,
    within,
)
from planner.search.deadline import Deadline, OutOfTime
from planner.search.limits import Limits
from planner.search.uneven.bounds.launchable_memory import told_bound
from planner.search.uneven.bounds.memory import roomy, second_step_s
from planner.search.uneven.bounds.power import powered_bound, ranged_bound
from planner.search.uneven.bounds.time import (
    RowForms,
    clocked_forms,
    first_bound,
    gains_from_waiting,
    longest_step_s,
    skeleton_lower,
)
from planner.search.uneven.columns.columns import RowColumns, row_columns
from planner.search.uneven.counts import Counted, funnel_stage, mesh_count
from planner.search.uneven.launchable import told
from planner.search.uneven.open_rows import OpenRow, OpenRows
from planner.search.uneven.rows import Rows, cross_rows, uneven_skeletons
from planner.search.uneven.terms import row_terms
from planner.search.uniform.engine import Found
from planner.search.uniform.space import Skeletons
from solvers.solution import Solution, Status
from solvers.stages.backend import Question, UnansweredError
from solvers.stages.problem import Choice, TooManyColumnsError
from solvers.stages.solving import solve_stages

SAME = 1e-12
"""Plans whose times differ by less are equally fast; of those the uniform one is the answer."""
_AT_A_TIME = 200_000  # rows whose bounds are in memory at once
_WIDER = 1.5  # how the limit grows while no plan is known
_WIDER_POWERED = 1.01  # at first, where a limit on power makes the bounds tight

Progress = Callable[[str, int, int], None]


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
    """
    started = time.perf_counter()
    search = _Search(model, options, limits, chips, gap, Deadline(deadline), on_progress)
    if uniform is not None:
        search.start_from(uniform)
    search.run()
    return search.answer(time.perf_counter() - started)


class _Search:
    """A search in progress: the incumbent, and the least bound of what is dropped."""

    def __init__(
        self,
        model: CostModel,
        options: SpaceOptions,
        limits: Limits,
        chips: int,
        gap: float,
        deadline: Deadline,
        on_progress: Progress | None,
    ) -> None:
        self.model, self.options, self.limits, self.chips = model, options, limits, chips
        self.gap, self.deadline, self.on_progress = within(gap), deadline, on_progress
        self.clocks = model.clocks(wanted=options.clocks)
        self.longest_s = limits.longest_s(model, chips)
        self.plan: PlanTable | None = None
        self.uniform_s: float | None = None
        self.time_s, self.joules, self.ceiling_s = np.inf, np.inf, np.inf
        self.funnel: list[FunnelStage] = []
        self.refused: Counter[str] = Counter()
        self.bound_s, self.floor_s = np.inf, 0.0
        self.solved, self.left, self.solves = 0, 0, 0
        self.unproved: list[float] = []
        self.lowest_left: float | None = None
        self.solvers: Counter[str] = Counter()
        self.rounding_s, self.ended = 0.0, False

    def start_from(self, uniform: Found) -> None:
        """Takes the fastest uniform plan as the incumbent."""
        if not len(uniform.points):
            return
        at = int(np.argmin(uniform.points[:, 0]))
        self.plan = uniform.plans.take(np.array([at]))
        self.time_s, self.joules = (float(value) for value in uniform.points[at, :2])
        self.uniform_s = self.time_s

    @property
    def wanted_s(self) -> float:
        """Only plans below this are looked for."""
        known = self.time_s * (1 - max(self.gap, SAME)) if np.isfinite(self.time_s) else np.inf
        return min(known, self.longest_s * (1 + SAME), self.ceiling_s)

    def run(self) -> None:
        """All rows; where neither a plan nor a limit is known, below a ceiling that rises."""
        try:
            skeletons = uneven_skeletons(self.model, (self.chips,), self.options)
            self.left = len(skeletons)
            lower = skeleton_lower(self.model, skeletons, self.options, self.deadline)
            self.floor_s = float(lower.min(initial=np.inf))
            if np.isfinite(self.wanted_s):
                self._below(skeletons, lower)
                return
            lowest, highest = self._range(skeletons)
            self.floor_s = self.ceiling_s = max(self.floor_s, lowest)
            wider = _WIDER if self.limits.power_w is None else _WIDER_POWERED
            while self.plan is None and not self.ended and self.ceiling_s < highest:
                self.ceiling_s = min(self.ceiling_s * wider, highest)
                self._below(skeletons, lower)
                self.floor_s = max(self.floor_s, self.bound_s)
                wider = min(wider**2, _WIDER)
        except OutOfTime:
            self.ended, self.bound_s = True, self.floor_s
            self.lowest_left = self.floor_s if self.left else None

    def _range(self, skeletons: Skeletons) -> tuple[float, float]:
        """Seconds between which plans take; 0 where none fits in memory or is within the power."""
        rows = cross_rows(self.model, skeletons, self.options, self.deadline)
        rows = rows.take(np.flatnonzero(roomy(self.model, self.limits, rows)))
        lowest = 0.0
        if self.limits.power_w is not None and len(rows):
            powered = self._powered(rows, clocked_forms(self.model, rows, self.clocks))
            rows = rows.take(np.flatnonzero(np.isfinite(powered)))
            lowest = float(powered.min())
        if not len(rows):
            return 0.0, 0.0
        clock = row_terms(self.model, rows, self.clocks[-1:])
        return lowest, longest_step_s(self.model, rows, clock)

    def _below(self, skeletons: Skeletons, lower: FloatArray) -> None:
        """Every row with a plan that is wanted, with a new certificate."""
        self.funnel, self.bound_s, self.unproved, self.solved = [], np.inf, [], 0
        self.refused = Counter[str]()
        kept = np.flatnonzero(lower < self.wanted_s)
        self.left = len(kept)
        self.funnel.append(funnel_stage("LB0", mesh_count(skeletons), lower, kept))
        parts, counted = [], Counted()
        for at in np.array_split(kept, len(kept) // _AT_A_TIME + 1):
            self.deadline.check()
            rows = cross_rows(self.model, skeletons.take(at), self.options, self.deadline)
            self.refused.update({n: c for n, c in rows.counts.items() if TARGET in n})
            parts.append(self._bounded(rows, counted))
        self.funnel += counted.stages()
        self.bound_s = min([self.bound_s, *(step.lowest or np.inf for step in self.funnel)])
        self._solve(parts)

    def _bounded(self, rows: Rows, counted: Counted) -> tuple[Rows, FloatArray]:
        """The rows that LB1 and LB2 leave, by the layers of their fullest device, with LB2."""
        if not len(rows):
            return rows, np.empty(0)
        forms = clocked_forms(self.model, rows, self.clocks)
        first = first_bound(forms)
        kept = np.flatnonzero(first < self.wanted_s)
        counted.add("LB1", rows, first, kept)
        at = self._roomy("LB2", rows.take(kept), forms.take(kept), counted)
        if self.options.runnable_in and len(at[0]):
            rows = told(self.model, self.options, at[0])
            at = self._roomy(
                f"LB2{TOLD}", rows, clocked_forms(self.model, rows, self.clocks), counted
            )
        rows, forms, second = at
        if self.limits.power_w is None:
            return self._by_fullest(rows, forms, second)
        powered = np.maximum(second, self._powered(rows, forms))
        kept = np.flatnonzero(powered < self.wanted_s)
        counted.add("LB power", rows, np.minimum(powered, self.wanted_s), kept)
        return self._by_fullest(rows.take(kept), forms.take(kept), powered[kept])

    def _by_fullest(
        self, rows: Rows, forms: RowForms, bounds: FloatArray
    ) -> tuple[Rows, FloatArray]:
        """Rows of each number of layers that the fullest device may have, with their bounds."""
        rows, of = rows.by_fullest(self.model.job.model.layers)
        forms = forms.take(of)
        steps = second_step_s(self.model, rows, forms, forms.slowest)
        return rows, np.maximum(bounds[of], steps)

    def _roomy(
        self, name: str, rows: Rows, forms: RowForms, counted: Counted
    ) -> tuple[Rows, RowForms, FloatArray]:
        """The rows that LB2 leaves, with their forms and LB2."""
        second = told_bound(self.model, self.limits, rows, forms, self.wanted_s)
        kept = np.flatnonzero(second < self.wanted_s)
        counted.add(name, rows, np.where(np.isfinite(second), second, self.wanted_s), kept)
        return rows.take(kept), forms.take(kept), second[kept]

    def _powered(self, rows: Rows, forms: RowForms) -> FloatArray:
        at = (self.model, self.limits, rows, forms, self.clocks, self.deadline)
        return powered_bound(*at, self.wanted_s)

    def _solve(self, parts: list[tuple[Rows, FloatArray]]) -> None:
        """Stage problems, the least bound first."""
        tighten = None if self.limits.power_w is None else self._ranged
        rows, done, kept = OpenRows(parts, tighten), 0, np.inf
        count = len(rows)
        while not self.ended:
            row = self._next(rows)
            if row is None:
                break
            self._progress("stage problems", done, count)
            bound, proved = self._solve_row(rows.parts[row.part], row)
            done += 1
            if proved:
                self.solved += 1
                kept = min(kept, bound)
            else:
                self.unproved.append(bound)
        bounds = rows.bounds
        if self.ended:
            self.unproved += bounds
        self.left = len(self.unproved)
        self.lowest_left = min(self.unproved, default=None)
        self.bound_s = min([self.bound_s, kept, *bounds, *self.unproved])
        step = FunnelStage(
            name="stages",
            rows=count,
            meshes=len(set[tuple[int, ...]]().union(*(part.logical_meshes for part, _ in parts))),
            dropped=0 if self.ended else len(bounds),
            lowest=None if self.ended else min(bounds, default=None),
        )
        self.funnel.append(step)

    def _next(self, rows: OpenRows) -> OpenRow | None:
        """The next row to solve; None where none is left, or no time."""
        if not self.deadline.passed or rows.least >= self.wanted_s:
            try:
                return rows.pop(self.wanted_s)
            except OutOfTime:
                pass
        self.ended = True
        return None

    def _ranged(self, rows: Rows) -> FloatArray:
        """(n,) better bounds of rows under a limit on power."""
        forms = clocked_forms(self.model, rows, self.clocks)
        at = (self.model, self.limits, rows, forms, self.clocks, self.deadline)
        return ranged_bound(*at, self.wanted_s)

    def _solve_row(self, rows: Rows, row: OpenRow) -> tuple[float, bool]:
        """A better bound of a row, and whether no plan of it is between that and the incumbent."""
        wanted = self.wanted_s
        slowed = gains_from_waiting(self.model, rows.plans.take(np.array([row.row])))[0]
        lower = self.limits.power_w is not None or slowed
        clocks = self.clocks if lower else self.clocks[:1]
        at = (self.model, self.limits, rows, row.row, clocks, wanted)
        try:
            columns = row_columns(*at, deadline=self.deadline)
            if columns is None:
                return wanted, True
            found, bound = self._ask(columns, wanted)
        except (TooManyColumnsError, UnansweredError):  # the bound is that of before
            return row.bound, False
        except OutOfTime:
            self.ended = True
            return row.bound, False
        bound = max(row.bound, bound)
        if found.decision is None or self._take(columns, found.decision):
            return bound, found.status in (Status.OPTIMAL, Status.INFEASIBLE)
        if columns.inside is not None:
            self._take_inside(replace(columns, problem=columns.inside))
        return bound, False

    def _take_inside(self, columns: RowColumns) -> None:
        """Takes over the best plan that is within the limits by its integers too."""
        try:
            found, _ = self._ask(columns, self.wanted_s)
        except UnansweredError:
            return
        if found.decision is not None:
            self._take(columns, found.decision)

    def _ask(self, columns: RowColumns, wanted: float) -> tuple[Solution[Choice], float]:
        """Solves the problem of a row for plans below `wanted`; with its bound in seconds."""
        unit = columns.units.time_s
        below = int(np.ceil(wanted / unit))
        found = solve_stages(
            Question(problem=columns.problem, below=below, seconds=self.deadline.left_s)
        )
        self.solves += 1
        self.solvers.update(name for name in found.counts if name.startswith("solved by "))
        self.rounding_s = max(self.rounding_s, columns.rounding * unit)
        proved = wanted if found.bound >= below else found.bound * unit
        return found, min(proved, wanted)

    def _take(self, columns: RowColumns, choice: Choice) -> bool:
        """Takes over a plan if it is faster than the incumbent; whether it is within limits."""
        plan = PlanTable.from_plans([columns.plan(choice)])
        if any(broken(self.model, plan, target=target) for target in self.options.runnable_in):
            return False
        totals = evaluate_totals(self.model, plan)
        time_s = float(totals.step_time_s[0])
        fits, _ = self.limits.memory(self.model, memory_table(self.model, plan))
        allowed, _ = self.limits.costs(
            self.model, totals.step_time_s, totals.energy_j, plan.chips.astype(np.float64)
        )
        if not fits[0] or not (allowed is None or allowed[0]):
            return False
        if time_s < self.wanted_s:
            self.plan, self.time_s, self.joules = plan, time_s, float(totals.energy_j[0])
        return True

    def _progress(self, what: str, done: int, of: int) -> None:
        if self.on_progress is not None:
            self.on_progress(what, done, of)

    def answer(self, seconds: float) -> UnevenFound:
        """The answer; no plan is below the least bound of all."""
        open_ = self.ended or bool(self.unproved)
        if self.plan is None:
            status = Status.TIME_LIMIT if open_ else Status.INFEASIBLE
            least = max(self.bound_s, self.floor_s) if open_ else 0.0
            return UnevenFound(
                plans=PlanTable.from_plans([]),
                points=np.empty((0, 2)),
                status=status,
                bound=np.array([least, 0.0]),
                front_complete=False,
                certificate=Certificate(status=status.value, objective_name="time"),
                seconds=seconds,
            )
        bound = min(self.bound_s, self.time_s)
        done = not open_ and self.gap == 0.0 and bound >= self.time_s - self.rounding_s
        proved = done or bound >= self.time_s * (1 - ROUNDING)
        status = Status.OPTIMAL if proved else Status.FEASIBLE
        return UnevenFound(
            plans=self.plan,
            points=np.array([[self.time_s, self.joules]]),
            status=status,
            bound=np.array([bound, 0.0]),
            front_complete=False,
            certificate=Certificate(
                status=status.value,
                objective_name="time",
                objective=self.time_s,
                bound=bound,
                uniform=self.uniform_s,
                funnel=tuple(self.funnel),
                solved=self.solved,
                stage_solves=self.solves,
                left=self.left,
                lowest_left=self.lowest_left,
                solvers={name.removeprefix("solved by "): n for name, n in self.solvers.items()},
                refused=dict(self.refused),
            ),
            seconds=seconds,
        )
