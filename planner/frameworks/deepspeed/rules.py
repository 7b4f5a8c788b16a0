"""The rules of DeepSpeed."""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.frameworks.rules import alike, shared
from planner.frameworks.rules.numbers import nearest_divisors
from planner.frameworks.rules.rule import Rule
from planner.plan import (
    ALL_TO_ALL,
    DDP,
    OFFLOAD_ACTIVATIONS,
    OFFLOAD_OPTIMIZER,
    OFFLOAD_WEIGHTS,
    ZERO2,
    ZERO3,
    PlanTable,
)

VENDORS = ("NVIDIA", "AMD", "Intel")
PRECISIONS = ("bf16", "fp16", "fp32")


def deepspeed_pipeline(model: CostModel, plans: PlanTable) -> BoolArray:
    """No zero2 or zero3 in a pipeline."""
    return np.asarray((plans.pp == 1) | (plans.sharding < ZERO2))


def exchanges_heads(model: CostModel, plans: PlanTable) -> BoolArray:
    """Context parallelism exchanges heads."""
    return np.asarray((plans.cp == 1) | (plans.cp_mode == ALL_TO_ALL))


def ulysses_alone(model: CostModel, plans: PlanTable) -> BoolArray:
    """Context parallelism stands beside data parallelism only."""
    return np.asarray((plans.cp == 1) | ((plans.tp == 1) & (plans.pp == 1)))


def whole_model(model: CostModel, plans: PlanTable) -> BoolArray:
    """Tensor parallelism without a pipeline."""
    return np.asarray((plans.tp == 1) | (plans.pp == 1))


def kv_heads(model: CostModel, plans: PlanTable) -> BoolArray:
    """Every rank of tp has key-value heads."""
    return np.asarray(model.shapes.latent | (model.shapes.kv_heads % plans.tp == 0))


def experts_unpiped(model: CostModel, plans: PlanTable) -> BoolArray:
    """Expert parallelism without a pipeline, tp and cp."""
    return np.asarray((plans.ep == 1) | ((plans.pp == 1) & (plans.tp == 1) & (plans.cp == 1)))


def whole_experts(model: CostModel, plans: PlanTable) -> BoolArray:
    """Experts are not spread."""
    return np.asarray(plans.ep == 1)


def shards_everywhere(model: CostModel, plans: PlanTable) -> BoolArray:
    """zero3 shards over all data ranks."""
    return np.asarray((plans.sharding != ZERO3) | (plans.dp == 1))


def offload_optimizer(model: CostModel, plans: PlanTable) -> BoolArray:
    """The optimizer moves to the host where its states are sharded."""
    return np.asarray((plans.offload & OFFLOAD_OPTIMIZER == 0) | (plans.sharding != DDP))


def offload_weights(model: CostModel, plans: PlanTable) -> BoolArray:
    """Weights move to the host under zero3."""
    return np.asarray((plans.offload & OFFLOAD_WEIGHTS == 0) | (plans.sharding == ZERO3))


def offload_activations(model: CostModel, plans: PlanTable) -> BoolArray:
    """Activations stay: only inputs of layers that are computed again move to the host."""
    return np.asarray(plans.offload & OFFLOAD_ACTIVATIONS == 0)


def known_precision(model: CostModel, plans: PlanTable) -> BoolArray:
    """The configuration has the precision."""
    return np.full(len(plans), model.job.precision in PRECISIONS)


def has_accelerator(model: CostModel, plans: PlanTable) -> BoolArray:
    """DeepSpeed has an accelerator of that kind: cuda (also AMD's), and Intel's xpu, hpu, cpu."""
    return np.full(len(plans), model.chip.vendor in VENDORS)


_VERSION = "edaa722 (2026-08-22)"

