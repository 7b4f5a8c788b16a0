"""The fastest plan on pools of different chips over all rows, with the proof that it is.

As `planner.search.uneven.certificate`, with the rows, bounds and columns of pools: LB1 and LB2 drop
rows (`planner.search.pools.bounds`); stage problems of the rest are solved exactly, the least
bound first. No plan is known at first, so the rows are searched below a ceiling that rises until
there is one.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.base.arrays import FloatArray
from planner.cost.breakdown import peak_flop_per_s
from planner.cost.pools.evaluate import evaluate_stages
from planner.cost.pools.pools import Pool, owners, without_pools
from planner.plan import Plan, PlanTable
from planner.question.options import SpaceOptions
from planner.results.certificate import ROUNDING, Certificate, FunnelStage, within
from planner.search.deadline import Deadline, OutOfTime
from planner.search.limits import Limits, model_flop
from planner.search.pools.bounds import PooledForms, pooled_forms, pooled_second
from planner.search.pools.columns import PooledColumns, pooled_columns, pooled_standing_w
from planner.search.pools.rows import PooledRows, pooled_rows
from planner.search.uneven.counts import funnel_stage
from solvers.solution import Solution, Status
from solvers.stages.backend import Question, UnansweredError
from solvers.stages.problem import Choice, StageProblem
from solvers.stages.solving import solve_stages

SAME = 1e-12
_AT_A_TIME = 50_000  # rows whose bounds are in memory at once
_RISES = (1.02, 1.1, 1.3, 2.0, 4.0, 16.0, 256.0, 1e6)
"""Ceilings over the least bound."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledFound:
    """The outcome of a search over plans on pools.

    Attributes:
        plan: The best plan; None: there is none, or none was found.
        time_s, energy_j: As `planner.cost.pools.evaluate` evaluates it; inf without one.
        status: As of `planner.results.certificate.UnevenFound`.
        bound_s: No plan takes less time.
        certificate: Why no plan is faster.
        rows: Rows searched.
        counts: Rows considered before placement, and what each rule drops.
        seconds: Wall time.
    """

    plan: Plan | None
    time_s: float
    energy_j: float
    status: Status
    bound_s: float
    certificate: Certificate
    rows: int
    counts: dict[str, int]
    seconds: float


def best_on_pools(
    pools: Sequence[Pool],
    options: SpaceOptions,
    limits: Limits,
    *,
    gap: float = 0.0,
    deadline: float | None = None,
    on_progress: Progress | None = None,
) -> PooledFound:
    """The fastest plan on all chips of all pools.

    Args:
        pools: At least two.
        options, limits: What is searched, and within what; clocks are the highest.
        gap: The search may end once no plan is faster by more than this share.
        deadline: `time.perf_counter` value at which it ends.
        on_progress: Called with (what, done, of).
    """
    started = time.perf_counter()
    search = _Search(tuple(pools), options, limits, gap, Deadline(deadline), on_progress)
    search.run()
    return search.answer(time.perf_counter() - started)


