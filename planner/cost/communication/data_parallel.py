"""What data parallelism sends: per layer and micro-batch (zero2, zero3), and once per step.

    ddp      all-reduce of the gradients, once
             where the framework holds nothing back (`reduces_again`): with every micro-batch, as
             the all-reduce across dp of hybrid zero3
    zero1    reduce-scatter of gradients and all-gather of weights, once
    zero2    the same, and a reduce-scatter with every earlier micro-batch
    zero3    two all-gathers and a reduce-scatter per layer and micro-batch within the shards
             (cp x fsdp); under hybrid sharding an all-reduce across dp, once
             where the framework keeps the gathered stage (`gathers_once`): within the shards what
             zero1 sends, once, and the weights of a reference model

Where nothing hides the gather of zero1, zero2 and kept stages (`hides_gather` off), it ends the
step.

Source: Rajbhandari et al., ZeRO, arXiv:1910.02054, section 7; Zhao et al., PyTorch FSDP,
arXiv:2304.11277, section 3; for the last, the code that `planner.frameworks.profiles` names. Expert
parameters do the same on the ranks that hold the same experts. All arrays broadcast to (n, s).
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.assumptions.assumptions import Assumptions
from planner.assumptions.software import FrameworkProfile
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.cost.job import Job
from planner.cost.kernels.compute import smooth_max
from planner.cost.memory.state import gathered_bytes
from planner.network.collectives import GroupCosts
from planner.plan import DDP, ZERO1, ZERO2, ZERO3

WEIGHT_BYTES = 2.0
"""Of a weight in 16 bits, as all are but quantized ones of layers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataNets:
    """Costs of the groups of `planner.network.placement` that data parallelism uses."""

    shard: GroupCosts
    replica: GroupCosts
    data: GroupCosts
    expert_shard: GroupCosts
    expert_replica: GroupCosts
    expert_data: GroupCosts


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathers:
    """What zero3 gathers of the weights.

    Attributes:
        weight_bytes: Of a weight of the model that is trained.
        forward: Forward passes over that: two where a reference has the same weights.
        copies: Reference models of their own weights, in 16 bits, each with a forward pass.
    """

    weight_bytes: float
    forward: int
    copies: int

    @staticmethod
    def of(job: Job) -> Gathers:
        """Those of a job."""
        copies = job.reference_copies
        forward = 1 + job.reference_passes - copies
        return Gathers(weight_bytes=gathered_bytes(job), forward=forward, copies=copies)

    def bytes_of(self, passes: int) -> float:
        """Bytes per parameter in so many passes over the trained model, and one over each copy."""
        return passes * self.weight_bytes + self.copies * WEIGHT_BYTES

    def seconds(self, net: GroupCosts, parameters: FloatArray, passes: int) -> FloatArray:
        """Seconds of the same, one gather after another."""
        own = passes * net.gather_s(self.weight_bytes * parameters)
        if not self.copies:
            return own
        return own + self.copies * net.gather_s(WEIGHT_BYTES * parameters)


def updated_bytes(a: Assumptions, sharding: IntArray) -> FloatArray:
    """Bytes per weight that is gathered once it is updated, by code of the sharding."""
    return np.where(sharding == ZERO1, a.weight_wire_bytes, WEIGHT_BYTES)


def gathers_once(framework: FrameworkProfile, pp: IntArray) -> BoolArray:
    """Where zero3 keeps a stage and its gradients unsharded until the step ends."""
    return framework.gathers_once_under_pp & (pp > 1)


def reduces_again(framework: FrameworkProfile, pp: IntArray) -> BoolArray:
    """Where whole gradients of replicas are reduced with every micro-batch."""
    return np.asarray(framework.reduces_replicas_every_micro_batch & (pp == 1))


def counts_micro_batches(
    framework: FrameworkProfile, sharding: IntArray, pp: IntArray
) -> BoolArray:
    """Where the share of a micro-batch in `layer_collective_s` depends on their number."""
    return np.asarray((sharding == ZERO2) | reduces_again(framework, pp))


def layer_collective_s(
    a: Assumptions,
    nets: DataNets,
    sharding: IntArray,
    dense: FloatArray,
    experts: FloatArray,
    m: FloatArray,
    once: BoolArray,
    again: BoolArray,
    trained_share: float,
    gathers: Gathers,
) -> FloatArray:
    """Seconds of the collectives of one layer and micro-batch, before overlap.

    The last reduce-scatter of zero2 belongs to the step (`step_collective_s`), so that with one
    micro-batch zero2 costs what zero1 costs; the others count as their mean per micro-batch. So do
    the all-reduces of replicas that every micro-batch has.

    Args:
        a: Wire bytes per gradient.
        nets: Costs of the groups.
        sharding: Codes.
        dense, experts: Parameters of the layer on the chip before data-parallel sharding.
        m: Micro-batches per step.
        once: Where zero3 gathers and reduces once per step instead, from `gathers_once`.
        again: Where replicas reduce with every micro-batch, from `reduces_again`.
        trained_share: Share of the parameters that get gradients (1 but for LoRA).
        gathers: Of zero3: for each forward pass, and for the backward pass.
    """
    gradients = a.gradient_wire_bytes * trained_share
    zero3 = (
        gathers.seconds(nets.shard, dense, gathers.forward + 1)
        + nets.shard.gather_s(gradients * dense)
        + _with_experts(experts, nets.expert_shard, gradients, gathers)
    )
    zero2 = nets.data.gather_s(gradients * dense)
    if np.any(experts):
        of_experts = nets.expert_data.gather_s(gradients * experts)
        zero2 = zero2 + np.where(experts > 0, of_experts, 0.0)
    earlier = (m - 1) / m
    each = np.where(sharding == ZERO2, earlier * zero2, 0.0)
    each = np.where((sharding == ZERO3) & ~once, zero3, each)
    if not np.any(again):
        return each
    return each + np.where(
        again, earlier * _replicas_s(nets, sharding, dense, experts, gradients), 0.0
    )


