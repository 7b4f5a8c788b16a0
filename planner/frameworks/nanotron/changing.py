"""Changes of a plan as settings of nanotron."""

from __future__ import annotations

from planner.frameworks.reading.edits import Setting
from planner.plan import Plan

ANCHORS = ("parallelism.tp", "tokens.micro_batch_size", "optimizer.zero_stage")
_SIZES = {
    "tp": "parallelism.tp", "pp": "parallelism.pp", "dp": "parallelism.dp",
    "cp": "parallelism.context_parallel_size", "ep": "parallelism.expert_parallel_size",
    "micro_batch": "tokens.micro_batch_size",
}  # fmt: skip
_MODES = {True: "REDUCE_SCATTER", False: "ALL_REDUCE"}


def settings_between(
    before: Plan, after: Plan, batch: int, layers: int, text: str
) -> tuple[Setting, ...]:
    """What changes from one plan to another; see the one of Megatron-LM."""
    del layers, text
    found = [
        Setting(names=(name,), value=str(getattr(after, field)))
        for field, name in _SIZES.items()
        if getattr(before, field) != getattr(after, field)
    ]
    steps = batch // (after.micro_batch * after.dp * after.fsdp)
    found.append(Setting(names=("tokens.batch_accumulation_per_replica",), value=str(steps)))
    if before.recompute != after.recompute:
        on = "" if after.recompute == "full" else None
        found.append(Setting(names=("parallelism.recompute_layer",), value=on, switch=True))
    if before.sharding != after.sharding:
        stage = "0" if after.sharding == "ddp" else "1"
        found.append(Setting(names=("optimizer.zero_stage",), value=stage))
    if after.tp > 1 and before.sequence_parallel != after.sequence_parallel:
        mode = _MODES[after.sequence_parallel]
        found.append(Setting(names=("parallelism.tp_mode",), value=mode))
    return tuple(found)
