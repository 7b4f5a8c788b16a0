"""Changes of a plan as arguments of transformers' Trainer."""

from __future__ import annotations

from planner.frameworks.hugging_face.trainer import changed_arguments
from planner.frameworks.reading.edits import Setting
from planner.plan import Plan

ANCHORS = ("per_device_train_batch_size",)


def settings_between(
    before: Plan, after: Plan, batch: int, text: str
) -> tuple[Setting, ...] | None:
    """What changes from one plan to another; None: how state is sharded, which is a section.

    Args:
        before, after: The plans.
        batch: Sequences of a step, which stays.
        text: The launch.
    """
    if (before.mesh, before.sharding) != (after.mesh, after.sharding):
        return None
    pairs = 2 if "dpo" in text or "precompute_ref" in text else 1
    return changed_arguments(before, after, batch, pairs)
