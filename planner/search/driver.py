"""The one search: nodes of spaces in the order of their lower bounds, under one front.

A space (`planner.search.space`) gives nodes with corners that no plan in them is below; the loop of
`solvers.mesh.search_front` opens the best first and drops what the front covers. Several spaces,
of chip counts or of machines, share a front: what was found in one drops nodes of the next, and the
front is that of all of them, as if each had been searched alone.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.base.log import DEBUG, log
from planner.base.progress import Progress
from planner.cost.context import CostModel
from planner.plan import PlanTable
from planner.search.columns import BOTH, Columns
from planner.search.deadline import OutOfTime
from planner.search.infeasible.near_misses import NearMisses
from planner.search.rounding import SAME
from planner.search.space import LABEL, Holder, KnownPlans, Labelled, Space, Trail
from solvers.frontier import apart
from solvers.mesh import FrontSolution, Opened, RunningFront, search_front
from solvers.solution import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Non-dominated plans with their objectives.

    Attributes:
        plans: The plans, ascending in time; empty when none was found.
        points: (f, d) their objectives, time and energy if no others are asked for.
        columns: Which objectives these are.
        status: OPTIMAL: the front is exact and complete. FEASIBLE: time ran out. INFEASIBLE:
            proved that no plan satisfies the constraints. TIME_LIMIT: none was found in time.
        bound: (d,) no plan is below this in any single objective; 0 in all: nothing is known.
        counts: What happened to the candidates, stage by stage, as the space counts them.
        misses: What came nearest to the limits, when nothing met them.
        seconds: Wall time.
        models: The cost model of each plan.
        parts: Where several spaces were searched, the outcome of each.
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
    parts: tuple[Found, ...] = ()

    @property
    def each(self) -> tuple[Found, ...]:
        """The outcome of each space."""
        return self.parts or (self,)


class Driver:
    """A search in progress.

    Args:
        on_progress: Called with (what, done, of).
        trail: Where what happens to every node is kept; None: nowhere.
    """

    def __init__(self, on_progress: Progress | None = None, trail: Trail | None = None) -> None:
        self.columns, self.on_progress, self.trail = BOTH, on_progress, trail
        self.front = RunningFront(len(BOTH), LABEL)
        self._holders: dict[int, Labelled] = {}
        self._opened = self._spaces = 0

    def start_from(
        self, model: CostModel, known: PlanTable, points: FloatArray, columns: Columns
    ) -> None:
        """Begins with plans that are known.

        Args:
            model: Their cost model.
            known: n plans.
            points: (n, d) their objectives.
            columns: Which these are.
        """
        self.columns, self.front = columns, RunningFront(len(columns), LABEL)
        labels = np.zeros((len(known), LABEL), dtype=np.int64)
        labels[:, 2], labels[:, -1] = np.arange(len(known)), self._opened
        self._holders[self._opened] = KnownPlans(model=model, plans=known)
        self._opened += 1
        self.front.add(points, labels)

    def within(
        self,
        holder: Holder,
        corners: FloatArray,
        nodes: IntArray,
        at_a_time: int,
        deadline: float | None,
    ) -> FrontSolution:
        """Extends the front by the plans of a holder that its corners do not exclude.

        Args:
            holder: Of n plans.
            corners: (n, k, d) their lower bounds.
            nodes: (n,) the node of the space that each is in.
            at_a_time: Plans that are opened together.
            deadline: Value of `time.perf_counter` after which none are.
        """
        number, space = self._opened, self._spaces
        self._opened += 1
        self._holders[number] = holder
        looked: list[IntArray] = []

        def opened(chosen: IntArray) -> Opened:
            if self.trail is not None:
                looked.append(chosen)
            found = holder.open(chosen, number)
            count, plan, *rest = found.labels.T
            labels = [np.full_like(plan, space), nodes[plan], plan, *rest, count]
            return replace(found, labels=np.stack(labels, axis=1))

        inner = search_front(corners, opened, self.front, batch=at_a_time, deadline=deadline)
        if self.trail is not None:
            self.trail.within(holder, nodes, corners, looked)
        used = set(self.front.labels[:, -1].tolist())
        self._holders = {at: held for at, held in self._holders.items() if at in used}
        return inner

    def run(self, *spaces: Space) -> Found:
        """Extends the front by every plan of some spaces, each of which was not searched yet.

        All spaces of a driver have the same objectives: the columns of the front. Status, bound
        and counts of the outcome cover this call; its plans are the whole front.
        """
        parts = [self._searched(space, at, len(spaces)) for at, space in enumerate(spaces)]
        return parts[0] if len(parts) == 1 else self.together(parts)

    def together(self, parts: Sequence[Found]) -> Found:
        """The whole front as the outcome of several runs: as sure as all of them."""
        counts: dict[str, dict[str, int]] = {}
        for part in parts:
            for stage, numbers in part.counts.items():
                into = counts.setdefault(stage, {})
                for name, number in numbers.items():
                    into[name] = into.get(name, 0) + number
        none = np.zeros(len(self.columns))
        return self._found(
            status_of([part.status for part in parts], len(self.front.points)),
            bound_of(parts) if parts else none,
            counts,
            parts[0].misses if parts else NearMisses(),
            sum(part.seconds for part in parts),
            tuple(parts),
        )

    def _searched(self, space: Space, at: int, of: int) -> Found:
        """Extends the front by every plan of a space, the `at`-th of some."""
        started, solution = time.perf_counter(), None
        with suppress(OutOfTime):
            solution = self.through(space, at, of)
        status = Status.FEASIBLE if len(self.front.points) else Status.TIME_LIMIT
        log(
            __name__, DEBUG, "searched", space=type(space).__name__, number=at + 1, of=of,
            points=len(self.front.points), seconds=time.perf_counter() - started,
        )  # fmt: skip
        return self._found(
            status if solution is None else solution.status,
            self._bound(solution),
            space.counts(solution),
            space.misses,
            time.perf_counter() - started,
        )

    def through(self, space: Space, at: int = 0, of: int = 1) -> FrontSolution | None:
        """Extends the front by every plan of a space, the `at`-th of some; None: it has no nodes.

        Raises:
            OutOfTime: Time ran out before it had nodes.
        """

        def progress(done: int, nodes: int) -> None:
            if self.on_progress is not None:
                share = (done, nodes) if of == 1 else (1000 * at + 1000 * done // nodes, 1000 * of)
                self.on_progress(space.noun if of == 1 else "machines", *share)

        def opened(chosen: IntArray) -> Opened:
            if self.trail is not None:
                self.trail.opened(chosen)
            return space.open(chosen, self)

        if not len(self.front.points):
            self.columns, self.front = space.columns, space.front()
        solution = None
        self._spaces += 1
        for corners in space.passes(self.front):
            if self.trail is not None:
                self.trail.begin(space, corners)
            solution = search_front(
                corners,
                opened,
                self.front,
                batch=space.at_a_time,
                seeds=space.seeds,
                first=space.promising(),
                deadline=space.deadline,
                on_progress=progress,
            )
            if self.trail is not None:
                self.trail.end(solution)
            if space.closed(solution):
                break
        return solution

    def _found(
        self,
        status: Status,
        bound: FloatArray,
        counts: dict[str, dict[str, int]],
        misses: NearMisses,
        seconds: float,
        parts: tuple[Found, ...] = (),
    ) -> Found:
        rows = apart(self.front.points, SAME)
        labels = self.front.labels[rows].tolist()
        return Found(
            plans=PlanTable.from_plans(
                [self._holders[at].plan_at(*label).plan(0) for _, _, *label, at in labels]
            ),
            points=self.front.points[rows],
            columns=self.columns,
            status=status,
            bound=bound,
            counts=counts,
            misses=misses,
            seconds=seconds,
            models=tuple(self._holders[at].model for *_, at in labels),
            parts=parts,
        )

    def _bound(self, solution: FrontSolution | None) -> FloatArray:
        """(d,) no candidate is below this, but for rounding: least of the points that are kept."""
        if solution is None:
            return np.zeros(len(self.columns))
        if solution.status is not Status.OPTIMAL:
            return solution.bound
        return np.asarray(self.front.points[apart(self.front.points, SAME)].min(axis=0))


def bound_of(parts: Sequence[Found]) -> FloatArray:
    """(d,) no plan of several searches is below this; inf where none has a plan."""
    known = [part.bound for part in parts if np.isfinite(part.bound).all()]
    return np.asarray(np.min(known, axis=0)) if known else parts[0].bound


def status_of(statuses: Sequence[Status], points: int) -> Status:
    """Of several searches together: proved where each is."""
    if all(status in (Status.OPTIMAL, Status.INFEASIBLE) for status in statuses):
        return Status.OPTIMAL if points else Status.INFEASIBLE
    return Status.FEASIBLE if points else Status.TIME_LIMIT
