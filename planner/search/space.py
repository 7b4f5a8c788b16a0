"""What a search looks through: nodes of plans with lower bounds, which it opens.

One loop serves every space, `solvers.mesh.search_front` under `planner.search.driver.Driver`: nodes
wait in the order of their corners, a front drops those that cannot improve it, the best are opened,
and a time limit leaves the rest. A space says what a node is:

- `planner.search.uniform.engine.UniformSpace`: partial plans, thousands opened at a time; inside
  them the same loop goes over plans, under the same front.
- `planner.search.rows.RowSpace`, for `UnevenSpace` and `PoolSpace`: rows, each with one corner, the
  bound of its time. One is opened at a time, by its stage problem; a row whose bound can still be
  made better comes again. The front of one objective is the incumbent.
- Machines (`planner.search.machines.joint`) are a union: a uniform space for each, one after the
  other under one front, the large first. They are not one queue of nodes, because the corners of
  all machines with all chip counts would be in memory at once, and a batch of nodes of many
  machines would be as many small batches, which are dearer.

The front of time and energy of uneven stages stands beside: `planner.search.uneven.front` asks for
the cheapest plan within one time after another, and each answer needs the bounds of all rows at
that time (`solvers.stages.family`), which corners in one queue do not have. A certificate is made
where its bounds are: `RowSpace` for the fastest plan, `front` for the least energy.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.cost.context import CostModel
from planner.plan import PlanTable
from planner.search.columns import Columns
from planner.search.infeasible.near_misses import NearMisses
from solvers.mesh import FrontSolution, Opened, RunningFront

if TYPE_CHECKING:
    from planner.search.driver import Driver
    from solvers.stages.backend import Question


LABEL = 6
"""Integers of a label: space, node, plan, placement, clock, and the number of what holds the plan.

The first two say where in the question a plan stands, the next three where in its node; of plans
with equal objectives the one with the least label is the answer, whatever was opened before it.
"""


class Labelled(Protocol):
    """Plans behind labels."""

    @property
    def model(self) -> CostModel:
        """The cost model of the plans."""

    def plan_at(self, plan: int, placement: int, clock: int) -> PlanTable:
        """The one-row table behind a label."""


class Holder(Labelled, Protocol):
    """Plans in nodes."""

    def open(self, nodes: IntArray, number: int) -> Opened:
        """The plans of some nodes, labelled (number, plan, placement, clock)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPlans:
    """Plans that are known before a search; the plan of a label is their row.

    Attributes:
        model: Their cost model.
        plans: The plans.
    """

    model: CostModel
    plans: PlanTable

    def plan_at(self, plan: int, placement: int, clock: int) -> PlanTable:
        """The one-row table of a row."""
        return self.plans.take(np.array([plan]))


class Space(ABC):
    """Plans in nodes, each with lower bounds; one search goes through it, once.

    Attributes:
        columns: What is minimized.
        noun: What its nodes are, in progress.
        at_a_time, seeds: Nodes that are opened together; the first time `seeds`.
        deadline: `time.perf_counter` value after which no further nodes are opened.
        misses: What came nearest to the limits, while nothing met them.
    """

    noun: ClassVar[str]
    columns: Columns
    at_a_time: int
    seeds: int
    deadline: float | None
    misses: NearMisses

    def front(self) -> RunningFront:
        """An empty front."""
        return RunningFront(len(self.columns), LABEL)

    @abstractmethod
    def passes(self, front: RunningFront) -> Iterator[FloatArray]:
        """(n, q, d) corners of the nodes: every plan of a node is no better than one of them.

        More than once where nodes are searched below one ceiling after another.

        Raises:
            OutOfTime: The deadline passed.
        """

    def promising(self) -> IntArray | None:
        """Nodes of the pass that are opened first, as good plans are thought to be in them."""
        return None

    def closed(self, solution: FrontSolution) -> bool:
        """Whether the pass that ended was the last."""
        return True

    @abstractmethod
    def open(self, chosen: IntArray, driver: Driver) -> Opened:
        """The plans of some nodes; what is in the front of the driver already need not return."""

    def counts(self, solution: FrontSolution | None) -> dict[str, dict[str, int]]:
        """What happened to the candidates; None: time ran out before there were nodes."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """The search inside some nodes.

    Attributes:
        holder: The n plans in them.
        nodes: (n,) the node of the space that each plan is in.
        corners: (n, k, d) lower bounds of the plans.
        opened: Plans whose candidates were all costed; bounds or the end of time dropped the rest.
    """

    holder: Holder
    nodes: IntArray
    corners: FloatArray
    opened: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvedStages:
    """The stage problem of a row, solved.

    Attributes:
        question: What was asked.
        bound: No choice takes less, in whole numbers; or none is below `Question.below`.
        unit_s: Seconds of one.
    """

    question: Question
    bound: int
    unit_s: float


@dataclass(slots=True, kw_only=True)
class Pass:
    """One search through a space.

    Attributes:
        space: What was searched.
        corners: (n, q, d) lower bounds of its nodes, as they were before any was opened.
        opened: Nodes that were opened, in parts.
        inner: What was searched inside these.
        solution: How it ended; None: time ran out first.
        problems: Of rows that were opened, the stage problems.
    """

    space: Space
    corners: FloatArray
    opened: list[IntArray] = field(default_factory=list)
    inner: list[Inner] = field(default_factory=list)
    solution: FrontSolution | None = None
    problems: list[SolvedStages] = field(default_factory=list)


class Trail:
    """The passes of a search, in order."""

    def __init__(self) -> None:
        self.passes: list[Pass] = []

    @property
    def has_nodes(self) -> bool:
        """Whether there was time to list the nodes of the first and of the last pass."""
        return bool(self.passes) and None not in (
            self.passes[0].solution,
            self.passes[-1].solution,
        )

    def begin(self, space: Space, corners: FloatArray) -> None:
        """A search through nodes with these corners begins."""
        self.passes.append(Pass(space=space, corners=corners))

    def opened(self, nodes: IntArray) -> None:
        """Nodes of the last pass are opened."""
        self.passes[-1].opened.append(nodes)

    def within(
        self, holder: Holder, nodes: IntArray, corners: FloatArray, opened: list[IntArray]
    ) -> None:
        """The plans in them were searched."""
        every = np.concatenate(opened) if opened else np.empty(0, dtype=np.int64)
        self.passes[-1].inner.append(
            Inner(holder=holder, nodes=nodes, corners=corners, opened=every)
        )

    def asked(self, question: Question, bound: float, unit_s: float) -> None:
        """The stage problem of a row of the last pass was solved."""
        below = math.inf if question.below is None else question.below
        least = int(max(min(bound, below), 0))
        solved = SolvedStages(question=question, bound=least, unit_s=unit_s)
        self.passes[-1].problems.append(solved)

    def end(self, solution: FrontSolution) -> None:
        """The last pass ended."""
        self.passes[-1].solution = solution
