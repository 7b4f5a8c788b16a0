"""The separable pieces of the step time, each from the few columns it depends on.

`evaluate` computes a piece once per plan; the search computes it once per distinct combination
of its columns and gathers. Both call the functions of this module, so that they agree to the last
bit. Columns have shape (n, 1) (or (n, s) for explicit stages), results broadcast to (n, k).
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from frozen_records import dataclass
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.cost.communication.data_parallel import (
    DataNets,
    Gathers,
    forward_gather_s,
    gathers_once,
    late_gather_s,
    layer_collective_s,
    owned_parameters,
    reduces_again,
    step_collective_s,
)
from planner.cost.communication.exchanges import ACTIVATION_BYTES, LayerInputs
from planner.cost.communication.hooks import hooks_s
from planner.cost.context import CostModel
from planner.cost.kernels.compute import linear_s
from planner.cost.kernels.layer import LayerTimes, layer_times
from planner.cost.layer_costs import EndCost
from planner.cost.memory.parameters import LocalParameters, padded_vocab
from planner.network.collectives import GroupCosts
from planner.plan import OFFLOAD_ACTIVATIONS, OFFLOAD_OPTIMIZER, OFFLOAD_WEIGHTS, ZERO3

LAYER_GROUPS = ("tp", "cp", "ep", "etp")
_EMBEDDING_BYTES = 12.0  # per token and hidden element: gather, write, scatter-add in fp32


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerColumns:
    """The columns that the time of a layer depends on beside its networks.

    Attributes:
        tp, cp, ep, etp, micro_batch, recompute, cp_mode, offload: As in `PlanTable`.
        sequence_parallel: As there.
        clock: Relative clocks, (n, 1), (n, s) or (1, k).
        saved_bytes: Activation bytes per token that one layer of each kind, (dense, moe), offloads
            when `offload` says so.
        held: Ranks over which zero3 divides dense and expert weights, the shard on each host.
    """

    tp: IntArray
    cp: IntArray
    ep: IntArray
    etp: IntArray
    micro_batch: IntArray
    sequence_parallel: BoolArray
    cp_mode: IntArray
    recompute: IntArray
    offload: IntArray
    clock: FloatArray
    saved_bytes: tuple[FloatArray, FloatArray]
    held: tuple[FloatArray | float, FloatArray | float] = (1.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTerms:
    """Times of one dense and one mixture-of-experts layer (None where the model has none)."""

    dense: LayerTimes | None
    moe: LayerTimes | None


def layer_groups(a: Assumptions) -> tuple[str, ...]:
    """The groups whose networks the time of a layer depends on."""
    return (*LAYER_GROUPS, "pp") if a.far_host_s_per_tp_rank else LAYER_GROUPS


def layer_terms(
    model: CostModel,
    x: LayerColumns,
    nets: dict[str, GroupCosts],
    local: LocalParameters,
) -> LayerTerms:
    """Layer times before data-parallel sharding, with offloading of weights and activations.

    Args:
        model: Job and assumptions.
        x: Columns.
        nets: The groups of `layer_groups`; without "pp" a lower bound.
        local: Parameters per chip, shaped like the columns.
    """
    inputs = LayerInputs(
        tp=x.tp,
        cp=x.cp,
        ep=x.ep,
        etp=x.etp,
        tokens=x.micro_batch * model.job.seq_len / x.cp,
        sequence_parallel=x.sequence_parallel,
        cp_mode=x.cp_mode,
        recompute=x.recompute,
        clock=x.clock,
        job=model.job,
        selective=model.framework.selective,
        repeats_fused=model.framework.repeats_fused,
        stops_early=model.framework.stops_early,
        gathers_context=model.framework.gathers_context,
        tp_net=nets["tp"],
        cp_net=nets["cp"],
        ep_net=nets["ep"],
        etp_net=nets["etp"],
        pp_net=nets.get("pp"),
    )
    dense, experts = x.held
    weights = (local.dense_layer / dense, local.moe_layer / dense + local.experts / experts)
    results: list[LayerTimes | None] = []
    for moe in (False, True):
        if ("moe" if moe else "dense") not in model.job.model.layer_kinds:
            results.append(None)
            continue
        times = layer_times(model.assumptions, model.shapes, inputs, moe=moe)
        saved = x.saved_bytes[moe] * inputs.tokens
        results.append(_streamed(model, times, x.offload, weights[moe], saved))
    return LayerTerms(dense=results[0], moe=results[1])


def _streamed(
    model: CostModel, times: LayerTimes, offload: IntArray, weights: FloatArray, saved: FloatArray
) -> LayerTimes:
    """Adds the exposed host-link time of offloaded weights and activations, each pass once."""
    if not np.any(offload):
        parts = {**times.parts, "offload": np.zeros_like(times.forward)}
        return replace(times, parts=parts)
    per_byte = 1.0 / model.chip.host_link_bandwidth_bytes_per_s
    moved = np.where(offload & OFFLOAD_WEIGHTS, 2.0 * weights, 0.0)
    moved = moved + np.where(offload & OFFLOAD_ACTIVATIONS, saved, 0.0)
    hidden = model.assumptions.host_link_overlap
    forward = moved * per_byte
    shown = forward - hidden * np.minimum(forward, times.forward)
    again = forward - hidden * np.minimum(forward, times.backward)
    return replace(
        times,
        forward=times.forward + shown,
        backward=times.backward + again,
        parts={**times.parts, "offload": shown + again},
    )


def data_nets(nets: dict[str, GroupCosts]) -> DataNets:
    """The groups that data parallelism uses."""
    return DataNets(**{one.name: nets[one.name] for one in fields(DataNets)})


def end_terms(model: CostModel, tp: IntArray, tokens: FloatArray, clock: FloatArray) -> EndCost:
    """Embedding, head and loss of one micro-batch; logits are always computed at 16 bits.

    The loss moves `FrameworkProfile.loss_bytes` per logit, a third forward, as of the products.

    Args:
        model: Job and assumptions.
        tp, tokens: (n, 1); of a micro-batch on the chip.
        clock: Relative clocks.
    """
    a = model.assumptions
    if not model.shapes.vocab:
        none = np.zeros(np.broadcast(tokens, clock).shape)
        return EndCost(embedding=none, head=none, head_backward=none, head_weight_grad=none)
    columns = padded_vocab(model.shapes.vocab, tp, model.vocab_multiple) / tp
    head = linear_s(
        a, tokens, model.shapes.hidden, columns, clock=clock, flop_per_s=a.bf16_flop_per_s
    )
    weight_grad = head.weight_grad * float(model.job.trains_all)
    backward = head.input_grad + weight_grad
    moved = _EMBEDDING_BYTES * tokens * model.shapes.hidden
    ahead = 1 + model.job.reference_passes
    logits = tokens * (columns if model.framework.vocab_parallel_loss else columns * tp)
    loss = model.framework.loss_bytes / 3 * logits / a.memory_bytes_per_s
    return EndCost(
        embedding=ahead * moved / a.memory_bytes_per_s + np.zeros_like(backward),
        head=ahead * (head.forward + loss) + backward + 2 * loss,
        head_backward=backward + 2 * loss,
        head_weight_grad=weight_grad,
        head_memory=(ahead + 2) * loss + np.zeros_like(backward),
    )


def send_term(
    model: CostModel,
    tp: IntArray,
    tokens: FloatArray,
    sequence_parallel: BoolArray,
    net: GroupCosts,
) -> FloatArray:
    """Exposed seconds of the two sends of a micro-batch between neighbouring chunks."""
    return model.assumptions.p2p_exposed * send_s(model, tp, tokens, sequence_parallel, net)


def send_s(
    model: CostModel,
    tp: IntArray,
    tokens: FloatArray,
    sequence_parallel: BoolArray,
    net: GroupCosts,
) -> FloatArray:
    """Seconds of the sends of a micro-batch between neighbouring chunks, hidden or not.

    Two, and one of a reference model; each is 2 T h bytes, divided by tp under sequence
    parallelism (or where the era splits them).
    """
    size = send_bytes(model, tp, tokens, sequence_parallel)
    return (2 + model.job.reference_passes) * net.send_s(size)


def send_bytes(
    model: CostModel, tp: IntArray, tokens: FloatArray, sequence_parallel: BoolArray
) -> FloatArray:
    """Bytes of one message between neighbouring chunks."""
    divided = sequence_parallel | model.assumptions.splits_p2p
    return ACTIVATION_BYTES * tokens * model.shapes.hidden / np.where(divided, tp, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardTerms:
    """What data-parallel sharding adds to each layer and micro-batch.

    Attributes:
        collective: Seconds of the collectives of one dense and one moe layer, before overlap.
        ahead: The part of them in the forward pass; zeros where `perfect_overlap` is off.
        accumulate: Seconds to add the gradients of one layer to the accumulators.
        hooks: Seconds in which the host launches one layer with its hooks; zeros where the
            framework has none.
    """

    collective: tuple[FloatArray, FloatArray]
    ahead: tuple[FloatArray, FloatArray]
    accumulate: tuple[FloatArray, FloatArray]
    hooks: tuple[FloatArray, FloatArray]


def shard_terms(
    model: CostModel,
    nets: DataNets,
    local: LocalParameters,
    sharding: IntArray,
    pp: IntArray,
    m: FloatArray,
    trained_share: float,
) -> ShardTerms:
    """Per-layer terms of a sharding.

    Gradients that zero3 reduces with every micro-batch are added up as shards; all others, also
    those that it reduces once, as a whole.

    Args:
        model: Job and assumptions.
        nets: Data-parallel groups.
        local: Parameters per chip before sharding, shaped like the columns.
        sharding: Codes.
        pp: Stages.
        m: Micro-batches per step.
        trained_share: Share of the parameters that get gradients (1 but for LoRA).
    """
    a = model.assumptions
    once, again = gathers_once(model.framework, pp), reduces_again(model.framework, pp)
    kinds = (
        (local.dense_layer, np.zeros_like(local.dense_layer)),
        (local.moe_layer, local.experts),
    )
    sent = (m, once, again, trained_share, gathers := Gathers.of(model.job))
    dense, moe = (
        layer_collective_s(a, nets, sharding, shared, experts, *sent) for shared, experts in kinds
    )
    ahead_dense, ahead_moe = (
        forward_gather_s(nets, sharding, shared, experts, once, gathers)
        if a.perfect_overlap
        else np.zeros((1, 1))
        for shared, experts in kinds
    )
    hooks = [
        hooks_s(a, model.framework, model.shapes, sharding, moe=moe)
        if model.framework.module_hook_s
        else np.zeros((1, 1))
        for moe in (False, True)
    ]
    of_shards = (sharding == ZERO3) & ~once
    share = np.where(of_shards, a.accumulation_zero3_share, 1.0) * (m > 1)
    per_byte = share * trained_share * a.accumulation_bytes / a.memory_bytes_per_s
    return ShardTerms(
        collective=(dense, moe),
        ahead=(ahead_dense, ahead_moe),
        accumulate=(
            per_byte * local.dense_layer,
            per_byte * (local.moe_layer + local.experts),
        ),
        hooks=(hooks[0], hooks[1]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTerms:
    """What one stage does once per step: seconds of its collectives and of its optimizer."""

    collective: FloatArray
    optimizer: FloatArray
    optimizer_kernels: FloatArray

    def rows(self, index: IntArray) -> StateTerms:
        """The rows of `index`."""
        return StateTerms(
            collective=self.collective[index],
            optimizer=self.optimizer[index],
            optimizer_kernels=self.optimizer_kernels[index],
        )


def state_terms(
    model: CostModel,
    nets: DataNets,
    sharding: IntArray,
    offload: IntArray,
    pp: IntArray,
    dense: FloatArray,
    experts: FloatArray,
    tensors: FloatArray,
    trained_share: float,
) -> StateTerms:
    """Collectives and optimizer of a stage.

    The optimizer reads and writes `optimizer_traffic_bytes` per parameter at memory speed. On the
    host it does so at host memory speed, after the gradients have crossed the host link and
    before the weights come back. Where nothing hides the gathering of updated weights, it is part
    of the optimizer's time.

    Args:
        model: Job and assumptions.
        nets: Data-parallel groups.
        sharding, offload: Codes and masks.
        pp: Stages.
        dense, experts: Parameters of the stage on the chip before data-parallel sharding.
        tensors: Tensors that they are, of `stage_tensors`.
        trained_share: Share of the parameters that get gradients (1 but for LoRA).
    """
    a = model.assumptions
    owned = trained_share * owned_parameters(nets, sharding, dense, experts)
    traffic = a.optimizer_traffic_bytes * owned
    here = traffic / a.memory_bytes_per_s
    moved = (a.gradient_wire_bytes + 2.0) * owned
    link, host = host_rates(model)
    there = moved / link + traffic / host
    on_host = offload & OFFLOAD_OPTIMIZER > 0
    kept = (gathers_once(model.framework, pp), trained_share, Gathers.of(model.job))
    late = late_gather_s(a, nets, sharding, dense, experts, tensors, *kept)
    return StateTerms(
        collective=step_collective_s(a, nets, sharding, dense, experts, *kept),
        optimizer=np.where(on_host, there, here) + late,
        optimizer_kernels=np.where(on_host, 0.0, here),
    )


def host_rates(model: CostModel) -> tuple[float, float]:
    """Bytes per second of the host link and of host memory, per chip; tiny where unknown."""
    chip = model.chip
    link = chip.host_link_bandwidth_bytes_per_s or 1.0
    return link, chip.host_memory_bandwidth_bytes_per_s or 1.0
