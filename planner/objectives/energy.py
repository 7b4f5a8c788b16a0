"""Energy per step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.base.units import show_joules
from planner.objectives.objective import BY_ENERGY, Costs, Objective

if TYPE_CHECKING:
    from planner.base.arrays import FloatArray


class Energy(Objective):
    """Joules of a step, all chips together."""

    name = "energy"
    noun = "energy per step"
    short = "energy"
    unit = "J"
    more = "more energy"
    less = "less energy"
    distinguished_by = "energies"
    uneven = BY_ENERGY

    def value(self, costs: Costs) -> FloatArray | float:
        """Joules."""
        return costs.energy_j

    def show(self, value: float) -> str:
        """Joules in words."""
        return show_joules(value)
