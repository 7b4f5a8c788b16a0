"""What a step executes and moves: FLOP, bytes of memory, bytes over each network level.

These totals feed the component split of the energy and the model-FLOP utilisation. They count
each byte once, whatever hides behind what. Arrays have shape (n,).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models_db import Model
from planner.cost.context import CostModel
from planner.cost.data_parallel import WEIGHT_BYTES
from planner.cost.layer import ACTIVATION_BYTES
from planner.cost.memory import trained_share
from planner.cost.parameters import LocalParameters
from planner.cost.shapes import Shapes
from planner.job import Job
from planner.network.collectives import GroupCosts
from planner.plan import (
    ALL_TO_ALL,
    DDP,
    FULL,
    ZERO2,
    ZERO3,
    FloatArray,
    PlanTable,
)

MFU_CONVENTION = (
    "model FLOP per token = 6 x (active parameters without the input embedding) + "
    "12 x layers x heads x head dimension x mean context (causality not halved), as in the PaLM "
    "paper; recomputation not counted"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Totals of one step over all chips, (n,).

    Attributes:
        flop: Executed floating-point operations, recomputation included.
        memory_bytes: Bytes between chip and device memory.
        wire_bytes: Bytes received over each level of the cluster, innermost first.
    """

    flop: FloatArray
    memory_bytes: FloatArray
    wire_bytes: tuple[FloatArray, ...]


def matmul_parameters(model: Model) -> float:
    """Parameters that multiply each token: active ones without the input embedding."""
    embedding = 0 if model.tied_embeddings else model.embedding_parameters
    return float(model.active_parameters - embedding - model.position_parameters)


def attention_flop_per_token(model: Model, shapes: Shapes) -> float:
    """Forward FLOP of scores and values per token, causality not halved."""
    return 2.0 * model.layers * shapes.heads * shapes.context * (shapes.head_dim + shapes.value_dim)


def model_flop_per_token(job: Job, shapes: Shapes) -> float:
    """FLOP that training one token needs in any implementation; see `MFU_CONVENTION`.

    LoRA needs no weight gradients of the frozen matrices: 4 instead of 6 per parameter.
    Source: Chowdhery et al., PaLM, arXiv:2204.02311, appendix B.
    """
    per_parameter = 6.0 if job.trains_all else 4.0
    linear = per_parameter * matmul_parameters(job.model)
    return linear + 3.0 * attention_flop_per_token(job.model, shapes)


def forward_flop_per_token(job: Job, shapes: Shapes) -> float:
    """FLOP of one forward pass per token, in the convention of `model_flop_per_token`."""
    return 2.0 * matmul_parameters(job.model) + attention_flop_per_token(job.model, shapes)


def traffic(
    model: CostModel,
    plans: PlanTable,
    local: LocalParameters,
    nets: dict[str, GroupCosts],
    m: FloatArray,
) -> Traffic:
    """The totals of every plan; `m` are its micro-batches, (n,)."""
    return Traffic(
        flop=_executed_flop(model, plans),
        memory_bytes=_memory_bytes(model, plans, local, m),
        wire_bytes=_wire_bytes(model, plans, local, nets, m),
    )


def _executed_flop(model: CostModel, plans: PlanTable) -> FloatArray:
    """Model FLOP (causal half of attention where the kernels skip it) plus recomputation."""
    job, shapes, a = model.job, model.shapes, model.assumptions
    linear = 2.0 * matmul_parameters(job.model)
    attention = attention_flop_per_token(job.model, shapes)
    attention *= a.causal_share if a.fused_attention else 1.0
    passes = 3.0 if job.trains_all else 2.0
    backward = 2.5 if a.fused_attention else 2.0
    again = np.where(plans.recompute == FULL, 1.0, 0.0)
    per_token = linear * (passes + again) + attention * (1 + backward + again)
    return job.batch_tokens * per_token


def _memory_bytes(
    model: CostModel, plans: PlanTable, local: LocalParameters, m: FloatArray
) -> FloatArray:
    """Weights read by three passes per micro-batch, element-wise traffic, optimizer state."""
    a, shapes, job = model.assumptions, model.shapes, model.job
    kinds = job.model.layer_kinds
    dense, moe = kinds.count("dense"), kinds.count("moe")
    weights = dense * local.dense_layer + moe * (local.moe_layer + local.experts)
    passes = 3.0 + np.where(plans.recompute == FULL, 1.0, 0.0)
    replicas = plans.dp * plans.fsdp * plans.cp
    reads = passes * a.operand_bytes * weights * m * plans.tp * replicas
    rows = plans.tp / np.where(plans.sequence_parallel, plans.tp, 1)
    per_token = np.zeros(len(plans))
    for count, width in ((dense, shapes.dense_width), (moe, shapes.active_width)):
        row = shapes.hidden * (a.row_bytes * rows + a.tp_bytes)
        per_token = per_token + count * 2 * a.elementwise * (
            row + a.ffn_bytes * (1 + shapes.gated) * width
        )
    elementwise = (1 + a.elementwise_backward) * job.batch_tokens * per_token
    copies = np.where(plans.sharding == DDP, replicas, 1)
    state = a.optimizer_traffic_bytes * trained_share(job) * job.model.total_parameters * copies
    return reads + elementwise + state


