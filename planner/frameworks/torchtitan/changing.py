"""Changes of a plan as settings of torchtitan."""

from __future__ import annotations

from planner.frameworks.reading.edits import Setting
from planner.plan import Plan

ANCHORS = (
    "training.local_batch_size", "parallelism.tensor_parallel_degree",
    "parallelism.data_parallel_shard_degree", "activation_checkpoint.mode", "training.seq_len",
)  # fmt: skip
_DEGREES = {"tp": "tensor", "cp": "context", "pp": "pipeline", "ep": "expert"}


def settings_between(
    before: Plan, after: Plan, batch: int, layers: int, text: str
) -> tuple[Setting, ...]:
    """What changes from one plan to another; see the one of Megatron-LM."""
    del layers, text
    found = [
        Setting(names=(f"parallelism.{name}_parallel_degree",), value=str(getattr(after, axis)))
        for axis, name in _DEGREES.items()
        if getattr(before, axis) != getattr(after, axis)
    ]
    shards = Setting(
        names=("parallelism.data_parallel_shard_degree",),
        value=str(after.fsdp),
        present=True,
        free="-1",
    )
    replicas = Setting(names=("parallelism.data_parallel_replicate_degree",), value=str(after.dp))
    found += [shards] if before.fsdp != after.fsdp else []
    found += [replicas] if before.dp != after.dp else []
    if before.micro_batch != after.micro_batch:
        found.append(Setting(names=("training.local_batch_size",), value=str(after.micro_batch)))
    found.append(Setting(names=("training.global_batch_size",), value=str(batch)))
    if before.recompute != after.recompute:
        found.append(Setting(names=("activation_checkpoint.mode",), value=after.recompute))
    return tuple(found)
