"""Everything that is measured about power: meters, clocks, power caps."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from planner.evidence.power.clocks import CapTable, ClockTable, cap_table, clock_table
from planner.evidence.power.power import PowerTable, power_table


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyTables:
    """The phase model against meters, and the laws of clocks and power caps against sweeps.

    Attributes:
        power: Published power figures: those that a meter showed, and those refused.
        clocks: The clock sweep of V100.
        caps: Power caps on four GPUs.
    """

    power: PowerTable
    clocks: ClockTable
    caps: CapTable

    def to_dict(self) -> dict[str, Any]:
        """The tables as JSON-ready data."""
        clocks = asdict(self.clocks)
        return {
            "power": self.power.to_dict(),
            "clocks": {**clocks, "waiting_w": list(self.clocks.waiting_w)},
            "caps": {**asdict(self.caps), "rows": [asdict(row) for row in self.caps.rows]},
        }


def energy_tables() -> EnergyTables:
    """All of them, with the shipped records."""
    return EnergyTables(power=power_table(), clocks=clock_table(), caps=cap_table())
