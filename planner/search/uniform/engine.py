"""The space of uniform plans: partial plans, plans, placements and clocks.

Partial plans (a mesh, a micro-batch, a pipeline) are nodes with the bounds of
`planner.search.uniform.bounds`; opening some of them crosses them with every choice, drops what
does not fit in memory, builds the separable tables, and searches the plans inside, which are nodes
with the bounds of `Candidates.bounds`; opening those costs every placement and clock. One running
front serves both levels. What is dropped by a bound is proved no better than a found plan, so the
result equals that of evaluating everything.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.base.progress import Progress
from planner.cost.context import CostModel
from planner.objectives import MEMORY, Objective
from planner.question.options import SpaceOptions
from planner.search.columns import BOTH, Columns
from planner.search.deadline import Deadline, OutOfTime
from planner.search.driver import Driver, Found
from planner.search.infeasible.near_misses import NearMisses
from planner.search.limits import Limits
from planner.search.space import LABEL, Space, Trail
from planner.search.uniform.batch import (
    Batch,
    OpenedBatch,
    Tally,
    add_counts,
    build_batch,
    partial_plan_of,
)
from planner.search.uniform.nodes import Nodes, build_nodes
from planner.search.uniform.space import PartialPlans
from solvers.mesh import FrontSolution, Opened, RunningFront

if TYPE_CHECKING:
    from planner.search.sharing.session import Session

T = TypeVar("T")
_PARTIAL_PLANS_AT_A_TIME = 4096
_PARTIAL_PLANS_BETWEEN_LOOKS = 128  # at the clock, under a time limit
_SEEDS = 256
_PLANS_AT_A_TIME = 1024
_STAGES = ("factorizations", "meshes", "partial_plans", "plans", "candidates")


@dataclass(slots=True, kw_only=True)
class UniformSpace(Space):
    """Plans whose stages are alike, on some chip counts of one machine.

    Its counts have five stages: "factorizations" of the chips, "meshes", "partial_plans", "plans",
    "candidates"; with limits on time, power or utilization also "costed". In each, considered =
    the sum of what was dropped by each rule, limit or bound, what was left when time ran out, and
    what passed (kept, searched, opened, evaluated).

    Attributes:
        model, options, limits: What is searched, and within what.
        chips: The chip counts.
        columns: What is minimized.
        bounded: False evaluates every candidate (for tests and benchmarks).
        deadline: `time.perf_counter` value after which no further nodes are opened.
        beside: The nodes of a space of the same job, of which these are made where they are alike.
        session: What it shares with spaces of other questions; None: nothing.
        last: The nodes, once searched; the corners of those that were opened are the bounds of the
            plans found in them.
        first: What was opened first, the best nodes; None where that is more than the plans that
            may be best by time and energy.
    """

    noun: ClassVar[str] = "partial plans"
    model: CostModel
    options: SpaceOptions
    limits: Limits
    chips: tuple[int, ...] = ()
    columns: Columns = BOTH
    bounded: bool = True
    deadline: float | None = None
    beside: Nodes | None = None
    session: Session | None = None
    last: Nodes | None = field(init=False, default=None)
    first: OpenedBatch | None = field(init=False, default=None)
    misses: NearMisses = field(init=False, default_factory=NearMisses)
    tally: Tally = field(init=False)
    at_a_time: int = field(init=False)
    seeds: int = field(init=False)
    _nodes: Nodes = field(init=False)

    def __post_init__(self) -> None:
        hurried = self.deadline is not None
        self.tally = Tally(plans={}, candidates={})
        self.at_a_time = _PARTIAL_PLANS_BETWEEN_LOOKS if hurried else _PARTIAL_PLANS_AT_A_TIME
        self.seeds = _PARTIAL_PLANS_BETWEEN_LOOKS if hurried else _SEEDS

    def on(self, *chips: int) -> UniformSpace:
        """The plans on other chip counts, not searched yet; of one count with its own job."""
        model = self.model.on(*chips) if len(chips) == 1 else self.model
        return replace(self, chips=chips, model=model)

    @property
    def of_one_job(self) -> tuple[UniformSpace, ...]:
        """Its plans by job, not searched yet: each count has its own where chips share tokens."""
        shared = self.model.assumptions.token_granularity and len(self.chips) > 1
        return tuple(self.on(count) for count in self.chips) if shared else (self,)

    @property
    def clocks(self) -> FloatArray:
        """(k,) relative clocks to try."""
        return self.model.clocks(wanted=self.options.clocks)

    def passes(self, _: RunningFront) -> Iterator[FloatArray]:
        """(n, q, d) corners of the partial plans."""
        nodes = self.nodes()
        self.last = self._nodes = replace(nodes, corners=nodes.corners.copy())
        self.first = None
        yield nodes.corners

    def nodes(self) -> Nodes:
        """The partial plans with their bounds; may raise `OutOfTime`."""
        shares = self.session is not None and self.bounded and self.deadline is None
        ground = self.session.ground(self) if shares and self.session else None
        if ground is None and self.beside is not None:
            ground = self.beside.ground
        nodes = build_nodes(
            self.model,
            self.chips,
            self.options,
            self.limits,
            self.clocks,
            self.columns,
            Deadline(self.deadline),
            bounded=self.bounded,
            ground=ground,
        )
        if self.session is not None:
            self.session.keep_ground(self, nodes)
        return nodes

    def promising(self) -> IntArray | None:
        """Where the session's last answer about the model would be."""
        return None if self.session is None else self.session.promising(self, self._nodes)

    def recalled(
        self, what: str, make: Callable[[], T], *objectives: Objective, of: Hashable = None
    ) -> T:
        """What `make` makes, which the session may have had of its like.

        Args:
            what: Names it.
            make: Makes it of the space, once searched, of objectives and of `of`, without time.
            objectives: Beside those of the space.
            of: What else it depends on.
        """
        if self.session is None or self.deadline is not None:
            return make()
        return self.session.recall((what, of, *self.session.key(self, *objectives)), make)

    def batch(self, partial_plans: PartialPlans, misses: NearMisses | None = None) -> Batch | None:
        """Every plan on some partial plans that fits; may raise `OutOfTime`."""
        return build_batch(
            self.model,
            partial_plans,
            self.options,
            self.limits,
            self.clocks,
            self.tally,
            columns=self.columns,
            misses=misses,
            deadline=Deadline(self.deadline),
        )

    def open(self, chosen: IntArray, driver: Driver) -> Opened:
        """Searches every plan on some partial plans; what it finds is in the front already."""
        partial_plans, tight = self._nodes.partial_plans.take(chosen), self._nodes.corners
        nothing = Opened(
            points=np.empty((0, len(self.columns))), labels=np.empty((0, LABEL), dtype=np.int64)
        )
        try:
            batch = self.batch(partial_plans, None if len(driver.front.points) else self.misses)
        except OutOfTime:
            return replace(nothing, complete=False)
        tight[chosen] = np.inf
        if batch is None:
            return nothing
        corners = batch.corners(bounded=self.bounded)
        of = partial_plan_of(partial_plans, batch.logical)
        opened = OpenedBatch(batch=batch, corners=corners, nodes=chosen, of=of)
        if self.first is None and all(one.monotone and not one.of_memory for one in self.columns):
            self.first = opened
        least = opened.least()
        tight[chosen] = np.tile(least, (1, tight.shape[1] // least.shape[1], 1))
        inner = driver.within(batch, corners, chosen[of], _PLANS_AT_A_TIME, self.deadline)
        self._count(batch, inner)
        return replace(nothing, complete=len(inner.left) == 0)

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

    def counts(self, solution: FrontSolution | None) -> dict[str, dict[str, int]]:
        """All stages."""
        counts: dict[str, dict[str, int]] = {stage: {} for stage in _STAGES}
        if solution is None:
            return counts
        bound, left = (solution.counts[f"nodes_{name}"] for name in ("dropped_by_bound", "left"))
        opened = len(self._nodes.partial_plans) - bound - left
        counts |= {stage: dict(numbers) for stage, numbers in self._nodes.counts.items()}
        add_counts(counts["partial_plans"], {"bound": bound, "left": left, "opened": opened})
        counts["plans"] = dict(self.tally.plans)
        limits = {n: c for n, c in self.tally.candidates.items() if n not in _CANDIDATES}
        counts["candidates"] = {n: c for n, c in self.tally.candidates.items() if n in _CANDIDATES}
        if self.limits.on_costs:
            evaluated = counts["candidates"].get("evaluated", 0)
            counts["costed"] = {"considered": evaluated, **limits}
            add_counts(counts["costed"], {"kept": evaluated - sum(limits.values())})
        return counts


_CANDIDATES = ("considered", "bound", "left", "evaluated")


def searched(
    space: UniformSpace, on_progress: Progress | None = None, trail: Trail | None = None
) -> Found:
    """A search of its own through a space, or what the session has of its like; see `Driver`."""

    def search() -> tuple[Found, Nodes | None, OpenedBatch | None]:
        found = Driver(on_progress, trail).run(space)
        return found, space.last, space.first

    found, space.last, space.first = space.recalled("search", search)
    if space.session is not None:
        space.session.keep_incumbents(space, found.plans)
    return found


def least_memory(space: UniformSpace) -> Found:
    """The plan that holds the fewest bytes; of equals the fastest.

    The points of the result have one column: bytes per chip.
    """
    found = Driver().run(replace(space, columns=(MEMORY,)))
    if len(found.points) == 0:
        return found
    lean = replace(space.limits, memory_bytes=float(found.points[0, 0]))
    fastest = Driver().run(replace(space, columns=BOTH, limits=lean))
    if len(fastest.points) == 0:
        return found
    return replace(
        found, plans=fastest.plans.take(np.array([0])), seconds=found.seconds + fastest.seconds
    )
