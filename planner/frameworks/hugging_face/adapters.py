"""Adapters of a job in the words of Hugging Face PEFT, over models of transformers.

Names of modules: transformers 5.23 models/*/modeling_*.py. Fields: PEFT 0.21.2
tuners/lora/config.py. `tests/frameworks/export/test_oracle_tuning.py` counts the parameters of the
adapters that PEFT makes of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from planner.cost.context import CostModel
from planner.cost.job import Job
from planner.frameworks.hugging_face.types import transformers_type

_PROJECTIONS = {
    "q": ("q_proj",), "k": ("k_proj",), "v": ("v_proj",), "o": ("o_proj",),
    "gate": ("gate_proj",), "up": ("up_proj",), "down": ("down_proj",),
}  # fmt: skip
_LATENT = ("q_a_proj", "q_b_proj", "q_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj")
_BY_TYPE = {
    "opt": {
        "q": ("q_proj",), "k": ("k_proj",), "v": ("v_proj",), "o": ("out_proj",),
        "up": ("fc1",), "down": ("fc2",),
    },
}  # fmt: skip
_AS_LLAMA = (
    "cohere", "gemma", "gemma2", "gemma3_text", "glm4_moe", "gpt_oss", "llama", "mistral",
    "mixtral", "olmo2", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe",
)  # fmt: skip
TYPES = (*_AS_LLAMA, *_BY_TYPE, "deepseek_v2", "deepseek_v3")
"""Types whose matrices are modules of their own, as adapters need them."""
ALPHA_PER_RANK = 2
"""Median of alpha over rank in `planner/question/recipes/recipes.yaml`."""


def alpha_of(job: Job) -> int:
    """The scaling of adapters, which changes neither time nor memory."""
    return ALPHA_PER_RANK * job.lora_rank


def module_names(model: CostModel) -> list[str]:
    """The modules with adapters, in the order of a layer; empty: the type has no such modules."""
    kind, targets = transformers_type(model.job.model), model.job.adapted
    if kind not in TYPES:
        return []
    names = _BY_TYPE.get(kind, _PROJECTIONS)
    if model.shapes.latent:
        own = _LATENT if "q" in targets else ()
        return [*own, *_named(names, (name for name in targets if name not in "qkvo"))]
    return _named(names, targets)


def _named(names: Mapping[str, tuple[str, ...]], targets: Iterable[str]) -> list[str]:
    return [module for target in targets for module in names.get(target, ())]


def adapts_experts(model: CostModel) -> bool:
    """Whether experts have adapters, which are no modules of their own in transformers 5."""
    inner = {"gate", "up", "down"} & {*model.job.adapted}
    return bool(model.shapes.experts and inner) and not model.job.trains_all


def lora_config(model: CostModel) -> dict[str, Any]:
    """PEFT's own file of a configuration, adapter_config.json."""
    job = model.job
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "r": job.lora_rank,
        "lora_alpha": alpha_of(job),
        "lora_dropout": job.lora_dropout,
        "target_modules": module_names(model),
        "bias": "none",
        "use_dora": job.adapter == "dora",
    }
