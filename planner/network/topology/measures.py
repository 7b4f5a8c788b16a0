"""Hops, diameter and latency of any wiring, measured on the graph."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from planner.base.arrays import FloatArray, IntArray
from planner.network.topology.wiring import Wiring

_REFINED = 512


def distances(wiring: Wiring, sources: IntArray | None = None) -> IntArray:
    """Hops of the shortest paths, by breadth-first search.

    Args:
        wiring: Any, connected.
        sources: (s,) nodes; default: the chips.

    Returns:
        (s, n) hops from each source to every node.
    """
    from_nodes = np.arange(wiring.chips) if sources is None else sources
    hops = csgraph.dijkstra(wiring.adjacency, directed=False, unweighted=True, indices=from_nodes)
    return np.asarray(hops, dtype=np.int64)


def measured_hops(wiring: Wiring) -> Fraction:
    """Average shortest-path hops over all ordered pairs of different chips, exact."""
    chips = wiring.chips
    total = int(distances(wiring)[:, :chips].sum())
    return Fraction(total, chips * (chips - 1))


def measured_diameter(wiring: Wiring) -> int:
    """The most hops between two chips."""
    return int(distances(wiring)[:, : wiring.chips].max())


def farthest_latency_s(wiring: Wiring, default_s: float) -> float:
    """The largest over pairs of chips of the least latency of a path, in seconds.

    Args:
        wiring: Any, connected.
        default_s: Latency of a link that has none of its own.
    """
    given = wiring.figures["latency_s"]
    latency = np.where(np.isnan(given), default_s, given)
    if not latency.any():
        return 0.0
    count = len(wiring.labels)
    u, v = wiring.ends.T
    # Explicit zeros would read as missing links.
    graph = sparse.csr_array((np.maximum(latency, 1e-30), (u, v)), shape=(count, count))
    paths = csgraph.dijkstra(graph, directed=False, indices=np.arange(wiring.chips))
    return float(paths[:, : wiring.chips].max())


def cut_links(wiring: Wiring, side: IntArray) -> int:
    """Links between the nodes of one side (side = 1) and the others (side = 0)."""
    u, v = wiring.ends.T
    return int(wiring.links[side[u] != side[v]].sum())


def halves(wiring: Wiring) -> tuple[IntArray, int]:
    """Two halves of the chips that few links join: an upper bound of the bisection.

    The chips are ordered by the second eigenvector of the Laplacian (Fiedler, 1973), halved, and
    swapped in pairs while that helps; every switch stands where it cuts fewer links. Graphs of
    more than 512 nodes are halved in the order of their chips only.

    Returns:
        (n,) 0 or 1 per node, and the links between the two sides.
    """
    in_order = np.zeros(len(wiring.labels), dtype=np.int64)
    in_order[: wiring.chips // 2] = 1
    if len(wiring.labels) > _REFINED:
        side = _with_switches(wiring, in_order)
        return side, cut_links(wiring, side)
    order = np.argsort(_fiedler(wiring)[: wiring.chips], kind="stable")
    spectral = np.zeros_like(in_order)
    spectral[order[: wiring.chips // 2]] = 1
    found = []
    for start in (in_order, spectral):
        swapped = _swapped(wiring, _with_switches(wiring, start))
        found.append(_with_switches(wiring, swapped))
    return min(((side, cut_links(wiring, side)) for side in found), key=lambda pair: pair[1])


def least_cut(wiring: Wiring) -> int:
    """A lower bound of the bisection: lambda_2 |A| |B| / N, or one link.

    One link with switches and above 512 nodes.

    lambda_2 is the second eigenvalue of the Laplacian (Fiedler, 1973; Mohar, 1991).
    """
    if wiring.switches or len(wiring.labels) > _REFINED:
        return 1
    half = wiring.chips // 2
    second = float(np.linalg.eigvalsh(_laplacian(wiring))[1])
    return max(1, math.ceil(second * half * (wiring.chips - half) / wiring.chips - 1e-6))


def _laplacian(wiring: Wiring) -> FloatArray:
    """(n, n) ports on the diagonal, less the links."""
    return np.asarray(csgraph.laplacian(wiring.adjacency).toarray(), dtype=np.float64)


def _fiedler(wiring: Wiring) -> FloatArray:
    """(n,) second eigenvector of the Laplacian of the links."""
    vectors = np.linalg.eigh(_laplacian(wiring))[1]
    return np.asarray(vectors[:, 1].round(9), dtype=np.float64)


def _with_switches(wiring: Wiring, side: IntArray) -> IntArray:
    """Moves the switches to where, given the chips, the fewest links are cut: a minimum cut."""
    if not wiring.switches:
        return side
    import networkx as nx  # noqa: PLC0415  (takes a noticeable time)

    graph = nx.Graph()
    for (u, v), links in zip(wiring.ends.tolist(), wiring.links.tolist(), strict=True):
        ends = [
            ("other", "one")[int(side[node])] if node < wiring.chips else node for node in (u, v)
        ]
        if ends[0] != ends[1]:
            known = graph.get_edge_data(*ends, default={"capacity": 0})["capacity"]
            graph.add_edge(*ends, capacity=known + links)
    if not {"one", "other"} <= set(graph):
        return side
    _, (near, _) = nx.minimum_cut(graph, "one", "other")
    moved = side.copy()
    moved[wiring.chips :] = [node in near for node in range(wiring.chips, len(side))]
    return moved


def _swapped(wiring: Wiring, side: IntArray) -> IntArray:
    """Swaps the pair of chips that saves most links until none does (Kernighan, Lin, 1970)."""
    adjacency = wiring.adjacency.toarray()
    side = side.copy()
    chips = wiring.chips
    for _ in range(len(side)):
        sign = 2 * side - 1
        gain = -sign * (adjacency @ sign)
        ones, zeros = np.flatnonzero(side[:chips]), np.flatnonzero(side[:chips] == 0)
        saved = gain[ones][:, None] + gain[zeros][None, :] - 2 * adjacency[np.ix_(ones, zeros)]
        best = np.unravel_index(np.argmax(saved), saved.shape)
        if saved[best] <= 0:
            return side
        side[ones[best[0]]], side[zeros[best[1]]] = 0, 1
    return side
