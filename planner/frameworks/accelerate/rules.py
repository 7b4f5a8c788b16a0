"""The rules of Hugging Face Accelerate and PyTorch FSDP.

Facts of Accelerate 1.15.0 and transformers 5.23, all tried on models of four layers: a model that
transformers splits is sharded by transformers as well, because `Accelerator._prepare_tp` under FSDP
asks transformers for `ReplicateParallel`, which it does not have.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.frameworks.hugging_face.attention import CAPPED, known_model
from planner.frameworks.hugging_face.types import TYPES, flash_attention, transformers_type
from planner.frameworks.rules import alike, shared
from planner.frameworks.rules.experts import divided, undivided
from planner.frameworks.rules.numbers import nearest_divisors
from planner.frameworks.rules.rule import Rule
from planner.plan import DDP, OFFLOAD_OPTIMIZER, OFFLOAD_WEIGHTS, ZERO3, PlanTable

TP_PLANS = (
    "cohere", "deepseek_v2", "deepseek_v3", "gemma", "gemma2", "gemma3_text", "glm4_moe",
    "gpt_neox", "llama", "mistral", "mixtral", "olmo2", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe",
)  # fmt: skip
"""Types whose configuration has a `base_model_tp_plan`."""
MASKED = ("falcon",)
"""Types that give fused attention a mask of their own."""


def accelerate_replicas(model: CostModel, plans: PlanTable) -> BoolArray:
    """Replicas stand beside tp or cp only where they are sharded."""
    divided = (plans.tp > 1) | (plans.cp > 1)
    return np.asarray((plans.dp == 1) | (plans.fsdp > 1) | ~divided)


def accelerate_mesh(model: CostModel, plans: PlanTable) -> BoolArray:
    """Beside cp, and where tp has replicas, state is sharded."""
    alone = (plans.tp == 1) | (plans.dp == 1)
    return np.asarray((plans.sharding != DDP) | (alone & (plans.cp == 1)))


def accelerate_window(model: CostModel, plans: PlanTable) -> BoolArray:
    """Parts of sequences attend to all that is before them."""
    return np.asarray((plans.cp == 1) | (model.job.model.window is None))


def accelerate_attention(model: CostModel, plans: PlanTable) -> BoolArray:
    """Sequences are divided where PyTorch's own attention runs without a mask."""
    return np.asarray((plans.cp == 1) | divisible_attention(model))


def divisible_attention(model: CostModel) -> bool:
    """Whether PyTorch's own fused attention runs without a mask."""
    kind = transformers_type(model.job.model)
    return flash_attention(model.job.model) and kind not in (*CAPPED, *MASKED)


def accelerate_tp_cp(model: CostModel, plans: PlanTable) -> BoolArray:
    """Tensors or sequences are divided, not both."""
    return np.asarray((plans.tp == 1) | (plans.cp == 1))


def accelerate_tp_model(model: CostModel, plans: PlanTable) -> BoolArray:
    """Transformers knows how to split the model."""
    return np.asarray((plans.tp == 1) | (transformers_type(model.job.model) in TP_PLANS))


def accelerate_offload(model: CostModel, plans: PlanTable) -> BoolArray:
    """Weights, gradients and optimizer move to the host together, where Accelerate shards them."""
    together = (plans.offload == OFFLOAD_OPTIMIZER | OFFLOAD_WEIGHTS) & (plans.sharding == ZERO3)
    return np.asarray((plans.offload == 0) | (together & (plans.tp == 1)))


def known_precision(model: CostModel, plans: PlanTable) -> BoolArray:
    """Weights are stored as they are multiplied."""
    return np.full(len(plans), model.job.precision in PRECISIONS)


PRECISIONS = ("bf16", "fp16", "fp32")
_VERSION = "16cb6eb (2026-07-24)"

