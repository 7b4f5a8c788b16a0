"""CPU microseconds per operator of the within-chip model: one at a time, and in batches.

`planner.cost.chip.within_chip.on_chip_cost` on random matrix multiplications (sizes from 1 to
8,192), traffic of both boundaries, cycles and energy. The ratio is that of one call per operator
to a batch, in the same run; the aim is under one microsecond per operator in batches of 10,000.
Results of a batch equal those of single calls bit for bit, or nothing is timed.
"""

from __future__ import annotations

from functools import partial

import measuring
import numpy as np
from measuring import Report, Table, figure

from hardware_db import load_chip
from planner.cost.chip.within_chip import ChipArray, Operators, chip_array, gemm, on_chip_cost

BATCHES = (1, 100, 1_000, 10_000, 100_000)
QUICK_BATCHES = (1, 100)
_TARGET_US = 1.0
_TARGET_BATCH = 10_000


def drawn(count: int) -> Operators:
    """Random operators."""
    m, n, k = np.random.default_rng(count).integers(1, 8193, (3, count))
    return gemm(m, n, k)


def agree(array: ChipArray) -> bool:
    """Whether a batch costs what its operators cost one at a time."""
    batch = drawn(50)
    together = on_chip_cost(batch, array)
    alone = [
        on_chip_cost(gemm(*sizes), array) for sizes in zip(batch.m, batch.n, batch.k, strict=True)
    ]
    names = ("cycles", "dram_bytes", "sram_bytes", "register_bytes", "total_j")
    return all(
        np.array_equal(getattr(together, name), [getattr(one, name)[0] for one in alone])
        for name in names
    )


def main() -> None:
    """Measures and prints."""
    made = measuring.parser(__doc__, quick=True)
    made.add_argument("--chip", default="c2c-gpu", help="record with on-chip energies")
    options = made.parse_args()
    array = chip_array(load_chip(options.chip), "bf16")
    measuring.require(agree(array), "a batch and single operators differ")
    budget_s = 0.02 if options.quick else 1.0
    rows: list[dict[str, float]] = []
    for count in QUICK_BATCHES if options.quick else BATCHES:
        operators = drawn(count)
        taken = measuring.cpu_seconds_for(partial(on_chip_cost, operators, array), budget_s)
        rows.append({"operators": count, "us per operator": taken.best / count * 1e6})
    alone = figure(rows[0], "us per operator")
    rows = [{**row, "one at a time over this": alone / row["us per operator"]} for row in rows]
    table = Table(title="Within-chip model", rows=[{**row} for row in rows])
    report = Report(name="within_chip", tables=[table])
    for row in rows:
        if row["operators"] == _TARGET_BATCH:
            verdict = "met" if row["us per operator"] < _TARGET_US else "missed"
            report.notes.append(
                f"Under {_TARGET_US:g} us per operator in batches of 10,000: {verdict}."
            )
    measuring.show(report, options)


if __name__ == "__main__":
    main()
