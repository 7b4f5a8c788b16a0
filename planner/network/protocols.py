"""NCCL's protocols: by how much their latencies and their share of the wire differ.

A collective takes the fastest of three protocols at its size. LL sends a flag beside every 4 bytes
and waits for nothing else, LL128 8 bytes of flags in 128, Simple signals whole slices. Each has its
base, its time per step by kind of link, and the share of the wire that carries data.

Source: NCCL 2.30.7, src/graph/tuning.cc, and factors fitted to measured calls; both in
`hardware_db/data/calibration/nccl.yaml`, docs/collectives/nccl.md.
"""

from __future__ import annotations

from dataclasses import replace

from frozen_records import dataclass
from hardware_db import Calibration, Cluster, load_calibration
from planner.assumptions.assumptions import Assumptions

SIMPLE, LL, LL128 = "simple", "ll", "ll128"
PRINTED = {LL: "LL", LL128: "LL128", SIMPLE: "Simple"}
_MOST_IN_NODE = 16  # chips whose switches are on their own board, not in trays of a rack
_OWN = ("ring", "tree")  # in-switch reductions and rings by level are counted in Simple alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """The constants of one protocol, means of NCCL's ring and tree.

    Attributes:
        base_s: Seconds of a collective of no bytes.
        inside_s, outside_s: Seconds per step inside nodes (or racks) and between them.
        share: Share of the wire that carries data.
    """

    base_s: float
    inside_s: float
    outside_s: float
    share: float


def links_of(cluster: Cluster) -> str:
    """The kind of a cluster's innermost links: pcie, or NVLink and the like in a rack or node."""
    inner = cluster.levels[0]
    if inner.name == "pcie":
        return "pcie"
    return "rack" if (inner.domain_chips or cluster.node_chips) > _MOST_IN_NODE else "node"


def protocol_of(name: str, links: str, numbers: Calibration) -> Protocol:
    """The constants of a protocol.

    Args:
        name: ll, ll128 or simple.
        links: Kind of the innermost links; see `links_of`.
        numbers: The constants `nccl`.
    """
    table = numbers.group(f"protocols.{name}")
    link = "pci" if links == "pcie" else "nvlink"
    factor = "rack" if links == "rack" else "scale_up"

    def step_s(kind: str) -> float:
        return (table[f"{kind}_ring_step_s"] + table[f"{kind}_tree_step_s"]) / 2

    return Protocol(
        base_s=(table["ring_base_s"] + table["tree_base_s"]) / 2,
        inside_s=step_s(link) * numbers.value(f"step_factor.{factor}"),
        outside_s=step_s("net") * numbers.value("step_factor.scale_out"),
        share=table["ring_share"],
    )


def by_protocol(a: Assumptions, cluster: Cluster) -> dict[str, Assumptions]:
    """The assumptions of each protocol that collectives choose from, Simple first.

    Launching, steps and rates are to those of the assumptions as NCCL's are to those of Simple, on
    NVLink in a node and on InfiniBand between nodes.

    Args:
        a: The assumptions; their latencies and efficiencies are those of Simple.
        cluster: The cluster.
    """
    numbers = load_calibration("nccl")
    links, usual = links_of(cluster), protocol_of(SIMPLE, "node", numbers)
    found = {}
    further = a.protocols if "ring" in a.collective_algorithms else ()
    for name in (SIMPLE, *(name for name in further if name != SIMPLE)):
        own = protocol_of(name, links, numbers)
        near, far = (
            (own.base_s + numbers.value(f"latency.{kind}_s"))
            / (usual.base_s + numbers.value(f"latency.{kind}_s"))
            for kind in ("scale_up", "infiniband")
        )
        algorithms = [one for one in a.collective_algorithms if name == SIMPLE or one in _OWN]
        found[name] = replace(
            a,
            protocols=(),
            scale_up_latency_s=a.scale_up_latency_s * near,
            scale_out_latency_s=a.scale_out_latency_s * far,
            scale_up_hop_s=a.scale_up_hop_s * own.inside_s / usual.inside_s,
            ring_hop_s=a.ring_hop_s * own.outside_s / usual.outside_s,
            scale_up_efficiency=a.scale_up_efficiency * own.share,
            scale_out_efficiency=a.scale_out_efficiency * own.share,
            collective_algorithms=tuple(algorithms),
        )
    return found