class _Search:
    """A search in progress: the incumbent, and the least bound of what is dropped."""

    def __init__(
        self,
        pools: tuple[Pool, ...],
        options: SpaceOptions,
        limits: Limits,
        gap: float,
        deadline: Deadline,
        on_progress: Progress | None,
    ) -> None:
        self.pools, self.options, self.limits = pools, options, limits
        self.gap, self.deadline, self.on_progress = within(gap), deadline, on_progress
        self.clocks = tuple(pool.model.clocks(wanted=False) for pool in pools)
        self.longest_s = _longest_s(pools, limits)
        self.plan: Plan | None = None
        self.time_s, self.joules, self.ceiling_s = np.inf, np.inf, np.inf
        self.funnel: list[FunnelStage] = []
        self.bound_s, self.floor_s = np.inf, 0.0
        self.solved, self.left, self.solves, self.rows = 0, 0, 0, 0
        self.lowest_left: float | None = None
        self.solvers: Counter[str] = Counter()
        self.counts: dict[str, int] = {}
        self.ended = False

    @property
    def wanted_s(self) -> float:
        """Only plans below this are looked for."""
        known = self.time_s * (1 - max(self.gap, SAME)) if np.isfinite(self.time_s) else np.inf
        return min(known, self.longest_s * (1 + SAME), self.ceiling_s)

    def run(self) -> None:
        """All rows, below ceilings that rise until a plan is known."""
        try:
            rows = pooled_rows(self.pools, self.options, self.deadline)
            self.rows, self.counts = len(rows), rows.own[0].counts
            self.left = self.rows
            if not self.rows or self._waits_for_too_much():
                return
            parts = [self._formed(part) for part in _parts(rows)]
            lowest = min((float(first.min()) for _, _, first in parts if len(first)), default=0.0)
            self.floor_s = lowest
            for rise in _RISES:
                self.ceiling_s = lowest * rise
                self._below(parts)
                self.bound_s = self.floor_s = max(self.bound_s, self.floor_s)
                if self.plan is not None or self.ended or self.ceiling_s >= self.longest_s:
                    return
        except OutOfTime:
            self.ended, self.bound_s = True, self.floor_s

    def _waits_for_too_much(self) -> bool:
        """Whether waiting alone draws what the limit lets through: every plan draws more."""
        power_w = self.limits.power_w
        return power_w is not None and pooled_standing_w(self.pools) >= power_w

    def _formed(self, rows: PooledRows) -> tuple[PooledRows, PooledForms, FloatArray]:
        """Rows with their forms and LB1."""
        self.deadline.check()
        forms = pooled_forms(rows, self.clocks)
        return rows, forms, forms.step_s(forms.slowest)

    def _below(self, parts: list[tuple[PooledRows, PooledForms, FloatArray]]) -> None:
        """Every row with a plan that is wanted, with a new certificate."""
        self.funnel, self.bound_s, self.solved, self.left = [], np.inf, 0, self.rows
        first = np.concatenate([bound for _, _, bound in parts])
        kept = [np.flatnonzero(bound < self.wanted_s) for _, _, bound in parts]
        meshes = _meshes([rows for rows, _, _ in parts])
        whole = np.flatnonzero(first < self.wanted_s)
        self.funnel.append(funnel_stage("LB1", meshes, first, whole))
        left, second, open_rows = [], [], []
        for (all_rows, forms, _), at in zip(parts, kept, strict=True):
            self.deadline.check()
            rows = all_rows.take(at)
            bound = pooled_second(self.limits, rows, forms.take(at), self.wanted_s)
            here = np.flatnonzero(bound < self.wanted_s)
            second.append(bound)
            left.append(rows)
            open_rows.append((rows.take(here), bound[here]))
        bounds = np.concatenate(second)
        lower = np.where(np.isfinite(bounds), bounds, self.wanted_s)
        roomy = np.flatnonzero(bounds < self.wanted_s)
        self.funnel.append(funnel_stage("LB2", _meshes(left), lower, roomy))
        self.bound_s = min([np.inf, *(step.lowest or np.inf for step in self.funnel)])
        self._solve(open_rows)

    def _solve(self, parts: list[tuple[PooledRows, FloatArray]]) -> None:
        """Stage problems, the least bound first."""
        bounds = np.concatenate([bound for _, bound in parts])
        part = np.repeat(np.arange(len(parts)), [len(bound) for _, bound in parts])
        row = np.concatenate([np.arange(len(bound)) for _, bound in parts])
        order = np.argsort(bounds, kind="stable")
        unproved, still_open, done = [np.inf], list[float](), 0
        for at in order.tolist():
            if bounds[at] >= self.wanted_s:
                break
            if self.deadline.passed:
                self.ended = True
                break
            if self.on_progress is not None:
                self.on_progress("stage problems", done, len(order))
            before = self.solved
            unproved.append(self._solve_row(parts[part[at]][0], int(row[at]), float(bounds[at])))
            still_open += unproved[-1:] if self.solved == before else []
            done += 1
        left = bounds[order[done:]]
        still_open += left.tolist() if self.ended else []
        self.left = len(still_open)
        self.lowest_left = max(min(still_open), self.floor_s) if still_open else None
        lowest = float(left[0]) if len(left) else None
        self.bound_s = min(self.bound_s, *unproved, np.inf if lowest is None else lowest)
        self.funnel.append(
            FunnelStage(
                name="stages",
                rows=len(order),
                meshes=_meshes([rows for rows, _ in parts]),
                dropped=0 if self.ended else len(left),
                lowest=None if self.ended else lowest,
            )
        )

    def _solve_row(self, rows: PooledRows, row: int, known: float) -> float:
        """Solves the stage problem of a row; what no plan of it is below."""
        wanted = self.wanted_s
        try:
            columns = pooled_columns(self.limits, rows, row, self.clocks, wanted, self.deadline)
        except OutOfTime:
            self.ended = True
            return known
        if columns is None:
            self.solved += 1
            return wanted
        try:
            found, bound = self._ask(columns, columns.problem)
            within = found.decision is None or self._take(columns, found.decision)
            known = max(known, bound)
            if not within and columns.inside is not None:
                inner = self._ask(columns, columns.inside)[0].decision
                if inner is not None:
                    self._take(columns, inner)
        except UnansweredError:  # the bound is what is known
            self.ended = True
            return known
        if within and found.status in (Status.OPTIMAL, Status.INFEASIBLE):
            self.solved += 1
        else:
            self.ended = True
        return known

    def _ask(self, columns: PooledColumns, problem: StageProblem) -> tuple[Solution[Choice], float]:
        """Solves the problem of a row for what is wanted; with its bound in seconds."""
        wanted, unit = self.wanted_s, columns.units.time_s
        below = int(np.ceil(wanted / unit))
        found = solve_stages(Question(problem=problem, below=below, seconds=self.deadline.left_s))
        self.solves += 1
        self.solvers.update(name for name in found.counts if name.startswith("solved by "))
        return found, wanted if found.bound >= below else min(found.bound * unit, wanted)

    def _take(self, columns: PooledColumns, choice: Choice) -> bool:
        """Takes over a plan if it is faster than the incumbent; whether it is within limits."""
        plan = columns.plan(choice)
        table = PlanTable.from_plans([without_pools(plan)])
        step = evaluate_stages(self.pools, owners(self.pools, plan), table)[1].step
        time_s, joules = float(step.time[0, 0]), float(step.energy[0, 0])
        if self.limits.power_w is not None and joules > self.limits.power_w * time_s:
            return False
        if time_s < self.wanted_s:
            self.plan, self.time_s, self.joules = plan, time_s, joules
        return True

    def answer(self, seconds: float) -> PooledFound:
        """The answer; no plan is below the least bound of all."""
        bound = min(self.bound_s, self.time_s)
        status = Status.TIME_LIMIT if self.ended else Status.INFEASIBLE
        if self.plan is None:
            certificate = Certificate(status=status.value, objective_name="time")
        else:
            proved = not self.ended and self.gap == 0.0
            proved |= bound >= self.time_s * (1 - ROUNDING)
            status = Status.OPTIMAL if proved else Status.FEASIBLE
            certificate = Certificate(
                status=status.value,
                objective_name="time",
                objective=self.time_s,
                bound=bound,
                funnel=tuple(self.funnel),
                solved=self.solved,
                stage_solves=self.solves,
                left=self.left,
                lowest_left=self.lowest_left,
                solvers={n.removeprefix("solved by "): k for n, k in self.solvers.items()},
            )
        return PooledFound(
            plan=self.plan,
            time_s=float(self.time_s),
            energy_j=float(self.joules),
            status=status,
            bound_s=bound if np.isfinite(bound) else 0.0,
            certificate=certificate,
            rows=self.rows,
            counts=self.counts,
            seconds=seconds,
        )


def _parts(rows: PooledRows) -> list[PooledRows]:
    """The rows in parts that fit in memory."""
    count = len(rows) // _AT_A_TIME + 1
    return [rows.take(at) for at in np.array_split(np.arange(len(rows)), count)]


def _meshes(parts: Sequence[PooledRows]) -> int:
    """How many combinations of tp, cp and pp there are."""
    return len(set[tuple[int, ...]]().union(*(rows.own[0].logical_meshes for rows in parts)))


def _longest_s(pools: Sequence[Pool], limits: Limits) -> float:
    """Seconds that the limits on step time and utilization allow a step."""
    longest = np.inf if limits.step_time_s is None else limits.step_time_s
    if limits.mfu is None:
        return longest
    peak = sum(pool.chips * peak_flop_per_s(pool.model) for pool in pools)
    return min(longest, model_flop(pools[0].model) / (limits.mfu * peak))
