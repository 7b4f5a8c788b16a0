"""The search for the exact front of time and energy: skeletons, plans, placements and clocks.

Skeletons (a mesh, a micro-batch, a pipeline) are boxes with the bounds of `skeleton_bounds`;
opening some of them crosses them with every choice, drops what does not fit in memory, builds the
separable tables, and searches the plans inside, which are boxes with the bounds of
`Candidates.bounds`; opening those costs every placement and clock. One running front serves both
levels. What is dropped by a bound is proved no better than a found plan, so the result equals
that of evaluating everything.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from planner.cost.context import CostModel
from planner.plan import FloatArray, IntArray, PlanTable
from planner.search.batch import Batch, Tally, add_counts, build_batch
from planner.search.limits import Limits
from planner.search.mesh_memory import NOTHING_FITS, least_recompute
from planner.search.meshes import Meshes, enumerate_meshes
from planner.search.options import SpaceOptions
from planner.search.skeleton_bounds import skeleton_corners
from planner.search.space import Skeletons, cross_skeletons
from solvers.mesh import Opened, RunningFront, search_front
from solvers.solution import Status

_SKELETONS_AT_A_TIME = 1024
_SEEDS = 256
_PLANS_AT_A_TIME = 1024

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Non-dominated plans with their objectives.

    Attributes:
        plans: The plans, ascending in time; empty when none was found.
        points: (f, d) time, energy and, if asked for, memory.
        status: OPTIMAL: the front is exact and complete. FEASIBLE: time ran out. INFEASIBLE:
            proved that no plan satisfies the constraints. TIME_LIMIT: none was found in time.
        bound: (d,) no plan is below this in any single objective.
        counts: "meshes", "skeletons", "plans", "candidates": considered, dropped by each rule and
            limit, dropped by bounds, evaluated.
        seconds: Wall time.
    """

    plans: PlanTable
    points: FloatArray
    status: Status
    bound: FloatArray
    counts: dict[str, dict[str, int]]
    seconds: float


