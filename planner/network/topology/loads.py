"""Bytes on every link in each direction: traffic over shortest paths, and what it costs.

Shortest-path routing splits the bytes of a pair of chips equally over all shortest paths between
them, parallel links as different paths. A level of distance at a time, for all sources at once:

    sigma(s, v) = sum of links(u, v) sigma(s, u)         over u one hop nearer to s
    through(s, u) = sigma(s, u) sum of links(u, v) (T(s, v) + through(s, v)) / sigma(s, v)
    load(u -> v) = links(u, v) sum over s of sigma(s, u) (T(s, v) + through(s, v)) / sigma(s, v)

Source: the accumulation of U. Brandes, A faster algorithm for betweenness centrality (2001), with
pairs weighted by their bytes.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.network.topology.measures import distances
from planner.network.topology.wiring import Wiring

_BLOCK = 2**20
"""Entries of the arrays of one block of sources."""
_FEW = 8
"""One in so many pairs of a node and a source."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What traffic does to the links.

    Attributes:
        edge_bytes: (m, 2) bytes over each edge of the wiring, from its first to its second end
            and back, all of its parallel links together.
        busiest_bytes: Bytes over the busiest link in its busier direction.
        busiest_edge: Its edge.
        bottleneck_edge: The edge whose links take longest: the busiest where all are as fast.
        time_s: That time; None without a bandwidth.
        energy_j: Bytes times energy per byte, over all links; None without an energy.
        byte_hops: Bytes times hops: the sum of the loads.
    """

    edge_bytes: FloatArray
    busiest_bytes: float
    busiest_edge: int
    bottleneck_edge: int
    time_s: float | None
    energy_j: float | None
    byte_hops: float


def shortest_loads(wiring: Wiring, traffic: FloatArray) -> FloatArray:
    """Loads of shortest-path routing with equal split.

    Args:
        wiring: Any, connected.
        traffic: (N, N) bytes from row to column.

    Returns:
        (m, 2) bytes over each edge, as `Load.edge_bytes`.
    """
    loads = np.zeros((len(wiring.ends), 2))
    adjacency = wiring.adjacency
    senders = np.flatnonzero(traffic.any(axis=1))
    block = max(1, _BLOCK // (len(wiring.labels) + len(wiring.ends)))
    for first in range(0, len(senders), block):
        sources = senders[first : first + block]
        hops = distances(wiring, sources).T
        demand = np.zeros(hops.shape)
        demand[: wiring.chips] = traffic[sources].T
        sigma, share = _accumulated(adjacency, hops, demand, sources)
        for direction, (u, v) in enumerate((wiring.ends.T, wiring.ends[:, ::-1].T)):
            onward = hops[v] == hops[u] + 1
            loads[:, direction] += np.where(onward, sigma[u] * share[v], 0.0).sum(axis=1)
    return np.asarray(loads * wiring.links[:, None], dtype=np.float64)


def _accumulated(
    adjacency: sparse.csr_array, hops: IntArray, demand: FloatArray, sources: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Paths from each source to each node, and bytes per path that end at or pass it: (n, s)."""
    sigma = np.zeros(hops.shape)
    sigma[sources, np.arange(len(sources))] = 1.0
    farthest = int(hops.max())
    order = np.argsort(hops, axis=None, kind="stable")
    ends = np.cumsum(np.bincount(hops.ravel(), minlength=farthest + 1))
    levels = np.split(order, ends[:-1])
    for level in range(1, farthest + 1):
        pairs = levels[level]
        sigma.flat[pairs] = _from_level(adjacency, hops, sigma, pairs, level - 1)
    share = demand / sigma
    for level in range(farthest, 1, -1):
        pairs = levels[level - 1]
        share.flat[pairs] += _from_level(adjacency, hops, share, pairs, level)
    return sigma, share


def _from_level(
    adjacency: sparse.csr_array, hops: IntArray, values: FloatArray, pairs: IntArray, level: int
) -> FloatArray:
    """(p,) for pairs of a node and a source, the sum over the links to nodes at so many hops.

    Where the pairs are few, only their links are gone through: a ring has as many levels as half
    its nodes. Both ways add in the same order.
    """
    if len(pairs) * _FEW > hops.size:
        return np.asarray((adjacency @ np.where(hops == level, values, 0.0)).flat[pairs])
    nodes, sources = np.divmod(pairs, hops.shape[1])
    starts, counts = adjacency.indptr[nodes], np.diff(adjacency.indptr)[nodes]
    pair = np.repeat(np.arange(len(pairs)), counts)
    link = np.arange(len(pair)) + np.repeat(starts - np.cumsum(counts) + counts, counts)
    beside = adjacency.indices[link], sources[pair]
    sent = np.where(hops[beside] == level, values[beside], 0.0) * adjacency.data[link]
    return np.asarray(np.bincount(pair, sent, minlength=len(pairs)), dtype=np.float64)


def load_of(
    wiring: Wiring,
    edge_bytes: FloatArray,
    *,
    bandwidth_bytes_per_s: float | None = None,
    energy_j_per_byte: float | None = None,
) -> Load:
    """Busiest link, time and energy of loads.

    Args:
        wiring: Where they are.
        edge_bytes: (m, 2), see `Load`.
        bandwidth_bytes_per_s: Of a link and direction that says nothing itself.
        energy_j_per_byte: Of a link that says nothing itself, per byte and hop.
    """
    per_link = edge_bytes.max(axis=1) / wiring.links
    busiest = _largest(per_link)
    rate = _given(wiring.figures["bandwidth_bytes_per_s"], bandwidth_bytes_per_s)
    energy = _given(wiring.figures["energy_j_per_byte"], energy_j_per_byte)
    seconds = per_link / rate
    known = not np.isnan(rate).any()
    return Load(
        edge_bytes=edge_bytes,
        busiest_bytes=float(per_link[busiest]),
        busiest_edge=busiest,
        bottleneck_edge=_largest(seconds) if known else busiest,
        time_s=float(seconds.max()) if known else None,
        energy_j=None if np.isnan(energy).any() else float(edge_bytes.sum(axis=1) @ energy),
        byte_hops=float(edge_bytes.sum()),
    )


def _largest(values: FloatArray) -> int:
    """The first of the largest values; sums in another order are no difference."""
    return int(np.flatnonzero(values >= values.max() * (1.0 - _ROUNDING))[0])


def _given(figures: FloatArray, default: float | None) -> FloatArray:
    """Figures of links, with a default where they say nothing."""
    return np.where(np.isnan(figures), np.nan if default is None else default, figures)
