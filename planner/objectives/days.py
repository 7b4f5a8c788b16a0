"""Days of the whole run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frozen_records import dataclass
from planner.base.units import show_days
from planner.objectives.objective import Costs, Objective

if TYPE_CHECKING:
    from planner.base.arrays import FloatArray

_DAY_S = 86400.0


@dataclass(frozen=True, kw_only=True)
class Days(Objective):
    """Wall time of the run with the time that failures take.

    More chips make steps faster and failures more frequent, so that their number is a choice.
    Where nobody published how often chips fail, it is the time without failures.
    """

    name: str = "days"
    noun: str = "wall time of the run"
    short: str = "days"
    unit: str = "days"
    more: str = "longer"
    less: str = "shorter"
    distinguished_by: str = "days"
    of_run: bool = True
    over_chips: bool = True
    front: tuple[str, ...] = ("days", "run-energy")

    def value(self, costs: Costs) -> FloatArray | float:
        """Days."""
        return costs.of_run.time_s / _DAY_S

    def show(self, value: float) -> str:
        """Days in words."""
        return show_days(value)
