"""The energy-delay product."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frozen_records import dataclass
from planner.base.units import plain, show_joules, show_seconds
from planner.objectives.objective import BY_PRODUCT, Costs, Objective

if TYPE_CHECKING:
    from planner.base.arrays import FloatArray


@dataclass(frozen=True, kw_only=True)
class EnergyDelay(Objective):
    """Joules of a step times its seconds.

    Horowitz, Indermaur and Gonzalez, "Low-power digital design", 1994.
    """

    name: str = "edp"
    noun: str = "energy-delay product"
    short: str = "energy x time"
    unit: str = "J s"
    more: str = "more energy x time"
    less: str = "less energy x time"
    distinguished_by: str = "energy x time"
    degree: int = 2
    with_time: bool = False
    uneven: str = BY_PRODUCT

    def value(self, costs: Costs) -> FloatArray | float:
        """Joule-seconds."""
        return costs.step_time_s * costs.energy_j

    def show(self, value: float) -> str:
        """Joule-seconds in words."""
        return f"{plain(value)} J s"

    def shown(self, costs: Costs) -> str:
        """Both factors in words."""
        return f"{show_joules(float(costs.energy_j))} x {show_seconds(float(costs.step_time_s))}"
