"""Spaces of rows: groups of plans that differ in their stages alone, for the fastest plan.

Bounds drop rows. Each row that is left is a node with one corner, the bound of its step time; it is
opened by solving its stage problem exactly, the least bound first, until the next bound is no
better than the incumbent, which every solved row may improve. What is dropped has a bound, and the
least of all bounds is that of the answer.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from typing import ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.base.progress import Progress
from planner.objectives import TIME, Costs
from planner.plan import Plan
from planner.results.certificate import ROUNDING, Certificate, FunnelStage, within
from planner.search.columns import Columns
from planner.search.deadline import Deadline, OutOfTime
from planner.search.driver import Driver
from planner.search.infeasible.near_misses import NearMisses
from planner.search.space import LABEL, Space, Trail
from planner.search.uneven.columns.integers import Units
from solvers.mesh import FrontSolution, Opened, RunningFront
from solvers.solution import Solution, Status
from solvers.stages.backend import Question, UnansweredError
from solvers.stages.problem import Choice, StageProblem, TooManyColumnsError
from solvers.stages.solving import solve_stages

SAME = 1e-12
"""Plans whose times differ by less are equally fast; of those the first found is the answer."""
_TIGHTENED_AT_A_TIME = 64


class RowsOf(Protocol):
    """Rows of a space: groups of plans that differ in their stages alone."""

    def __len__(self) -> int: ...

    def take(self, index: IntArray) -> Self:
        """Some of the rows."""

    @property
    def logical_meshes(self) -> set[tuple[int, ...]]:
        """Their meshes, as tp, cp and pp."""


R = TypeVar("R", bound=RowsOf)
Asked = tuple[Solution[Choice], float]


class ColumnsOf(Protocol):
    """The stage problem of a row, with what its columns stand for."""

    @property
    def problem(self) -> StageProblem:
        """Every plan within the limits obeys it."""

    @property
    def inside(self) -> StageProblem | None:
        """The same, of which every choice is within the limits; None: it is the problem itself."""

    @property
    def units(self) -> Units:
        """What its integers count."""

    @property
    def rounding(self) -> int:
        """A choice takes less than this many units of time more than its integers say."""

    def plan(self, choice: Choice) -> Plan:
        """The plan of a choice."""


@dataclass(frozen=True, slots=True)
class Range:
    """Step times among which plans are looked for.

    Attributes:
        above_s: No plan takes less.
        within_s: Plans that take longer are not wanted.
    """

    above_s: float
    within_s: float


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
        rows: Rows that were searched.
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


class Incumbent(RunningFront):
    """The front of one objective, the time of the fastest plan, with what is still wanted.

    Args:
        gap: Plans that are faster by no more than this share are not wanted.
        longest_s: Nor those that take longer.
    """

    def __init__(self, gap: float, longest_s: float) -> None:
        super().__init__(1, LABEL)
        self.share, self.longest_s, self.ceiling_s = max(gap, SAME), longest_s, np.inf

    @property
    def wanted_s(self) -> float:
        """Only plans below this are looked for."""
        known = float(self.points[0, 0]) * (1 - self.share) if len(self.points) else np.inf
        return min(known, self.longest_s * (1 + SAME), self.ceiling_s)

    def hides(self, points: FloatArray) -> np.ndarray:
        """(c,) times that are not wanted."""
        return np.asarray(points[:, 0] >= self.wanted_s)


class RowSpace(Space, Generic[R]):
    """Rows of plans, the bounds that drop some of them, and what solves one of them exactly.

    A space keeps the steps of its funnel and how many rows are open, so that a search that runs out
    of time can say so.

    Attributes:
        funnel: What each bound of the last `narrowed` dropped, in order.
        count: Rows that the rules leave.
        considered: Rows before placement, and what each rule drops.
        remaining: Rows that no bound has dropped so far.
        tightens: Whether `tightened` has better bounds than `narrowed`.
        refused: Rows that each rule of a target dropped.
    """

    noun: ClassVar[str] = "stage problems"
    columns: Columns = (TIME,)
    seeds = 0
    tightens = False

    def __init__(self, longest_s: float, gap: float, deadline: float | None) -> None:
        self.misses, self.deadline, self.until = NearMisses(), deadline, Deadline(deadline)
        self.funnel: list[FunnelStage] = []
        self.count, self.remaining = 0, 0
        self.considered, self.refused = dict[str, int](), dict[str, int]()
        self.gap = within(gap)
        self.best = Incumbent(self.gap, longest_s)
        self.uniform_s: float | None = None
        self.found: list[tuple[Plan, float, float]] = []
        self.bound_s, self.floor_s = np.inf, 0.0
        self.solved, self.solves, self.rounding_s = 0, 0, 0.0
        self.unproved: list[float] = []
        self.solvers: Counter[str] = Counter()
        self.last: FunnelStage | None = None
        self.ended = False

    def start_from(self, plan: Plan, time_s: float, joules: float) -> None:
        """Takes the fastest uniform plan as the incumbent."""
        self.uniform_s = time_s
        self._keep(plan, time_s, joules)

    def _keep(self, plan: Plan, time_s: float, joules: float) -> None:
        label = np.full((1, LABEL), len(self.found))
        self.found.append((plan, time_s, joules))
        self.best.add(np.array([[time_s]]), label)

    def front(self) -> RunningFront:
        """The incumbent."""
        return self.best

    @abstractmethod
    def start(self) -> float:
        """Enumerates the rows; seconds that no plan goes below.

        Raises:
            OutOfTime: The deadline passed.
        """

    @abstractmethod
    def ranges(self, wanted_s: float) -> Iterator[Range]:
        """Ranges of step times, one after the other, until one holds a plan.

        Args:
            wanted_s: Only faster plans are looked for; inf where neither a plan nor a limit is
                known.
        """

    @abstractmethod
    def narrowed(self, wanted_s: float) -> list[tuple[R, FloatArray]]:
        """The rows that may hold a plan below `wanted_s`, in parts, each with its (n,) bounds.

        Raises:
            OutOfTime: The deadline passed.
        """

    def tightened(self, rows: R, wanted_s: float) -> FloatArray:
        """(n,) better bounds of some rows, where `tightens`."""
        raise TypeError

    @abstractmethod
    def stage_problem(self, rows: R, row: int, wanted_s: float) -> ColumnsOf | None:
        """The stage problem of a row; None: no plan of it is below `wanted_s`.

        Raises:
            OutOfTime: The deadline passed.
            TooManyColumnsError: It has too many columns to be solved.
        """

    @abstractmethod
    def costs(self, plan: Plan) -> Costs | None:
        """What a plan takes, as the cost model evaluates it; None: it is not within the limits."""

    def passes(self, _: RunningFront) -> Iterator[FloatArray]:
        """(n, 1, 1) bounds of rows; where no plan is known, below a ceiling that rises."""
        self.at_a_time = _TIGHTENED_AT_A_TIME if self.tightens else 1
        self.floor_s = self.start()
        for wanted in self.ranges(self.best.wanted_s):
            self.floor_s = max(self.floor_s, wanted.above_s)
            self.best.ceiling_s = wanted.within_s
            self.unproved, self.solved, self.last = [], 0, None
            self.parts = self.narrowed(self.best.wanted_s)
            sizes = [len(bounds) for _, bounds in self.parts]
            self.firsts = np.cumsum([0, *sizes])
            self.bounds = np.concatenate([np.empty(0), *(bounds for _, bounds in self.parts)])
            self.tight = np.full(len(self.bounds), not self.tightens)
            self.opened = np.zeros(len(self.bounds), dtype=np.bool_)
            self.bound_s = min((step.lowest or np.inf for step in self.funnel), default=np.inf)
            yield self.bounds[:, None, None]

    def closed(self, solution: FrontSolution) -> bool:
        """Whether there is a plan, or no time: what was not opened was dropped, or is left."""
        self.ended = self.ended or len(solution.left) > 0
        bounds = self.bounds[~self.opened].tolist()
        if self.ended:
            self.unproved += bounds
        self.bound_s = min([self.bound_s, *bounds, *self.unproved])
        self.last = FunnelStage(
            name="stages",
            rows=len(self.bounds),
            meshes=len(
                set[tuple[int, ...]]().union(*(rows.logical_meshes for rows, _ in self.parts))
            ),
            dropped=0 if self.ended else len(bounds),
            lowest=None if self.ended else min(bounds, default=None),
        )
        self.bound_s = self.floor_s = max(self.bound_s, self.floor_s)
        return len(self.found) > 0 or self.ended

    def open(self, chosen: IntArray, driver: Driver) -> Opened:
        """Solves the first of some rows, or makes their bounds better; the others come again."""
        part = int(np.searchsorted(self.firsts, chosen[0], side="right")) - 1
        rows, first = self.parts[part][0], self.firsts[part]
        again = chosen[1:]
        try:
            if self.tight[chosen[0]]:
                self._solve(rows, int(chosen[0] - first), int(chosen[0]), driver.trail)
            else:
                again, there = chosen, (chosen >= first) & (chosen < self.firsts[part + 1])
                mine = chosen[there & ~self.tight[chosen]]
                better = self.tightened(rows.take(mine - first), self.best.wanted_s)
                self.bounds[mine], self.tight[mine] = np.maximum(self.bounds[mine], better), True
        except OutOfTime:
            self.ended = True
        nothing, labels = np.empty((0, 1)), np.empty((0, LABEL), dtype=np.int64)
        return Opened(points=nothing, labels=labels, complete=not self.ended, again=again)

    def _solve(self, rows: R, row: int, at: int, trail: Trail | None) -> None:
        """A better bound of a row; unless it is proved that no better plan is in it, it is left."""
        wanted, bound, proved = self.best.wanted_s, float(self.bounds[at]), False
        try:
            columns = self.stage_problem(rows, row, wanted)
            if columns is None:
                bound, proved = wanted, True
            else:
                found, least = self._ask(columns, columns.problem, trail)
                bound = max(bound, least)
                if found.decision is None or self._take(columns, found.decision):
                    proved = found.status in (Status.OPTIMAL, Status.INFEASIBLE)
                elif columns.inside is not None:
                    self._take_inside(columns, columns.inside)
        except (TooManyColumnsError, UnansweredError):  # the bound is that of before
            pass
        self.opened[at] = True
        if proved:
            self.solved += 1
            self.bound_s = min(self.bound_s, bound)
        else:
            self.unproved.append(bound)

    def _take_inside(self, columns: ColumnsOf, inside: StageProblem) -> None:
        """Takes over the best plan that is within the limits by its integers too."""
        try:
            found, _ = self._ask(columns, inside)
        except UnansweredError:
            return
        if found.decision is not None:
            self._take(columns, found.decision)

    def _ask(self, columns: ColumnsOf, problem: StageProblem, trail: Trail | None = None) -> Asked:
        """Solves the problem of a row for plans that are wanted; with its bound in seconds."""
        wanted, unit = self.best.wanted_s, columns.units.time_s
        below = int(np.ceil(wanted / unit))
        question = Question(problem=problem, below=below, seconds=self.until.left_s)
        found = solve_stages(question)
        if trail is not None:
            trail.asked(question, found.bound, unit)
        self.solves += 1
        self.solvers.update(name for name in found.counts if name.startswith("solved by "))
        self.rounding_s = max(self.rounding_s, columns.rounding * unit)
        return found, wanted if found.bound >= below else min(found.bound * unit, wanted)

    def _take(self, columns: ColumnsOf, choice: Choice) -> bool:
        """Takes over a plan if it is faster than the incumbent; whether it is within limits."""
        plan = columns.plan(choice)
        costs = self.costs(plan)
        if costs is None:
            return False
        if costs.step_time_s < self.best.wanted_s:
            self._keep(plan, float(costs.step_time_s), float(costs.energy_j))
        return True

    def fastest(self, on_progress: Progress | None, trail: Trail | None = None) -> Fastest:
        """Searches it; no plan is below the least bound of all."""
        started = time.perf_counter()
        try:
            Driver(on_progress, trail).through(self)
        except OutOfTime:
            self.ended, self.bound_s = True, self.floor_s
            self.last, self.unproved = None, []
        open_ = self.ended or bool(self.unproved)
        if not self.found:
            status = Status.TIME_LIMIT if open_ else Status.INFEASIBLE
            bound = max(self.bound_s, self.floor_s) if open_ else 0.0
            bound = bound if np.isfinite(bound) else 0.0
            plan, time_s, joules = None, np.inf, np.inf
            certificate = Certificate(status=status.value, objective_name="time")
        else:
            plan, time_s, joules = self.found[int(self.best.labels[0, 0])]
            bound = min(self.bound_s, time_s)
            done = not open_ and self.gap == 0.0 and bound >= time_s - self.rounding_s
            proved = done or bound >= time_s * (1 - ROUNDING)
            status = Status.OPTIMAL if proved else Status.FEASIBLE
            certificate = self._certificate(status, time_s, bound)
        return Fastest(
            plan=plan,
            time_s=time_s,
            energy_j=joules,
            status=status,
            bound_s=bound,
            certificate=certificate,
            rows=self.count,
            counts=dict(self.considered),
            seconds=time.perf_counter() - started,
        )

    def _certificate(self, status: Status, time_s: float, bound: float) -> Certificate:
        """What each bound dropped, what was solved, and what is left."""
        left = len(self.unproved)
        lowest = max(min(self.unproved), self.floor_s) if self.unproved else None
        if self.last is None:  # time ended before the rows were narrowed down
            left = self.remaining
            lowest = self.floor_s if left else None
        return Certificate(
            status=status.value,
            objective_name="time",
            objective=time_s,
            bound=bound or None,  # 0: nothing is known
            uniform=self.uniform_s,
            funnel=(*self.funnel, *([self.last] if self.last is not None else [])),
            solved=self.solved,
            stage_solves=self.solves,
            left=left,
            lowest_left=lowest,
            solvers={name.removeprefix("solved by "): n for name, n in self.solvers.items()},
            refused=dict(self.refused),
        )
