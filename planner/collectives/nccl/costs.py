"""NCCL's collectives on a real system: the group costs of the planner in each protocol.

The formulas are those of `planner.network.collectives`, evaluated once per protocol under other
constants; a call takes the fastest protocol. The constants are NCCL's own where its tuner has
them, and otherwise fitted to calls of nccl-tests (`hardware_db/data/calibration/nccl.yaml`):

    launch     base of the protocol + a latency of the outermost kind of network crossed, or, inside
               a node, one of virtual machines
    step       step of the protocol (mean of ring and tree) x a factor inside of nodes, one inside
               of racks that one switched domain fills, one between nodes
    bandwidth  share of the protocol x efficiency of the kind of link
    in-switch  protocol Simple alone; its own latency inside one domain and over several

They are not those of the training step, whose collectives run beside computing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from hardware_db import Calibration, Chip, Cluster, load_calibration
from planner.assumptions.assumptions import PRECISIONS, Assumptions, calibrated
from planner.assumptions.fitted import NCCL_VENDORS, PROTOCOLS
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.network.collectives import GroupCosts, group_costs
from planner.network.fabric import build_fabric
from planner.network.groups import Segment
from planner.network.protocols import PRINTED, links_of, protocol_of
from planner.network.synthesized.costs import NEVER

NETWORKS = ("infiniband", "efa", "efa-v1", "tcpx")
"""Kinds of network between nodes; Ethernet with RDMA (RoCE, TCPXO) counts as infiniband.