DEEPSPEED: tuple[Rule, ...] = (
    Rule(
        name="deepspeed-pipeline",
        field="sharding",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed runtime/pipe/engine.py: ZeRO-2 and 3 exclude pipelines",
        holds=deepspeed_pipeline,
        per_stage=True,
        explain=lambda c, p: f"deepspeed has no pipeline (pp {p.pp}) with {p.sharding}; use zero1",
    ),
    Rule(
        name="deepspeed-ring",
        field="cp_mode",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed sequence/layer.py, runtime/sequence_parallel/ulysses_sp.py: Ulysses "
        "exchanges heads",
        holds=exchanges_heads,
        explain=lambda c, p: (
            f"deepspeed has cp {p.cp} by all-to-all only, not by ring; use cp_mode all-to-all"
        ),
        launch=True,
    ),
    Rule(
        name="deepspeed-ulysses",
        field="cp",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed runtime/config.py: the world is divided by sequence_parallel_size or by "
        "the groups of tensor parallelism",
        holds=ulysses_alone,
        explain=lambda c, p: (
            f"deepspeed has cp {p.cp} without tp and pp, not with tp {p.tp}, pp {p.pp}; "
            "nearest cp: 1"
        ),
        launch=True,
    ),
    Rule(
        name="deepspeed-tensor-pipeline",
        field="tp",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed runtime/engine.py _configure_tensor_parallel: AutoTP splits whole models",
        holds=whole_model,
        explain=lambda c, p: (
            f"deepspeed splits whole models by tp {p.tp} (AutoTP), not the stages of pp {p.pp}; "
            "nearest tp: 1, or pp 1"
        ),
        launch=True,
    ),
    Rule(
        name="deepspeed-sequence-parallel",
        field="sequence_parallel",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed module_inject/layers.py: AutoTP's row-parallel layers all-reduce",
        holds=shared.whole_sequences,
        explain=lambda c, p: (
            f"deepspeed has tp {p.tp} without sequence parallelism; use sequence_parallel false"
        ),
        launch=True,
    ),
    Rule(
        name="deepspeed-kv-heads",
        field="tp",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed runtime/engine.py _apply_autotp_partitioning: ranks beyond the "
        "key-value heads have no attention",
        holds=kv_heads,
        explain=lambda c, p: (
            f"deepspeed leaves ranks of tp {p.tp} without some of the {c.shapes.kv_heads} "
            f"key-value heads; nearest: {nearest_divisors(p.tp, c.shapes.kv_heads)}"
        ),
        launch=True,
    ),
    Rule(
        name="deepspeed-experts-0.18",
        field="ep",
        framework="deepspeed",
        version="v0.18.9, 8c93851eca (2026-03-30)",
        source="DeepSpeed 0.18.9 runtime/config.py reads no expert_parallel, which 0.19 does",
        holds=whole_experts,
        explain=lambda c, p: (
            f"deepspeed 0.18 spreads the experts of no model of transformers, not over ep {p.ep} "
            "ranks; nearest: 1"
        ),
        launch=True,
        versions=("0.18",),
    ),
    Rule(
        name="deepspeed-experts",
        field="ep",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed module_inject/auto_ep_folding.py validate_folding_global; AutoEP "
        "replaces the layers of whole models",
        holds=experts_unpiped,
        explain=lambda c, p: (
            f"deepspeed has ep {p.ep} (AutoEP) with tp, cp and pp 1, not with tp {p.tp}, "
            f"cp {p.cp}, pp {p.pp}; nearest ep: 1"
        ),
        launch=True,
    ),
    Rule(
        name="deepspeed-replicas",
        field="dp",
        framework="deepspeed",
        version="0.19.8",
        source="DeepSpeed runtime/config.py _REMOVED_ZERO_CONFIG_KEYS: mics_shard_size (until "
        "edaa722 of 2026-08-22 MiCS had replicas of shards)",
        holds=shards_everywhere,
        explain=lambda c, p: (
            f"deepspeed shards zero3 over all data ranks and has no dp {p.dp} replicas of shards; "
            f"nearest: dp 1 with fsdp {p.dp * p.fsdp}"
        ),
        launch=True,
    ),
    Rule(
        name="deepspeed-offload-optimizer",
        field="offload",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed runtime/zero/config.py: offload_optimizer is valid for stages 1 to 3",
        holds=offload_optimizer,
        explain=lambda c, p: "deepspeed moves the optimizer to the host with zero1, zero2 or zero3",
        per_stage=True,
        launch=True,
    ),
    Rule(
        name="deepspeed-offload-weights",
        field="offload",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed runtime/zero/config.py: offload_param is valid for stage 3",
        holds=offload_weights,
        explain=lambda c, p: f"deepspeed moves weights to the host with zero3, not {p.sharding}",
        per_stage=True,
        launch=True,
    ),
    Rule(
        name="deepspeed-offload-activations",
        field="offload",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed runtime/activation_checkpointing: cpu_checkpointing moves checkpoints",
        holds=offload_activations,
        explain=lambda c, p: (
            "deepspeed moves no activations to the host but the inputs of layers that are computed "
            "again; use recompute full"
        ),
        launch=True,
    ),
    Rule(
        name="deepspeed-precision",
        field="precision",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed runtime/config.py: bf16 and fp16",
        holds=known_precision,
        explain=lambda c, p: (
            f"deepspeed has no setting for precision {c.job.precision}; it has "
            f"{', '.join(PRECISIONS)}"
        ),
        launch=True,
    ),
    Rule(
        name="deepspeed-adapters",
        field="job",
        framework="deepspeed",
        version=_VERSION,
        source="the exported script trains all weights",
        holds=shared.no_adapters,
        explain=lambda c, p: (
            "the script for deepspeed trains all weights; job lora must be finetune"
        ),
        launch=True,
    ),
    Rule(
        name="deepspeed-stages",
        field="stages",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed runtime/pipe/module.py: one activation_checkpoint_interval",
        holds=alike.choices_alike,
        explain=lambda c, p: alike.unlike_choices("deepspeed", p),
        launch=True,
    ),
    Rule(
        name="deepspeed-chips",
        field="hardware",
        framework="deepspeed",
        version=_VERSION,
        source="DeepSpeed accelerator/real_accelerator.py SUPPORTED_ACCELERATOR_LIST: cuda, xpu, "
        "hpu, cpu; neither TPUs nor Trainium",
        holds=has_accelerator,
        explain=lambda c, p: (
            f"deepspeed runs on chips of {', '.join(VENDORS)}, not on {c.chip.name}"
        ),
        launch=True,
    ),
)
