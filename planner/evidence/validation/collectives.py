"""Measured collectives against the model's: nccl-tests output of named systems.

Each system stands for a cluster of the database, with its own network rate where it is printed.
A time is that of one call; where only a bandwidth is printed, it follows from the definitions of
nccl-tests (doc/PERFORMANCE.md): bus bandwidth = bytes / time x 2 (n - 1) / n for an all-reduce,
(n - 1) / n for an all-gather of that many bytes in total and for an all-to-all.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from hardware_db import Calibration, Cluster, load_cluster
from planner.assumptions.assumptions import calibrated
from planner.base.arrays import FloatArray
from planner.collectives.nccl.costs import nccl_time_s
from planner.evidence.csvfile import shipped
from planner.evidence.validation.scores import Errors, errors_of
from planner.network.collectives import GroupCosts, group_costs
from planner.network.fabric import build_fabric

LARGE_BYTES = 16 * 2**20
_PEAK_BYTES = 4 * 2**30
_ERA = "megatron-core"  # network constants do not depend on it
_RATE = re.compile(r"(\d+) Gb/s/node")


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
    """

    pattern: str
    hardware: str
    node_chips: int | None = None
    scale_up_chips: int | None = None
    nic_bytes_per_s: float | None = None
    scale_up_bytes_per_s: float | None = None
    network: str = "infiniband"


