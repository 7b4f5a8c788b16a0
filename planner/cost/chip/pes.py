"""PEs of a chip: what grows in proportion to them, its on-chip memory, and the rows they fill.

One law for the array that the model within a chip sees and for the chips of a joint search.
Registers or scratchpad of one PE, the clock and all joules per access stay.
"""

from __future__ import annotations

import math

import numpy as np

from hardware_db import Chip
from planner.base.units import plural
from planner.cost.chip.tiling import Number

ON_CHIP = ("l2_bytes", "sram_bytes", "sram_bandwidth_bytes_per_s")


def on_chip_at(chip: Chip, pes: Number) -> dict[str, Number | None]:
    """The fields `ON_CHIP` of a chip with so many PEs; None where the record has none.

    Args:
        chip: The record.
        pes: Processing elements, a number or (n,).
    """
    each = np.asarray(pes, float) / chip.pe_count
    ratio = each if each.ndim else float(each)
    held = {name: getattr(chip, name) for name in ON_CHIP}
    return {name: None if value is None else value * ratio for name, value in held.items()}


def unfilled_rows(chip: Chip, pes: float) -> str | None:
    """A line where PEs are not whole or do not fill the rows of the array, with the nearest.

    Args:
        chip: The record.
        pes: Processing elements of one chip.
    """
    rows = chip.pe_rows or 1
    if math.isfinite(pes) and pes >= rows and pes % rows == 0:
        return None
    below = max(0, math.floor(pes / rows)) * rows if math.isfinite(pes) else 0
    near = " or ".join(f"{count:,}" for count in (below, below + rows) if count)
    given = f"{pes:,}" if isinstance(pes, int) else f"{pes:g}"
    return f"pes: {given} do not fill the {plural(rows, 'row')} of {chip.name}; nearest: {near}"