efa-v1 is the first generation (p4, p3dn), whose provider lets only the protocol Simple run
(aws/aws-ofi-nccl, issue 76); efa are later ones (p5 and on).
"""
CALLS = {
    "allgather": "gather",
    "reduce-scatter": "gather",
    "allreduce": "reduce",
    "alltoall": "exchange",
}
"""Collectives whose costs are known, and how `GroupCosts.by_algorithm` calls them."""
_NAMES = {"hierarchical": "rings by level"}
_PROBE_BYTES = 1e12
_ERA = "megatron-core"  # network constants do not depend on it
_PLAIN = ("ring", "hierarchical", "tree")
_RUN = {"efa-v1": ("simple",)}
"""Protocols that run on a network, where not all do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLine:
    """One algorithm in one protocol: alpha + beta x bytes.

    Attributes:
        algorithm: `ring`, `rings by level` (one after the other), `tree`, `in-switch` (NVLS),
            `in-switch tree` (NVLSTree) or `direct`.
        protocol: LL, LL128 or Simple.
        alpha_s: Seconds of no bytes.
        s_per_byte: Seconds per byte.
    """

    algorithm: str
    protocol: str
    alpha_s: float
    s_per_byte: float

    @property
    def name(self) -> str:
        """Both, e.g. `ring, LL128`."""
        return f"{self.algorithm}, {self.protocol}"

    def time_s(self, size_bytes: FloatArray) -> FloatArray:
        """(n,) seconds of (n,) sizes."""
        return self.alpha_s + self.s_per_byte * np.asarray(size_bytes, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclCosts:
    """Costs of groups under each protocol.

    Attributes:
        protocols: Costs of the same groups, in the order of `PROTOCOLS`.
    """

    protocols: tuple[GroupCosts, ...]

    def each_s(self, collective: str, size_bytes: FloatArray) -> FloatArray:
        """(protocols, n) seconds of calls.

        Args:
            collective: "allgather", "reduce-scatter", "allreduce" or "alltoall".
            size_bytes: (n,) whole buffers of all members (of an all-to-all: what one sends).

        Raises:
            InputError: Another collective.
        """
        calls = {
            "allgather": GroupCosts.gather_s,
            "reduce-scatter": GroupCosts.gather_s,
            "allreduce": GroupCosts.reduce_s,
            "alltoall": GroupCosts.exchange_s,
        }
        if collective not in calls:
            raise InputError(f"collective: {not_one_of(collective, tuple(calls))}")
        return np.stack([calls[collective](costs, size_bytes) for costs in self.protocols])

    def time_s(self, collective: str, size_bytes: FloatArray) -> FloatArray:
        """(n,) seconds of the fastest protocol; see `each_s`."""
        return np.asarray(self.each_s(collective, size_bytes).min(axis=0))


def nccl_costs(
    cluster: Cluster,
    chips: int,
    segments: list[Segment],
    *,
    network: str = "infiniband",
    virtual: bool = False,
    constants: Calibration | None = None,
) -> NcclCosts:
    """The costs of groups of a job under NCCL's protocols.

    Args:
        cluster: The cluster.
        chips: Chips of the job.
        segments: See `group_costs`.
        network: One of `NETWORKS`.
        virtual: Whether nodes are virtual machines, which start calls inside a node later.
        constants: Another set; default the shipped one, `nccl`.

    Raises:
        InputError: An unknown network, or chips that no such library serves.
    """
    allocation = cluster.scale(chips)
    found = []
    for assumptions in nccl_assumptions(
        cluster, chips, network=network, virtual=virtual, constants=constants
    ):
        found.append(group_costs(build_fabric(allocation, assumptions), segments))
    return NcclCosts(protocols=tuple(found))


def nccl_time_s(
    cluster: Cluster,
    chips: int,
    collective: str,
    size_bytes: FloatArray,
    *,
    network: str = "infiniband",
    virtual: bool = False,
    constants: Calibration | None = None,
) -> FloatArray:
    """(n,) seconds of calls over all chips of a job; see `nccl_costs` and `NcclCosts.each_s`."""
    many = _of_all(
        cluster, chips, len(size_bytes), network=network, virtual=virtual, constants=constants
    )
    return many.time_s(collective, size_bytes)


def call_lines(
    cluster: Cluster, chips: int, collective: str, *, network: str = "infiniband"
) -> tuple[CallLine, ...]:
    """The same by algorithm and protocol; the least at a size is what `nccl_time_s` takes.

    What cannot run is left out, and so is one ring per level where there is one level.
    """
    probes = np.array([0.0, _PROBE_BYTES])
    many = _of_all(cluster, chips, len(probes), network=network)
    tree = crosses_network(cluster, chips)
    found: dict[tuple[str, str], CallLine] = {}
    for protocol, costs in zip(PROTOCOLS, many.protocols, strict=True):
        seen: set[tuple[float, ...]] = set()
        for name, seconds in costs.by_algorithm(CALLS[collective], probes):
            ends = tuple(seconds.tolist())
            if max(ends) >= NEVER or ends in seen:
                continue
            seen.add(ends)
            told = name.removeprefix("twice ")
            algorithm = f"{told} tree" if told == "in-switch" and tree else _NAMES.get(told, told)
            found[algorithm, PRINTED[protocol]] = CallLine(
                algorithm=algorithm, protocol=PRINTED[protocol], alpha_s=ends[0],
                s_per_byte=(ends[1] - ends[0]) / _PROBE_BYTES,
            )  # fmt: skip
    order = {algorithm: at for at, algorithm in enumerate(dict.fromkeys(key[0] for key in found))}
    return tuple(sorted(found.values(), key=lambda line: order[line.algorithm]))


def crosses_network(cluster: Cluster, chips: int) -> bool:
    """Whether so many chips are more than one domain of the scale-up links."""
    return any(level.kind == "scale-out" for level in cluster.scale(chips).levels)


def _of_all(
    cluster: Cluster,
    chips: int,
    sizes: int,
    *,
    network: str,
    virtual: bool = False,
    constants: Calibration | None = None,
) -> NcclCosts:
    """The costs of all chips of a job, for as many sizes."""
    whole = [(np.array([chips]), np.array([1]))]
    costs = nccl_costs(cluster, chips, whole, network=network, virtual=virtual, constants=constants)
    at = np.zeros(sizes, dtype=np.int64)
    return NcclCosts(protocols=tuple(one.take(at) for one in costs.protocols))


def nccl_assumptions(
    cluster: Cluster,
    chips: int,
    *,
    network: str = "infiniband",
    virtual: bool = False,
    constants: Calibration | None = None,
) -> tuple[Assumptions, ...]:
    """The assumptions of each protocol, in the order of `PROTOCOLS`.

    Args:
        cluster: The cluster; its chip and the kind of its innermost links count.
        chips: Of the job: whether it fits one domain of these links.
        network: One of `NETWORKS`.
        virtual: Whether nodes are virtual machines, which start calls inside a node later.
        constants: Another set; default the shipped one.

    Raises:
        InputError: An unknown network, or chips that no such library serves.
    """
    if network not in NETWORKS:
        raise InputError(f"network: {not_one_of(network, NETWORKS)}")
    if cluster.chip.vendor not in NCCL_VENDORS:
        served = " and ".join(NCCL_VENDORS)
        raise InputError(f"{cluster.chip.name}: costs of NCCL are known for {served} chips alone")
    numbers = constants or load_calibration("nccl")
    inner = cluster.levels[0]
    alone = inner.domain_chips is None or chips <= inner.domain_chips
    base = _common(cluster.chip, numbers, alone=alone)
    late_s = numbers.value("latency.virtual_s") if virtual else 0.0
    return tuple(_of_protocol(base, name, cluster, network, late_s, numbers) for name in PROTOCOLS)


def _common(chip: Chip, numbers: Calibration, *, alone: bool) -> Assumptions:
    """What all protocols share; the precision of multiplications does not count here."""
    return replace(
        calibrated(chip, _ERA, next(name for name in PRECISIONS if name in chip.peak_flop_per_s)),
        name="nccl",
        protocols=(),
        tree_efficiency=numbers.value("efficiency.tree"),
        exchange_efficiency=numbers.value("efficiency.exchange"),
        in_switch_latency_s=numbers.value(
            "latency.in_switch_s" if alone else "latency.in_switch_tree_s"
        ),
    )


def _of_protocol(
    base: Assumptions,
    name: str,
    cluster: Cluster,
    network: str,
    late_s: float,
    numbers: Calibration,
) -> Assumptions:
    """Of a protocol; on a network that it does not run on it takes forever."""
    links = links_of(cluster)
    own, wired = protocol_of(name, links, numbers), "pcie" if links == "pcie" else "nvlink"
    key = network.replace("-", "_")
    runs = name in _RUN.get(network, PROTOCOLS)
    reduces = ("in-switch", "in-switch-tree") if name == "simple" else ()
    return replace(
        base,
        scale_up_latency_s=own.base_s + late_s + numbers.value("latency.scale_up_s"),
        scale_out_latency_s=own.base_s + numbers.value(f"latency.{key}_s") if runs else NEVER,
        scale_up_hop_s=own.inside_s,
        ring_hop_s=own.outside_s,
        scale_up_efficiency=numbers.value(f"efficiency.{wired}") * own.share,
        scale_out_efficiency=numbers.value(f"efficiency.{key}") * own.share,
        collective_algorithms=(*_PLAIN, *reduces),
    )
