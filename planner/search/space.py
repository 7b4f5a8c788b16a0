"""What a search looks through: nodes of plans with lower bounds, which it opens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Protocol

from planner.base.arrays import FloatArray, IntArray
from planner.cost.context import CostModel
from planner.plan import PlanTable
from planner.search.columns import Columns
from planner.search.infeasible.near_misses import NearMisses
from solvers.mesh import FrontSolution, Opened, RunningFront

if TYPE_CHECKING:
    from planner.search.driver import Driver


LABEL = 4
"""Integers of a label."""


class Holder(Protocol):
    """Plans in nodes, and behind labels."""

    @property
    def model(self) -> CostModel:
        """The cost model of the plans."""

    def open(self, nodes: IntArray, number: int) -> Opened:
        """The plans of some nodes, with labels that begin with a number."""

    def plan_at(self, plan: int, placement: int, clock: int) -> PlanTable:
        """The one-row table behind a label."""


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
    def rounds(self, front: RunningFront) -> Iterator[FloatArray]:
        """(n, q, d) corners of the nodes: every plan of a node is no better than one of them.

        More than once where nodes are searched below one ceiling after another.

        Raises:
            OutOfTime: The deadline passed.
        """

    def closed(self, solution: FrontSolution) -> bool:
        """Whether the round that ended was the last."""
        return True

    @abstractmethod
    def open(self, chosen: IntArray, driver: Driver) -> Opened:
        """The plans of some nodes; what is in the front of the driver already need not return."""

    def counts(self, solution: FrontSolution | None) -> dict[str, dict[str, int]]:
        """What happened to the candidates; None: time ran out before there were nodes."""
        return {}
