"""GPT-NeoX: YAML of a fork of Megatron-LM on DeepSpeed.

Names and defaults: EleutherAI/gpt-neox megatron/neox_arguments/neox_args.py and deepspeed_args.py;
the width of a gated MLP: megatron/model/transformer.py (`ParallelMLP`), ea7aefd8f8 (2026-05-19).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.base.errors import InputError
from planner.frameworks.megatron.dialects.recipe import Recipe, as_arguments
from planner.frameworks.reading.commands import Command
from planner.frameworks.reading.imported import Noted
from planner.frameworks.reading.settings import Asked
from planner.frameworks.reading.texts import inside, whole

_SAME = (
    "num_layers",
    "hidden_size",
    "num_attention_heads",
    "seq_length",
    "max_position_embeddings",
)
_RENAMED = {
    "model_parallel_size": "tensor_model_parallel_size",
    "context_parallel_size": "context_parallel_size",
    "train_micro_batch_size_per_gpu": "micro_batch_size",
    "train_batch_size": "global_batch_size",
    "num_kv_heads": "num_query_groups",
    "sequence_parallel": "sequence_parallel",
}
_GATED = ("swiglu", "geglu", "reglu", "glu")
_STAGES = {2: "optim_grads", 3: "optim_grads_params"}
_POSITIONS = {"rotary": "rope", "alibi": "alibi", "learned": "learned", "none": "none"}


def neox(data: Mapping[str, Any], asked: Asked) -> Recipe:
    """A configuration of GPT-NeoX as arguments.

    Raises:
        InputError: It says no batch.
    """
    values = {name.replace("-", "_"): value for name, value in data.items()}
    if not values.keys() & {"train_micro_batch_size_per_gpu", "train_batch_size"}:
        raise InputError(
            f"{asked.name}: says neither train_micro_batch_size_per_gpu nor train_batch_size, of "
            "which GPT-NeoX needs one; it has neither by default"
        )
    found: dict[str, Any] = {name: values.get(name) for name in _SAME}
    found |= {to: values.get(name) for name, to in _RENAMED.items()}
    found["pipeline_model_parallel_size"] = max(1, whole(values.get("pipe_parallel_size")) or 1)
    found["group_query_attention"] = values.get("num_kv_heads") is not None
    found["untie_embeddings_and_output_weights"] = bool(values.get("no_weight_tying"))
    found |= _mlp(values) | _precision(values) | _sharding(values)
    if values.get("checkpoint_activations"):
        found |= {
            "recompute_granularity": "full",
            "recompute_method": "uniform",
            "recompute_num_layers": whole(values.get("checkpoint_num_layers")) or 1,
        }
    assumed = []
    if "model_parallel_size" not in values:
        assumed.append(Noted(name="plan.tp", value="1", reason="the default of GPT-NeoX"))
    steps = whole(values.get("gradient_accumulation_steps"))
    if found["global_batch_size"] is None and steps is None:
        reason = "micro-batches a step: the default of GPT-NeoX"
        assumed.append(Noted(name="gradient_accumulation_steps", value="1", reason=reason))
    return Recipe(
        settings=as_arguments(found.items()),
        command=Command(words=[]),
        is_command=False,
        accumulation=steps or 1,
        dimensions=_dimensions(values),
        assumed=tuple(assumed),
    )


def _dimensions(values: Mapping[str, Any]) -> dict[str, Any]:
    norm = "rmsnorm" if values.get("norm") == "rmsnorm" else "layernorm"
    found = {
        "norm.kind": norm,
        "parallel_block": bool(values.get("gpt_j_residual", False)),
        "positions.kind": _POSITIONS.get(str(values.get("pos_emb", "learned")), "rope"),
    }
    return found


def _mlp(values: Mapping[str, Any]) -> dict[str, Any]:
    """Inner width; a gated one has a third of `intermediate_size` for each of three matrices."""
    hidden = whole(values.get("hidden_size")) or 0
    width = whole(values.get("intermediate_size")) or 4 * hidden
    if str(values.get("activation", "gelu")) not in _GATED:
        return {"ffn_hidden_size": width}
    multiple = whole(values.get("mlp_multiple_of")) or 1
    inner = int(width * 2 / 3) // 2
    return {"swiglu": True, "ffn_hidden_size": -(-inner // multiple) * multiple}


def _precision(values: Mapping[str, Any]) -> dict[str, bool]:
    """fp16 by its section, bf16 by its section or by `precision`."""
    said = str(values.get("precision", ""))
    if (
        said == "bfloat16"
        or inside(values, "bf16.enabled")
        or inside(values, "fp16.type") == "bfloat16"
    ):
        return {"bf16": True}
    return {"fp16": bool(inside(values, "fp16.enabled")) or said == "fp16"}


def _sharding(values: Mapping[str, Any]) -> dict[str, Any]:
    stage = inside(values, "zero_optimization.stage")
    cpu = inside(values, "zero_optimization.offload_optimizer.device") == "cpu"
    found: dict[str, Any] = {"optimizer_cpu_offload": cpu}
    if stage == 1:
        found["use_distributed_optimizer"] = True
    elif isinstance(stage, int) and stage in _STAGES:
        found |= {"use_megatron_fsdp": True, "data_parallel_sharding_strategy": _STAGES[stage]}
    return found