def _wire_bytes(
    model: CostModel,
    plans: PlanTable,
    local: LocalParameters,
    nets: dict[str, GroupCosts],
    m: FloatArray,
) -> tuple[FloatArray, ...]:
    """Bytes received over each level by all chips in one step."""
    volumes = _gather_volumes(model, plans, local, m)
    swaps = _exchange_volumes(model, plans, m)
    sends = _send_volume(model, plans, m)
    result = []
    for level in range(len(model.cluster.levels)):
        total = sends * nets["pp"].send_crossing(level)
        for group, volume in volumes.items():
            total = total + volume * nets[group].crossing(level)
        for group, volume in swaps.items():
            total = total + volume * nets[group].exchange_crossing(level)
        result.append(total)
    return tuple(result)


def _gather_volumes(
    model: CostModel, plans: PlanTable, local: LocalParameters, m: FloatArray
) -> dict[str, FloatArray]:
    """Full-buffer bytes of all all-gathers and reduce-scatters of a step, summed over chips."""
    shapes, job = model.shapes, model.job
    kinds = job.model.layer_kinds
    dense, moe = kinds.count("dense"), kinds.count("moe")
    chips = plans.chips.astype(np.float64)
    tokens = plans.micro_batch * job.seq_len / plans.cp
    passes = 2.0 + np.where(plans.recompute == FULL, 1.0, 0.0)
    per_layer = shapes.tp_exchanges * ACTIVATION_BYTES * tokens * shapes.hidden
    exchanged = (dense + 0.5 * moe) * per_layer * passes * m * chips / plans.pp
    kv_heads = shapes.heads / plans.tp if shapes.latent else -(-shapes.kv_heads // plans.tp)
    kv_bytes = ACTIVATION_BYTES * tokens * kv_heads * (shapes.head_dim + shapes.value_dim)
    ring = np.where(plans.cp_mode == ALL_TO_ALL, 0.0, 1.0)
    rings = ring * (dense + moe) * kv_bytes * plans.cp * (passes + 1) * m * chips / plans.pp
    shared = (dense * local.dense_layer + moe * local.moe_layer) * chips / plans.pp
    shared = shared + (local.embedding + local.head) * chips / plans.pp
    routed = moe * local.experts * chips / plans.pp
    volumes = {"tp": exchanged, "cp": rings}
    for prefix, parameters in (("", shared), ("expert_", routed)):
        for group, volume in _state_volumes(model, plans, parameters, m).items():
            volumes[prefix + group] = volume
    return volumes


def _state_volumes(
    model: CostModel, plans: PlanTable, parameters: FloatArray, m: FloatArray
) -> dict[str, FloatArray]:
    """Gather volumes of weights and gradients by group (an all-reduce counts twice)."""
    share = trained_share(model.job)
    gradients = model.assumptions.gradient_wire_bytes * share * parameters
    weights = WEIGHT_BYTES * parameters
    zero3 = plans.sharding == ZERO3
    scatters = np.where(plans.sharding == ZERO2, m, 1.0)
    once = np.where(plans.sharding == DDP, 2 * gradients, scatters * gradients + share * weights)
    return {
        "data": np.where(zero3, 0.0, once),
        "shard": np.where(zero3, m * (2 * weights + gradients), 0.0),
        "replica": np.where(zero3, 2 * gradients / (plans.cp * plans.fsdp), 0.0),
    }


def _exchange_volumes(model: CostModel, plans: PlanTable, m: FloatArray) -> dict[str, FloatArray]:
    """Bytes sent in all-to-alls of a step, summed over chips."""
    shapes, job = model.shapes, model.job
    moe = job.model.layer_kinds.count("moe")
    chips_per_stage = plans.chips / plans.pp
    tokens = plans.micro_batch * job.seq_len / plans.cp
    passes = 2.0 + np.where(plans.recompute == FULL, 1.0, 0.0)
    routed = ACTIVATION_BYTES * tokens / plans.tp * shapes.experts_per_token * shapes.hidden
    experts = 2 * passes * moe * routed * m * chips_per_stage
    kv_heads = shapes.heads / plans.tp if shapes.latent else -(-shapes.kv_heads // plans.tp)
    width = (shapes.heads / plans.tp + kv_heads) * (shapes.head_dim + shapes.value_dim)
    swap = np.where(plans.cp_mode == ALL_TO_ALL, 1.0, 0.0) * ACTIVATION_BYTES * tokens * width
    return {
        "ep": experts,
        "cp": swap * passes * job.model.layers * m * chips_per_stage,
    }


def _send_volume(model: CostModel, plans: PlanTable, m: FloatArray) -> FloatArray:
    """Bytes of all pipeline messages of a step: 2 per micro-batch and border between chunks."""
    tokens = plans.micro_batch * model.job.seq_len / plans.cp
    divided = plans.sequence_parallel | model.assumptions.splits_p2p
    size = ACTIVATION_BYTES * tokens * model.shapes.hidden / np.where(divided, plans.tp, 1)
    borders = plans.pp * plans.interleave - 1
    return np.where(plans.pp > 1, 2 * size * borders * m, 0.0) * plans.chips / plans.pp
