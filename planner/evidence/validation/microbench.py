"""Measured matrix multiplications and memory streams against the model's."""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from hardware_db import Calibration, list_chips, load_chip
from planner.assumptions.assumptions import Assumptions, calibrated
from planner.base.errors import InputError
from planner.base.messages import not_one_of, shown
from planner.cost.kernels.compute import matmul_s
from planner.evidence.csvfile import shipped
from planner.evidence.own_tables import amount

_CHIPS = {"A100-80GB": "a100-sxm4-80", "H100-80GB": "h100-sxm5-80", "H200-141GB": "h200-sxm5-141"}
_ERA = "megatron-core"  # these constants do not depend on it
_TERA = 1e12
_FLOP_UNITS = {"TFLOP/s": 1e12, "GFLOP/s": 1e9}
_BYTE_UNITS = {"TB/s": 1e12, "GB/s": 1e9}


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


def own_benchmark(cells: dict[str, str]) -> Benchmark:
    """The measurement of a row of a user's file, with its prediction.

    Raises:
        InputError: The row has a fault.
    """
    printed = cells["chip"].split()[0] if cells["chip"] else ""
    name = _CHIPS.get(printed, cells["chip"])
    if name not in list_chips():
        raise InputError(f"chip: {not_one_of(name, list_chips())} (planner hardware list)")
    chip, is_matmul = load_chip(name), cells["test"].startswith("gemm_")
    if not is_matmul and "stream" not in cells["test"]:
        raise InputError(f"test: {shown(cells['test'])} is neither gemm_bf16 nor stream")
    precision = cells["test"].rsplit("_", 1)[1].lower() if is_matmul else "bf16"
    if is_matmul and precision not in chip.peak_flop_per_s:
        known = [f"gemm_{each}" for each in chip.peak_flop_per_s]
        raise InputError(f"test: {not_one_of(cells['test'], known)} of {name}")
    units = _FLOP_UNITS if is_matmul else _BYTE_UNITS
    if cells["unit"] not in units:
        raise InputError(f"unit: {not_one_of(cells['unit'], tuple(units))}")
    shape = tuple(int(amount(cells, each, whole=True)) for each in "mnk") if is_matmul else ()
    measured = amount(cells, "value") * units[cells["unit"]]
    peak = chip.peak_flop_per_s[precision] if is_matmul else chip.memory_bandwidth_bytes_per_s
    if measured > peak:
        most = peak / units[cells["unit"]]
        raise InputError(f"value: {cells['value']} exceeds the peak of {name}, {most:g}")
    assumptions = calibrated(chip, _ERA, precision)
    return Benchmark(
        chip=name,
        test=cells["test"],
        shape=shape,
        unit="FLOP/s" if is_matmul else "B/s",
        measured=measured,
        predicted=matmul_flop_per_s(assumptions, *shape)
        if is_matmul
        else assumptions.memory_bytes_per_s,
        source=cells["source"],
    )


def matmul_flop_per_s(a: Assumptions, m: int, n: int, k: int) -> float:
    """The rate of one multiplication (m x k) @ (k x n) in the model."""
    seconds = matmul_s(a, m, n, k, clock=np.ones(1), flop_per_s=a.matmul_flop_per_s)
    return float(2.0 * m * n * k / seconds[0])
