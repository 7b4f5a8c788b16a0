"""The front of plans whose operations have clocks of their own, as immutable records."""

from __future__ import annotations

from typing import Any

from frozen_records import dataclass
from planner.plan import Plan
from planner.question.files.plan_text import plan_fields
from planner.results.operation_clocks import WORTH

_ROUNDING = 1e-6
"""Of linear programs, relative."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationPoint:
    """The least joules that were found within the step time of a point of the front.

    Attributes:
        step_time_s: Of the point, which none of these exceeds.
        one_clock_j: Joules of the point: its plan has one clock.
        plan: The plan that needs the least with clocks per operation, at the highest clock.
        mixed_j: Where an operation changes between two clocks while it runs, in no time.
        energy_j: With whole clocks, whose changes take `OperationFront.switching_s`.
        bound_j: No plan of the space needs less, whatever the clocks of its operations.
        operations: Of the plan.
    """

    step_time_s: float
    one_clock_j: float
    plan: Plan
    mixed_j: float
    energy_j: float
    bound_j: float
    operations: int

    @property
    def saved(self) -> float:
        """Share of the joules of the point that whole clocks per operation save."""
        return 1 - self.energy_j / self.one_clock_j

    @property
    def gap(self) -> float:
        """How far below the joules with mixed clocks the bound is, relative."""
        return 1 - self.bound_j / self.mixed_j

    @property
    def worth(self) -> bool:
        """Whether that is enough to use them."""
        return self.saved >= WORTH

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "step_time_s": self.step_time_s,
            "one_clock_j": self.one_clock_j,
            "mixed_j": self.mixed_j,
            "energy_j": self.energy_j,
            "bound_j": self.bound_j,
            "saved": self.saved,
            "used": self.worth,
            "operations": self.operations,
            "plan": plan_fields(self.plan),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationFront:
    """The front over plans and clocks of their operations.

    Attributes:
        points: Ascending in step time.
        switching_s: Seconds of a change of the clock.
        gap: To which the search was asked to prove the joules of mixed clocks.
        listed: Plans with placements that the first bound left.
        bounded: Of these, those whose operations were looked at.
        solved: Linear programs.
        left: Points whose bound is further away than that.
    """

    points: tuple[OperationPoint, ...]
    switching_s: float
    gap: float
    listed: int
    bounded: int
    solved: int

    @property
    def left(self) -> int:
        """Points that are not proved to the gap."""
        return sum(point.gap > self.gap + _ROUNDING for point in self.points)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "switching_s": self.switching_s,
            "gap": self.gap,
            "points": [point.to_dict() for point in self.points],
            "listed": self.listed,
            "bounded": self.bounded,
            "solved": self.solved,
        }
