"""Days of the whole run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.base.units import DAY_S, show_days
from planner.objectives.objective import Costs, Objective

if TYPE_CHECKING:
    from planner.base.arrays import FloatArray


class Days(Objective):
    """Wall time of the run with the time that failures take.

    More chips make steps faster and failures more frequent, so that their number is a choice.
    Where nobody published how often chips fail, it is the time without failures.
    """

    name = "days"
    noun = "wall time of the run"
    short = "days"
    unit = "days"
    more = "longer"
    less = "shorter"
    distinguished_by = "days"
    of_run = True
    over_chips = True
    front = ("days", "run-energy")

    def value(self, costs: Costs) -> FloatArray | float:
        """Days."""
        return costs.of_run.time_s / DAY_S

    def show(self, value: float) -> str:
        """Days in words."""
        return show_days(value)
