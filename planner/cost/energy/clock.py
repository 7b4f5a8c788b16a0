"""Clock, voltage and power of a chip, and the clock at which it meets a power cap.

    V(f) = max(v_min, 1 + k (f - 1))                          f, V relative to full clock
    P(f) = min(P_idle + (P_busy - P_idle) f V(f)^2, P_TDP)
    t(f) = t_rest + t_arithmetic / f

Dynamic power of CMOS logic is C V^2 f, and voltage is nearly linear in the clock above a floor.
A power cap lowers the clock until P(f) is the cap. Below half of the rated power chips stall in
ways that no such law describes, so such caps are refused. How well it fits:
docs/model/energy-accuracy.md.
Clocks are relative to the one that busy kernels hold at the rated power, where that is the limit.
Sources: You et al., Zeus, NSDI 2023, arXiv:2208.06102 (power caps); Chung et al., Perseus,
arXiv:2312.06902 (clocks; its artifact has the sweeps of A100).
"""

from __future__ import annotations

import numpy as np

from hardware_db import Chip
from planner.base.arrays import FloatArray
from planner.base.errors import InputError

LEAST_CAP_SHARE = 0.5
"""Least power cap, as a share of the rated power (TDP)."""
_STEPS = 60  # of Newton's method, which doubles the digits with each


def voltage(chip: Chip, clock: FloatArray) -> FloatArray:
    """Relative voltage at a relative clock: max(floor, 1 + slope (f - 1))."""
    relative: FloatArray = np.maximum(chip.voltage_floor, 1 + chip.voltage_slope * (clock - 1))
    return relative


def busy_w(chip: Chip, clock: FloatArray) -> FloatArray:
    """Watts of a chip whose kernels run at a relative clock, at most its rated power."""
    dynamic = (chip.busy_w - chip.idle_w) * clock * voltage(chip, clock) ** 2
    return np.asarray(np.minimum(chip.idle_w + dynamic, chip.tdp_w))


def extra_w(chip: Chip, clock: FloatArray) -> FloatArray:
    """Watts that running kernels add to a waiting chip, at least 0."""
    return np.maximum(busy_w(chip, clock) - chip.wait_w, 0.0)


def clock_at(slope: float, floor: float, activity: FloatArray, most: float = 1.0) -> FloatArray:
    """The relative clock f at which f V(f)^2 is `activity`, cut to [0, most]; inverse of the law.

    On the floor f = activity / floor^2. Above it g(f) = f (1 + k (f - 1))^2 rises and is convex,
    so that Newton's method comes down to the root without passing it, from f = 1 or a first step.

    Args:
        slope: k, from 0 to 1.
        floor: v_min, above 0.
        activity: Dynamic power over that at full clock, (n,), from 0.
        most: The most that counts.
    """
    wanted = np.clip(np.asarray(activity, dtype=np.float64), 0.0, most)
    clock = np.ones_like(wanted)
    for _ in range(_STEPS):
        volts = 1 + slope * (clock - 1)
        off = clock * volts**2 - wanted
        rise = volts**2 + 2 * slope * clock * volts
        clock = np.maximum(clock - off / np.maximum(rise, 1e-12), 0.0)
    on_floor = wanted / floor**2
    return np.asarray(np.where(1 + slope * (clock - 1) < floor, on_floor, clock))


def clock_under_cap(chip: Chip, cap_w: FloatArray) -> FloatArray:
    """The highest relative clock at which a busy chip draws at most `cap_w`, at most 1.

    Args:
        chip: The chip.
        cap_w: (n,) watts per chip, above the chip's idle power.
    """
    span = max(chip.busy_w - chip.idle_w, 1e-9)
    activity = (np.asarray(cap_w, dtype=np.float64) - chip.idle_w) / span
    return clock_at(chip.voltage_slope, chip.voltage_floor, activity)


def sustained_clock(chip: Chip, limit_w: float, most: float = 4.0) -> float:
    """The relative clock, above 1 too, at which a busy chip draws `limit_w`.

    Args:
        chip: The chip.
        limit_w: Watts, above the chip's idle power.
        most: Dynamic power over that at full clock beyond which the law says nothing.
    """
    activity = np.array((limit_w - chip.idle_w) / max(chip.busy_w - chip.idle_w, 1e-9))
    return float(clock_at(chip.voltage_slope, chip.voltage_floor, activity, most))


def check_cap(chip: Chip, cap_w: float, field: str = "power-cap") -> None:
    """Refuses a power cap that the law does not describe; `field`: its name in the message.

    Raises:
        InputError: The chip's power cannot be set, or the cap is out of range.
    """
    if not chip.clock_settable:
        raise InputError(
            f"{field}: {cap_w:g} W has no effect: clock and power of {chip.name} cannot be set; "
            "leave it out"
        )
    least = max(LEAST_CAP_SHARE * chip.tdp_w, chip.idle_w)
    if not least <= cap_w <= chip.tdp_w:
        nearest = least if cap_w < least else chip.tdp_w
        raise InputError(
            f"{field}: {cap_w:g} W is not in {least:g} W to {chip.tdp_w:g} W, half and all of "
            f"the rated power of {chip.name} (below half the law does not hold); nearest: "
            f"{nearest:g} W"
        )
