"""The search for the fastest plan of a space, with the proof that it is.

Bounds drop rows; the rows that are left have their stage problems solved exactly, the least bound
first, until the next bound is no better than the incumbent, which every solved row may improve.
What is dropped has a bound, and the least of all bounds is that of the answer.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

import numpy as np

from planner.base.arrays import FloatArray
from planner.plan import Plan
from planner.results.certificate import ROUNDING, Certificate, FunnelStage, within
from planner.search.deadline import Deadline, OutOfTime
from planner.search.open_rows import OpenRow, OpenRows
from planner.search.row_space import ColumnsOf, R, Space
from solvers.solution import Solution, Status
from solvers.stages.backend import Question, UnansweredError
from solvers.stages.problem import Choice, StageProblem, TooManyColumnsError
from solvers.stages.solving import solve_stages

SAME = 1e-12
"""Plans whose times differ by less are equally fast; of those the first found is the answer."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fastest:
    """The outcome of a search for the fastest plan.

    Attributes:
        plan: The best plan; None: there is none, or none was found.
        time_s, energy_j: As the cost model evaluates it; inf without one.
        status: OPTIMAL: proved (within `Certificate.gap`, the rounding of the integer tables).
            FEASIBLE: time or the wished gap ended it. INFEASIBLE, TIME_LIMIT: no plan.
        bound_s: No plan takes less time; 0 where nothing is known.
        certificate: Why.
        seconds: Wall time.
    """

    plan: Plan | None
    time_s: float
    energy_j: float
    status: Status
    bound_s: float
    certificate: Certificate
    seconds: float


