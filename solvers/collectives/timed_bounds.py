"""Seconds that every schedule takes at one buffer size, whatever its steps.

By ways: a chunk takes every link of its way in a step of its own, each at least alpha_e +
(L / C) beta_e long. By cuts: what must leave a set of nodes takes at least its bytes over the
bytes per second of the links that leave it, and the least latency of these links once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from solvers.collectives.commodities import commodities
from solvers.collectives.cuts import cut_bound
from solvers.collectives.problem import Goal, Network, Shared

_FINENESS = 10_000
"""Lanes that stand for the slowest link when bandwidths are made whole; rounded up."""


def least_seconds(
    network: Network,
    goal: Goal,
    latency_s: Sequence[float],
    lane_s_per_byte: Sequence[float],
    size_bytes: float,
    chunks: int,
    port_s_per_byte: Sequence[float] = (),
) -> float:
    """A lower bound on the seconds of all schedules with C chunks.

    Args:
        network: Links, lanes, shared capacities.
        goal: One that copies, with one chunk per part.
        latency_s, lane_s_per_byte: Per link, alpha and beta of a lane.
        size_bytes: L.
        chunks: C.
        port_s_per_byte: Per shared capacity, beta of one unit of it.
    """
    ends = np.array(network.links, dtype=np.int64)
    seconds = np.array(latency_s) + size_bytes / chunks * np.array(lane_s_per_byte)
    shape = (network.nodes, network.nodes)
    # A link of no seconds would not be a link of the sparse matrix.
    weights = csr_array((np.maximum(seconds, 1e-300), (ends[:, 0], ends[:, 1])), shape=shape)
    ways = shortest_path(weights)
    longest = max(float(ways[s, list(others)].max()) for s, others, _ in commodities(goal))
    return max(longest, _by_cut(network, goal, latency_s, lane_s_per_byte, size_bytes,
                                port_s_per_byte))  # fmt: skip


def _by_cut(
    network: Network,
    goal: Goal,
    latency_s: Sequence[float],
    lane_s_per_byte: Sequence[float],
    size_bytes: float,
    port_s_per_byte: Sequence[float],
) -> float:
    """The best cut of a network whose lanes are bandwidths, in units of the slowest link."""
    slowest = max(lane_s_per_byte)
    if min((*lane_s_per_byte, *port_s_per_byte)) <= 0:
        return 0.0

    def units(capacity: int, beta: float) -> int:
        return math.ceil(_FINENESS * capacity * slowest / beta)

    whole = replace(
        network,
        lanes=tuple(map(units, network.lanes, lane_s_per_byte)),
        shared=tuple(
            Shared(
                links=port.links,
                capacity=units(port.capacity, beta),
            )
            for port, beta in zip(network.shared, port_s_per_byte, strict=True)
        ),
    )
    cut = cut_bound(whole, goal)
    inside = frozenset(cut.nodes)
    leaving = [at for at, (u, v) in enumerate(network.links) if u in inside and v not in inside]
    moved_s = float(cut.load) * _FINENESS * slowest * size_bytes
    return moved_s * (1 - 1e-12) + min(latency_s[at] for at in leaving)
