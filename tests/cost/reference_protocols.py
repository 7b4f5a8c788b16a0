"""The assumptions of each of NCCL's protocols, from its tuner's table, for the reference."""

from dataclasses import replace

from hardware_db import Cluster, load_calibration
from planner.assumptions.assumptions import Assumptions


def under(a: Assumptions, cluster: Cluster, name: str) -> Assumptions:
    """The assumptions of one of NCCL's protocols, whose bases count from that of Simple."""
    numbers = load_calibration("nccl")
    own, simple = numbers.group(f"protocols.{name}"), numbers.group("protocols.simple")

    def mean(table: dict[str, float], of: str, what: str) -> float:
        return (table[f"{of}ring_{what}_s"] + table[f"{of}tree_{what}_s"]) / 2

    later = {}
    for kind in ("scale_up", "infiniband"):
        fitted = numbers.value(f"latency.{kind}_s")
        later[kind] = (mean(own, "", "base") + fitted) / (mean(simple, "", "base") + fitted)
    inner = cluster.levels[0]
    links = "pci" if inner.name == "pcie" else "nvlink"
    rack = links == "nvlink" and (inner.domain_chips or cluster.node_chips) > 16
    step = mean(own, f"{links}_", "step") / mean(simple, "nvlink_", "step")
    if rack:
        step *= numbers.value("step_factor.rack") / numbers.value("step_factor.scale_up")
    far = mean(own, "net_", "step") / mean(simple, "net_", "step")
    kept = a.collective_algorithms if name == "simple" else ("ring", "tree")
    return replace(
        a,
        protocols=(),
        scale_up_latency_s=a.scale_up_latency_s * later["scale_up"],
        scale_out_latency_s=a.scale_out_latency_s * later["infiniband"],
        scale_up_hop_s=a.scale_up_hop_s * step,
        ring_hop_s=a.ring_hop_s * far,
        scale_up_efficiency=a.scale_up_efficiency * own["ring_share"],
        scale_out_efficiency=a.scale_out_efficiency * own["ring_share"],
        collective_algorithms=tuple(one for one in a.collective_algorithms if one in kept),
    )