class Driver(Generic[R]):
    """A search in progress: the incumbent, and the least bound of what is dropped.

    Args:
        space: What it looks through.
        gap: It may end once no plan is faster by more than this share.
        deadline: When it ends.
        on_progress: Called with (what, done, of).
    """

    def __init__(
        self, space: Space[R], gap: float, deadline: Deadline, on_progress: Progress | None
    ) -> None:
        self.space, self.deadline, self.on_progress = space, deadline, on_progress
        self.gap, self.started = within(gap), time.perf_counter()
        self.plan: Plan | None = None
        self.uniform_s: float | None = None
        self.time_s, self.joules, self.ceiling_s = np.inf, np.inf, np.inf
        self.bound_s, self.floor_s = np.inf, 0.0
        self.solved, self.solves, self.rounding_s = 0, 0, 0.0
        self.unproved: list[float] = []
        self.solvers: Counter[str] = Counter()
        self.last: FunnelStage | None = None
        self.ended = False

    def start_from(self, plan: Plan, time_s: float, joules: float) -> None:
        """Takes the fastest uniform plan as the incumbent."""
        self.plan, self.time_s, self.joules, self.uniform_s = plan, time_s, joules, time_s

    @property
    def wanted_s(self) -> float:
        """Only plans below this are looked for."""
        known = self.time_s * (1 - max(self.gap, SAME)) if np.isfinite(self.time_s) else np.inf
        return min(known, self.space.longest_s * (1 + SAME), self.ceiling_s)

    def run(self) -> Fastest:
        """All rows; where no plan is known, below a ceiling that rises until there is one."""
        try:
            self.floor_s = self.space.begin(self.deadline)
            for wanted in self.space.ranges(self.wanted_s):
                self.floor_s = max(self.floor_s, wanted.above_s)
                self.ceiling_s = wanted.within_s
                self._below()
                self.bound_s = self.floor_s = max(self.bound_s, self.floor_s)
                if self.plan is not None or self.ended:
                    break
        except OutOfTime:
            self.ended, self.bound_s = True, self.floor_s
            self.last, self.unproved = None, []
        return self._answer()

    def _below(self) -> None:
        """Every row with a plan that is wanted, with a new certificate."""
        self.bound_s, self.unproved, self.solved, self.last = np.inf, [], 0, None
        parts = self.space.narrowed(self.wanted_s)
        lowest = [step.lowest or np.inf for step in self.space.funnel]
        self.bound_s = min([self.bound_s, *lowest])
        self._solve(parts)

    def _solve(self, parts: list[tuple[R, FloatArray]]) -> None:
        """Stage problems, the least bound first."""
        tighten = self._tightened if self.space.tightens else None
        rows, done, kept = OpenRows(parts, tighten), 0, np.inf
        count = len(rows)
        while (row := self._next(rows)) is not None:
            if self.on_progress is not None:
                self.on_progress("stage problems", done, count)
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
        self.bound_s = min([self.bound_s, kept, *bounds, *self.unproved])
        self.last = FunnelStage(
            name="stages",
            rows=count,
            meshes=len(set[tuple[int, ...]]().union(*(part.logical_meshes for part, _ in parts))),
            dropped=0 if self.ended else len(bounds),
            lowest=None if self.ended else min(bounds, default=None),
        )

    def _next(self, rows: OpenRows[R]) -> OpenRow | None:
        """The next row to solve; None where none is left, or no time."""
        if self.ended:
            return None
        if not self.deadline.passed or rows.least >= self.wanted_s:
            try:
                return rows.pop(self.wanted_s)
            except OutOfTime:
                pass
        self.ended = True
        return None

    def _tightened(self, rows: R) -> FloatArray:
        return self.space.tightened(rows, self.wanted_s)

    def _solve_row(self, rows: R, row: OpenRow) -> tuple[float, bool]:
        """A better bound of a row, and whether no plan of it is between that and the incumbent."""
        wanted = self.wanted_s
        try:
            columns = self.space.columns(rows, row.row, wanted)
            if columns is None:
                return wanted, True
            found, bound = self._ask(columns, columns.problem)
        except (TooManyColumnsError, UnansweredError):  # the bound is that of before
            return row.bound, False
        except OutOfTime:
            self.ended = True
            return row.bound, False
        bound = max(row.bound, bound)
        if found.decision is None or self._take(columns, found.decision):
            return bound, found.status in (Status.OPTIMAL, Status.INFEASIBLE)
        if columns.inside is not None:
            self._take_inside(columns, columns.inside)
        return bound, False

    def _take_inside(self, columns: ColumnsOf, inside: StageProblem) -> None:
        """Takes over the best plan that is within the limits by its integers too."""
        try:
            found, _ = self._ask(columns, inside)
        except UnansweredError:
            return
        if found.decision is not None:
            self._take(columns, found.decision)

    def _ask(self, columns: ColumnsOf, problem: StageProblem) -> tuple[Solution[Choice], float]:
        """Solves the problem of a row for plans that are wanted; with its bound in seconds."""
        wanted, unit = self.wanted_s, columns.units.time_s
        below = int(np.ceil(wanted / unit))
        found = solve_stages(Question(problem=problem, below=below, seconds=self.deadline.left_s))
        self.solves += 1
        self.solvers.update(name for name in found.counts if name.startswith("solved by "))
        self.rounding_s = max(self.rounding_s, columns.rounding * unit)
        proved = wanted if found.bound >= below else found.bound * unit
        return found, min(proved, wanted)

    def _take(self, columns: ColumnsOf, choice: Choice) -> bool:
        """Takes over a plan if it is faster than the incumbent; whether it is within limits."""
        plan = columns.plan(choice)
        costs = self.space.costs(plan)
        if costs is None:
            return False
        if costs.time_s < self.wanted_s:
            self.plan, self.time_s, self.joules = plan, costs.time_s, costs.energy_j
        return True

    def _answer(self) -> Fastest:
        """The answer; no plan is below the least bound of all."""
        open_ = self.ended or bool(self.unproved)
        if self.plan is None:
            status = Status.TIME_LIMIT if open_ else Status.INFEASIBLE
            least = max(self.bound_s, self.floor_s) if open_ else 0.0
            certificate = Certificate(status=status.value, objective_name="time")
            return self._found(status, least if np.isfinite(least) else 0.0, certificate)
        bound = min(self.bound_s, self.time_s)
        done = not open_ and self.gap == 0.0 and bound >= self.time_s - self.rounding_s
        proved = done or bound >= self.time_s * (1 - ROUNDING)
        status = Status.OPTIMAL if proved else Status.FEASIBLE
        return self._found(status, bound, self._certificate(status, bound))

    def _certificate(self, status: Status, bound: float) -> Certificate:
        """What each bound dropped, what was solved, and what is left."""
        solved, left = self.last is not None, len(self.unproved)
        lowest = max(min(self.unproved), self.floor_s) if self.unproved else None
        if not solved:  # time ended before the rows were narrowed down
            left = self.space.open
            lowest = self.floor_s if left else None
        return Certificate(
            status=status.value,
            objective_name="time",
            objective=self.time_s,
            bound=bound,
            uniform=self.uniform_s,
            funnel=(*self.space.funnel, *([self.last] if self.last is not None else [])),
            solved=self.solved,
            stage_solves=self.solves,
            left=left,
            lowest_left=lowest,
            solvers={name.removeprefix("solved by "): n for name, n in self.solvers.items()},
            refused=dict(self.space.refused),
        )

    def _found(self, status: Status, bound_s: float, certificate: Certificate) -> Fastest:
        return Fastest(
            plan=self.plan,
            time_s=float(self.time_s),
            energy_j=float(self.joules),
            status=status,
            bound_s=bound_s,
            certificate=certificate,
            seconds=time.perf_counter() - self.started,
        )
