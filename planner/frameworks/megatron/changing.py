"""Changes of a plan as settings of Megatron-LM, of forks and of recipes that read like it."""

from __future__ import annotations

import re

from planner.frameworks.megatron.dialects.bridge_commands import as_override, starts_recipe
from planner.frameworks.reading.edits import Setting
from planner.plan import Plan
from planner.plan.recomputations import modules_of

ANCHORS = (
    "micro_batch_size", "tensor_model_parallel_size", "model_parallel_size", "num_layers",
    "train_micro_batch_size_per_gpu", "seq_length", "recipe", "model",
)  # fmt: skip
_PER_CHUNK = "num_layers_per_virtual_pipeline_stage"
_SIZES = {
    "tp": ("tensor_model_parallel_size", "model_parallel_size"),
    "pp": ("pipeline_model_parallel_size", "pipe_parallel_size"),
    "cp": ("context_parallel_size",),
    "ep": ("expert_model_parallel_size",),
    "etp": ("expert_tensor_parallel_size",),
    "micro_batch": ("micro_batch_size", "train_micro_batch_size_per_gpu"),
}
_GRANULARITY = ("recompute_granularity", "activations_checkpoint_granularity")
_METHOD = ("recompute_method", "activations_checkpoint_method")
_NUMBER = ("recompute_num_layers", "activations_checkpoint_num_layers")
_FORK = "checkpoint_activations"
_NEWER = (
    "sequence_parallel", "context_parallel_size", "use_megatron_fsdp", "expert_model_parallel_size",
    "use_distributed_optimizer", "num_virtual_stages_per_pipeline_rank",
)  # fmt: skip
"""Settings that forks with `--checkpoint-activations` may not have.

bigscience-workshop/Megatron-DeepSpeed has none of them.
"""
_SEVERAL = "8"  # what Megatron-Bridge sets (scripts/performance/utils/overrides.py, 067f987)
_STRATEGIES = {"zero2": "optim_grads", "zero3": "optim_grads_params"}


def settings_between(
    before: Plan, after: Plan, batch: int, layers: int, text: str
) -> tuple[Setting, ...] | None:
    """What changes from one plan to another; None: the launch is of a fork that cannot.

    Args:
        before, after: The plans.
        batch: Sequences of a step, which stays.
        layers: Of the model.
        text: The launch.
    """
    follows = before.tp != after.tp and "experts" in text  # etp is tp where nothing says more
    found = [
        Setting(names=names, value=str(getattr(after, field)))
        for field, names in _SIZES.items()
        if getattr(before, field) != getattr(after, field) or (field == "etp" and follows)
    ]
    by_steps = "gradient_accumulation_steps" in text
    names = ("global_batch_size", "train_batch_size")
    found.append(Setting(names=names, value=str(batch), present=by_steps, spare=True))
    steps = batch // (after.micro_batch * after.dp * after.fsdp)
    found.append(Setting(names=("gradient_accumulation_steps",), value=str(steps), present=True))
    if (before.interleave, before.pp) != (after.interleave, after.pp):
        found += _chunks(after, layers, text)
    if before.sequence_parallel != after.sequence_parallel:
        found.append(_switch("sequence_parallel", after.sequence_parallel))
    if before.recompute != after.recompute:
        found += _recomputation(after, text)
    if before.sharding != after.sharding:
        found += _sharding(before, after)
    if connections := _connections(before, after):
        found.append(connections)
    if starts_recipe(text):
        return tuple(as_override(setting) for setting in found)
    return None if any(_is_newer(setting, text) for setting in found) else tuple(found)


def _is_newer(setting: Setting, text: str) -> bool:
    """Whether a setting is none of a fork of the time before it: it is not there, and to be."""
    if not re.search(rf"--{_FORK.replace('_', '-')}\b", text) or setting.present:
        return False
    wanted = setting.value is not None and setting.names[0] in _NEWER
    return wanted and f"--{setting.names[0].replace('_', '-')}" not in text


def _connections(before: Plan, after: Plan) -> Setting | None:
    """CUDA_DEVICE_MAX_CONNECTIONS, where the launch sets it and the change asks for another.

    `validate_args` refuses 1 beside Megatron-FSDP, and before Blackwell anything else beside tp
    or cp (d98e8a64dd).
    """
    sharded = after.sharding in _STRATEGIES
    if sharded != (before.sharding in _STRATEGIES) or (not sharded and after.tp * after.cp > 1):
        value = _SEVERAL if sharded else "1"
        return Setting(names=("CUDA_DEVICE_MAX_CONNECTIONS",), value=value, present=True)
    return None


def _switch(name: str, on: bool) -> Setting:
    return Setting(names=(name,), value="" if on else None, switch=True)


def _chunks(after: Plan, layers: int, text: str) -> list[Setting]:
    per_chunk = (_PER_CHUNK, _PER_CHUNK.replace("_", "-"))
    several = after.interleave > 1
    if any(name in text for name in per_chunk):
        each = layers // (after.pp * after.interleave)
        return [Setting(names=(_PER_CHUNK,), value=str(each) if several else None)]
    names = ("num_virtual_stages_per_pipeline_rank", "virtual_pipeline_model_parallel_size")
    listed = names if "--" in text else names[::-1]
    return [Setting(names=listed, value=str(after.interleave) if several else None)]


def _recomputation(after: Plan, text: str) -> list[Setting]:
    full = after.recompute == "full"
    if _FORK in text or _FORK.replace("_", "-") in text:
        found = [_switch(_FORK, full)]
        return found if after.recompute != "selective" else []
    modules = modules_of(after.recompute)
    granularity = None if after.recompute == "none" else after.recompute
    granularity = "selective" if modules else granularity
    some = " ".join(modules or ("core_attn",))
    old = -1 if re.search(r"(?m)^trainer:", text) else 1  # NeMo has names of its own
    return [
        Setting(names=_GRANULARITY[::old], value=granularity),
        Setting(names=_METHOD[::old], value="uniform" if full else None),
        Setting(names=_NUMBER[::old], value="1" if full else None),
        Setting(names=("recompute_activations",), value=None, switch=True),
        Setting(names=("recompute_modules",), value=some, present=not modules),
    ]


def _sharding(before: Plan, after: Plan) -> list[Setting]:
    strategy = _STRATEGIES.get(after.sharding)
    found = [_switch("use_distributed_optimizer", after.sharding != "ddp")]
    found.append(_switch("use_megatron_fsdp", strategy is not None))
    if strategy is not None or before.sharding in _STRATEGIES:
        found.append(Setting(names=("data_parallel_sharding_strategy",), value=strategy))
    if strategy is not None:
        found.append(Setting(names=("ckpt_format",), value="fsdp_dtensor"))
    if after.sharding == "ddp":
        found.append(_switch("overlap_param_gather", False))
    return found
