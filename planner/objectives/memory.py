"""Memory per chip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.base.units import show_bytes
from planner.objectives.objective import Costs, Objective

if TYPE_CHECKING:
    from planner.base.arrays import FloatArray


class Memory(Objective):
    """Bytes of the fullest chip; of plans that hold as many the fastest is the best."""

    name = "memory"
    noun = "memory per chip"
    short = "memory"
    unit = "B"
    more = "more memory"
    less = "less memory"
    degree = 0
    of_memory = True

    def value(self, costs: Costs) -> FloatArray | float:
        """Bytes."""
        return costs.memory_bytes

    def show(self, value: float) -> str:
        """Bytes in words."""
        return show_bytes(value)
