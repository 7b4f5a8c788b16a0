"""Money of the whole run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.base.units import plain
from planner.objectives.objective import Costs, Objective

if TYPE_CHECKING:
    from planner.base.arrays import FloatArray


class RunMoney(Objective):
    """Chips times hours of the run times the price of a chip-hour, failures included.

    Where electricity has a price, that of the run is in it too: whoever gives both pays both.
    """

    name = "run-money"
    noun = "money of the run"
    short = "money/run"
    unit = "money"
    more = "more money"
    less = "less money"
    distinguished_by = "money"
    of_run = True
    over_chips = True
    has_price = True
    needs_price = True
    front = ("days", "run-money")

    def value(self, costs: Costs) -> FloatArray | float:
        """Money."""
        return costs.of_run.money

    def show(self, value: float) -> str:
        """Money has no sign of a currency, as its price has none."""
        return plain(value, 4)
