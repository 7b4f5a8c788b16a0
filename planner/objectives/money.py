"""Money per step, or the chip-hours that stand for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from frozen_records import dataclass
from planner.base.units import HOUR_S, plain
from planner.objectives.objective import BY_TIME, Costs, Objective

if TYPE_CHECKING:
    from planner.base.arrays import FloatArray


@dataclass(frozen=True, kw_only=True)
class Money(Objective):
    """Chips times hours of a step, times the price of a chip-hour where that is known.

    Fewer chips may cost less though they take longer, so the number of chips is part of the
    choice. On one number of chips the least money is the least time.

    Attributes:
        price: Money per chip and hour; None: chip-hours themselves are compared.
    """

    name: str = "money"
    noun: str = "chip-hours per step"
    short: str = "chip-hours"
    unit: str = "chip h"
    more: str = "more chip-hours"
    less: str = "less chip-hours"
    distinguished_by: str = "chip-hours"
    front: tuple[str, ...] = ("time", "money")
    over_chips: bool = True
    has_price: bool = True
    uneven: str = BY_TIME
    price: float | None = None

    def priced(self, price_per_chip_hour: float | None) -> Objective:
        """Money instead of chip-hours, where the price of one is known."""
        if price_per_chip_hour is None:
            return self
        return replace(
            self,
            price=price_per_chip_hour,
            noun="money per step",
            short="money",
            unit="money",
            more="more money",
            less="less money",
            distinguished_by="money",
        )

    def value(self, costs: Costs) -> FloatArray | float:
        """Money, or chip-hours."""
        hours = costs.chips * costs.step_time_s / HOUR_S
        return hours if self.price is None else self.price * hours

    def show(self, value: float) -> str:
        """`1.42 chip-hours`; money has no sign of a currency, as its price has none."""
        return f"{plain(value, 4)}{' chip-hours' if self.price is None else ''}"
