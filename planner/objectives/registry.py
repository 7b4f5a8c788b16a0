"""All objectives: those that come with the planner, and those of installed packages."""

from __future__ import annotations

from planner.base.registry import Registry
from planner.objectives.energy import Energy
from planner.objectives.energy_delay import EnergyDelay
from planner.objectives.memory import Memory
from planner.objectives.money import Money
from planner.objectives.objective import Objective
from planner.objectives.power import Power
from planner.objectives.step_time import StepTime

TIME, ENERGY, MEMORY = StepTime(), Energy(), Memory()
OBJECTIVES: Registry[Objective] = Registry(
    "planner.objectives", Objective, (TIME, ENERGY, EnergyDelay(), MEMORY, Money(), Power())
)
"""By name."""
