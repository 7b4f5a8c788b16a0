"""Seconds, bytes and joules that each plan spends between chips.

    ring collective of n members over tensors of M bytes: `steps` messages of M / n per member,
    n - 1 for an all-gather or reduce-scatter, twice that for an all-reduce;
    latency = steps M / n beta_max (slowest link), energy = steps M / n sum over links of J per byte

    fetch of weights (ZeRO) over uniform traffic: B = (dp - 1) L bytes, average hops h,
    latency = B h / (N T) with T per chip, energy = B h J per byte and hop

Sources: Samuthrsindh and Kerdphoksup, Modeling Rack-Scale Data and ZeRO Parallelisms, section III;
Lu, Hu and Zhu, Investigating the Energy and Latency Tradeoff in Rack Scale Computing, section III;
Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, doi:10.1016/j.jpdc.2008.09.002.
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.network.topology.forms import link_count, sizes_of
from planner.network.topology.hops import average_hops
from planner.studies.rack.model.assumptions import RackAssumptions
from planner.studies.rack.model.compute import items_per_rank, stages_of
from planner.studies.rack.model.machine import Machine
from planner.studies.rack.model.plans import RackPlans
from planner.studies.rack.model.workloads import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One kind of communication, (n,) each.

    Attributes:
        latency_s: Seconds of the slowest group.
        wire_bytes: Bytes sent by all chips.
        energy_j: Joules on links inside racks; on links between racks.
    """

    latency_s: FloatArray
    wire_bytes: FloatArray
    inner_j: FloatArray
    outer_j: FloatArray


def links_between_racks(members: FloatArray, stride: FloatArray, rack_chips: int) -> FloatArray:
    """(n,) links of a ring that leave a rack, for members `stride` chips apart, rack by rack."""
    reach = members * stride
    racks = np.minimum(np.ceil(reach / rack_chips), members)
    return np.where((members > 1) & (reach > rack_chips), racks, 0.0)


def ring(
    machine: Machine,
    assumptions: RackAssumptions,
    plans: RackPlans,
    *,
    tensor_bytes: FloatArray,
    members: IntArray,
    stride: IntArray,
    groups: IntArray,
    steps_per_hop: float,
) -> Transfer:
    """A ring collective in `groups` groups at once.

    Args:
        machine, assumptions, plans: n plans on a machine.
        tensor_bytes: (n,) the whole buffer of a group.
        members: (n,) of a group; stride: chips between neighbours; groups: how many there are.
        steps_per_hop: 1 for an all-gather or reduce-scatter, 2 for an all-reduce.
    """
    n, inner, far = members.astype(np.float64), machine.inner, machine.outer or machine.inner
    between = np.zeros(len(plans))
    if machine.outer is not None:
        between = links_between_racks(n, stride.astype(np.float64), machine.rack_chips)
    inside = np.where(n > 1, n - between, 0.0)
    hops, sharers = np.ones(len(plans)), np.ones(len(plans))
    if assumptions.ring_hops:
        hops, sharers = ring_hops(machine, plans, n, stride.astype(np.float64))
    message, steps = tensor_bytes / n, steps_per_hop * (n - 1)
    if assumptions.ring_reading == "slowest_link":
        inner_s = sharers / inner.bytes_per_s
        per_byte = np.where(between > 0, np.maximum(inner_s, 1 / far.bytes_per_s), inner_s)
    else:  # 2 (n - 1) / n times round the ring
        per_byte = (inside / inner.bytes_per_s + between / far.bytes_per_s) / n
    latency = steps * message * per_byte
    if assumptions.latencies:
        latency = latency + steps * np.where(between > 0, far.latency_s, inner.latency_s)
    sent = groups * steps * message
    return Transfer(
        latency_s=latency,
        wire_bytes=sent * n,
        inner_j=sent * inside * hops * inner.j_per_byte,
        outer_j=sent * between * far.j_per_byte,
    )