ACCELERATE: tuple[Rule, ...] = (
    Rule(
        name="accelerate-replicas",
        field="dp",
        framework="fsdp",
        version=_VERSION,
        source="Accelerate parallelism_config.py: dp_replicate > 1 with tp or cp needs "
        "dp_shard > 1",
        holds=accelerate_replicas,
        explain=lambda c, p: (
            f"accelerate has the dp {p.dp} replicas beside tp {p.tp} and cp {p.cp} only with "
            "fsdp > 1; move ranks from dp to fsdp"
        ),
    ),
    Rule(
        name="accelerate-cp-mode",
        field="cp_mode",
        framework="fsdp",
        version=_VERSION,
        source="Accelerate parallelism_config.py: sp_size (heads are exchanged) has the backend "
        "deepspeed only",
        holds=shared.by_ring,
        explain=lambda c, p: (
            f"accelerate has no cp_mode {p.cp_mode} (cp {p.cp}), which DeepSpeed has; use ring"
        ),
        launch=True,
    ),
    Rule(
        name="accelerate-mesh",
        field="sharding",
        framework="fsdp",
        version=_VERSION,
        source="Accelerate commands/launch.py: a parallelism_config needs FSDP version 2; "
        "parallelism_config.py: no replicas beside tp without shards",
        holds=accelerate_mesh,
        per_stage=True,
        explain=lambda c, p: (
            f"Accelerate has tp {p.tp} and cp {p.cp} with sharded state only, not with ddp; use "
            "zero3 with fsdp > 1"
        ),
        launch=True,
    ),
    Rule(
        name="accelerate-cp-window",
        field="cp",
        framework="fsdp",
        version=_VERSION,
        source="Accelerate big_modeling.py _attach_context_parallel_hooks: every layer attends to "
        "all before",
        holds=accelerate_window,
        explain=lambda c, p: (
            f"Accelerate divides no sequences over cp {p.cp} for {c.job.model.name}, whose layers "
            "have windows; nearest cp: 1"
        ),
        launch=True,
    ),
    Rule(
        name="accelerate-cp-attention",
        field="cp",
        framework="fsdp",
        version=_VERSION,
        source="PyTorch distributed/tensor/experimental/_context_parallel/_attention.py: only "
        "scaled_dot_product_attention without a mask is divided",
        holds=accelerate_attention,
        explain=lambda c, p: (
            f"Accelerate divides sequences over cp {p.cp} under PyTorch's fused attention without "
            f"a mask, which transformers has not for {c.job.model.name}; nearest cp: 1"
        ),
        launch=True,
    ),
    Rule(
        name="accelerate-tp-cp",
        field="cp",
        framework="fsdp",
        version=_VERSION,
        source="Accelerate 1.15.0 accelerator.py _prepare_tp: under FSDP it imports "
        "ReplicateParallel, which transformers 5.23 does not have; cp needs FSDP",
        holds=accelerate_tp_cp,
        explain=lambda c, p: (
            f"Accelerate has cp {p.cp} without tp, not with tp {p.tp}; nearest: cp 1, or tp 1"
        ),
        launch=True,
    ),
    Rule(
        name="accelerate-tp-model",
        field="tp",
        framework="fsdp",
        version=_VERSION,
        source="Transformers 5.23 models/*/configuration_*.py: base_model_tp_plan",
        holds=accelerate_tp_model,
        explain=lambda c, p: (
            f"Transformers splits no {c.job.model.name} over tp {p.tp}, only models like those of "
            f"{', '.join(TP_PLANS)}; nearest tp: 1"
        ),
        launch=True,
    ),
    Rule(
        name="accelerate-sequence-parallel",
        field="sequence_parallel",
        framework="fsdp",
        version=_VERSION,
        source="Transformers 5.23 distributed/configuration_utils.py enable_sequence_parallel: "
        "not wired up",
        holds=shared.whole_sequences,
        explain=lambda c, p: (
            f"Transformers has tp {p.tp} without sequence parallelism; use sequence_parallel false"
        ),
        launch=True,
    ),
    Rule(
        name="accelerate-model",
        field="model",
        framework="fsdp",
        version=_VERSION,
        source="Transformers 5.23 models: the script builds one of them",
        holds=known_model,
        explain=lambda c, p: (
            "the script for Accelerate builds models of transformers, where nothing has the "
            f"layers of {c.job.model.name}; it builds {', '.join(TYPES)}"
        ),
        launch=True,
    ),
    Rule(
        name="accelerate-kv-heads",
        field="tp",
        framework="fsdp",
        version=_VERSION,
        source="Transformers 5.23 models/*/configuration_*.py, base_model_tp_plan: k_proj is "
        "divided by columns",
        holds=shared.tp_divides_kv_heads,
        explain=lambda c, p: (
            f"Transformers needs tp {p.tp} to divide the {c.shapes.kv_heads} key-value heads; "
            f"nearest: {nearest_divisors(p.tp, c.shapes.kv_heads)}"
        ),
        launch=True,
    ),
    Rule(
        name="accelerate-offload",
        field="offload",
        framework="fsdp",
        version=_VERSION,
        source="Accelerate utils/dataclasses.py: fsdp_offload_params moves parameters, gradients "
        "and optimizer together",
        holds=accelerate_offload,
        per_stage=True,
        explain=lambda c, p: (
            "Accelerate moves optimizer and weights to the host together, under zero3 and with tp "
            f"1, nothing else; not {' and '.join(p.offload)} with {p.sharding} and tp {p.tp}"
        ),
        launch=True,
    ),
    Rule(
        name="accelerate-recompute",
        field="recompute",
        framework="fsdp",
        version=_VERSION,
        source="Accelerate utils/dataclasses.py: fsdp_activation_checkpointing is a switch",
        holds=shared.whole_layers,
        per_stage=True,
        explain=lambda c, p: (
            f"Accelerate recomputes whole layers or nothing, not recompute {p.recompute}; use full "
            "or none"
        ),
        launch=True,
    ),
    Rule(
        name="accelerate-layers",
        field="recompute",
        framework="fsdp",
        version=_VERSION,
        source="Accelerate utils/dataclasses.py: fsdp_activation_checkpointing is one switch for "
        "all layers",
        holds=alike.one_recompute,
        explain=lambda c, p: (
            "Accelerate recomputes all layers or none; layers that differ cannot be set, nearest: "
            f"recompute {'none' if p.recompute == 'none' else 'full'} everywhere"
        ),
        launch=True,
    ),
    Rule(
        name="accelerate-chips",
        field="hardware",
        framework="fsdp",
        version=_VERSION,
        source="Accelerate parallelism_config.py: the device mesh of PyTorch; TPUs have XLA apart",
        holds=alike.on_gpus,
        explain=lambda c, p: f"Accelerate shards on {alike.GPUS}, not on {c.chip.name}",
        launch=True,
    ),
    Rule(
        name="accelerate-precision",
        field="precision",
        framework="fsdp",
        version=_VERSION,
        source="Transformers 5.23 configuration_utils.py: dtype of the weights; narrower formats "
        "are mixed with wider weights",
        holds=known_precision,
        explain=lambda c, p: (
            f"Accelerate runs one precision of {', '.join(PRECISIONS)}, not {c.job.precision}; "
            "nearest: bf16"
        ),
        launch=True,
    ),
    Rule(
        name="accelerate-pairs",
        field="job",
        framework="accelerate",
        version=_VERSION,
        source="the exported script has no preference pairs; TRL is another library",
        holds=shared.no_pairs,
        explain=lambda c, p: (
            "the script for Accelerate trains on texts, not on preference pairs; use trl, "
            "torchtune or axolotl"
        ),
        launch=True,
    ),
    Rule(
        name="accelerate-whole-experts",
        field="tp",
        framework="fsdp",
        version="Transformers 5.23",
        source="Transformers models/*/configuration_*.py, base_model_tp_plan: gate_up_proj of "
        "experts is packed_colwise, down_proj rowwise",
        holds=undivided,
        explain=lambda c, p: divided("Transformers", p),
        launch=True,
    ),
)
