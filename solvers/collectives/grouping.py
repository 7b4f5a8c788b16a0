"""Groups of nodes with little between them: the levels of a network, as its links show them.

Two signs are read. A trunk is a shared capacity of links from several nodes to none of them: those
nodes stand under one switch. Without trunks, links are wide inside a group and narrow between
groups: groups are what the links above some width join.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from solvers.collectives.problem import Network

Groups = tuple[tuple[int, ...], ...]


def alike_groups(network: Network) -> Groups:
    """Groups of one size that hold all nodes, each rising; none where the links show none.

    Args:
        network: Links, lanes, shared capacities.

    Returns:
        At least two groups of at least two nodes, or ().
    """
    return _under_trunks(network) or _by_width(network)


def orbit_count(nodes: int, permutations: Iterable[tuple[int, ...]]) -> int:
    """Into how many orbits permutations part the nodes: all of them where there are none.

    Args:
        nodes: How many.
        permutations: (nodes,) each.
    """
    moves = [pair for each in permutations for pair in enumerate(each)]
    return len(_parts(nodes, moves))


def _under_trunks(network: Network) -> Groups:
    """Nodes that share a trunk; of several levels the one with the largest groups."""
    by_size: dict[int, set[tuple[int, ...]]] = defaultdict(set)
    for port in network.shared:
        sources = {network.links[link][0] for link in port.links}
        targets = {network.links[link][1] for link in port.links}
        if len(sources) > 1 and not sources & targets:
            by_size[len(sources)].add(tuple(sorted(sources)))
    for _, found in sorted(by_size.items(), reverse=True):
        groups = tuple(sorted(found))
        if _hold_all(network, groups):
            return groups
    return ()


def _by_width(network: Network) -> Groups:
    """What links wider than some width join."""
    for width in sorted(set(network.lanes)):
        wide = [
            ends for ends, lanes in zip(network.links, network.lanes, strict=True) if lanes > width
        ]
        groups = _parts(network.nodes, wide)
        if _hold_all(network, groups):
            return groups
    return ()


def _hold_all(network: Network, groups: Groups) -> bool:
    """Whether groups are several, of one size above 1, and hold every node once."""
    members = sorted(node for group in groups for node in group)
    sizes = set(map(len, groups))
    return (
        len(groups) > 1
        and len(sizes) == 1
        and min(sizes) > 1
        and members == list(range(network.nodes))
    )


def _parts(nodes: int, pairs: Iterable[tuple[int, int]]) -> Groups:
    """What pairs join, each part rising."""
    above = list(range(nodes))

    def top(node: int) -> int:
        while above[node] != node:
            above[node] = above[above[node]]
            node = above[node]
        return node

    for u, v in pairs:
        above[max(top(u), top(v))] = min(top(u), top(v))
    parts: dict[int, list[int]] = defaultdict(list)
    for node in range(nodes):
        parts[top(node)].append(node)
    return tuple(sorted(tuple(part) for part in parts.values()))
