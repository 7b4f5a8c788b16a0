"""Measured matrix multiplications and memory streams against the model's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardware_db import Calibration, load_chip
from planner.assumptions.assumptions import Assumptions, calibrated
from planner.cost.kernels.compute import matmul_s
from planner.evidence.csvfile import shipped

_CHIPS = {"A100-80GB": "a100-sxm4-80", "H100-80GB": "h100-sxm5-80", "H200-141GB": "h200-sxm5-141"}
_ERA = "megatron-core"  # these constants do not depend on it
_TERA = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One measurement.

    Attributes:
        chip: Name in the database.
        test: As published.
        shape: m, n, k of a multiplication; empty for a memory stream.
        unit: "FLOP/s" or "B/s".
        measured, predicted: The rate.
        source: Where it was published.
    """

    chip: str
    test: str
    shape: tuple[int, ...]
    unit: str
    measured: float
    predicted: float
    source: str

    @property
    def error(self) -> float:
        """Predicted over measured rate minus one."""
        return self.predicted / self.measured - 1


def benchmarks(constants: Calibration | None = None) -> list[Benchmark]:
    """All measurements of the package with their predictions."""
    return [_benchmark(line.cells, constants) for line in shipped("microbench")]


def _benchmark(cells: dict[str, str], constants: Calibration | None) -> Benchmark:
    chip = _CHIPS[cells["chip"].split()[0]]
    test = cells["test"]
    is_matmul = test.startswith("gemm")
    precision = test.rsplit("_", 1)[1].lower() if is_matmul else "bf16"
    assumptions = calibrated(load_chip(chip), _ERA, precision, constants)
    shape = tuple(int(cells[name]) for name in ("m", "n", "k")) if is_matmul else ()
    predicted = assumptions.memory_bytes_per_s
    if is_matmul:
        predicted = matmul_flop_per_s(assumptions, *shape)
    return Benchmark(
        chip=chip,
        test=test,
        shape=shape,
        unit="FLOP/s" if is_matmul else "B/s",
        measured=float(cells["value"]) * _TERA,
        predicted=predicted,
        source=cells["source"],
    )


def matmul_flop_per_s(a: Assumptions, m: int, n: int, k: int) -> float:
    """The rate of one multiplication (m x k) @ (k x n) in the model."""
    seconds = matmul_s(a, m, n, k, clock=np.ones(1), flop_per_s=a.matmul_flop_per_s)
    return float(2.0 * m * n * k / seconds[0])
