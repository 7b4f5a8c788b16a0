"""A frequency plan as Zeus reads it: for every stage its instructions in order, each with its MHz.

The file is one Python list with a list per pipeline rank of (instruction, MHz), as Lowtime's
`run_optimization.py` writes it and `PointSolution3D` of Zeus's server gives it to the ranks of each
stage; `FrequencyController` locks the clocks with NVML. The names of instructions are those that a
framework gives to `on_instruction_begin`: `forward`, `backward`, and `weight_grad` where weight
gradients are apart. The optimizer is none of them: it keeps the last clock.

Source: ml-energy/zeus at 75a8b939, zeus/optimizer/pipeline_frequency/server/scheduler.py and
examples/pipeline_frequency_optimizer/run_optimization.py.
"""

from __future__ import annotations

from hardware_db import Chip
from planner.base.errors import InputError
from planner.results.operation_clocks import OperationClocks
from planner.schedules.orders import BACKWARD, FORWARD, WEIGHT_GRAD

INSTRUCTIONS = {FORWARD: "forward", BACKWARD: "backward", WEIGHT_GRAD: "weight_grad"}


def clock_mhz(chip: Chip, clock: float) -> int:
    """A relative clock in MHz: times the one at which the chip's peak holds.

    Raises:
        InputError: Its record does not have that.
    """
    if chip.clock_hz is None:
        raise InputError(
            f"frequencies: the record of {chip.name} has no clock in Hz; give it one (clock), or "
            "leave --frequencies out"
        )
    return round(clock * chip.clock_hz / 1e6)


def frequency_plan(found: OperationClocks, chip: Chip, about: str) -> str:
    """The text of the file.

    Args:
        found: The clocks.
        chip: Whose.
        about: What it is of, a line.

    Raises:
        InputError: The record of the chip has no clock in Hz.
    """
    orders, clocks_of, paused = found.orders, found.clocks, None
    if found.under_power is not None:
        paused = found.under_power.found
    if paused is not None:
        clocks_of = paused.clocks
        about += (
            f"\n# Passes that pause: {paused.pauses}; this format cannot say it. Drawn at most: "
            f"{paused.most_w:.6g} W with pauses, {paused.without_pauses_w:.6g} W without."
        )
    rows = []
    for kinds, clocks in zip(orders.kind.tolist(), clocks_of.tolist(), strict=True):
        names = [INSTRUCTIONS[kind] for kind in kinds]
        rows.append([
            (name, clock_mhz(chip, clock)) for name, clock in zip(names, clocks, strict=True)
        ])  # fmt: skip
    lines = "".join(f"{row},\n" for row in rows)
    return f"# {about}\n# A list per pipeline stage: (instruction, MHz) in order.\n[\n{lines}]\n"
