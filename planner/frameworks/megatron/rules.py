"""The rules of Megatron-LM, which Megatron-Bridge runs too.

Most are about what can be launched: searches that ask for no target leave them out.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray, among
from planner.cost.context import CostModel
from planner.frameworks.megatron import words
from planner.frameworks.megatron.kernels import KERNELS
from planner.frameworks.megatron.recompute import recompute_is_launchable
from planner.frameworks.rules import alike, shared
from planner.frameworks.rules.predicates import laid_out, schedule_offered
from planner.frameworks.rules.rule import Rule
from planner.plan import (
    ALL_TO_ALL,
    OFFLOAD_ACTIVATIONS,
    OFFLOAD_OPTIMIZER,
    OFFLOAD_WEIGHTS,
    ZERO1,
    ZERO2,
    ZERO3,
    PlanTable,
)
from planner.schedules import code_of_schedule


def megatron_offload(model: CostModel, plans: PlanTable) -> BoolArray:
    """Weights and activations move to the host without pipelines only."""
    moves = plans.offload & ~OFFLOAD_OPTIMIZER > 0
    return np.asarray(~moves | (plans.pp == 1))


def megatron_weights_stay(model: CostModel, plans: PlanTable) -> BoolArray:
    """Weights are not moved to the host."""
    return np.asarray(plans.offload & OFFLOAD_WEIGHTS == 0)


def megatron_some_layer_stays(model: CostModel, plans: PlanTable) -> BoolArray:
    """Activations of all layers but one can move."""
    moves = plans.offload & OFFLOAD_ACTIVATIONS > 0
    return np.asarray(~moves | (model.job.model.layers > 1))


def megatron_offload_sharded(model: CostModel, plans: PlanTable) -> BoolArray:
    """The optimizer that moves to the host is the distributed one."""
    moves = plans.offload & OFFLOAD_OPTIMIZER > 0
    return np.asarray(~moves | (plans.sharding == ZERO1))


def megatron_optimizer(model: CostModel, plans: PlanTable) -> BoolArray:
    """Moments of few bits are those of the distributed optimizer; Muon is beside neither FSDP.

    Both stay on the chip, as the optimizer of the host is Adam in 32 bits.
    """
    name = model.job.optimizer
    here = plans.offload & OFFLOAD_OPTIMIZER == 0
    if name in words.MOMENTS:
        return np.asarray(here & (plans.sharding == ZERO1))
    if name != words.MUON:
        return np.ones(len(plans), dtype=np.bool_)
    return np.asarray(here & (plans.sharding <= ZERO1) & (model.job.precision != "fp16"))


def not_by_muon(model: CostModel, plans: PlanTable) -> BoolArray:
    """The optimizer is not Muon."""
    return np.full(len(plans), model.job.optimizer != words.MUON)


def megatron_schedule(model: CostModel, plans: PlanTable) -> BoolArray:
    """1F1B, interleaved or not, of what a framework built on it has; others it says itself."""
    known = among(plans.schedule, [code_of_schedule(name) for name in ("1f1b", "interleaved")])
    return np.asarray(known | (plans.pp == 1) | ~schedule_offered(model, plans))


def megatron_fsdp_alone(model: CostModel, plans: PlanTable) -> BoolArray:
    """Gradients and weights are sharded without a pipeline only."""
    return np.asarray((plans.sharding < ZERO2) | (plans.pp == 1))


def megatron_fsdp_replicas(model: CostModel, plans: PlanTable) -> BoolArray:
    """Every replica of shards has all experts."""
    hybrid = (plans.sharding == ZERO3) & (plans.dp > 1)
    return np.asarray(~hybrid | (plans.tp * plans.cp * plans.fsdp % plans.expert_ranks == 0))


def megatron_stages_inside(model: CostModel, plans: PlanTable) -> BoolArray:
    """Stages lie inside of data ranks where experts have as many data ranks as attention has.

    For dense models the expert ranks are those of tp.
    """
    inside = laid_out(plans, (words.PIPELINE_INSIDE,)) & ~laid_out(plans, (words.USUAL,))
    spread = plans.expert_ranks if model.shapes.experts else plans.tp
    return np.asarray(~inside | (spread == plans.tp * plans.cp))


def megatron_one_sharding(model: CostModel, plans: PlanTable) -> BoolArray:
    """All stages have one sharding."""
    if plans.stages is None:
        return np.ones(len(plans), dtype=np.bool_)
    table = plans.stages
    differs = (table.sharding != table.sharding[:, :1]) & (table.layers >= 0)
    return np.asarray(~differs.any(axis=1))


def megatron_recompute(model: CostModel, plans: PlanTable) -> BoolArray:
    """One granularity, method and number says what all stages recompute."""
    return recompute_is_launchable(model.job.model, plans)


def megatron_context(model: CostModel, plans: PlanTable) -> BoolArray:
    """Windows and sinks go with the exchange of heads, not with a ring."""
    needs = bool(words.needs_exchange(model))
    return np.asarray((plans.cp == 1) | (plans.cp_mode == ALL_TO_ALL) | (not needs))


def megatron_model(model: CostModel, plans: PlanTable) -> BoolArray:
    """The model has no part that pretrain_gpt.py cannot build."""
    return np.full(len(plans), not words.model_lacks(model))


def megatron_job(model: CostModel, plans: PlanTable) -> BoolArray:
    """All weights are trained, in a precision that there is, on sequences of whole tokens."""
    return np.full(len(plans), not words.job_lacks(model))


_VERSION = "core 0.20.0 dev, d98e8a64dd (2026-08-22)"
_CONFIG = "Megatron-LM core/transformer/transformer_config.py"
_FSDP = "Megatron-LM core/distributed/fsdp/mcore_fsdp_adapter.py"

MEGATRON: tuple[Rule, ...] = (
    Rule(
        name="megatron-offload",
        field="offload",
        framework="megatron",
        version=_VERSION,
        source=f"{_CONFIG}: cpu_offloading excludes pipelines",
        holds=megatron_offload,
        explain=lambda c, p: (
            f"megatron moves {' and '.join(n for n in p.offload if n != 'optimizer')} to the host "
            f"without a pipeline only, not with pp {p.pp}"
        ),
    ),
    Rule(
        name="megatron-offload-weights",
        field="offload",
        framework="megatron",
        version=_VERSION,
        source="Megatron-LM training/arguments.py: no flag sets cpu_offloading_weights",
        holds=megatron_weights_stay,
        explain=lambda c, p: "megatron has no flag that moves weights; leave weights on the chip",
        launch=True,
    ),
    Rule(
        name="megatron-offload-layers",
        field="offload",
        framework="megatron",
        version=_VERSION,
        source=f"{_CONFIG}: cpu_offloading_num_layers is less than the layers",
        holds=megatron_some_layer_stays,
        explain=lambda c, p: "megatron offloads activations of models with two layers or more",
        launch=True,
    ),
    Rule(
        name="megatron-offload-optimizer",
        field="offload",
        framework="megatron",
        version=_VERSION,
        source="Megatron-LM training/arguments.py: optimizer_cpu_offload needs the precision-aware "
        "optimizer, which core/optimizer takes with the distributed optimizer",
        holds=megatron_offload_sharded,
        explain=lambda c, p: (
            f"megatron moves the optimizer to the host with zero1 only, not with {p.sharding}"
        ),
        per_stage=True,
        launch=True,
    ),
    Rule(
        name="megatron-optimizer",
        field="sharding",
        framework="megatron",
        version="core 0.16.1, 55ac708251 (2026-03-16)",
        source="Megatron-LM training/arguments.py: Muon excludes FSDP and offloading, which needs "
        "the precision-aware optimizer of Adam, and core/optimizer gives that to the distributed "
        "optimizer alone",
        holds=megatron_optimizer,
        explain=words.optimizer_beside,
        per_stage=True,
        launch=True,
    ),
    Rule(
        name="megatron-bridge-muon",
        field="optimizer",
        framework="megatron-bridge",
        version="067f987 (2026-08-22)",
        source="Megatron-Bridge training/config.py: Muon asks for other settings of DDP than those "
        "of the recipe that the program fills in",
        holds=not_by_muon,
        explain=lambda c, p: (
            "the program for Megatron-Bridge steps by adam, adam-bf16 or adam-fp8, not by muon"
        ),
        launch=True,
    ),
    Rule(
        name="megatron-schedule",
        field="schedule",
        framework="megatron",
        version=_VERSION,
        source="Megatron-LM core/pipeline_parallel/schedules.py: get_forward_backward_func",
        holds=megatron_schedule,
        explain=lambda c, p: f"megatron runs 1f1b or interleaved, not {p.schedule!r}",
        launch=True,
    ),
    Rule(
        name="megatron-fsdp-pipeline",
        field="sharding",
        framework="megatron",
        version=_VERSION,
        source=f"{_FSDP}: _get_dp_tp_mesh lays data ranks x tp over all ranks",
        holds=megatron_fsdp_alone,
        explain=lambda c, p: (
            f"megatron has {p.sharding} (Megatron-FSDP) without a pipeline only, not with pp "
            f"{p.pp}; use zero1, or pp 1"
        ),
        per_stage=True,
        launch=True,
        of_sharding=True,
    ),
    Rule(
        name="megatron-fsdp-replicas",
        field="ep",
        framework="megatron",
        version=_VERSION,
        source="Megatron-LM core/parallel_state.py: expert data ranks divide by "
        "num_distributed_optimizer_instances",
        holds=megatron_fsdp_replicas,
        explain=words.experts_across_replicas,
        per_stage=True,
        launch=True,
        of_sharding=True,
    ),
    Rule(
        name="megatron-stages-inside",
        field="placement",
        framework="megatron",
        version=_VERSION,
        source="Megatron-LM core/parallel_state.py: initialize_model_parallel, orders that do not "
        "end with pp",
        holds=megatron_stages_inside,
        explain=words.experts_inside,
        launch=True,
    ),
    Rule(
        name="megatron-one-sharding",
        field="stages",
        framework="megatron",
        version=_VERSION,
        source="Megatron-LM training/arguments.py: --use-distributed-optimizer is one switch",
        holds=megatron_one_sharding,
        explain=words.many_shardings,
        launch=True,
    ),
    Rule(
        name="megatron-recompute",
        field="recompute",
        framework="megatron",
        version=_VERSION,
        source=f"Megatron-LM core/recompute.py, {_CONFIG}: one --recompute-granularity, -method "
        "and -num-layers",
        holds=megatron_recompute,
        explain=words.many_recomputations,
        launch=True,
    ),
    Rule(
        name="megatron-context",
        field="cp_mode",
        framework="megatron",
        version="TransformerEngine d0067d0da6 (2026-08-22)",
        source="TransformerEngine pytorch/attention/dot_product_attention/context_parallel.py: "
        "attn_forward_func_with_cp",
        holds=megatron_context,
        explain=lambda c, p: (
            f"megatron divides sequences of a model with {words.needs_exchange(c)} by cp_mode "
            f"all-to-all only, not {p.cp_mode}"
        ),
        launch=True,
    ),
    Rule(
        name="megatron-model",
        field="model",
        framework="megatron",
        version=_VERSION,
        source=f"Megatron-LM gpt_builders.py, {_CONFIG}",
        holds=megatron_model,
        explain=lambda c, p: (
            f"megatron (pretrain_gpt.py) does not build {c.job.model.name}: it has no "
            f"{' and no '.join(words.model_lacks(c))}"
        ),
        launch=True,
    ),
    Rule(
        name="megatron-job",
        field="job",
        framework="megatron",
        version=_VERSION,
        source="Megatron-LM pretrain_gpt.py, training/arguments.py",
        holds=megatron_job,
        explain=lambda c, p: f"megatron has no {' and no '.join(words.job_lacks(c))}",
        launch=True,
    ),
    Rule(
        name="megatron-adapters",
        field="job",
        framework="megatron-lm",
        version=_VERSION,
        source="Megatron-LM pretrain_gpt.py trains all weights; Megatron-Bridge has adapters",
        holds=shared.no_adapters,
        explain=lambda c, p: (
            "megatron trains all weights: job lora must be finetune, or the target megatron-bridge"
        ),
        launch=True,
    ),
    Rule(
        name="megatron-chips",
        field="hardware",
        framework="megatron",
        version=_VERSION,
        source="Megatron-LM training/initialize.py: it asserts that CUDA is available",
        holds=alike.on_cuda,
        explain=lambda c, p: (
            f"megatron runs on GPUs of {' and '.join(alike.CUDA_VENDORS)}, not on {c.chip.title}"
        ),
        launch=True,
    ),
    *KERNELS,
)
