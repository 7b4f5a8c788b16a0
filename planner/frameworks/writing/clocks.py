"""Clocks below the one at which the peak rates hold: no framework sets them."""

from __future__ import annotations

from planner.frameworks.writing.chosen import common_clock
from planner.frameworks.writing.export import Lost
from planner.frameworks.writing.launch import Launch


def lost_clock(launch: Launch) -> tuple[Lost, ...]:
    """How to set the clock of a plan before it is launched; nothing at the full clock."""
    clock, chip = common_clock(launch), launch.cost.chip
    if clock == 1.0:
        return ()
    at = f"{clock:g} of its full clock"
    if chip.clock_hz is not None:
        at = f"{round(clock * chip.clock_hz / 1e6)} MHz"
    how = f"lock the clock of every {chip.title} at {at} before the launch"
    if chip.clock_hz is not None and chip.vendor == "NVIDIA":
        how += f": nvidia-smi --lock-gpu-clocks={at.removesuffix(' MHz')}"
    return (Lost("clock", f"the framework sets no clock; {how}"),)