def _replicas_s(
    nets: DataNets,
    sharding: IntArray,
    dense: FloatArray,
    experts: FloatArray,
    gradients: float,
) -> FloatArray:
    """Seconds of one all-reduce of a layer by ddp, or across replicas by hybrid zero3.

    Arguments as for `layer_collective_s`; `gradients`: bytes per parameter.
    """

    def of(
        parameters: FloatArray, data: GroupCosts, replica: GroupCosts, shards: FloatArray
    ) -> FloatArray:
        whole = np.where(sharding == DDP, data.reduce_s(gradients * parameters), 0.0)
        across = replica.reduce_s(gradients * parameters / shards)
        return np.where(parameters > 0, np.where(sharding == ZERO3, across, whole), 0.0)

    seconds = of(dense, nets.data, nets.replica, nets.shard.size)
    if not np.any(experts):
        return seconds
    return seconds + of(experts, nets.expert_data, nets.expert_replica, nets.expert_shard.size)


def forward_gather_s(
    nets: DataNets,
    sharding: IntArray,
    dense: FloatArray,
    experts: FloatArray,
    once: BoolArray,
    gathers: Gathers,
) -> FloatArray:
    """Seconds in which zero3 gathers the weights of a layer for forward passes; 0 elsewhere.

    Arguments as for `layer_collective_s`, of which this is a part.
    """
    gathered = gathers.seconds(nets.shard, dense, gathers.forward)
    if np.any(experts):
        of_experts = gathers.seconds(nets.expert_shard, experts, gathers.forward)
        gathered = gathered + np.where(experts > 0, of_experts, 0.0)
    return np.where((sharding == ZERO3) & ~once, gathered, 0.0)


def _with_experts(
    experts: FloatArray, net: GroupCosts, gradients: float, gathers: Gathers
) -> FloatArray:
    """The gathers and a scatter of the experts, 0 on layers without."""
    if not np.any(experts):
        return np.zeros_like(experts)
    weights = gathers.seconds(net, experts, gathers.forward + 1)
    both = weights + net.gather_s(gradients * experts)
    return np.where(experts > 0, both, 0.0)


def sharded_layer_s(a: Assumptions, layer: FloatArray, collective: FloatArray) -> FloatArray:
    """Seconds of a layer whose collectives overlap with it.

    smoothmax6(t + (1 - ov) c, c): the exposed share, or the collectives alone when they are
    longer than everything else.
    """
    return smooth_max(layer + (1 - a.zero3_overlap) * collective, collective, 6)


def idle_backward_s(
    layer: FloatArray, collective: FloatArray, sharded: FloatArray, backward: FloatArray
) -> FloatArray:
    """Seconds of a layer's backward pass in which its own collectives leave the network idle.

    Backward less the t + c - T seconds of collectives that hide behind the layer. Since only this
    hides the reduction of the step, T minus what it hides never falls when kernels, collectives or
    the network get slower.

    Args:
        layer: t, both passes with gradient accumulation.
        collective: c.
        sharded: T, from `sharded_layer_s`.
        backward: The part of t.
    """
    return np.maximum(backward - ((layer + collective) - sharded), 0.0)


def step_collective_s(
    a: Assumptions,
    nets: DataNets,
    sharding: IntArray,
    dense: FloatArray,
    experts: FloatArray,
    once: BoolArray,
    trained_share: float,
    gathers: Gathers,
) -> FloatArray:
    """Seconds of the collectives of one step, before overlap; 0 without parameters.

    Args:
        a: Wire bytes, buckets.
        nets: Costs of the groups.
        sharding: Codes.
        dense, experts: Parameters of the stage on the chip before data-parallel sharding.
        once: Where zero3 gathers and reduces once per step, from `gathers_once`.
        trained_share: Share of the parameters that get gradients (1 but for LoRA).
        gathers: Of zero3 that gathers once, for all passes.
    """

    def of(parameters: FloatArray, groups: tuple[GroupCosts, GroupCosts, GroupCosts]) -> FloatArray:
        seconds = _reduction_s(a, sharding, trained_share * parameters, groups)
        if np.any(once):
            _, _, shard = groups
            whole = _gathered_once_s(a, shard, parameters, trained_share, gathers)
            seconds = seconds + np.where((sharding == ZERO3) & once, whole, 0.0)
        return np.where(parameters > 0, seconds, 0.0)

    total = of(dense, (nets.data, nets.replica, nets.shard))
    if not np.any(experts):
        return total
    return total + of(experts, (nets.expert_data, nets.expert_replica, nets.expert_shard))


