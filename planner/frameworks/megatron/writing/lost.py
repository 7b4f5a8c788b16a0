"""What neither Megatron-LM nor Megatron-Bridge is told of a plan."""

from __future__ import annotations

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
from planner.frameworks.writing.clocks import lost_clock
from planner.frameworks.writing.export import Lost
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.texts import without_kernel


def lost_of(launch: Launch) -> tuple[Lost, ...]:
    """Clocks, another framework's prediction, its overlaps, jobs that start from a checkpoint."""
    framework = launch.cost.job.framework
    found = list(lost_clock(launch))
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
