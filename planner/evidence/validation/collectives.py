"""Measured collectives against the model's: nccl-tests output of named systems.

Each system stands for a cluster of the database, with its own network rate where it is printed.
A time is that of one call; where only a bandwidth is printed, it follows from the definitions of
nccl-tests (doc/PERFORMANCE.md): bus bandwidth = bytes / time x 2 (n - 1) / n for an all-reduce,
(n - 1) / n for an all-gather of that many bytes in total and for an all-to-all.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from hardware_db import Calibration, Cluster, load_cluster
from planner.assumptions.assumptions import calibrated
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.messages import not_one_of, shown
from planner.collectives.nccl.costs import NETWORKS, nccl_time_s
from planner.evidence.csvfile import shipped
from planner.evidence.own_tables import amount
from planner.evidence.runs.checking import hardware_fault
from planner.evidence.runs.networks import with_networks
from planner.evidence.validation.scores import Errors, errors_of
from planner.network.collectives import GroupCosts, group_costs
from planner.network.fabric import build_fabric

COLLECTIVES = ("all_reduce", "all_gather", "alltoall")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where calls were measured.

    Attributes:
        cluster: What stands for it.
        network: Between nodes, one of `planner.collectives.nccl.costs.NETWORKS`.
    """

    cluster: Cluster
    network: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One measured call: of which collective, where, of how many bytes, and how long."""

    system: str
    place: Place
    collective: str
    chips: int
    size_bytes: float
    seconds: float


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
    calls: list[Call] = []
    left_out: dict[str, int] = defaultdict(int)
    for line in shipped("collectives"):
        cells = line.cells
        place = _place_of(cells["system"])
        if place is None:
            left_out[cells["system"]] += 1
            continue
        size = float(cells["bytes"] or _PEAK_BYTES)
        calls.append(
            Call(
                system=cells["system"],
                place=place,
                collective=cells["collective"],
                chips=int(cells["n_gpus"]),
                size_bytes=size,
                seconds=seconds_of(cells, size),
            )
        )
    return predicted_calls(calls, constants), dict(left_out)


def predicted_calls(calls: Iterable[Call], constants: Calibration | None = None) -> list[Measured]:
    """One entry per system, collective and number of chips, with the predictions of its calls."""
    groups: dict[tuple[str, Place, str, int], list[tuple[float, float]]] = defaultdict(list)
    for call in calls:
        key = (call.system, call.place, call.collective, call.chips)
        groups[key].append((call.size_bytes, call.seconds))
    found = []
    for (system, place, collective, chips), times in groups.items():
        size, seconds = np.array(sorted(times)).T
        found.append(
            Measured(
                system=system,
                collective=collective,
                chips=chips,
                size_bytes=size,
                measured_s=seconds,
                predicted_s=_training_s(place, collective, chips, size, constants),
                nccl_s=_nccl_s(place, collective, chips, size),
            )
        )
    return found


def own_call(cells: dict[str, str]) -> Call:
    """The call of a row of a user's file.

    Raises:
        InputError: The row has a fault.
    """
    chips, size = (amount(cells, name, whole=True) for name in ("n_gpus", "bytes"))
    if chips < 2:
        raise InputError("n_gpus: 1: a collective has at least 2 members")
    if cells["collective"] not in COLLECTIVES:
        raise InputError(f"collective: {not_one_of(cells['collective'], COLLECTIVES)}")
    rates = [name for name in ("time_us", "busbw", "algbw") if cells[name]]
    if not rates:
        raise InputError("time_us: is empty, as are busbw and algbw; give one of them")
    amount(cells, rates[0])
    place = _own_place(cells)
    return Call(
        system=cells["system"] or place.cluster.name,
        place=place,
        collective=cells["collective"],
        chips=int(chips),
        size_bytes=size,
        seconds=seconds_of(cells, size),
    )


def _own_place(cells: Mapping[str, str]) -> Place:
    """The cluster that a row names, else that of the printed system."""
    if not cells["hardware"]:
        place = _place_of(cells["system"])
        if place is None:
            raise InputError(
                f"hardware: is empty, and system: {shown(cells['system'])} is not known; name the "
                "chip or cluster (planner hardware list)"
            )
        return place
    if wrong := hardware_fault(cells["hardware"]):
        raise InputError(wrong)
    network = cells["network"] or "infiniband"
    if network not in NETWORKS:
        raise InputError(f"network: {not_one_of(network, NETWORKS)}")
    cluster = load_cluster(cells["hardware"])
    row = {"inter_node_net": cells["inter_node_net"]}
    cluster = with_networks(cluster, row, {}, node=cluster.node_chips, assume=False)
    return Place(cluster=cluster, network=network)


def _place_of(name: str) -> Place | None:
    """What stands for a printed system; None: it is not in the database."""
    system = system_of(name)
    return None if system is None else Place(cluster=cluster_of(name), network=system.network)


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
    place = Place(cluster=cluster_of(system), network="")
    return _training_s(place, collective, chips, size_bytes, constants)


def _training_s(
    place: Place,
    collective: str,
    chips: int,
    size_bytes: FloatArray,
    constants: Calibration | None,
) -> FloatArray:
    cluster = place.cluster
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
    known = _place_of(system)
    assert known is not None, system
    return _nccl_s(known, collective, chips, size_bytes, constants)


def _nccl_s(
    place: Place,
    collective: str,
    chips: int,
    size_bytes: FloatArray,
    constants: Calibration | None = None,
) -> FloatArray:
    return nccl_time_s(
        place.cluster,
        chips,
        {"all_reduce": "allreduce", "all_gather": "allgather"}.get(collective, collective),
        size_bytes,
        network=place.network,
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
