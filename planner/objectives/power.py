"""Mean power of the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.base.units import show_watts
from planner.objectives.objective import Bounds, Costs, Objective

if TYPE_CHECKING:
    from planner.base.arrays import FloatArray

_ROUNDED_DOWN = 1 - 1e-12


class Power(Objective):
    """Joules of a step over its seconds, all chips together, of nodes and fabric.

    That is the boundary of energies, whatever the one at which `--max-power` limits it.

    A slower step draws less: without a limit on its time the least power is that of the slowest
    plan, which nobody wants, so the question has to have one. Of two plans that take the same
    energy the slower one is the better, so the optimum need not be on the front of time and
    energy; it is on that of time and power, which the search has a bound for:

        P = E / T >= standing + (E_low - standing T_low) / T_longest

    since every second of a step costs the standing power of its chips on top of what their kernels
    take, of which E_low - standing T_low is the least, and no step that is allowed takes longer
    than T_longest.
    """

    name = "power"
    noun = "mean power"
    short = "power"
    unit = "W"
    more = "more power"
    less = "less power"
    degree = 0
    front = ("time", "power")
    over_chips = True
    monotone = False
    needs_limit = True

    def value(self, costs: Costs) -> FloatArray | float:
        """Watts."""
        return costs.energy_j / costs.step_time_s

    def least(self, bounds: Bounds) -> FloatArray | float:
        """Watts, by the bound of the class."""
        low, standing = bounds.low, bounds.standing_w
        import numpy as np  # noqa: PLC0415  (names of objectives are listed without it)

        energy = np.asarray(low.energy_j, dtype=np.float64)
        known = np.isfinite(energy)
        kernels = np.where(known, energy, 0.0) * _ROUNDED_DOWN
        kernels = kernels - standing * np.where(known, low.step_time_s, 0.0)
        watts = standing + np.maximum(kernels, 0.0) / bounds.longest_s
        return np.where(known, watts * _ROUNDED_DOWN, energy)

    def show(self, value: float) -> str:
        """Watts in words."""
        return show_watts(value)
