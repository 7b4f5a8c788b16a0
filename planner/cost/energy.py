"""Joules of a step: phases for the total, components for its split.

The total is measured physics (`calibrated`): kernels draw P_busy, everything else P_wait, host
and network draw constant power. The split into compute, memory and network levels cannot be
measured from outside; it scales a component model (energy per FLOP and byte) to the dynamic part
of that total, and is marked as assumed wherever it is shown.

    P_busy(f) = P_idle + (P_busy - P_idle) f max(v_min, 1 + k (f - 1))^2       f relative clock
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardware_db import Chip
from planner.cost.context import CostModel
from planner.cost.traffic import Traffic
from planner.plan import FloatArray


def voltage(chip: Chip, clock: FloatArray) -> FloatArray:
    """Relative voltage at a relative clock: max(floor, 1 + slope (f - 1))."""
    relative: FloatArray = np.maximum(chip.voltage_floor, 1 + chip.voltage_slope * (clock - 1))
    return relative


def busy_w(chip: Chip, clock: FloatArray) -> FloatArray:
    """Watts of a chip whose kernels run at a relative clock; see the module."""
    dynamic = (chip.busy_w - chip.idle_w) * clock * voltage(chip, clock) ** 2
    return chip.idle_w + dynamic


def extra_w(chip: Chip, clock: FloatArray) -> FloatArray:
    """Watts that running kernels add to a waiting chip, at least 0."""
    return np.maximum(busy_w(chip, clock) - chip.wait_w, 0.0)


def standing_w(model: CostModel, chips: int) -> float:
    """Watts per chip that flow whatever happens: waiting chip, host share, network share."""
    return model.chip.wait_w + model.chip.host_w + model.network_w_per_chip(chips)


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """Joules of one step, all chips, (n,).

    Attributes:
        total: Node and network, IT side (PUE 1).
        low, high: One standard deviation of the chip's and the host's power.
        parts: compute, memory, one `network: LEVEL` per level, static (chip and switches), host;
            they add up to `total`.
    """

    total: FloatArray
    low: FloatArray
    high: FloatArray
    parts: dict[str, FloatArray]


def split_energy(
    model: CostModel,
    chips: FloatArray,
    network_w: FloatArray,
    time: FloatArray,
    busy: FloatArray,
    total: FloatArray,
    moved: Traffic,
) -> Energy:
    """Divides the total of the phase model among its causes.

    Args:
        model: Job, chip and network.
        chips: Chips used.
        network_w: Static watts of the network per chip.
        time, busy: Seconds of the step; mean seconds in which kernels run.
        total: Joules of the step.
        moved: FLOP and bytes of the step.
    """
    chip = model.chip
    host = chips * chip.host_w * time
    static = chips * (chip.idle_w + network_w) * time
    dynamic = np.maximum(total - host - static, 0.0)
    raw = {
        "compute": moved.flop * _flop_j(model),
        "memory": moved.memory_bytes * chip.memory_j_per_byte,
    }
    for level, crossed in zip(model.cluster.levels, moved.wire_bytes, strict=True):
        raw[f"network: {level.name}"] = crossed * level.energy_j_per_byte
    whole = np.zeros_like(total)
    for part in raw.values():
        whole = whole + part
    scale = dynamic / np.where(whole > 0, whole, 1.0)
    parts = {name: part * scale for name, part in raw.items()}
    parts["static"] = total - host - dynamic
    parts["host"] = host
    sigma = chips * np.sqrt(
        (busy * chip.busy_sigma_w) ** 2
        + ((time - busy) * chip.wait_sigma_w) ** 2
        + (time * chip.host_sigma_w) ** 2
    )
    return Energy(total=total, low=total - sigma, high=total + sigma, parts=parts)


def _flop_j(model: CostModel) -> float:
    """Joules per FLOP at the job's precision; the 16-bit figure where none is known."""
    known = model.chip.flop_j
    dtype = {"mxfp8": "fp8"}.get(model.job.precision, model.job.precision)
    for name in (dtype, "bf16", "fp16", "fp32"):
        if name in known:
            return known[name]
    return next(iter(known.values()))