_HDR_4_OF_8 = 4 * 25e9 / 8
_PCIE_5_X16 = 63e9
_CX8_2_CHIPS = 100e9 / 2
SYSTEMS = (
    System(pattern="across 2 NVL72 racks", hardware="gb200-nvl72-gpu", scale_up_chips=64),
    System(pattern="GB200", hardware="gb200-nvl72-gpu"),
    System(pattern="TCPX,", hardware="h100-sxm5-80", network="tcpx"),
    System(pattern="H100.*EFA", hardware="h100-sxm5-80", network="efa"),
    System(pattern="H200.*EFA", hardware="h200-sxm5-141", network="efa"),
    System(pattern="H100", hardware="h100-sxm5-80"),
    System(pattern="H200", hardware="h200-sxm5-141"),
    System(pattern="H20,", hardware="h20-sxm5-96"),
    System(pattern="B200", hardware="b200-sxm-180"),
    System(pattern="MI350X", hardware="mi350x"),
    System(pattern="A100.*EFA", hardware="a100-sxm4-80", network="efa"),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Measured and predicted calls of one collective on one system, by rising size.

    Attributes:
        system, collective, chips: Which.
        size_bytes, measured_s, predicted_s: (n,) of each call; predicted with the constants of the
            training step.
        nccl_s: (n,) predicted with the constants of NCCL.
    """

    system: str
    collective: str
    chips: int
    size_bytes: FloatArray
    measured_s: FloatArray
    predicted_s: FloatArray
    nccl_s: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveScore:
    """Errors of one collective on one system.

    Attributes:
        system, collective, chips: Which.
        time: Of all sizes, with the constants of the training step.
        large: Of 16 MiB and more, where bandwidth decides; None: no such call.
        nccl, nccl_large: The same with the constants of NCCL.
    """

    system: str
    collective: str
    chips: int
    time: Errors
    large: Errors | None
    nccl: Errors
    nccl_large: Errors | None


def measured_collectives(
    constants: Calibration | None = None,
) -> tuple[list[Measured], dict[str, int]]:
    """All measurements of the package with their predictions.

    Returns:
        One entry per system, collective and number of chips; and how many calls are left out, by
        the system that is not in the database.
    """
    groups: dict[tuple[str, str, int], list[tuple[float, float]]] = defaultdict(list)
    left_out: dict[str, int] = defaultdict(int)
    for line in shipped("collectives"):
        cells = line.cells
        if system_of(cells["system"]) is None:
            left_out[cells["system"]] += 1
            continue
        size = float(cells["bytes"] or _PEAK_BYTES)
        key = (cells["system"], cells["collective"], int(cells["n_gpus"]))
        groups[key].append((size, seconds_of(cells, size)))
    found = []
    for (system, collective, chips), calls in groups.items():
        size, seconds = np.array(sorted(calls)).T
        found.append(
            Measured(
                system=system,
                collective=collective,
                chips=chips,
                size_bytes=size,
                measured_s=seconds,
                predicted_s=predicted_s(system, collective, chips, size, constants),
                nccl_s=nccl_predicted_s(system, collective, chips, size),
            )
        )
    return found, dict(left_out)


def seconds_of(cells: dict[str, str], size: float) -> float:
    """Seconds of a call, from its time or from the bandwidth that is printed instead."""
    if cells["time_us"]:
        return float(cells["time_us"]) * 1e-6
    chips = int(cells["n_gpus"])
    share = (chips - 1) / chips
    moved = size * share * (2 if cells["collective"] == "all_reduce" else 1)
    if cells["busbw"]:
        return moved / (float(cells["busbw"]) * 1e9)
    return size / (float(cells["algbw"]) * 1e9)


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
    return {"infiniband": "InfiniBand, RoCE", "efa": "EFA", "tcpx": "TCPX"}[system.network]


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


def predicted_s(
    system: str,
    collective: str,
    chips: int,
    size_bytes: FloatArray,
    constants: Calibration | None = None,
) -> FloatArray:
    """Seconds of calls of n sizes over all chips of a job.

    Args:
        system: Printed name.
        collective: "all_reduce", "all_gather" or "alltoall".
        chips: Members of the group.
        size_bytes: (n,) as nccl-tests counts them.
        constants: Another set of constants; default the shipped one.
    """
    cluster = cluster_of(system)
    assumptions = calibrated(cluster.chip, _ERA, calibration=constants)
    fabric = build_fabric(cluster.scale(chips), assumptions)
    costs: GroupCosts = group_costs(fabric, [(np.array([chips]), np.array([1]))])
    many = costs.take(np.zeros(len(size_bytes), dtype=np.int64))
    if collective == "all_reduce":
        return many.reduce_s(size_bytes)
    if collective == "all_gather":
        return many.gather_s(size_bytes)
    return many.exchange_s(size_bytes)


def nccl_predicted_s(
    system: str,
    collective: str,
    chips: int,
    size_bytes: FloatArray,
    constants: Calibration | None = None,
) -> FloatArray:
    """The same as `predicted_s` in NCCL's protocols.

    Args:
        system, collective, chips, size_bytes: See `predicted_s`.
        constants: Another set of constants; default the shipped one, `nccl`.
    """
    known = system_of(system)
    assert known is not None, system
    return nccl_time_s(
        cluster_of(system),
        chips,
        {"all_reduce": "allreduce", "all_gather": "allgather"}.get(collective, collective),
        size_bytes,
        network=known.network,
        constants=constants,
    )


def collective_scores(calls: list[Measured]) -> list[CollectiveScore]:
    """Errors per system and collective; the last row is over all of them."""
    every = [_score(row.system, row.collective, [row]) for row in calls]
    return [*every, _score("all", "all", calls)]


def _score(system: str, collective: str, calls: list[Measured]) -> CollectiveScore:
    measured = np.concatenate([row.measured_s for row in calls])
    large = np.concatenate([row.size_bytes for row in calls]) >= LARGE_BYTES
    usual, nccl = (
        np.concatenate([getattr(row, name) for row in calls]) for name in ("predicted_s", "nccl_s")
    )
    time, nccl_time = errors_of(usual, measured), errors_of(nccl, measured)
    if time is None or nccl_time is None:
        raise ValueError(f"{system}: no calls")
    return CollectiveScore(
        system=system,
        collective=collective,
        chips=max(row.chips for row in calls),
        time=time,
        large=errors_of(usual[large], measured[large]),
        nccl=nccl_time,
        nccl_large=errors_of(nccl[large], measured[large]),
    )
