"""Step time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frozen_records import dataclass
from planner.base.units import show_seconds
from planner.objectives.objective import BY_TIME, Costs, Objective

if TYPE_CHECKING:
    from planner.base.arrays import FloatArray


@dataclass(frozen=True, kw_only=True)
class StepTime(Objective):
    """Seconds of a step."""

    name: str = "time"
    noun: str = "step time"
    short: str = "time"
    unit: str = "s"
    more: str = "slower"
    less: str = "faster"
    with_time: bool = False
    uneven: str = BY_TIME

    def value(self, costs: Costs) -> FloatArray | float:
        """Seconds."""
        return costs.step_time_s

    def show(self, value: float) -> str:
        """Seconds in words."""
        return show_seconds(value)