def ring_hops(
    machine: Machine, plans: RackPlans, members: FloatArray, stride: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean hops of a ring's steps, and how many groups share a link.

    On a line, neighbours are `stride` hops apart and the closing step goes all the way back; on a
    ring it takes the shorter way. `stride` groups interleave, so they share every link. Elsewhere a
    step takes no more than the average distance.
    """
    chips = plans.chips.astype(np.float64)
    forth = stride * (members - 1)
    hops, sharers = np.ones(len(plans)), np.ones(len(plans))
    for index, name in enumerate(machine.topologies):
        here = plans.topology == index
        if name in ("linear", "ring"):
            back = np.minimum(forth, chips - forth) if name == "ring" else forth
            mean, shared = (forth + back) / np.maximum(members, 1.0), stride
        elif name == "fully-connected":
            mean = shared = np.ones(len(plans))
        else:
            far = np.ones(len(plans))
            far[here] = _hops(machine, name, plans.chips[here])
            mean = shared = np.clip(stride, 1.0, np.maximum(far, 1.0))
        hops, sharers = np.where(here, mean, hops), np.where(here, shared, sharers)
    return np.maximum(hops, np.where(members > 1, 1.0, 0.0)), sharers


def _hops(machine: Machine, name: str, chips: IntArray) -> FloatArray:
    """(n,) average hops; 0 for a single chip, which sends nothing."""
    if name in machine.fixed:
        return np.full(len(chips), float(machine.fixed[name].hops))
    return np.where(chips > 1, average_hops(name, np.maximum(chips, 2)), 0.0)


def mean_hops(machine: Machine, plans: RackPlans) -> FloatArray:
    """(n,) average hops between two chips of each plan's topology."""
    hops = np.zeros(len(plans))
    for index, name in enumerate(machine.topologies):
        here = plans.topology == index
        hops[here] = _hops(machine, name, plans.chips[here])
    return hops


def link_counts(machine: Machine, plans: RackPlans) -> FloatArray:
    """(n,) links of each plan's topology, at least 1, also for a single chip, which has none."""
    links = np.ones(len(plans))
    for index, name in enumerate(machine.topologies):
        if name in machine.fixed:
            links[plans.topology == index] = machine.fixed[name].links
            continue
        here = (plans.topology == index) & (plans.chips > 1)  # a single chip has none
        links[here] = np.maximum(link_count(name, sizes_of(name, plans.chips[here])), 1)
    return links


def weight_fetch(
    workload: Workload, plans: RackPlans, machine: Machine, assumptions: RackAssumptions
) -> Transfer:
    """ZeRO: every data rank fetches the (dp - 1) / dp of its stage's weights that others hold.

    Traffic is uniform over the chips. Between racks, a share of the pairs uses the outer links.
    """
    weights = np.full(len(plans), workload.weight_bytes)
    sent = np.where(plans.zero, (plans.dp - 1.0) * weights, 0.0)
    chips, hops = plans.chips.astype(np.float64), mean_hops(machine, plans)
    total = {"per_gpu": chips, "network": np.ones(len(plans))}.get(assumptions.basis)
    if total is None:
        total = link_counts(machine, plans)
    across = np.zeros(len(plans))
    if machine.outer is not None:
        others = np.maximum(chips - 1, 1.0)
        across = np.clip((chips - machine.rack_chips) / others, 0.0, 1.0)
    far = machine.outer or machine.inner
    inside_s = sent * (1 - across) * hops / (total * machine.inner.bytes_per_s)
    outside_s = sent * across / (total * far.bytes_per_s)
    return Transfer(
        latency_s=np.maximum(inside_s, outside_s),
        wire_bytes=sent,
        inner_j=sent * (1 - across) * hops * machine.inner.j_per_byte,
        outer_j=sent * across * far.j_per_byte,
    )


def gradient_all_reduce(
    workload: Workload, plans: RackPlans, machine: Machine, assumptions: RackAssumptions
) -> Transfer:
    """Data parallelism: the gradients of each stage's shard are summed over the data ranks."""
    elements = np.array([einsum.weight_elements for einsum in workload.einsums], dtype=np.float64)
    stage = stages_of(workload, plans.pp, scores_stay=assumptions.scores_stay)
    parts = []
    for s in range(int(stage.max()) + 1):
        held = ((stage == s) * elements).sum(axis=1) * workload.gradient_bytes / plans.tp
        parts.append(
            ring(
                machine,
                assumptions,
                plans,
                tensor_bytes=held,
                members=plans.dp,
                stride=plans.tp,
                groups=plans.tp,
                steps_per_hop=2.0,
            )
        )
    return _at_once(parts)


def tensor_gathers(
    workload: Workload, plans: RackPlans, machine: Machine, assumptions: RackAssumptions
) -> Transfer:
    """Tensor parallelism, one pass: the input is gathered, the output reduced and scattered."""
    items = items_per_rank(workload, plans)
    last = workload.einsums[-1]
    elements = workload.input_elements + last.output_elements
    inside = np.ones(len(plans))
    if not assumptions.gathers_inside_stages:
        inside = np.where(plans.pp > 1, 0.0, 1.0)
    return ring(
        machine,
        assumptions,
        plans,
        tensor_bytes=items * elements * workload.word_bytes * inside,
        members=plans.tp,
        stride=np.ones_like(plans.tp),
        groups=plans.dp,
        steps_per_hop=1.0,
    )


def stage_transfers(
    workload: Workload, plans: RackPlans, machine: Machine, assumptions: RackAssumptions
) -> Transfer:
    """Pipelines, one pass: every tensor that a later stage reads travels there once.

    Ranks send their shard; under `copies` every tensor rank of the next stage gets all rows.
    """
    items = items_per_rank(workload, plans)
    stage = stages_of(workload, plans.pp, scores_stay=assumptions.scores_stay)
    copies = plans.tp if assumptions.stage_transfers == "copies" else np.ones_like(plans.tp)
    width = plans.dp * plans.tp
    total = inner = outer = latency = np.zeros(len(plans))
    far = machine.outer or machine.inner
    for to, producers in enumerate(workload.producers):
        for source in producers:
            elements = workload.einsums[source].output_elements
            leaves = stage[:, to] > stage[:, source]
            sent = np.where(leaves, plans.dp * items * elements * workload.word_bytes * copies, 0.0)
            share = _share_between_racks(machine, width, stage[:, source], stage[:, to])
            per_chip = sent / width
            slow = np.where(share > 0, 1 / far.bytes_per_s, 1 / machine.inner.bytes_per_s)
            total = total + sent
            latency = latency + per_chip * slow
            inner = inner + sent * (1 - share) * machine.inner.j_per_byte
            outer = outer + sent * share * far.j_per_byte
    return Transfer(latency_s=latency, wire_bytes=total, inner_j=inner, outer_j=outer)


def _share_between_racks(
    machine: Machine, width: IntArray, source: IntArray, target: IntArray
) -> FloatArray:
    """(n,) share of the chips of a stage whose partner in another stage is in another rack.

    Chip c of `width` chips per stage sends to chip c + d, d = (target - source) width; it stays
    in its rack of g chips where c mod g + d < g.
    """
    if machine.outer is None:
        return np.zeros(len(width))
    g, d = machine.rack_chips, (target - source) * width

    def leaving(end: IntArray) -> IntArray:
        partial = np.maximum(0, end % g - np.maximum(g - d, 0))
        return np.asarray(end // g * np.minimum(d, g) + partial, dtype=np.int64)

    start = source * width
    return np.asarray((leaving(start + width) - leaving(start)) / width, dtype=np.float64)


def _at_once(parts: list[Transfer]) -> Transfer:
    """Groups of different stages communicate at the same time."""
    return Transfer(
        latency_s=np.max([part.latency_s for part in parts], axis=0),
        wire_bytes=np.sum([part.wire_bytes for part in parts], axis=0),
        inner_j=np.sum([part.inner_j for part in parts], axis=0),
        outer_j=np.sum([part.outer_j for part in parts], axis=0),
    )