def _gathered_once_s(
    a: Assumptions,
    shard: GroupCosts,
    parameters: FloatArray,
    trained_share: float,
    gathers: Gathers,
) -> FloatArray:
    """A reduce-scatter of the gradients within the shards, and the all-gathers of all weights.

    The latter only where it is hidden; else `late_gather_s` has it.
    """
    gradients = a.gradient_wire_bytes * trained_share * parameters
    both = shard.gather_s(gradients)
    if a.hides_gather:
        both = gathers.seconds(shard, parameters, 1) + both
    return both + _hops_s(a, shard, gradients)


def _hops_s(a: Assumptions, net: GroupCosts, gradients: FloatArray) -> FloatArray:
    """Seconds in which the rings of all buckets pass every node, there and back."""
    return 2 * (net.domains - 1) * a.bucket_hop_s * gradients / a.bucket_bytes


def _reduction_s(
    a: Assumptions,
    sharding: IntArray,
    parameters: FloatArray,
    nets: tuple[GroupCosts, GroupCosts, GroupCosts],
) -> FloatArray:
    data, replica, shard = nets
    gradients = a.gradient_wire_bytes * parameters
    sharded = data.gather_s(gradients)
    if a.hides_gather:
        sharded = data.gather_s(updated_bytes(a, sharding) * parameters) + sharded
    whole = data.reduce_s(gradients)
    across = replica.reduce_s(gradients / shard.size)
    across = across + _hops_s(a, replica, gradients) / shard.size
    plain = np.where(sharding == DDP, whole, sharded) + _hops_s(a, data, gradients)
    return np.where(sharding == ZERO3, across, plain)


def late_gather_s(
    a: Assumptions,
    nets: DataNets,
    sharding: IntArray,
    dense: FloatArray,
    experts: FloatArray,
    tensors: FloatArray,
    once: BoolArray,
    trained_share: float,
    gathers: Gathers,
) -> FloatArray:
    """Seconds in which weights are gathered once per step where nothing hides it.

    By zero1 and zero2 the updated ones; by zero3 that keeps a stage all of them. Where the host
    copies the gathered weights tensor by tensor and rank by rank, it takes `slice_s` for each
    (nanotron/distributed.py, `all_gather_coalesced`).

    Args:
        tensors: Parameter tensors of the stage.
        a, nets, sharding, dense, experts, once, trained_share, gathers: As for `step_collective_s`,
            of which this is a part where `hides_gather` is on.
    """
    none = np.zeros(np.broadcast(dense, sharding).shape)
    if a.hides_gather:
        return none

    slices = a.slice_s * tensors * np.where(nets.data.size > 1, nets.data.size, 0.0)

    def of(parameters: FloatArray, data: GroupCosts, shard: GroupCosts) -> FloatArray:
        updated = data.gather_s(updated_bytes(a, sharding) * trained_share * parameters)
        whole = np.where(once, gathers.seconds(shard, parameters, 1), 0.0)
        seconds = np.where(sharding == ZERO3, whole, np.where(sharding == DDP, 0.0, updated))
        return np.where(parameters > 0, seconds, 0.0)

    seconds = none + of(dense, nets.data, nets.shard)
    if np.any(experts):
        seconds = seconds + of(experts, nets.expert_data, nets.expert_shard)
    return seconds + np.where((sharding == ZERO3) | (sharding == DDP), 0.0, slices)


def owned_parameters(
    nets: DataNets, sharding: IntArray, dense: FloatArray, experts: FloatArray
) -> FloatArray:
    """Parameters whose optimizer state a chip keeps and updates.

    Args:
        nets: Groups; their sizes are the shards.
        sharding: Codes.
        dense, experts: Parameters of the stage on the chip before data-parallel sharding.
    """

    def shards(shard: GroupCosts, data: GroupCosts) -> FloatArray:
        whole = np.where(sharding == DDP, 1.0, data.size)
        return np.where(sharding == ZERO3, shard.size, whole)

    owned: FloatArray = dense / shards(nets.shard, nets.data)
    if not np.any(experts):
        return owned
    return owned + experts / shards(nets.expert_shard, nets.expert_data)


def exposed_s(a: Assumptions, collective: FloatArray, backward: FloatArray) -> FloatArray:
    """What the backward pass of the last micro-batch does not hide: c - ov min(c, 0.9 t_b).

    `backward` is its part without collectives of its own (`idle_backward_s`).
    """
    return collective - a.dp_overlap * np.minimum(collective, a.dp_window * backward)
