"""The rules of Hugging Face Accelerate and PyTorch FSDP."""

from __future__ import annotations

import numpy as np

from planner.cost.context import CostModel
from planner.plan import (
    DDP,
    OFFLOAD_OPTIMIZER,
    OFFLOAD_WEIGHTS,
    RING,
    SELECTIVE,
    ZERO3,
    BoolArray,
    PlanTable,
)
from planner.rules import alike
from planner.rules.numbers import nearest_divisors
from planner.rules.rule import Rule


def accelerate_replicas(model: CostModel, plans: PlanTable) -> BoolArray:
    """Replicas stand beside tp or cp only where they are sharded."""
    divided = (plans.tp > 1) | (plans.cp > 1)
    return np.asarray((plans.dp == 1) | (plans.fsdp > 1) | ~divided)


def accelerate_cp_mode(model: CostModel, plans: PlanTable) -> BoolArray:
    """Keys and values travel; heads are exchanged under DeepSpeed only."""
    return np.asarray((plans.cp == 1) | (plans.cp_mode == RING))


def accelerate_mesh(model: CostModel, plans: PlanTable) -> BoolArray:
    """Beside tp and cp, state is sharded."""
    return np.asarray((plans.sharding != DDP) | ((plans.tp == 1) & (plans.cp == 1)))


def accelerate_kv_heads(model: CostModel, plans: PlanTable) -> BoolArray:
    """Key-value heads divide over tp."""
    return np.asarray(model.shapes.kv_heads % plans.tp == 0)


def accelerate_offload(model: CostModel, plans: PlanTable) -> BoolArray:
    """Weights, gradients and optimizer move to the host together, where they are sharded."""
    together = (plans.offload == OFFLOAD_OPTIMIZER | OFFLOAD_WEIGHTS) & (plans.sharding == ZERO3)
    return np.asarray((plans.offload == 0) | together)


def accelerate_recompute(model: CostModel, plans: PlanTable) -> BoolArray:
    """Whole layers are recomputed, or none."""
    return np.asarray(plans.recompute != SELECTIVE)


def known_precision(model: CostModel, plans: PlanTable) -> BoolArray:
    """Weights are stored as they are multiplied."""
    return np.full(len(plans), model.job.precision in PRECISIONS)


def no_adapters(model: CostModel, plans: PlanTable) -> BoolArray:
    """The job trains all weights."""
    return np.full(len(plans), model.job.trains_all)


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
            f"fsdp has the dp {p.dp} replicas beside tp {p.tp} and cp {p.cp} only with "
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
        holds=accelerate_cp_mode,
        explain=lambda c, p: (
            f"fsdp has no cp_mode {p.cp_mode} (cp {p.cp}), which DeepSpeed has; use ring"
        ),
        launch=True,
    ),
    Rule(
        name="accelerate-mesh",
        field="sharding",
        framework="fsdp",
        version=_VERSION,
        source="Accelerate commands/launch.py: a parallelism_config needs FSDP version 2",
        holds=accelerate_mesh,
        per_stage=True,
        explain=lambda c, p: (
            f"Accelerate has tp {p.tp} and cp {p.cp} with sharded state only, not with ddp; use "
            "zero3 with fsdp > 1"
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
        holds=accelerate_kv_heads,
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
            "Accelerate moves optimizer and weights to the host together and under zero3, nothing "
            f"else; not {' and '.join(p.offload)} with {p.sharding}"
        ),
        launch=True,
    ),
    Rule(
        name="accelerate-recompute",
        field="recompute",
        framework="fsdp",
        version=_VERSION,
        source="Accelerate utils/dataclasses.py: fsdp_activation_checkpointing is a switch",
        holds=accelerate_recompute,
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
            "Accelerate recomputes all layers or none; layers that differ cannot be told, nearest: "
            f"recompute {p.recompute} everywhere"
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
        name="accelerate-adapters",
        field="job",
        framework="fsdp",
        version=_VERSION,
        source="Transformers 5.23 examples/pytorch/language-modeling/run_clm.py trains all "
        "weights; LoRA is another library (PEFT)",
        holds=no_adapters,
        explain=lambda c, p: "run_clm.py trains all weights; job lora must be finetune",
        launch=True,
    ),
)
