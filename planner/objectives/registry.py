"""All objectives: those that come with the planner, and those of installed packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.base.registry import Registry
from planner.objectives.days import Days
from planner.objectives.energy import Energy
from planner.objectives.energy_delay import EnergyDelay
from planner.objectives.memory import Memory
from planner.objectives.money import Money
from planner.objectives.objective import Objective
from planner.objectives.power import Power
from planner.objectives.run_energy import RunEnergy
from planner.objectives.run_money import RunMoney
from planner.objectives.step_time import StepTime

TIME, ENERGY, MEMORY, DAYS = StepTime(), Energy(), Memory(), Days()
OBJECTIVES: Registry[Objective] = Registry(
    "planner.objectives",
    Objective,
    (TIME, ENERGY, EnergyDelay(), MEMORY, Money(), Power(), DAYS, RunMoney(), RunEnergy()),
)
"""By name."""
FRONTS = (("time", "energy"), ("time", "energy", "memory"))
"""Fronts that may be asked for with any objective."""


def objective_asked(name: str, asked: Mapping[str, Any]) -> Objective:
    """An objective as a question has it: of money, where that says what a chip-hour costs.

    Args:
        name: Of the objective.
        asked: Fields of the question.
    """
    return OBJECTIVES[name].priced(asked.get("price_per_chip_hour"))


def fronts() -> tuple[tuple[str, ...], ...]:
    """The fronts that can be asked for: those of time and energy, and the own ones of others."""
    own = (one.front for one in OBJECTIVES.values())
    return tuple(dict.fromkeys((*FRONTS, *own)))
