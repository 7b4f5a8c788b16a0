"""The search for the exact front of time and energy: partial plans, plans, placements and clocks.

Partial plans (a mesh, a micro-batch, a pipeline) are nodes with the bounds of
`planner.search.uniform.bounds`; opening some of them crosses them with every choice, drops what
does not fit in memory, builds the separable tables, and searches the plans inside, which are nodes
with the bounds of `Candidates.bounds`; opening those costs every placement and clock. One running
front serves both levels. What is dropped by a bound is proved no better than a found plan, so the
result equals that of evaluating everything.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.cost.context import CostModel
from planner.objectives import MEMORY
from planner.plan import PlanTable
from planner.question.options import SpaceOptions
from planner.search.columns import BOTH, Columns
from planner.search.deadline import Deadline, OutOfTime
from planner.search.infeasible.near_misses import NearMisses
from planner.search.limits import Limits
from planner.search.uniform.batch import Batch, Tally, add_counts, build_batch, least_corners
from planner.search.uniform.nodes import Nodes, build_nodes
from planner.search.uniform.space import PartialPlans
from solvers.frontier import Index, apart
from solvers.mesh import FrontSolution, Opened, RunningFront, search_front
from solvers.solution import Status

_PARTIAL_PLANS_AT_A_TIME = 4096
_PARTIAL_PLANS_BETWEEN_LOOKS = 128  # at the clock, under a time limit
_SEEDS = 256
_PLANS_AT_A_TIME = 1024
_ROUNDING = 1e-12  # points of a front that differ by less are one
_STAGES = ("factorizations", "meshes", "partial_plans", "plans", "candidates")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Non-dominated plans with their objectives.

    Attributes:
        plans: The plans, ascending in time; empty when none was found.
        points: (f, d) their objectives, time and energy if no others are asked for.
        columns: Which objectives these are.
        status: OPTIMAL: the front is exact and complete. FEASIBLE: time ran out. INFEASIBLE:
            proved that no plan satisfies the constraints. TIME_LIMIT: none was found in time.
        bound: (d,) no plan is below this in any single objective.
        counts: Five stages: "factorizations" of the chips, "meshes", "partial_plans", "plans",
            "candidates"; with limits on time, power or utilization also "costed". In each,
            considered = the sum of what was dropped by each rule, limit or bound, what was left
            when time ran out, and what passed (kept, searched, opened, evaluated).
        misses: What came nearest to the limits, when nothing met them.
        seconds: Wall time.
        models: The model of each plan: several where a search follows another.
    """

    plans: PlanTable
    points: FloatArray
    columns: Columns
    status: Status
    bound: FloatArray
    counts: dict[str, dict[str, int]]
    misses: NearMisses
    seconds: float
    models: tuple[CostModel, ...] = ()


