"""Memory per chip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frozen_records import dataclass
from planner.base.units import show_bytes
from planner.objectives.objective import Costs, Objective

if TYPE_CHECKING:
    from planner.base.arrays import FloatArray


@dataclass(frozen=True, kw_only=True)
class Memory(Objective):
    """Bytes of the fullest chip; of plans that hold as many the fastest is the best."""

    name: str = "memory"
    noun: str = "memory per chip"
    short: str = "memory"
    unit: str = "B"
    more: str = "more memory"
    less: str = "less memory"
    degree: int = 0
    of_memory: bool = True

    def value(self, costs: Costs) -> FloatArray | float:
        """Bytes."""
        return costs.memory_bytes

    def show(self, value: float) -> str:
        """Bytes in words."""
        return show_bytes(value)
