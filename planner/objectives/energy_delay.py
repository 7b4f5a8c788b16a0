"""The energy-delay product."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.base.units import plain, show_joules, show_seconds
from planner.objectives.objective import BY_PRODUCT, Costs, Objective

if TYPE_CHECKING:
    from planner.base.arrays import FloatArray


class EnergyDelay(Objective):
    """Joules of a step times its seconds.

    Horowitz, Indermaur and Gonzalez, "Low-power digital design", 1994.
    """

    name = "edp"
    noun = "energy-delay product"
    short = "energy x time"
    unit = "J s"
    more = "more energy x time"
    less = "less energy x time"
    distinguished_by = "energy x time"
    degree = 2
    with_time = False
    uneven = BY_PRODUCT

    def value(self, costs: Costs) -> FloatArray | float:
        """Joule-seconds."""
        return costs.step_time_s * costs.energy_j

    def show(self, value: float) -> str:
        """Joule-seconds in words."""
        return f"{plain(value)} J s"

    def shown(self, costs: Costs) -> str:
        """Both factors in words."""
        return f"{show_joules(float(costs.energy_j))} x {show_seconds(float(costs.step_time_s))}"