@dataclass(slots=True, kw_only=True)
class Search:
    """A search in progress; several chip counts may share its front.

    Attributes:
        model, options, limits: What is searched, and within what.
        columns: What is minimized: the columns of the front.
        bounded: False evaluates every candidate (for tests and benchmarks).
        deadline: `time.perf_counter` value after which no further nodes are opened.
        on_progress: Called with (what, done, of).
        last: The nodes of the latest `run`; the corners of those that were opened are the bounds of
            the plans found in them.
    """

    model: CostModel
    options: SpaceOptions
    limits: Limits
    columns: Columns = BOTH
    bounded: bool = True
    deadline: float | None = None
    on_progress: Progress | None = None
    last: Nodes | None = field(init=False, default=None)
    front: RunningFront = field(init=False)
    tally: Tally = field(init=False)
    _kept: dict[int, Batch] = field(init=False)
    _opened: int = field(init=False)
    _misses: NearMisses = field(init=False)

    def __post_init__(self) -> None:
        self.front = RunningFront(len(self.columns), 4)
        self.tally = Tally(plans={}, candidates={})
        self._kept = {}
        self._opened = 0
        self._misses = NearMisses()

    def follow(self, other: Search) -> None:
        """Goes on with the front of a search of another model; what that found prunes this one."""
        self.front, self._kept, self._opened = other.front, other._kept, other._opened

    @property
    def clocks(self) -> FloatArray:
        """(k,) relative clocks to try."""
        return self.model.clocks(wanted=self.options.clocks)

    def run(self, counts: tuple[int, ...]) -> Found:
        """Extends the front by every plan on the given chip counts.

        The result's counts and status cover this call; its plans the whole front so far.
        """
        started = time.perf_counter()
        self.tally = Tally(plans={}, candidates={})
        self._misses = NearMisses()
        try:
            nodes = self.nodes(counts)
        except OutOfTime:
            return self._found(None, None, started)
        tight = nodes.corners.copy()
        self.last = replace(nodes, corners=tight)
        hurried = self.deadline is not None
        solution = search_front(
            nodes.corners,
            lambda chosen: self._open(nodes.partial_plans.take(chosen), chosen, tight),
            self.front,
            batch=_PARTIAL_PLANS_BETWEEN_LOOKS if hurried else _PARTIAL_PLANS_AT_A_TIME,
            seeds=_PARTIAL_PLANS_BETWEEN_LOOKS if hurried else _SEEDS,
            deadline=self.deadline,
            on_progress=self._progress,
        )
        return self._found(nodes, solution, started)

    def nodes(self, counts: tuple[int, ...]) -> Nodes:
        """The partial plans on some chip counts with their bounds; may raise `OutOfTime`."""
        return build_nodes(
            self.model,
            counts,
            self.options,
            self.limits,
            self.clocks,
            self.columns,
            Deadline(self.deadline),
            bounded=self.bounded,
        )

    def batch(self, partial_plans: PartialPlans) -> Batch | None:
        """Every plan on some partial plans that fits; may raise `OutOfTime`."""
        return build_batch(
            self.model,
            partial_plans,
            self.options,
            self.limits,
            self.clocks,
            self.tally,
            columns=self.columns,
            misses=None if len(self.front.points) else self._misses,
            deadline=Deadline(self.deadline),
        )

    def _found(self, nodes: Nodes | None, solution: FrontSolution | None, started: float) -> Found:
        """The answer; without a solution nothing was opened, and nothing costs less than 0."""
        some = len(self.front.points) > 0
        rows = apart(self.front.points, _ROUNDING)
        status = Status.FEASIBLE if some else Status.TIME_LIMIT
        return Found(
            plans=self._plans(rows),
            points=self.front.points[rows],
            columns=self.columns,
            status=solution.status if solution else status,
            bound=self._bound(solution, rows),
            counts=self._counts(nodes, solution),
            misses=self._misses,
            seconds=time.perf_counter() - started,
            models=tuple(self._kept[int(at)].model for at in self.front.labels[rows, 0]),
        )

    def _counts(
        self, nodes: Nodes | None, solution: FrontSolution | None
    ) -> dict[str, dict[str, int]]:
        """All stages; see `Found.counts`."""
        counts: dict[str, dict[str, int]] = {stage: {} for stage in _STAGES}
        if nodes is None or solution is None:
            return counts
        bound, left = (solution.counts[f"nodes_{name}"] for name in ("dropped_by_bound", "left"))
        opened = len(nodes.partial_plans) - bound - left
        counts |= {stage: dict(numbers) for stage, numbers in nodes.counts.items()}
        add_counts(counts["partial_plans"], {"bound": bound, "left": left, "opened": opened})
        counts["plans"] = dict(self.tally.plans)
        limits = {n: c for n, c in self.tally.candidates.items() if n not in _CANDIDATES}
        counts["candidates"] = {n: c for n, c in self.tally.candidates.items() if n in _CANDIDATES}
        if self.limits.on_costs:
            evaluated = counts["candidates"].get("evaluated", 0)
            counts["costed"] = {"considered": evaluated, **limits}
            add_counts(counts["costed"], {"kept": evaluated - sum(limits.values())})
        return counts

    def _progress(self, done: int, of: int) -> None:
        if self.on_progress is not None:
            self.on_progress("partial plans", done, of)

    def _open(self, partial_plans: PartialPlans, chosen: IntArray, tight: FloatArray) -> Opened:
        """Searches every plan on some partial plans; what it finds is in the front already.

        Args:
            partial_plans: The partial plans.
            chosen: Their rows of `tight`.
            tight: Lower bounds of all partial plans; become those of the plans that fit.
        """
        complete = True
        try:
            batch = self.batch(partial_plans)
        except OutOfTime:
            batch, complete = None, False
        if complete:
            tight[chosen] = np.inf
        if batch is not None:
            number = self._opened
            self._opened += 1
            self._kept[number] = batch
            corners = batch.corners(bounded=self.bounded)
            least = least_corners(partial_plans, batch.logical, corners)
            tight[chosen] = np.tile(least, (1, tight.shape[1] // least.shape[1], 1))
            inner = search_front(
                corners,
                lambda nodes: batch.open(nodes, number),
                self.front,
                batch=_PLANS_AT_A_TIME,
                deadline=self.deadline,
            )
            self._count(batch, inner)
            self._forget()
            complete = len(inner.left) == 0
        nothing = np.empty((0, len(self.columns)))
        labels = np.empty((0, 4), dtype=np.int64)
        return Opened(points=nothing, labels=labels, complete=complete)

    def _count(self, batch: Batch, inner: FrontSolution) -> None:
        """Adds what a finished batch did; what was neither costed nor left, a bound excluded."""
        limits = {
            name: number
            for name, number in inner.counts.items()
            if not name.startswith("nodes") and name != "evaluated"
        }
        evaluated, left = inner.counts["evaluated"], batch.candidates_of(inner.left)
        add_counts(
            self.tally.candidates,
            {
                "considered": batch.size,
                "bound": batch.size - evaluated - left,
                "left": left,
                "evaluated": evaluated,
                **limits,
            },
        )

    def _forget(self) -> None:
        """Drops the batches that hold no point of the front."""
        used = set(self.front.labels[:, 0].tolist())
        self._kept = {number: batch for number, batch in self._kept.items() if number in used}

    def _bound(self, solution: FrontSolution | None, rows: Index) -> FloatArray:
        """(d,) no candidate is below this, but for rounding: least of the points that are kept."""
        if solution is None:
            return np.zeros(len(self.columns))
        if solution.status is not Status.OPTIMAL:
            return solution.bound
        return np.asarray(self.front.points[rows].min(axis=0))

    def _plans(self, rows: Index) -> PlanTable:
        plans = [
            self._kept[int(number)].plan_at(int(plan), int(placement), int(clock)).plan(0)
            for number, plan, placement, clock in self.front.labels[rows]
        ]
        return PlanTable.from_plans(plans)


_CANDIDATES = ("considered", "bound", "left", "evaluated")


def least_memory(
    model: CostModel,
    chips: int,
    options: SpaceOptions,
    limits: Limits,
    deadline: float | None = None,
) -> Found:
    """The plan on `chips` chips that holds the fewest bytes; of equals the fastest.

    The points of the result have one column: bytes per chip.
    """
    found = Search(
        model=model, options=options, limits=limits, columns=(MEMORY,), deadline=deadline
    ).run((chips,))
    if len(found.points) == 0:
        return found
    lean = replace(limits, memory_bytes=float(found.points[0, 0]))
    fastest = Search(model=model, options=options, limits=lean, deadline=deadline).run((chips,))
    if len(fastest.points) == 0:
        return found
    return replace(
        found, plans=fastest.plans.take(np.array([0])), seconds=found.seconds + fastest.seconds
    )
