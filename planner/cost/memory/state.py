"""Weights, gradients and optimizer of one chip: after sharding, and what offloading leaves here.

Sources: Rajbhandari et al., ZeRO, arXiv:1910.02054, section 5; Ren et al., ZeRO-Offload,
arXiv:2101.06840, section 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planner.assumptions.optimizers import FROZEN, OPTIMIZERS, QUANTIZED, UNQUANTIZED
from planner.base.arrays import FloatArray, IntArray
from planner.cost.job import Job
from planner.cost.memory.parameters import LocalParameters, trained_share
from planner.cost.stages.layout import StageClasses
from planner.plan import OFFLOAD_OPTIMIZER, OFFLOAD_WEIGHTS, ZERO1, ZERO2, ZERO3, PlanTable


def shards(plans: PlanTable, sharding: IntArray) -> tuple[FloatArray, FloatArray]:
    """(n, s) ranks over which dense and expert state is divided, given a sharding per stage.

    Dense: cp * dp * fsdp, or cp * fsdp under zero3 (hybrid sharding keeps dp replicas); experts:
    what the groups of ep and etp leave of tp and of the same axes. These are the sizes of the
    groups "data", "shard", "expert_data" and "expert_shard" of `planner.network.placement`.
    """
    full = (plans.cp * plans.dp * plans.fsdp)[:, None]
    inner = (plans.cp * plans.fsdp)[:, None]
    dense = np.where(sharding == ZERO3, inner, full)
    tp, holders = plans.tp[:, None], plans.expert_ranks[:, None]
    gathered = inner * tp // np.gcd(inner * tp, holders)
    experts = np.where(sharding == ZERO3, gathered, full * tp // holders)
    return dense.astype(np.float64), np.maximum(experts, 1).astype(np.float64)


def shards_on_host(
    plans: PlanTable, sharding: IntArray
) -> tuple[FloatArray | float, FloatArray | float]:
    """Ranks over which the weights on the host are divided: those of zero3, else one.

    Under zero3 a rank copies its shard to the chip and gathers there, in PyTorch
    (torch/distributed/fsdp/_fully_shard/_fsdp_param.py, `offload_to_cpu`) and DeepSpeed
    (runtime/zero/partition_parameters.py, `remote_device`) alike.
    """
    if not np.any(plans.offload & OFFLOAD_WEIGHTS):
        return 1.0, 1.0
    dense, experts = shards(plans, sharding)
    gathered = sharding == ZERO3
    return np.where(gathered, dense, 1.0), np.where(gathered, experts, 1.0)


def host_keys(plans: PlanTable) -> list[IntArray]:
    """The columns that `shards_on_host` depends on, beside those of a layer."""
    moves = plans.offload & OFFLOAD_WEIGHTS > 0
    if not moves.any():
        return []
    return [np.where(moves, column, 0).astype(np.int64) for column in (plans.fsdp, plans.sharding)]


def end_parameters(plans: PlanTable, stages: StageClasses, local: LocalParameters) -> FloatArray:
    """(n, s) parameters of embedding, tower and head; a tied table counts once on one stage.

    On one stage the tied head adds the final norm only; on two each holds the table.
    """
    beside = stages.first * stages.last > 0
    head = np.where(beside, local.head_beside_embedding, local.head)
    return stages.first * (local.embedding + local.tower) + stages.last * head


def frozen_bytes(job: Job) -> float:
    """Bytes of a weight in a layer that the job does not train; frozen ones have no master copy."""
    if job.frozen_weights in QUANTIZED:
        return FROZEN[job.frozen_weights]
    return max(job.framework.weight_bytes, FROZEN[job.frozen_weights])


def gathered_bytes(job: Job) -> float:
    """Bytes of a weight of a layer as zero3 gathers it: 16 bits, or those of a quantized one.

    FSDP gathers what it holds: bitsandbytes packs weights of 4 bits into elements of the type that
    `bnb_4bit_quant_storage` names (bitsandbytes 0.50.2, nn/modules.py, `Params4bit`; its page
    https://huggingface.co/docs/bitsandbytes/fsdp_qlora), torchao 0.10 hands over its
    packed bytes and scales (dtypes/nf4tensor.py, `fsdp_pre_all_gather`). Scales count in both.
    """
    return FROZEN[UNQUANTIZED] if job.trains_all else min(FROZEN[UNQUANTIZED], frozen_bytes(job))


def _weight_bytes(job: Job) -> tuple[float, float, float]:
    """Bytes of weights per parameter: of trained ones, of others, and more of those at the ends.

    Others are frozen ones and a reference model, which has 16 bits or more.
    """
    own = job.framework.weight_bytes
    trained, beside = own, 0.0
    if not job.trains_all:
        trained, beside = own * trained_share(job), frozen_bytes(job)
    beside += job.reference_copies * max(own, FROZEN[UNQUANTIZED])
    return trained, beside, FROZEN[UNQUANTIZED] - frozen_bytes(job) if job.widens else 0.0


def trained_bytes(job: Job, parts: Mapping[str, FloatArray | float]) -> FloatArray:
    """(n,) bytes that a checkpoint takes of a chip: trained weights, and all of the optimizer.

    Args:
        job: What is trained.
        parts: (n,) bytes of the chip by `planner.cost.memory.memory.MEMORY_PARTS`. Its weights are
            trained in the share that those of the whole model have.
    """
    model = job.model
    trained, beside, at_ends = _weight_bytes(job)
    ends = at_ends * (model.embedding_parameters + model.head_parameters) / model.total_parameters
    share = trained / (trained + beside + ends) if trained else 0.0
    weights, optimizer = (np.asarray(parts[name]) for name in ("weights", "optimizer"))
    return np.asarray(share * weights + optimizer, dtype=np.float64)


def optimizer_bytes(job: Job) -> tuple[float, float]:
    """Bytes that the optimizer keeps per trained parameter: of all, and of the ends beside that."""
    framework, optimizer = job.framework, OPTIMIZERS[job.optimizer]
    own = optimizer.bytes_of(framework.optimizer_bytes, framework.master_bytes)
    return own, framework.optimizer_bytes - own if optimizer.matrices_only else 0.0


def state_bytes(
    job: Job,
    plans: PlanTable,
    dense: FloatArray,
    experts: FloatArray,
    ends: FloatArray,
    sharding: IntArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(n, s) bytes of weights, gradients and optimizer after sharding (ZeRO, section 5).

    Args:
        job: What is trained, and with which optimizer.
        plans: n plans.
        dense, experts, ends: (n, s) parameters of one chip before sharding; `dense` counts those
            of embedding and head, `ends`, too.
        sharding: (n, 1) or (n, s) codes.
    """
    z_dense, z_experts = shards(plans, sharding)
    one = np.ones_like(z_dense)

    def kept(per_parameter: float, least: int, beside: float = 0.0) -> FloatArray:
        divided = sharding >= least
        z = np.where(divided, z_dense, one)
        layers = dense / z + experts / np.where(divided, z_experts, one)
        whole = per_parameter * layers
        return whole + beside * ends / z if beside else whole

    framework, share = job.framework, trained_share(job)
    own, ends_of_optimizer = optimizer_bytes(job)
    trained, beside, at_ends = _weight_bytes(job)
    return (
        kept(trained + beside, ZERO3, at_ends),
        kept(framework.gradient_bytes * share, ZERO2),
        kept(own * share, ZERO1, ends_of_optimizer * share),
    )


def step_bytes(
    job: Job, plans: PlanTable, dense: FloatArray, experts: FloatArray, sharding: IntArray
) -> FloatArray:
    """(n, s) bytes that exist during the optimizer step only; arguments as of `state_bytes`.

    `FrameworkProfile.optimizer_phase` of all parameters of the chip, and `widened_gradients` of
    those that it steps, at most `widened_at_once` of them under zero3. None on the host.
    """
    framework, share = job.framework, trained_share(job)
    whole = framework.optimizer_phase * (dense + experts)
    if not framework.widened_gradients:
        return whole
    z_dense, z_experts = shards(plans, sharding)
    divided = sharding >= ZERO1
    owned = share * np.where(divided, dense / z_dense + experts / z_experts, dense + experts)
    owned = np.where(sharding == ZERO3, np.minimum(owned, framework.widened_at_once), owned)
    moved = (plans.offload & OFFLOAD_OPTIMIZER > 0)[:, None]
    return whole + np.where(moved, 0.0, framework.widened_gradients * owned)


def offloaded(
    plans: PlanTable,
    state: tuple[FloatArray, FloatArray, FloatArray],
    local: LocalParameters,
    sharding: IntArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """State on the chip and bytes on the host after offloading; weights keep two layers here.

    Under zero3 these are the gathered ones, which are counted with the buffers.

    An optimizer on the host takes the gradients there too: under zero2 and zero3 each shard leaves
    as soon as it is reduced.
    """
    weights, gradients, optimizer = state
    if not plans.offload.any():
        return weights, gradients, optimizer, np.zeros_like(weights)
    layer = np.maximum(local.dense_layer, local.moe_layer + local.experts)
    moves_optimizer = (plans.offload & OFFLOAD_OPTIMIZER > 0)[:, None]
    moves_weights = (plans.offload & OFFLOAD_WEIGHTS > 0)[:, None]
    moves_gradients = moves_optimizer & (sharding >= ZERO2)
    host = np.where(moves_optimizer, optimizer, 0.0) + np.where(moves_weights, weights, 0.0)
    host = host + np.where(moves_gradients, gradients, 0.0)
    streamed = np.where(sharding == ZERO3, 0.0, np.minimum(weights, 4.0 * layer))
    here = np.where(moves_weights, streamed, weights)
    return (
        here,
        np.where(moves_gradients, 0.0, gradients),
        np.where(moves_optimizer, 0.0, optimizer),
        host,
    )
