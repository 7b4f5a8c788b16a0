"""What a solver returns: a decision, its value, and how far from optimal it can be."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

Decision = TypeVar("Decision")


class Status(Enum):
    """How a search ended.

    OPTIMAL: the bound equals the objective. FEASIBLE: a decision, not proved optimal (a gap
    remains). INFEASIBLE: proved that no decision satisfies the constraints. TIME_LIMIT: the limit
    ended the search before any decision was found.
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    TIME_LIMIT = "time_limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution(Generic[Decision]):
    """The outcome of one minimization.

    Attributes:
        decision: The best decision found, or None.
        objective: Its value; inf without a decision.
        bound: No decision is better than this; equal to `objective` when proved optimal.
        status: How the search ended.
        seconds: Wall time of the search.
        counts: What happened to the candidates, by name: evaluated, dropped by each constraint,
            dropped by the bound.
    """

    decision: Decision | None
    objective: float
    bound: float
    status: Status
    seconds: float
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """Relative gap (objective - bound) / |objective|; 0 when proved, inf without a decision."""
        if not math.isfinite(self.objective):
            return math.inf
        if self.objective == self.bound:
            return 0.0
        return (self.objective - self.bound) / max(abs(self.objective), 1e-300)
