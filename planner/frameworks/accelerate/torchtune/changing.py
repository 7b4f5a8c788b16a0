"""Changes of a plan as settings of torchtune's recipes."""

from __future__ import annotations

from planner.frameworks.reading.edits import Setting
from planner.plan import Plan

ANCHORS = ("batch_size", "dtype")


def settings_between(
    before: Plan, after: Plan, batch: int, text: str
) -> tuple[Setting, ...] | None:
    """What changes from one plan to another; None: what no recipe has a setting for.

    Args:
        before, after: The plans.
        batch: Sequences of a step, which stays.
        text: The launch.
    """
    pairs = 2 if "DPOLoss" in text else 1
    kept = ("cp", "pp", "ep", "dp", "sharding")
    if any(getattr(before, name) != getattr(after, name) for name in kept):
        return None
    if after.micro_batch % pairs:
        return None
    rows, steps = after.micro_batch // pairs, batch // (after.micro_batch * after.fsdp)
    found = [
        Setting(names=("batch_size",), value=str(rows), free=str(rows)),
        Setting(names=("gradient_accumulation_steps",), value=str(steps), free=str(steps)),
    ]
    if before.tp != after.tp:
        found.append(Setting(names=("tensor_parallel_dim",), value=str(after.tp), present=True))
    if before.recompute != after.recompute:
        on = "" if after.recompute == "full" else None
        found.append(Setting(names=("enable_activation_checkpointing",), value=on, switch=True))
    return tuple(found)
