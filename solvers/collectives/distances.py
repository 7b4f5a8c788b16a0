"""Hop counts of a network, and the fewest steps that a collective can take.

Every step carries a chunk over one link, so no schedule has fewer steps than the longest shortest
way from a chunk's source to one of its destinations.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from solvers.collectives.commodities import commodities, copying
from solvers.collectives.problem import Goal, Network

IntArray = npt.NDArray[np.int64]


def hops(network: Network) -> IntArray:
    """(n, n) fewest links from row to column; n where there is no way at all."""
    ends = np.array(network.links, dtype=np.int64).reshape(-1, 2)
    ones = np.ones(len(ends))
    shape = (network.nodes, network.nodes)
    found = shortest_path(csr_array((ones, (ends[:, 0], ends[:, 1])), shape=shape), unweighted=True)
    return np.where(np.isinf(found), network.nodes, found).astype(np.int64)


def distances(network: Network) -> IntArray:
    """(n, n) fewest links from row to column.

    Raises:
        ValueError: Some node cannot be reached from some other one.
    """
    found = hops(network)
    if (found >= network.nodes).any():
        u, v = np.argwhere(found >= network.nodes)[0]
        raise ValueError(f"no way leads from node {u} to node {v}")
    return found


def least_steps(network: Network, goal: Goal) -> int:
    """S_min: the longest shortest way from a source to a destination of any chunk.

    An all-reduce takes twice the way from any node to any other, as a reduce-scatter and an
    allgather one after the other.

    Raises:
        ValueError: A destination cannot be reached from its source.
    """
    if goal.combined and any(len(final) > 1 for final in goal.final):
        members = sorted(frozenset().union(*goal.final))
        found = hops(network)[np.ix_(members, members)]
        _refuse_unreachable(found, members, members, network.nodes)
        return 2 * int(found.max())
    links, parts = copying(network, goal)
    between = hops(links)
    longest = 0
    wanted = commodities(parts)
    single = np.array([(u, v[0]) for u, v, _ in wanted if len(v) == 1], dtype=np.int64)
    if len(single):
        reached = between[single[:, 0], single[:, 1]]
        if (reached < network.nodes).all():
            longest = int(reached.max())
            wanted = tuple(part for part in wanted if len(part.destinations) > 1)
    for source, others, _ in wanted:
        reached = between[[source]][:, list(others)]
        if goal.combined:
            _refuse_unreachable(reached.T, others, (source,), network.nodes)
        else:
            _refuse_unreachable(reached, (source,), others, network.nodes)
        longest = max(longest, int(reached.max()))
    return longest


def _refuse_unreachable(
    found: IntArray, sources: tuple[int, ...] | list[int], ends: tuple[int, ...] | list[int], n: int
) -> None:
    if (found >= n).any():
        u, v = np.argwhere(found >= n)[0]
        raise ValueError(f"no way leads from node {sources[u]} to node {ends[v]}")
