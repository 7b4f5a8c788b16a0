"""What is said of the power of a plan where a question limits it."""

from __future__ import annotations

from collections.abc import Iterator

from planner.base.units import show_watts
from planner.cost.energy.boundaries import MEASURED
from planner.question.request import Request
from planner.results.plan import PlanResult


def power_words(request: Request, best: PlanResult) -> Iterator[str]:
    """Where the limit on power holds, if there is one, and what the plan draws there."""
    if request.max_power is None:
        return
    drawn, limit = best.power_w(request.power_boundary), request.max_power
    yield (
        f"It draws {show_watts(drawn)} {MEASURED[request.power_boundary]}, where --max-power "
        f"allows {show_watts(limit)} (--power-boundary {request.power_boundary})."
    )
