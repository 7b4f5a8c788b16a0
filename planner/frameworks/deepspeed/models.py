"""The rules of DeepSpeed about the model: what its ways of dividing one know of transformers.

Each type was tried with a small model on two processes: DeepSpeed 0.19.8, transformers 5.23.0,
PyTorch 2.15.0; types that are listed have the losses of one process.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.frameworks.hugging_face.attention import attention_kernel, known_model
from planner.frameworks.hugging_face.types import TYPES, transformers_type
from planner.frameworks.rules.rule import Rule
from planner.plan import PlanTable

PRESETS = ("mixtral", "qwen3_moe", "deepseek_v2", "deepseek_v3")
"""Types whose experts AutoEP finds by a preset of that name."""
PIPELINED = ("llama", "mixtral", "qwen2", "qwen3", "qwen3_moe")
"""Types that the exported script cuts into stages."""
DIVIDED = (
    "cohere", "gemma", "gemma2", "gemma3_text", "gpt_neox", "llama", "mistral", "opt", "qwen2",
    "qwen3",
)  # fmt: skip
"""Types that AutoTP divides."""
EXCHANGED = (
    "cohere", "gemma", "gemma2", "gemma3_text", "glm4_moe", "gpt_oss", "llama", "mistral",
    "mixtral", "olmo2", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe",
)  # fmt: skip
"""Types whose heads Ulysses exchanges."""


def deepspeed_kernel(model: CostModel) -> str:
    """Transformers' name of the kernel of attention: FlashAttention wherever it runs."""
    return attention_kernel(model, flash_always=True)


def known_experts(model: CostModel, plans: PlanTable) -> BoolArray:
    """AutoEP finds the experts of the model."""
    return np.asarray((plans.ep == 1) | (transformers_type(model.job.model) in PRESETS))


def divided_model(model: CostModel, plans: PlanTable) -> BoolArray:
    """AutoTP divides the layers of the model."""
    return np.asarray((plans.tp == 1) | (transformers_type(model.job.model) in DIVIDED))


def exchanged_model(model: CostModel, plans: PlanTable) -> BoolArray:
    """Ulysses finds the heads of the model."""
    return np.asarray((plans.cp == 1) | (transformers_type(model.job.model) in EXCHANGED))


def divisible_attention(model: CostModel, plans: PlanTable) -> BoolArray:
    """Sequences are divided where a fused kernel knows the attention."""
    return np.asarray((plans.cp == 1) | (deepspeed_kernel(model) != "eager"))


def windows_kept(model: CostModel, plans: PlanTable) -> BoolArray:
    """Layers that get no mask have their windows from FlashAttention."""
    masked = (plans.cp == 1) & (plans.pp == 1)
    lost = model.job.model.window is not None and deepspeed_kernel(model) == "sdpa"
    return np.asarray(masked | (not lost))


def pipelined_model(model: CostModel, plans: PlanTable) -> BoolArray:
    """The script knows how to cut the model into stages."""
    return np.asarray((plans.pp == 1) | (transformers_type(model.job.model) in PIPELINED))


_VERSION = "0.19.8 with transformers 5.23.0"

DEEPSPEED_MODELS: tuple[Rule, ...] = (
    Rule(
        name="deepspeed-model",
        field="model",
        framework="deepspeed",
        version=_VERSION,
        source="transformers 5.23 models: the script builds one of them",
        holds=known_model,
        explain=lambda c, p: (
            f"the script for deepspeed builds models of transformers, where nothing has the layers "
            f"of {c.job.model.name}; it builds {', '.join(TYPES)}"
        ),
        launch=True,
    ),
    Rule(
        name="deepspeed-expert-presets",
        field="ep",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed module_inject/auto_ep_presets: PRESET_NAME of each",
        holds=known_experts,
        explain=lambda c, p: (
            f"deepspeed spreads experts over ep {p.ep} for models like those of "
            f"{', '.join(PRESETS)}, which {c.job.model.name} is not; nearest ep: 1"
        ),
        launch=True,
    ),
    Rule(
        name="deepspeed-autotp-model",
        field="tp",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed module_inject/tp_plan_converter.py: of the base_model_tp_plan of "
        "transformers neither rowwise_split_input (olmo2) nor styles of experts and latents; "
        "auto_tp.py refuses gpt2; bloom, falcon and mpt fail in their first step",
        holds=divided_model,
        explain=lambda c, p: (
            f"deepspeed divides no {c.job.model.name} by tp {p.tp} (AutoTP), only models like "
            f"those of {', '.join(DIVIDED)}; nearest tp: 1"
        ),
        launch=True,
    ),
    Rule(
        name="deepspeed-ulysses-model",
        field="cp",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed runtime/sequence_parallel/ulysses_sp.py register_with_transformers asks "
        "for num_key_value_heads and one head_dim of queries, keys and values",
        holds=exchanged_model,
        explain=lambda c, p: (
            f"deepspeed exchanges no heads of {c.job.model.name} over cp {p.cp} (Ulysses), only "
            f"those of models like {', '.join(EXCHANGED)}; nearest cp: 1"
        ),
        launch=True,
    ),
    Rule(
        name="deepspeed-attention",
        field="cp",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed runtime/sequence_parallel/ulysses_sp.py: core_attn_implementation is "
        "FlashAttention or sdpa",
        holds=divisible_attention,
        explain=lambda c, p: (
            f"deepspeed divides sequences over cp {p.cp} under fused attention, which there is not "
            f"for {c.job.model.name} in {c.job.precision} on {c.chip.name}; nearest cp: 1"
        ),
        launch=True,
    ),
    Rule(
        name="deepspeed-windows",
        field="cp",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed runtime/sequence_parallel/ulysses_sp.py gives attention no mask, "
        "nor does the exported pipeline; transformers sdpa_attention.py has windows by it",
        holds=windows_kept,
        explain=lambda c, p: (
            f"deepspeed loses the windows of {c.job.model.name} with cp {p.cp} and pp {p.pp} where "
            "attention is PyTorch's own; nearest: cp 1 and pp 1, or 16 bits on AMD, or on "
            "NVIDIA from Ampere on"
        ),
        launch=True,
    ),
    Rule(
        name="deepspeed-pipelined-model",
        field="pp",
        framework="deepspeed",
        version=_VERSION,
        source="transformers models: a rotary embedding and a DecoderLayer of one kind, which the "
        "exported script cuts into stages",
        holds=pipelined_model,
        explain=lambda c, p: (
            f"the script for deepspeed cuts no {c.job.model.name} into pp {p.pp} stages, only "
            f"models like those of {', '.join(PIPELINED)}; nearest pp: 1"
        ),
        launch=True,
    ),
)
