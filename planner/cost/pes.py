"""What of a chip grows in proportion to its PEs: its on-chip memory.

One law for the array that the model within a chip sees and for the chips of a joint search.
Registers or scratchpad of one PE, the clock and all joules per access stay.
"""

from __future__ import annotations

import numpy as np

from hardware_db import Chip
from planner.cost.tiling import Number

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
