"""The rules of torchtitan."""

from __future__ import annotations

import math

import numpy as np

from planner.base.arrays import BoolArray, IntArray
from planner.cost.context import CostModel
from planner.frameworks.rules import alike, shared, words
from planner.frameworks.rules.experts import divided, undivided_in_groups
from planner.frameworks.rules.numbers import nearest_divisors
from planner.frameworks.rules.predicates import micro_batches
from planner.frameworks.rules.rule import Rule
from planner.frameworks.torchtitan.versions import TORCHTITAN_VERSIONS
from planner.plan import DDP, OFFLOAD_OPTIMIZER, OFFLOAD_WEIGHTS, ZERO3, Plan, PlanTable
from planner.schedules import code_of_schedule


def torchtitan_experts(model: CostModel, plans: PlanTable) -> BoolArray:
    """Expert groups take no ranks of the replicas."""
    return np.asarray(plans.tp * plans.cp * plans.fsdp % plans.ep == 0)


def enough_micro_batches(model: CostModel, plans: PlanTable, count: IntArray) -> BoolArray:
    """1F1B has a micro-batch for every stage."""
    enough = count >= plans.pp
    return np.asarray((plans.schedule != code_of_schedule("1f1b")) | (plans.pp == 1) | enough)


def torchtitan_1f1b(model: CostModel, plans: PlanTable) -> BoolArray:
    """See `enough_micro_batches`."""
    return enough_micro_batches(model, plans, micro_batches(model, plans))


def torchtitan_ddp(model: CostModel, plans: PlanTable) -> BoolArray:
    """Weights are whole where no sequence is divided."""
    return np.asarray((plans.sharding != DDP) | (plans.cp == 1))


def torchtitan_tied(model: CostModel, plans: PlanTable) -> BoolArray:
    """A head that is the embedding table stays on its stage."""
    return np.asarray((plans.pp == 1) | (not model.job.model.tied_embeddings))


def torchtitan_offload(model: CostModel, plans: PlanTable) -> BoolArray:
    """Weights, gradients and optimizer move to the host together, where they are sharded."""
    together = (plans.offload == OFFLOAD_OPTIMIZER | OFFLOAD_WEIGHTS) & (plans.sharding == ZERO3)
    return np.asarray((plans.offload == 0) | together)


def _misplaced_experts(model: CostModel, plan: Plan) -> str:
    """Which ranks expert groups may take, in one sentence."""
    ranks = plan.tp * plan.cp * plan.fsdp
    return (
        f"torchtitan takes the ranks of ep {plan.ep} from tp x cp x fsdp = {ranks}, not from the "
        f"replicas of dp; nearest ep: "
        f"{nearest_divisors(plan.ep, math.gcd(ranks, model.shapes.experts))}"
    )


_VERSION = "main b5bcd76 (2026-08-21)"

