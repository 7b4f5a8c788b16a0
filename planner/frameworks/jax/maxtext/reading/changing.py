"""Changes of a plan as settings of MaxText, on one slice."""

from __future__ import annotations

from planner.frameworks.reading.edits import Setting
from planner.plan import Plan

ANCHORS = ("per_device_batch_size", "max_target_length", "model_name", "steps")
_REMAT = {"none": "minimal_with_context", "selective": "save_dot_except_mlp", "full": "full"}


def settings_between(
    before: Plan, after: Plan, batch: int, layers: int, text: str
) -> tuple[Setting, ...]:
    """What changes from one plan to another; see the one of Megatron-LM."""
    del layers, text
    tensor = "tensor_sequence" if after.sequence_parallel else "tensor"
    sizes = {
        "cp": ("ici_context_parallelism", after.cp),
        "pp": ("ici_pipeline_parallelism", after.pp),
        "ep": ("ici_expert_parallelism", after.ep),
        "tp": (f"ici_{tensor}_parallelism", after.tp),
        "dp": ("ici_data_parallelism", after.dp),
    }
    found = [
        Setting(names=(name,), value=str(size))
        for axis, (name, size) in sizes.items()
        if getattr(before, axis) != size
    ]
    groups = after.fsdp // after.ep if after.fsdp % after.ep == 0 else after.fsdp
    fsdp = Setting(names=("ici_fsdp_parallelism",), value=str(groups), present=True, free="-1")
    found += [fsdp] if (before.fsdp, before.ep) != (after.fsdp, after.ep) else []
    rows = after.dp * after.fsdp * after.micro_batch
    if after.pp == 1:
        share = f"{rows / after.chips:g}"
        steps = str(batch // rows)
        found.append(Setting(names=("per_device_batch_size",), value=share))
        once = steps == "1"
        names = ("gradient_accumulation_steps",)
        found.append(Setting(names=names, value=steps, present=once))
    if before.recompute != after.recompute:
        found.append(Setting(names=("remat_policy",), value=_REMAT[after.recompute]))
    return tuple(found)
