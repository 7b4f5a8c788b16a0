"""Everything that is measured about power: meters, clocks, power caps."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from frozen_records import dataclass
from planner.evidence.power.caps import CapTable, cap_table
from planner.evidence.power.clocks import SWEPT, ClockTable, clock_table, waiting_w
from planner.evidence.power.power import PowerTable, power_table


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyTables:
    """The phase model against meters, and the laws of clocks and power caps against sweeps.

    Attributes:
        power: Published power figures: those that a meter showed, and those refused.
        clocks: The clock sweeps by chip; none of a user's figures.
        caps: Jobs under power caps on five GPUs; None of a user's figures.
    """

    power: PowerTable
    clocks: dict[str, ClockTable]
    caps: CapTable | None

    def to_dict(self) -> dict[str, Any]:
        """The tables as JSON-ready data."""
        document: dict[str, Any] = {"power": self.power.to_dict()}
        if self.clocks:
            document["clocks"] = {name: asdict(table) for name, table in self.clocks.items()}
            document["waiting_w"] = list(waiting_w())
        if self.caps is not None:
            document["caps"] = {
                "rows": [asdict(row) for row in self.caps.rows],
                "time": asdict(self.caps.time()),
                "energy": asdict(self.caps.energy()),
            }
        return document


def energy_tables() -> EnergyTables:
    """All of them, with the shipped records."""
    clocks = {name: clock_table(name) for name in SWEPT}
    return EnergyTables(power=power_table(), clocks=clocks, caps=cap_table())
