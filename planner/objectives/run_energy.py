"""Energy of the whole run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.base.units import show_watt_hours
from planner.objectives.objective import Costs, Objective

if TYPE_CHECKING:
    from planner.base.arrays import FloatArray

_MWH_J = 3.6e9
_MWH_WH = 1e6


class RunEnergy(Objective):
    """Energy of the run, all chips together, with work that is lost and time that is waited.

    That of nodes and fabric, as of a step: the facility adds its share to every plan alike.
    """

    name = "run-energy"
    noun = "energy of the run"
    short = "energy/run"
    unit = "MWh"
    more = "more energy"
    less = "less energy"
    distinguished_by = "energies"
    of_run = True
    over_chips = True
    front = ("days", "run-energy")

    def value(self, costs: Costs) -> FloatArray | float:
        """Megawatt-hours."""
        return costs.of_run.energy_j / _MWH_J

    def show(self, value: float) -> str:
        """Watt-hours in words."""
        return show_watt_hours(value * _MWH_WH)
