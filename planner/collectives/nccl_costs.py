"""NCCL's collectives on a real system: the group costs of the planner in each protocol.

The formulas are those of `planner.network.collectives`, evaluated once per protocol under other
constants; a call takes the fastest protocol. The constants are NCCL's own where its tuner has
them, and otherwise fitted to calls of nccl-tests (`hardware_db/data/calibration/nccl.yaml`):

    launch     base of the protocol + a latency of the outermost kind of network crossed
    step       step of the protocol (mean of ring and tree) x a factor inside, one outside of nodes
    bandwidth  share of the protocol x efficiency of the kind of link
    in-switch  protocol Simple alone; its own latency inside one domain and over several

They are not those of the training step, whose collectives run beside computing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hardware_db import Calibration, Chip, Cluster, load_calibration
from planner.assumptions import Assumptions, calibrated
from planner.errors import InputError
from planner.messages import not_one_of
from planner.network.collectives import GroupCosts, group_costs
from planner.network.fabric import build_fabric
from planner.network.groups import Segment
from planner.plan import FloatArray

NETWORKS = ("infiniband", "efa", "tcpx")
"""Kinds of network between nodes; Ethernet with RDMA (RoCE, TCPXO) counts as infiniband."""
PROTOCOL_NAMES = ("ll", "ll128", "simple")
_VENDORS = ("NVIDIA", "AMD")
_ERA = "megatron-core"  # network constants do not depend on it
_PLAIN = ("ring", "hierarchical", "tree")


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclCosts:
    """Costs of groups under each protocol.

    Attributes:
        protocols: Costs of the same groups, in the order of `PROTOCOL_NAMES`.
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
    constants: Calibration | None = None,
) -> NcclCosts:
    """The costs of groups of a job under NCCL's protocols.

    Args:
        cluster: The cluster.
        chips: Chips of the job.
        segments: See `group_costs`.
        network: One of `NETWORKS`.
        constants: Another set; default the shipped one, `nccl`.

    Raises:
        InputError: An unknown network, or chips that no such library serves.
    """
    allocation = cluster.scale(chips)
    found = []
    for assumptions in nccl_assumptions(cluster, chips, network=network, constants=constants):
        found.append(group_costs(build_fabric(allocation, assumptions), segments))
    return NcclCosts(protocols=tuple(found))


def nccl_time_s(
    cluster: Cluster,
    chips: int,
    collective: str,
    size_bytes: FloatArray,
    *,
    network: str = "infiniband",
    constants: Calibration | None = None,
) -> FloatArray:
    """(n,) seconds of calls over all chips of a job; see `nccl_costs` and `NcclCosts.each_s`."""
    whole = [(np.array([chips]), np.array([1]))]
    costs = nccl_costs(cluster, chips, whole, network=network, constants=constants)
    at = np.zeros(len(size_bytes), dtype=np.int64)
    many = NcclCosts(protocols=tuple(one.take(at) for one in costs.protocols))
    return many.time_s(collective, size_bytes)


def nccl_assumptions(
    cluster: Cluster,
    chips: int,
    *,
    network: str = "infiniband",
    constants: Calibration | None = None,
) -> tuple[Assumptions, ...]:
    """The assumptions of each protocol, in the order of `PROTOCOL_NAMES`.

    Args:
        cluster: The cluster; its chip and the kind of its innermost links count.
        chips: Of the job: whether it fits one domain of these links.
        network: One of `NETWORKS`.
        constants: Another set; default the shipped one.

    Raises:
        InputError: An unknown network, or chips that no such library serves.
    """
    if network not in NETWORKS:
        raise InputError(f"network: {not_one_of(network, NETWORKS)}")
    if cluster.chip.vendor not in _VENDORS:
        served = " and ".join(_VENDORS)
        raise InputError(f"{cluster.chip.name}: costs of NCCL are known for {served} chips alone")
    numbers = constants or load_calibration("nccl")
    inner = cluster.levels[0]
    links = "pci" if inner.name == "pcie" else "nvlink"
    alone = inner.domain_chips is None or chips <= inner.domain_chips
    base = _common(cluster.chip, numbers, alone=alone)
    return tuple(_of_protocol(base, name, links, network, numbers) for name in PROTOCOL_NAMES)


def _common(chip: Chip, numbers: Calibration, *, alone: bool) -> Assumptions:
    """What all protocols share."""
    return replace(
        calibrated(chip, _ERA),
        name="nccl",
        tree_efficiency=numbers.value("efficiency.tree"),
        exchange_efficiency=numbers.value("efficiency.exchange"),
        in_switch_latency_s=numbers.value(
            "latency.in_switch_s" if alone else "latency.in_switch_tree_s"
        ),
    )


def _of_protocol(
    base: Assumptions, name: str, links: str, network: str, numbers: Calibration
) -> Assumptions:
    table = numbers.group(f"protocols.{name}")
    launch_s = (table["ring_base_s"] + table["tree_base_s"]) / 2
    inside_s, outside_s = (
        (table[f"{kind}_ring_step_s"] + table[f"{kind}_tree_step_s"]) / 2 for kind in (links, "net")
    )
    share = table["ring_share"]
    within = numbers.value("efficiency.pcie" if links == "pci" else "efficiency.nvlink")
    reduces = ("in-switch", "in-switch-tree") if name == "simple" else ()
    return replace(
        base,
        scale_up_latency_s=launch_s + numbers.value("latency.scale_up_s"),
        scale_out_latency_s=launch_s + numbers.value(f"latency.{network}_s"),
        scale_up_hop_s=inside_s * numbers.value("step_factor.scale_up"),
        ring_hop_s=outside_s * numbers.value("step_factor.scale_out"),
        scale_up_efficiency=within * share,
        scale_out_efficiency=numbers.value(f"efficiency.{network}") * share,
        collective_algorithms=(*_PLAIN, *reduces),
    )
