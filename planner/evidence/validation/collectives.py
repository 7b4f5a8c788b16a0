"""Measured collectives against the model's: nccl-tests output of named systems.

Each system stands for a cluster of the database, with its own network rate where it is printed.
A time is that of one call; where only a bandwidth is printed, it follows from the definitions of
nccl-tests (doc/PERFORMANCE.md): bus bandwidth = bytes / time x 2 (n - 1) / n for an all-reduce,
(n - 1) / n for an all-gather of that many bytes in total and for an all-to-all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from frozen_records import dataclass
from hardware_db import Calibration, load_cluster
from planner.assumptions.assumptions import calibrated
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.messages import not_one_of, shown
from planner.collectives.nccl.costs import NETWORKS, nccl_time_s
from planner.evidence.csvfile import shipped
from planner.evidence.own_tables import amount
from planner.evidence.runs.checking import hardware_fault
from planner.evidence.runs.networks import with_networks
from planner.evidence.validation.collective_systems import Place, cluster_of, place_of
from planner.evidence.validation.scores import Errors, errors_of
from planner.network.collectives import GroupCosts, group_costs
from planner.network.fabric import build_fabric

COLLECTIVES = ("all_reduce", "all_gather", "alltoall")
LARGE_BYTES = 16 * 2**20
_PEAK_BYTES = 4 * 2**30
_ERA = "megatron-core"  # network constants do not depend on it


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One measured call: of which collective, where, of how many bytes, and how long."""

    system: str
    place: Place
    collective: str
    chips: int
    size_bytes: float
    seconds: float


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
        place = place_of(cells["system"])
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
        place = place_of(cells["system"])
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
    known = place_of(system)
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
        virtual=place.virtual,
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
