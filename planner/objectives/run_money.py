"""Money of the whole run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frozen_records import dataclass
from planner.base.units import plain
from planner.objectives.objective import Costs, Objective

if TYPE_CHECKING:
    from planner.base.arrays import FloatArray


@dataclass(frozen=True, kw_only=True)
class RunMoney(Objective):
    """Chips times hours of the run times the price of a chip-hour, failures included.

    Where electricity has a price, that of the run is in it too: whoever gives both pays both.
    """

    name: str = "run-money"
    noun: str = "money of the run"
    short: str = "money/run"
    unit: str = "money"
    more: str = "more money"
    less: str = "less money"
    distinguished_by: str = "money"
    of_run: bool = True
    over_chips: bool = True
    has_price: bool = True
    needs_price: bool = True
    front: tuple[str, ...] = ("days", "run-money")

    def value(self, costs: Costs) -> FloatArray | float:
        """Money."""
        return costs.of_run.money

    def show(self, value: float) -> str:
        """Money has no sign of a currency, as its price has none."""
        return plain(value, 4)
