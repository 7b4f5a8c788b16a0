"""Energy times the square of the step time: what the entry point names."""

from __future__ import annotations

from dataclasses import dataclass

from planner.base.arrays import FloatArray
from planner.base.units import plain
from planner.objectives import Costs, Objective


@dataclass(frozen=True, kw_only=True)
class EnergyDelaySquared(Objective):
    """Joules of a step times the square of its seconds: the same at every supply voltage."""

    name: str = "ed2p"
    noun: str = "energy-delay-squared product"
    short: str = "energy x time^2"
    unit: str = "J s^2"
    more: str = "more energy x time^2"
    less: str = "less energy x time^2"
    distinguished_by: str = "energy x time^2"
    degree: int = 3

    def value(self, costs: Costs) -> FloatArray | float:
        """Joules times seconds squared."""
        return costs.energy_j * costs.step_time_s**2

    def show(self, value: float) -> str:
        """A value in words."""
        return f"{plain(value)} J s^2"
