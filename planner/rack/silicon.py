"""Area and rated power of a chip with another number of PEs than its record.

With r = p / p0 PEs of the record's p0 and the record's shares a and s of what comes with PEs:

    area   A0 (1 - a + a r)
    power  P_idle + (P_busy - P_idle) (1 - s + s r)
"""

from __future__ import annotations

import numpy as np

from hardware_db import Chip
from planner.errors import InputError
from planner.plan import FloatArray, IntArray


def area_m2(chip: Chip, pes: IntArray) -> FloatArray:
    """(n,) square metres of silicon of a chip with so many PEs.

    Raises:
        InputError: The record has no die area.
    """
    if chip.die_area_m2 is None:
        raise InputError(f"max-area: the record of {chip.name} has no die area (die: area)")
    return chip.die_area_m2 * _grown(chip, pes, chip.pe_area_share)


def power_w(chip: Chip, pes: IntArray) -> FloatArray:
    """(n,) watts of a busy chip with so many PEs, its host left out.

    Without a share in the record all of the dynamic power comes with the PEs.
    """
    return chip.idle_w + (chip.busy_w - chip.idle_w) * _grown(chip, pes, chip.pe_power_share)


def _grown(chip: Chip, pes: IntArray, share: float | None) -> FloatArray:
    """(n,) what a share of 1 grows to, where `share` of it comes with the PEs."""
    grows = 1.0 if share is None else share
    return 1 - grows + grows * np.asarray(pes, dtype=np.float64) / chip.pe_count
