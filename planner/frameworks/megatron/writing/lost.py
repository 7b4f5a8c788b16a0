"""What neither Megatron-LM nor Megatron-Bridge is told of a plan."""

from __future__ import annotations

from itertools import groupby

from planner.assumptions.number_formats import kept_operand_bytes
from planner.frameworks.megatron.profile import MEGATRON, WIDE_GRADIENTS
from planner.frameworks.megatron.words import HIDDEN
from planner.frameworks.megatron.writing.optimizer import optimizer_lost
from planner.frameworks.megatron.writing.parallel import (
    attends_fused,
    gathers_in_8_bits,
    why_tp_is_exposed,
)
from planner.frameworks.rules.alike import keeps_scores
from planner.frameworks.writing.export import Lost
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.texts import without_kernel


def lost_of(launch: Launch) -> tuple[Lost, ...]:
    """Clocks, another framework's prediction, its overlaps, jobs that start from a checkpoint."""
    framework = launch.cost.job.framework
    found = list(_clocks(launch))
    family = (framework.name, framework.derived_from)
    if "megatron" not in family:
        reason = f"predicted for {framework.name}; ask for --framework megatron"
        found.append(Lost("framework", f"time and memory are those {reason}"))
    elif framework.name not in (MEGATRON.name, WIDE_GRADIENTS.name):
        reason = f"{framework.name}, whose memory differs"
        found.append(Lost("framework", f"time and memory are those predicted for {reason}"))
    predicted = launch.cost.assumptions.fused_attention
    if predicted and keeps_scores(launch.cost):
        found.append(without_kernel(launch.cost, "Transformer Engine"))
    if attends_fused(launch) and not predicted:
        reason = "context parallelism has fused attention only, which the prediction does not take"
        found.append(Lost("cp", reason))
    exposed = why_tp_is_exposed(launch)
    if exposed and launch.plan.tp > 1 and launch.cost.assumptions.tp_overlap > 0:
        found.append(Lost("tp", f"tp_comm_overlap is left out: {exposed}; {HIDDEN}"))
    copies = 2 * kept_operand_bytes(launch.cost.job.precision)
    if copies < 4.0 and not gathers_in_8_bits(launch):
        reason = (
            f"Transformer Engine keeps up to {copies:.3g} B a parameter of quantized weights "
            "beside those of 16 bits, which the plan does not count"
        )
        found.append(Lost("precision", reason))
    found += optimizer_lost(launch)
    if launch.cost.job.kind == "finetune":
        reason = "it starts from random weights; --load DIRECTORY --finetune continues"
        found.append(Lost("job", reason))
    return tuple(found)


def _clocks(launch: Launch) -> list[Lost]:
    """Commands that lock the clocks below 1, for the chips of each stage."""
    plan, chip = launch.plan, launch.cost.chip
    stages = plan.stages or ()
    own = [plan.clock if one.clock is None else one.clock for one in stages[: plan.pp]]
    clocks = own or [plan.clock]
    if all(clock == 1.0 for clock in clocks):
        return []
    lines, at = [], 0
    for clock, alike in groupby(clocks):
        count = len(list(alike))
        where = f" on stages {at} to {at + count - 1}" if len(set(clocks)) > 1 else ""
        at += count
        if clock < 1.0:
            lines.append(f"{_command(chip.vendor, clock, chip.clock_hz)}{where}")
    return [Lost("clock", f"{' and '.join(lines)}, set on every host before the launch")]


def _command(vendor: str, clock: float, full_hz: float | None) -> str:
    if full_hz is None:
        return f"the clock {clock:g} of the highest"
    megahertz = round(clock * full_hz / 1e6)
    if vendor == "NVIDIA":
        return f"nvidia-smi --lock-gpu-clocks={megahertz}"
    return f"a clock of {megahertz} MHz"
