"""Changes of a plan as settings of DeepSpeed's JSON, and as arguments of transformers' Trainer."""

from __future__ import annotations

from planner.frameworks.hugging_face.trainer import ROWS, STEPS, changed_arguments
from planner.frameworks.reading.edits import Setting
from planner.plan import SHARDINGS, Plan

ANCHORS = (ROWS, "train_micro_batch_size_per_gpu")
_MESH = ("tp", "pp", "cp", "ep")


def settings_between(
    before: Plan, after: Plan, batch: int, text: str
) -> tuple[Setting, ...] | None:
    """What changes from one plan to another; None: what code says (pipeline, tensor parallelism).

    Args:
        before, after: The plans.
        batch: Sequences of a step, which stays.
        text: The launch.
    """
    is_json = text.lstrip().startswith("{")
    if any(getattr(before, axis) != getattr(after, axis) for axis in _MESH):
        return None
    if before.recompute != after.recompute and is_json:
        return None
    found = list(changed_arguments(before, after, batch) or ())
    if is_json:
        own = {ROWS: "train_micro_batch_size_per_gpu", STEPS: STEPS}
        found = [
            Setting(names=(own[one.names[0]],), value=one.value, present=one.names[0] == STEPS)
            for one in found
        ]
    if before.sharding != after.sharding:
        stage = str(SHARDINGS.index(after.sharding))
        found.append(Setting(names=("stage",), value=stage))
    return tuple(found)
