"""Energy per step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frozen_records import dataclass
from planner.base.units import show_joules
from planner.objectives.objective import BY_ENERGY, Costs, Objective

if TYPE_CHECKING:
    from planner.base.arrays import FloatArray


@dataclass(frozen=True, kw_only=True)
class Energy(Objective):
    """Joules of a step, all chips together."""

    name: str = "energy"
    noun: str = "energy per step"
    short: str = "energy"
    unit: str = "J"
    more: str = "more energy"
    less: str = "less energy"
    distinguished_by: str = "energies"
    uneven: str = BY_ENERGY

    def value(self, costs: Costs) -> FloatArray | float:
        """Joules."""
        return costs.energy_j

    def show(self, value: float) -> str:
        """Joules in words."""
        return show_joules(value)
