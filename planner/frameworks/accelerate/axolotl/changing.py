"""Changes of a plan as settings of Axolotl."""

from __future__ import annotations

import re

from planner.frameworks.reading.edits import Setting
from planner.plan import Plan

ANCHORS = ("micro_batch_size", "sequence_len")
_SIZES = {
    "tp": "tensor_parallel_size",
    "cp": "context_parallel_size",
    "ep": "expert_parallel_size",
    "fsdp": "dp_shard_size",
    "dp": "dp_replicate_size",
}
_SHARDED = "zero3"


def settings_between(
    before: Plan, after: Plan, batch: int, text: str
) -> tuple[Setting, ...] | None:
    """What changes from one plan to another; None: how state is sharded, which is a section.

    Args:
        before, after: The plans.
        batch: Sequences of a step, which stays.
        text: The launch.
    """
    if before.sharding != after.sharding or before.offload != after.offload:
        return None
    pairs = 2 if re.search(r"(?m)^rl:\s*(dpo|ipo)\b", text) else 1
    if after.micro_batch % pairs:
        return None
    steps = batch // (after.micro_batch * after.dp * after.fsdp)
    rows = after.micro_batch // pairs
    sizes = _SIZES if after.sharding == _SHARDED else {"tp": _SIZES["tp"], "cp": _SIZES["cp"]}
    found = [
        Setting(names=(name,), value=str(getattr(after, field)))
        for field, name in sizes.items()
        if getattr(before, field) != getattr(after, field)
    ]
    found.append(Setting(names=("micro_batch_size",), value=str(rows), free=str(rows)))
    found.append(Setting(names=("gradient_accumulation_steps",), value=str(steps), free=str(steps)))
    if before.recompute != after.recompute:
        on = "" if after.recompute == "full" else None
        section = "fsdp_config.activation_checkpointing"
        own = "activation_checkpointing:" in text
        found.append(Setting(names=(section,), value=on, switch=True, present=True))
        found.append(Setting(names=("gradient_checkpointing",), value=on, switch=True, present=own))
    return tuple(found)
