"""The clock of a plan, which no framework sets."""

from __future__ import annotations

from planner.export.export import Lost
from planner.export.launch import Launch


def lost_clock(launch: Launch) -> tuple[Lost, ...]:
    """That the clock must be set apart, with the command where there is one; empty at 1."""
    plan, chip = launch.plan, launch.cost.chip
    clocks = {plan.clock if stage.clock is None else stage.clock for stage in plan.stages or ()}
    found = sorted(clocks or {plan.clock})
    if found == [1.0]:
        return ()
    if chip.vendor.lower() != "nvidia" or chip.clock_hz is None:
        return (Lost("clock", f"clock {found[0]:g}: set the clock of the chips apart"),)
    commands = [f"nvidia-smi --lock-gpu-clocks={_mhz(chip.clock_hz * clock)}" for clock in found]
    where = "on every node" if len(found) == 1 else "on the nodes of the stages"
    return (Lost("clock", f"clock {found[0]:g}: run {' or '.join(commands)} {where} before"),)


def _mhz(clock_hz: float) -> str:
    whole = round(clock_hz / 1e6)
    return f"{whole},{whole}"
