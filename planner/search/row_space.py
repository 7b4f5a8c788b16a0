"""What a search for the fastest plan looks through: rows with lower bounds, each solved exactly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from planner.base.arrays import FloatArray, IntArray
from planner.plan import Plan
from planner.results.certificate import FunnelStage
from planner.search.deadline import Deadline
from planner.search.uneven.columns.integers import Units
from solvers.stages.problem import Choice, StageProblem


class RowsOf(Protocol):
    """Rows of a space: groups of plans that differ in their stages alone."""

    def __len__(self) -> int: ...

    def take(self, index: IntArray) -> Self:
        """Some of the rows."""

    @property
    def logical_meshes(self) -> set[tuple[int, ...]]:
        """Their meshes, as tp, cp and pp."""


R = TypeVar("R", bound=RowsOf)


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


@dataclass(frozen=True, slots=True)
class Costs:
    """What a plan takes: seconds and joules of a step."""

    time_s: float
    energy_j: float


class Space(ABC, Generic[R]):
    """Rows of plans, the bounds that drop some of them, and what solves one of them exactly.

    The driver of rows looks through it, the least bound first. A space keeps the steps
    of its funnel and how many rows are open, so that a search that runs out of time can say so.

    Attributes:
        funnel: What each bound of the last `narrowed` dropped, in order.
        open: Rows that no bound has dropped so far.
        longest_s: Seconds that the limits allow a step; inf: as long as it wants.
        tightens: Whether `tightened` has better bounds than `narrowed`.
        refused: Rows that each rule of a target dropped.
    """

    tightens = False

    def __init__(self, longest_s: float) -> None:
        self.funnel: list[FunnelStage] = []
        self.open = 0
        self.longest_s = longest_s
        self.refused: dict[str, int] = {}

    @abstractmethod
    def begin(self, deadline: Deadline) -> float:
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
    def columns(self, rows: R, row: int, wanted_s: float) -> ColumnsOf | None:
        """The stage problem of a row; None: no plan of it is below `wanted_s`.

        Raises:
            OutOfTime: The deadline passed.
            TooManyColumnsError: It has too many columns to be solved.
        """

    @abstractmethod
    def costs(self, plan: Plan) -> Costs | None:
        """What a plan takes, as the cost model evaluates it; None: it is not within the limits."""
