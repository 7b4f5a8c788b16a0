"""Everything that is measured about power: meters, clocks, power caps."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from frozen_records import dataclass
from planner.evidence.power.clocks import CapTable, ClockTable, cap_table, clock_table
from planner.evidence.power.power import PowerTable, power_table


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyTables:
    """The phase model against meters, and the laws of clocks and power caps against sweeps.

    Attributes:
        power: Published power figures: those that a meter showed, and those refused.
        clocks: The clock sweep of V100; None of a user's figures.
        caps: Power caps on four GPUs; None of a user's figures.
    """

    power: PowerTable
    clocks: ClockTable | None
    caps: CapTable | None

    def to_dict(self) -> dict[str, Any]:
        """The tables as JSON-ready data."""
        document: dict[str, Any] = {"power": self.power.to_dict()}
        if self.clocks is not None:
            clocks = asdict(self.clocks)
            document["clocks"] = {**clocks, "waiting_w": list(self.clocks.waiting_w)}
        if self.caps is not None:
            rows = [asdict(row) for row in self.caps.rows]
            document["caps"] = {**asdict(self.caps), "rows": rows}
        return document


def energy_tables() -> EnergyTables:
    """All of them, with the shipped records."""
    return EnergyTables(power=power_table(), clocks=clock_table(), caps=cap_table())