@dataclass(slots=True, kw_only=True)
class Search:
    """A search in progress; several chip counts may share its front.

    Attributes:
        model, options, limits: What is searched, and within what.
        with_memory: Memory is a third objective.
        bounded: False evaluates every candidate (for tests and benchmarks).
        deadline: `time.perf_counter` value after which no further boxes are opened.
        on_progress: Called with (what, done, of).
    """

    model: CostModel
    options: SpaceOptions
    limits: Limits
    with_memory: bool = False
    bounded: bool = True
    deadline: float | None = None
    on_progress: Progress | None = None
    front: RunningFront = field(init=False)
    tally: Tally = field(init=False)
    _kept: dict[int, Batch] = field(init=False)
    _opened: int = field(init=False)
    _plans_left: int = field(init=False)

    def __post_init__(self) -> None:
        self.front = RunningFront(3 if self.with_memory else 2, 4)
        self.tally = Tally(plans={}, candidates={})
        self._kept = {}
        self._opened = 0
        self._plans_left = 0

    def run(self, counts: tuple[int, ...]) -> Found:
        """Extends the front by every plan on the given chip counts.

        The result's counts and status cover this call; its plans the whole front so far.
        """
        started = time.perf_counter()
        self.tally = Tally(plans={}, candidates={})
        self._plans_left = 0
        meshes, least = self._fitting(enumerate_meshes(self.model, counts, self.options))
        skeletons = cross_skeletons(self.model, meshes, self.options)
        solution = search_front(
            self._corners(skeletons, least),
            lambda boxes: self._open(skeletons.take(boxes)),
            self.front,
            batch=_SKELETONS_AT_A_TIME,
            seeds=_SEEDS,
            deadline=self.deadline,
            on_progress=self._progress,
        )
        outer = {"considered": len(skeletons), "bound": solution.counts["boxes_dropped_by_bound"]}
        outer["left"] = solution.counts["boxes_left"]
        return Found(
            plans=self._plans(),
            points=self.front.points,
            status=self._status(solution.status),
            bound=solution.bound,
            counts={
                "meshes": meshes.counts,
                "skeletons": {name: count for name, count in outer.items() if count},
                "plans": self.tally.plans,
                "candidates": self.tally.candidates,
            },
            seconds=time.perf_counter() - started,
        )

    def any_plan(self, counts: tuple[int, ...]) -> bool:
        """Whether any plan on the given chip counts satisfies every constraint."""
        meshes, _ = self._fitting(enumerate_meshes(self.model, counts, self.options))
        skeletons = cross_skeletons(self.model, meshes, self.options)
        order = np.argsort(skeletons.columns["micro_batch"], kind="stable")
        for start in range(0, len(order), _SKELETONS_AT_A_TIME):
            batch = self._batch(skeletons.take(order[start : start + _SKELETONS_AT_A_TIME]))
            if batch is None:
                continue
            opened = batch.open(np.arange(len(batch.space)), 0)
            if opened.allowed is None or opened.allowed.any():
                return True
        return False

    @property
    def clocks(self) -> FloatArray:
        """(k,) relative clocks to try."""
        settable = self.model.chip.clock_settable and self.options.clocks
        return np.array(self.model.chip.clock_levels if settable else (1.0,))

    def _status(self, outer: Status) -> Status:
        if self._plans_left:
            return Status.FEASIBLE if len(self.front.points) else Status.TIME_LIMIT
        return outer

    def _progress(self, done: int, of: int) -> None:
        if self.on_progress is not None:
            self.on_progress("skeletons", done, of)

    def _fitting(self, meshes: Meshes) -> tuple[Meshes, IntArray]:
        """The meshes on which something fits in memory, with the recomputation that takes."""
        least = least_recompute(self.model, meshes, self.limits, offload=self.options.offload)
        at = np.flatnonzero(least != NOTHING_FITS)
        counts = dict(meshes.counts)
        add_counts(counts, {"memory": len(meshes) - len(at), "searched": len(at)})
        return replace(meshes.take(at), counts=counts), least[at]

    def _corners(self, skeletons: Skeletons, least: IntArray) -> FloatArray:
        clocks = self.clocks
        corners = np.full((len(skeletons), len(clocks), self.front.points.shape[1]), -np.inf)
        if self.bounded and len(skeletons):
            corners[:, :, :2] = skeleton_corners(self.model, skeletons, least, clocks)
        return corners

    def _open(self, skeletons: Skeletons) -> Opened:
        """Searches every plan on some skeletons; what it finds is in the front already."""
        batch = self._batch(skeletons)
        if batch is not None:
            number = self._opened
            self._opened += 1
            self._kept[number] = batch
            inner = search_front(
                batch.corners(bounded=self.bounded),
                lambda boxes: batch.open(boxes, number),
                self.front,
                batch=_PLANS_AT_A_TIME,
                deadline=self.deadline,
            )
            self._count(batch.size, inner.counts)
            self._forget()
        nothing = np.empty((0, self.front.points.shape[1]))
        return Opened(points=nothing, labels=np.empty((0, 4), dtype=np.int64))

    def _count(self, candidates: int, counts: dict[str, int]) -> None:
        """Adds what a finished batch did; what was not evaluated, a bound excluded."""
        limits = {
            name: number
            for name, number in counts.items()
            if not name.startswith("boxes") and name != "evaluated"
        }
        self._plans_left += counts["boxes_left"]
        add_counts(
            self.tally.candidates,
            {
                "considered": candidates,
                "bound": candidates - counts["evaluated"],
                "evaluated": counts["evaluated"],
                **limits,
            },
        )

    def _batch(self, skeletons: Skeletons) -> Batch | None:
        return build_batch(
            self.model,
            skeletons,
            self.options,
            self.limits,
            self.clocks,
            self.tally,
            with_memory=self.with_memory,
        )

    def _forget(self) -> None:
        """Drops the batches that hold no point of the front."""
        used = set(self.front.labels[:, 0].tolist())
        self._kept = {number: batch for number, batch in self._kept.items() if number in used}

    def _plans(self) -> PlanTable:
        rows = [
            self._kept[int(number)].plan_at(int(plan), int(placement), int(clock)).plan(0)
            for number, plan, placement, clock in self.front.labels
        ]
        return PlanTable.from_plans(rows)
