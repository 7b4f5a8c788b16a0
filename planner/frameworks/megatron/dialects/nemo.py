"""NeMo 1: YAML with a section `trainer` and a section `model` with names of Megatron-Core.

Names: NVIDIA/NeMo examples/nlp/language_modeling/conf/megatron_gpt_config.yaml and
NVIDIA/NeMo-Framework-Launcher launcher_scripts/conf/training, 26e42fa91d (2025-04-18).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from planner.base.errors import InputError
from planner.frameworks.megatron.dialects.recipe import ADAPTERS, Recipe, as_arguments
from planner.frameworks.reading.commands import Command
from planner.frameworks.reading.imported import Noted
from planner.frameworks.reading.settings import Asked
from planner.frameworks.reading.texts import section, whole

_RENAMED = {
    "encoder_seq_length": "seq_length",
    "virtual_pipeline_model_parallel_size": "num_virtual_stages_per_pipeline_rank",
    "activations_checkpoint_granularity": "recompute_granularity",
    "ub_tp_comm_overlap": "tp_comm_overlap",
    "num_moe_experts": "num_experts",
}
_KEPT = (
    "micro_batch_size", "global_batch_size", "tensor_model_parallel_size",
    "pipeline_model_parallel_size", "context_parallel_size", "expert_model_parallel_size",
    "expert_tensor_parallel_size", "sequence_parallel", "num_layers", "hidden_size",
    "ffn_hidden_size", "num_attention_heads", "kv_channels", "max_position_embeddings",
    "moe_router_topk", "moe_grouped_gemm", "moe_token_dispatcher_type", "moe_ffn_hidden_size",
    "moe_expert_capacity_factor", "fp8_amax_history_len", "rampup_batch_size",
)  # fmt: skip
_PRECISIONS = {"bf16": "bf16", "bf16-mixed": "bf16", "16": "fp16", "16-mixed": "fp16"}
_SHARING = ("distributed_fused_adam", "mcore_distributed_optim")
_TIMES = re.compile(r"\$\{multiply:\s*([0-9]{1,9})\s*,\s*\$\{\.?(?:training\.model\.)?(\w+)\}\s*\}")
_OWN = re.compile(r"\$\{\.(\w+)\}")


def nemo(data: Mapping[str, Any], asked: Asked) -> Recipe:
    """A configuration of NeMo 1 as arguments.

    Raises:
        InputError: It trains adapters.
    """
    if _trains_adapters(data):
        raise InputError(f"{asked.name}: model.peft: {ADAPTERS}")
    model, trainer = section(data, "model"), section(data, "trainer")
    values = {name: _value(model, value) for name, value in model.items()}
    found = {name: values.get(name) for name in _KEPT}
    found |= {to: values.get(name) for name, to in _RENAMED.items()}
    if found["num_virtual_stages_per_pipeline_rank"] == 1:
        found["num_virtual_stages_per_pipeline_rank"] = None
    found |= _recomputation(values) | _optimizer(values) | _formats(values, trainer)
    found |= _shape(values)
    nodes, per_node = whole(trainer.get("num_nodes")), whole(trainer.get("devices"))
    chips = nodes * per_node if nodes and per_node else None
    return Recipe(
        settings=as_arguments(found.items()),
        command=Command(words=[], chips=chips, said=f"trainer: {nodes} x {per_node}", nodes=nodes),
        is_command=False,
        assumed=(Noted(name="gradients", value="fp32", reason="as Megatron-LM reduces them"),),
        dimensions={
            "positions.kind": "rope"
            if values.get("position_embedding_type") == "rope"
            else "learned"
        },
    )


def _trains_adapters(data: Mapping[str, Any]) -> bool:
    """Whether a scheme of adapters is named; full fine-tuning has none."""
    scheme = section(section(data, "model"), "peft").get("peft_scheme")
    return str(scheme).lower() not in ("none", "null", "")


def _value(model: Mapping[str, Any], value: Any) -> Any:
    """A value with the references that OmegaConf would follow; None for others."""
    if not isinstance(value, str) or "${" not in value:
        return value
    if match := _TIMES.fullmatch(value.strip()):
        other = whole(model.get(match[2]))
        return None if other is None else int(match[1]) * other
    match = _OWN.fullmatch(value.strip())
    return model.get(match[1]) if match else None


def _shape(values: Mapping[str, Any]) -> dict[str, Any]:
    """Heads, widths and kinds, with the defaults of NeMo where a key is absent."""
    groups = values.get("num_query_groups")
    return {
        "group_query_attention": groups is not None,
        "num_query_groups": groups,
        "swiglu": "swiglu" in str(values.get("activation", "gelu")),
        "untie_embeddings_and_output_weights": not values.get(
            "share_embeddings_and_output_weights", True
        ),
        "normalization": "RMSNorm"
        if "rms" in str(values.get("normalization", ""))
        else "LayerNorm",
        "disable_bias_linear": not values.get("bias", True),
    }


def _recomputation(values: Mapping[str, Any]) -> dict[str, Any]:
    """Whole layers by a method and a number; those of other granularities have none."""
    if values.get("activations_checkpoint_granularity") != "full":
        return {}
    return {
        "recompute_method": values.get("activations_checkpoint_method") or "uniform",
        "recompute_num_layers": whole(values.get("activations_checkpoint_num_layers")) or 1,
    }


def _optimizer(values: Mapping[str, Any]) -> dict[str, Any]:
    optim = section(values, "optim")
    shares = optim.get("name") in _SHARING
    fsdp = bool(values.get("fsdp"))
    return {
        "use_distributed_optimizer": shares and not fsdp,
        "overlap_grad_reduce": bool(optim.get("overlap_grad_sync")),
        "overlap_param_gather": bool(optim.get("overlap_param_sync")) and shares,
        "use_torch_fsdp2": fsdp,
    }


def _formats(values: Mapping[str, Any], trainer: Mapping[str, Any]) -> dict[str, Any]:
    half = _PRECISIONS.get(str(trainer.get("precision", "")).lower())
    found: dict[str, Any] = {half: True} if half else {}
    if values.get("fp8"):
        found["fp8_format"] = "hybrid" if values.get("fp8_hybrid", True) else "e4m3"
    return found
