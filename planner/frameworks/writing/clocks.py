"""Clocks below the one at which the peak rates hold: no framework sets them."""

from __future__ import annotations

from itertools import groupby

from planner.frameworks.writing.export import Lost
from planner.frameworks.writing.launch import Launch


def lost_clock(launch: Launch) -> tuple[Lost, ...]:
    """Commands that lock the clocks below 1, for the chips of each stage; nothing at full clock."""
    plan, chip = launch.plan, launch.cost.chip
    stages = plan.stages or ()
    own = [plan.clock if one.clock is None else one.clock for one in stages[: plan.pp]]
    clocks = own or [plan.clock]
    if all(clock == 1.0 for clock in clocks):
        return ()
    lines, at = [], 0
    for clock, alike in groupby(clocks):
        count = len(list(alike))
        which = f"stage {at}" if count == 1 else f"stages {at} to {at + count - 1}"
        where = f" on {which}" if len(set(clocks)) > 1 else ""
        at += count
        if clock < 1.0:
            lines.append(f"{_command(chip.vendor, clock, chip.clock_hz)}{where}")
    return (Lost("clock", f"{' and '.join(lines)}, set on every host before the launch"),)


def _command(vendor: str, clock: float, full_hz: float | None) -> str:
    if full_hz is None:
        return f"the clock {clock:g} of the highest"
    megahertz = round(clock * full_hz / 1e6)
    if vendor == "NVIDIA":
        return f"nvidia-smi --lock-gpu-clocks={megahertz}"
    return f"a clock of {megahertz} MHz"
