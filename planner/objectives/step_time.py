"""Step time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.base.units import show_seconds
from planner.objectives.objective import BY_TIME, Costs, Objective

if TYPE_CHECKING:
    from planner.base.arrays import FloatArray


class StepTime(Objective):
    """Seconds of a step."""

    name = "time"
    noun = "step time"
    short = "time"
    unit = "s"
    more = "slower"
    less = "faster"
    with_time = False
    uneven = BY_TIME

    def value(self, costs: Costs) -> FloatArray | float:
        """Seconds."""
        return costs.step_time_s

    def show(self, value: float) -> str:
        """Seconds in words."""
        return show_seconds(value)
