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
    raise InputError(f"max-area: the record of {chip.name} has no die area (die: area, pe_share)")


def power_w(chip: Chip, pes: IntArray) -> FloatArray:
    """(n,) watts of a busy chip with so many PEs, its host left out."""
    dynamic = np.asarray(pes, dtype=np.float64) / chip.pe_count
    return np.asarray(chip.idle_w + (chip.busy_w - chip.idle_w) * dynamic, dtype=np.float64)
