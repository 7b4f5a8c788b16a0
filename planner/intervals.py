"""How far a prediction may be from what is measured: 80 % intervals."""

from __future__ import annotations

import numpy as np

from hardware_db import Calibration, Chip, Cluster
from planner.frameworks import Framework
from planner.job import Job
from planner.plan import FloatArray, PlanTable

_DENSE, _ROUTED = 0.12, 0.25
_HELD = 0.15


def step_time_interval(
    job: Job,
    cluster: Cluster,
    plans: PlanTable,
    step_time_s: FloatArray,
    calibration: Calibration | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Low and high step time (s) of n plans."""
    share = _ROUTED if job.model.moe else _DENSE
    return step_time_s / (1 + share), step_time_s * (1 + share)


def memory_interval(
    framework: Framework, memory_bytes: FloatArray, calibration: Calibration | None = None
) -> tuple[FloatArray, FloatArray]:
    """Low and high bytes per chip of n plans."""
    return memory_bytes / (1 + _HELD), memory_bytes * (1 + _HELD)


def power_interval(chip: Chip, power_w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Low and high watts per chip of n plans."""
    sigma = 1.28 * np.hypot(chip.busy_sigma_w or 0.0, chip.host_sigma_w or 0.0)
    return np.maximum(power_w - sigma, 0.0), power_w + sigma
