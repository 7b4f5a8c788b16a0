"""Which cluster of the database stands for a printed system whose collectives were measured."""

from __future__ import annotations

import re
from dataclasses import replace

from frozen_records import dataclass
from hardware_db import Cluster, load_cluster

_RATE = re.compile(r"(?<![0-9])([1-9][0-9]{0,8}) Gb/s/node")


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """Which cluster stands for a system.

    Attributes:
        pattern: Of the system's printed name; the first that fits decides.
        hardware: Name in the database.
        node_chips: Chips per node, where not the cluster's.
        scale_up_chips: Chips of one scale-up domain in use, where not the cluster's.
        nic_bytes_per_s: Per chip, where neither the cluster's nor printed.
        scale_up_bytes_per_s: Per chip, where not the cluster's.
        network: Between nodes, one of `planner.collectives.nccl.costs.NETWORKS`.
        virtual: Whether its nodes are virtual machines and the calls are those of one node.
    """

    pattern: str
    hardware: str
    node_chips: int | None = None
    scale_up_chips: int | None = None
    nic_bytes_per_s: float | None = None
    scale_up_bytes_per_s: float | None = None
    network: str = "infiniband"
    virtual: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where calls were measured.

    Attributes:
        cluster: What stands for it.
        network: Between nodes, one of `planner.collectives.nccl.costs.NETWORKS`.
        virtual: Whether nodes are virtual machines.
    """

    cluster: Cluster
    network: str
    virtual: bool = False


_HDR_4_OF_8 = 4 * 25e9 / 8
_PCIE_5_X16 = 63e9
_CX8_2_CHIPS = 100e9 / 2
SYSTEMS = (
    System(pattern="across 2 NVL72 racks", hardware="gb200-nvl72-gpu", scale_up_chips=64),
    System(pattern="GB200", hardware="gb200-nvl72-gpu"),
    System(pattern="Azure.*A100", hardware="a100-sxm4-80", virtual=True),
    System(pattern="Azure.*H100", hardware="h100-sxm5-80", virtual=True),
    System(pattern="Azure.*H200", hardware="h200-sxm5-141", virtual=True),
    System(pattern="TCPX,", hardware="h100-sxm5-80", network="tcpx"),
    System(pattern="H100.*EFA", hardware="h100-sxm5-80", network="efa"),
    System(pattern="H200.*EFA", hardware="h200-sxm5-141", network="efa"),
    System(pattern="H100", hardware="h100-sxm5-80"),
    System(pattern="H200", hardware="h200-sxm5-141"),
    System(pattern="H20,", hardware="h20-sxm5-96"),
    System(pattern="B200", hardware="b200-sxm-180"),
    System(pattern="MI350X", hardware="mi350x"),
    System(pattern="A100.*EFA", hardware="a100-sxm4-80", network="efa-v1"),
    System(pattern="A100-40G", hardware="a100-sxm4-40", nic_bytes_per_s=_HDR_4_OF_8),
    System(pattern="A100.*4x.*HDR200", hardware="a100-sxm4-80", nic_bytes_per_s=_HDR_4_OF_8),
    System(pattern="A100", hardware="a100-sxm4-80"),
    # Not in the database: nodes of PCIe chips stand for it, with the links of its servers, where a
    # ConnectX-8 of 800 Gb/s serves two chips on PCIe 5.0 x16 (NVIDIA, ConnectX-8 SuperNICs Advance
    # AI Platform Architecture, developer blog, 2025).
    System(
        pattern="RTX 6000D",
        hardware="l40s",
        node_chips=8,
        scale_up_chips=8,
        nic_bytes_per_s=_CX8_2_CHIPS,
        scale_up_bytes_per_s=_PCIE_5_X16,
    ),
)


def place_of(name: str) -> Place | None:
    """What stands for a printed system; None: it is not in the database."""
    system = system_of(name)
    if system is None:
        return None
    return Place(cluster=cluster_of(name), network=system.network, virtual=system.virtual)


def system_of(name: str) -> System | None:
    """The first system whose pattern fits a printed name; None: not in the database."""
    return next((system for system in SYSTEMS if re.search(system.pattern, name)), None)


def kind_of(name: str, chips: int) -> str:
    """What kind of links decides calls of so many chips on a printed system, in words."""
    system, inner = system_of(name), cluster_of(name).levels[0]
    assert system is not None, name
    if inner.name == "pcie":
        return "PCIe"
    if inner.domain_chips is not None and chips <= inner.domain_chips:
        return "one NVLink domain"
    return {"infiniband": "InfiniBand, RoCE", "efa": "EFA", "efa-v1": "EFA", "tcpx": "TCPX"}[
        system.network
    ]


def cluster_of(name: str) -> Cluster:
    """The cluster that stands for a printed system, with the network rate that the name gives."""
    system = system_of(name)
    assert system is not None, name
    cluster = load_cluster(system.hardware)
    if system.node_chips is not None:
        cluster = replace(cluster, node_chips=system.node_chips)
    printed = _RATE.search(name)
    rate = system.nic_bytes_per_s
    if printed:
        rate = float(printed.group(1)) * 1e9 / 8 / cluster.node_chips
    levels = []
    for level in cluster.levels:
        if level.kind == "scale-out" and rate is not None:
            level = replace(  # noqa: PLW2901
                level, bandwidth_bytes_per_s=rate, peer_bandwidth_bytes_per_s=rate
            )
        if level.kind == "scale-up" and system.scale_up_chips is not None:
            level = replace(level, domain_chips=system.scale_up_chips)  # noqa: PLW2901
        inside = system.scale_up_bytes_per_s
        if level.kind == "scale-up" and inside is not None:
            level = replace(  # noqa: PLW2901
                level, bandwidth_bytes_per_s=inside, peer_bandwidth_bytes_per_s=inside
            )
        levels.append(level)
    return replace(cluster, levels=tuple(levels))
