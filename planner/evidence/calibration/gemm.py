"""Measured matrix multiplications against the planner's own kernel model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hardware_db import Calibration, Chip
from planner.assumptions.assumptions import calibrated, peak_flop_per_s
from planner.assumptions.fitted import fp8_kind
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.cost.kernels.compute import matmul_s
from planner.evidence.calibration.logs.gemm_log import GemmTime
from planner.evidence.calibration.posterior import Noise, Prior
from planner.evidence.calibration.runs import with_values
from planner.evidence.calibration.systematic import Learned, learn

NOISE = Noise(usual=0.06)
"""Scatter of shapes about the formula: 5 % for sizes of 4096 and more, 7 to 26 % for 1 and 2 Ki
(docs/calibration.md)."""
TEMPLATES = ("gemm_efficiency.{gemm}", "gemm.half_k", "gemm.half_mn", "gemm.overhead_s")
"""The constants that multiplications teach, in any format."""
_ONE = np.ones(1)
_FASTEST = 1.05  # of the peak; a faster multiplication was timed wrongly
_SLOWEST = 5e-3  # below it, a large one was timed in another unit


def templates_of(times: Sequence[GemmTime], chip: Chip) -> tuple[str, ...]:
    """The constants that some multiplications teach: 8- and 4-bit formats have their own."""
    own = {"fp8": f"precision.{fp8_kind(chip)}", "fp4": "precision.nvfp4"}
    formats = {one.dtype for one in times}
    return TEMPLATES + tuple(path for dtype, path in own.items() if dtype in formats)


def check_rates(times: Sequence[GemmTime], chip: Chip, label: str) -> None:
    """Refuses multiplications that are impossible on the chip.

    Raises:
        InputError: A format is unknown there, or a rate is above the peak or absurdly low.
    """
    lines = []
    for one in times:
        what = f"{label}: {one.m:g} x {one.n:g} x {one.k:g} in {one.dtype}"
        try:
            share = one.flop_per_s / peak_flop_per_s(chip, one.dtype)
        except InputError as error:
            lines.append(f"{label}: {error}")
            continue
        rate = f"{one.flop_per_s / 1e12:,.4g} TFLOP/s"
        if share > _FASTEST:
            lines.append(
                f"{what}: {rate} is {share:.3g} times the peak of {chip.name}; is it another "
                "chip, or milliseconds for seconds?"
            )
        elif share < _SLOWEST and one.m * one.n * one.k > 1e9:
            lines.append(
                f"{what}: {rate} is {share:.1e} of the peak of {chip.name}; check the unit, seconds"
            )
    if lines:
        raise InputError("\n".join(dict.fromkeys(lines)))


def learn_gemms(
    times: Sequence[GemmTime], chip: Chip, base: Calibration, priors: Sequence[Prior]
) -> Learned:
    """The constants of matrix multiplications under measurements.

    Args:
        times: Measurements that `check_rates` lets pass.
        chip: Where they were taken.
        base: The calibration to start from.
        priors: Of `templates_of(times, chip)`.
    """
    paths = [prior.path for prior in priors]
    formats = sorted({one.dtype for one in times})
    groups = {
        dtype: np.array([i for i, one in enumerate(times) if one.dtype == dtype])
        for dtype in formats
    }
    sizes = np.array([(one.m, one.n, one.k) for one in times]).T

    def predict(values: FloatArray) -> FloatArray:
        constants = with_values(base, dict(zip(paths, values, strict=True)))
        seconds = np.empty(len(times))
        for dtype, at in groups.items():
            a = calibrated(chip, "torch-fsdp", dtype, constants)
            a = replace(a, operand_bytes={"fp32": 4.0, "fp8": 1.0, "fp4": 0.5}.get(dtype, 2.0))
            m, n, k = sizes[:, at]
            seconds[at] = matmul_s(a, m, n, k, clock=_ONE, flop_per_s=a.matmul_flop_per_s)
        return seconds

    measured = np.array([one.time_s for one in times])
    return learn(predict, measured, list(priors), NOISE)
