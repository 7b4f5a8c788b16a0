"""Clocks below the one at which the peak rates hold: no framework sets them."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from planner.cost.context import CostModel
from planner.cost.energy.clock import busy_w
from planner.frameworks.writing.export import Lost
from planner.frameworks.writing.launch import Launch
from planner.plan.clocks import clocks_of


def lost_clock(launch: Launch) -> tuple[Lost, ...]:
    """Commands for the chips of each stage that run below full clock; nothing where none does."""
    plan = launch.plan
    clocks = clocks_of(plan)[: plan.pp]
    if all(clock == 1.0 for clock in clocks):
        return ()
    lines, at = [], 0
    for clock, alike in groupby(clocks):
        count = len(list(alike))
        which = f"stage {at}" if count == 1 else f"stages {at} to {at + count - 1}"
        where = f" on {which}" if len(set(clocks)) > 1 else ""
        at += count
        if clock < 1.0:
            lines.append(f"{_command(launch.cost, clock)}{where}")
    return (Lost("clock", f"{' and '.join(lines)}, set on every host before the launch"),)


def _command(cost: CostModel, clock: float) -> str:
    """The power cap where that alone keeps the clock down, else a lock."""
    chip = cost.chip
    on_nvidia = chip.vendor == "NVIDIA"
    if clock == cost.clock_limit:
        cap_w = float(busy_w(chip, np.array(clock)))
        return f"nvidia-smi --power-limit={cap_w:.0f}" if on_nvidia else f"a cap of {cap_w:.0f} W"
    if chip.clock_hz is None:
        return f"the clock {clock:g} of the highest"
    megahertz = round(clock * chip.clock_hz / 1e6)
    return (
        f"nvidia-smi --lock-gpu-clocks={megahertz}" if on_nvidia else f"a clock of {megahertz} MHz"
    )
