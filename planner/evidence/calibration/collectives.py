"""Measured collectives against the planner's own network model.

The model is the one that costs plans (`planner.network`): the fabric of the cluster under the
constants, the group of ranks of the test, and the best algorithm for its size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hardware_db import Calibration, Cluster, HardwareError
from planner.assumptions.assumptions import Assumptions, calibrated
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.evidence.calibration.logs.nccl_log import CollectiveTime
from planner.evidence.calibration.posterior import Noise, Prior
from planner.evidence.calibration.runs import with_values
from planner.evidence.calibration.systematic import Learned, learn
from planner.network.collectives import GroupCosts, group_costs
from planner.network.fabric import build_fabric
from planner.network.groups import Segment

NOISE = Noise(usual=0.12)
"""Scatter about a straight line: libraries switch algorithm and protocol between sizes."""
_ROWS_OF_A_LOG = 8.0  # sizes of one log are not independent; they count as so many at most


def with_nodes(cluster: Cluster, ranks: int, nodes: int) -> Cluster:
    """The cluster with nodes of as many chips as the test used, where they are larger.

    Raises:
        InputError: The ranks of a node are more than its chips.
    """
    per_node, domain = ranks // nodes, cluster.levels[0].domain_chips or cluster.node_chips
    if per_node > max(domain, cluster.node_chips):
        raise InputError(
            f"{ranks} ranks on {nodes} node{'' if nodes == 1 else 's'} are {per_node} each; "
            f"{cluster.name} has {cluster.node_chips} chips in a node: give --nodes or --hardware"
        )
    return cluster


def _segments(cluster: Cluster, ranks: int, nodes: int) -> list[Segment]:
    """The ranks of the test: side by side in a node, then the same chips of other nodes."""
    per_node = ranks // nodes

    def one(size: int, stride: int) -> Segment:
        return np.array([size]), np.array([stride])

    if nodes == 1:
        return [one(ranks, 1)]
    return [one(per_node, 1), one(nodes, cluster.node_chips)]


def costs_of(cluster: Cluster, assumptions: Assumptions, ranks: int, nodes: int) -> GroupCosts:
    """The costs of the group of a test.

    Raises:
        InputError: The cluster cannot give that many chips.
    """
    node = cluster.node_chips
    chips = ranks if nodes == 1 else nodes * node
    try:
        allocation = cluster.scale(chips if nodes > 1 else max(chips, min(node, chips)))
    except HardwareError as error:
        raise InputError(str(error)) from error
    return group_costs(build_fabric(allocation, assumptions), _segments(cluster, ranks, nodes))


def seconds_of(costs: GroupCosts, collective: str, size_bytes: FloatArray) -> FloatArray:
    """(n,) seconds of a collective of (n,) buffers by one group."""
    many = costs.take(np.zeros(len(size_bytes), dtype=np.int64))
    by_name: dict[str, Callable[[FloatArray], FloatArray]] = {
        "all_reduce": many.reduce_s,
        "all_gather": many.gather_s,
        "reduce_scatter": many.gather_s,
        "alltoall": many.exchange_s,
        "sendrecv": many.send_s,
    }
    return by_name[collective](size_bytes)


def paths_of(times: Sequence[CollectiveTime]) -> tuple[str, ...]:
    """The constants that collectives teach: those of the outermost level that they cross."""
    inside = any(one.nodes == 1 for one in times)
    between = any(one.nodes > 1 for one in times)
    names: tuple[str, ...] = ()
    if inside or between:  # a ring over nodes also runs inside them
        names += ("network.scale_up_efficiency", "network.scale_up_latency_s")
    if between:
        names += ("network.scale_out_efficiency", "network.scale_out_latency_s")
    return names


def learn_collectives(
    times: Sequence[CollectiveTime],
    cluster: Cluster,
    base: Calibration,
    priors: Sequence[Prior],
) -> Learned:
    """The network constants under measured collectives.

    Args:
        times: Measurements.
        cluster: Where they were taken.
        base: The calibration to start from.
        priors: Of `paths_of(times)`.

    Raises:
        InputError: The cluster cannot hold the ranks of a test.
    """
    paths = [prior.path for prior in priors]

    def predict(values: FloatArray) -> FloatArray:
        constants = with_values(base, dict(zip(paths, values, strict=True)))
        return predicted_collectives(times, cluster, constants)

    weights = np.ones(len(times))
    for at in _groups(times).values():
        weights[at] = min(1.0, _ROWS_OF_A_LOG / len(at))
    measured = np.array([one.time_s for one in times])
    return learn(predict, measured, list(priors), NOISE, weights)


def predicted_collectives(
    times: Sequence[CollectiveTime], cluster: Cluster, constants: Calibration
) -> FloatArray:
    """(n,) seconds of n collectives under constants; measured times are not read.

    Raises:
        InputError: The cluster cannot hold the ranks of a test.
    """
    sizes = np.array([one.size_bytes for one in times])
    # Efficiencies and latencies of the network are of no era and precision.
    a = calibrated(cluster.chip, "torch-fsdp", _format(cluster), constants)
    seconds = np.empty(len(times))
    for (collective, ranks, nodes), at in _groups(times).items():
        costs = costs_of(with_nodes(cluster, ranks, nodes), a, ranks, nodes)
        seconds[at] = seconds_of(costs, collective, sizes[at])
    return seconds


def _groups(times: Sequence[CollectiveTime]) -> dict[tuple[str, int, int], list[int]]:
    """Rows by collective, ranks and nodes."""
    groups: dict[tuple[str, int, int], list[int]] = {}
    for index, one in enumerate(times):
        groups.setdefault((one.collective, one.ranks, one.nodes), []).append(index)
    return groups


def _format(cluster: Cluster) -> str:
    peaks = cluster.chip.peak_flop_per_s
    return next((name for name in ("bf16", "fp16", "fp32", "int8") if name in peaks), "bf16")