TORCHTITAN: tuple[Rule, ...] = (
    Rule(
        name="torchtitan-kv-heads",
        field="tp",
        framework="torchtitan",
        version=_VERSION,
        source="torchtitan models/common/decoder.py: key-value heads % tp = 0",
        holds=shared.tp_divides_kv_heads,
        alone=True,
        explain=lambda c, p: (
            f"torchtitan needs tp {p.tp} to divide the {c.shapes.kv_heads} key-value heads; "
            f"nearest: {nearest_divisors(p.tp, c.shapes.kv_heads)}"
        ),
    ),
    Rule(
        name="torchtitan-experts",
        field="ep",
        framework="torchtitan",
        version=_VERSION,
        source="torchtitan distributed/parallel_dims.py: dp_shard cp tp % ep = 0",
        holds=torchtitan_experts,
        explain=_misplaced_experts,
    ),
    Rule(
        name="torchtitan-1f1b",
        field="micro_batch",
        framework="torchtitan",
        version=_VERSION,
        source="PyTorch torch/distributed/pipelining/schedules.py: Schedule1F1B needs a "
        "micro-batch for every stage",
        holds=torchtitan_1f1b,
        counted=enough_micro_batches,
        explain=lambda c, p: (
            f"torchtitan runs 1f1b with at least pp {p.pp} micro-batches, not with "
            f"{words.micro_batches(c, p):g}"
        ),
    ),
    Rule(
        name="torchtitan-ddp",
        field="sharding",
        framework="torchtitan",
        version=_VERSION,
        source="torchtitan distributed/parallel_dims.py: the mesh fsdp is dp_shard x cp; "
        "models/*/parallelize.py give it to apply_fsdp_to_decoder",
        holds=torchtitan_ddp,
        per_stage=True,
        explain=lambda c, p: (
            f"torchtitan shards weights over cp {p.cp}, so that ddp needs cp 1; use zero3"
        ),
    ),
    Rule(
        name="torchtitan-cp-mode",
        field="cp_mode",
        framework="torchtitan",
        version=_VERSION,
        source="torchtitan distributed/context_parallel/api.py: keys and values are passed on or "
        "gathered",
        holds=shared.by_ring,
        explain=lambda c, p: (
            f"torchtitan has no cp_mode {p.cp_mode} (cp {p.cp}): keys and values travel; use ring"
        ),
        launch=True,
    ),
    Rule(
        name="torchtitan-tied",
        field="pp",
        framework="torchtitan",
        version=_VERSION,
        source="torchtitan models/common/decoder.py: weight tying excludes pipelines",
        holds=torchtitan_tied,
        explain=lambda c, p: (
            f"torchtitan does not tie embedding and head across stages, and {c.job.model.name} "
            f"ties them: pp {p.pp} must be 1"
        ),
        launch=True,
    ),
    Rule(
        name="torchtitan-offload",
        field="offload",
        framework="torchtitan",
        version=_VERSION,
        source="torchtitan config/configs.py: training.enable_cpu_offload moves parameters, "
        "gradients and optimizer of FSDP together",
        holds=torchtitan_offload,
        per_stage=True,
        explain=lambda c, p: (
            f"torchtitan moves optimizer and weights to the host together and under zero3, nothing "
            f"else; not {' and '.join(p.offload)} with {p.sharding}"
        ),
        launch=True,
    ),
    Rule(
        name="torchtitan-recompute",
        field="recompute",
        framework="torchtitan",
        version=_VERSION,
        source="torchtitan distributed/activation_checkpoint.py: one policy for all blocks",
        holds=alike.one_recompute,
        explain=lambda c, p: (
            "torchtitan recomputes all layers alike (none, selective or full); stages that differ "
            f"cannot be set, nearest: recompute {p.recompute} everywhere"
        ),
        launch=True,
    ),
    Rule(
        name="torchtitan-stage-sharding",
        field="sharding",
        framework="torchtitan",
        version=_VERSION,
        source="torchtitan distributed/parallel_dims.py: one mesh for all stages",
        holds=alike.one_sharding,
        explain=lambda c, p: f"torchtitan shards all stages alike; use {p.sharding} in every stage",
        launch=True,
    ),
    Rule(
        name="torchtitan-empty-stage",
        field="stages",
        framework="torchtitan",
        version=_VERSION,
        source="torchtitan distributed/pipeline_parallel.py: parts without parameters cannot be "
        "sharded or optimized",
        holds=alike.middle_chunks_filled,
        explain=lambda c, p: (
            "torchtitan needs a layer in every stage between the first and the last; nearest: 1"
        ),
        launch=True,
    ),
    Rule(
        name="torchtitan-chips",
        field="hardware",
        framework="torchtitan",
        version=_VERSION,
        source="torchtitan tools/utils.py: the accelerator of PyTorch, with NCCL, RCCL or XCCL",
        holds=alike.on_gpus,
        explain=lambda c, p: f"torchtitan runs on {alike.GPUS}, not on {c.chip.name}",
        launch=True,
    ),
    *TORCHTITAN_VERSIONS,
    Rule(
        name="torchtitan-whole-experts",
        field="ep",
        framework="torchtitan",
        version=_VERSION,
        source="torchtitan models/llama4/infra/parallelize.py: without ep the plan of experts is "
        "TensorParallel",
        holds=undivided_in_groups,
        explain=lambda c, p: f"{divided('torchtitan', p)}, or ep more than 1",
        launch=True,
    ),
)
