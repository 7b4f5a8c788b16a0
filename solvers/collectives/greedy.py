"""A schedule at once, by shortest trees: what a search starts from and falls back on.

Every chunk goes to its destinations along a tree of shortest ways, in which each node is reached
from the neighbour whose link is the least loaded. Copies of a part leave one step after another,
as far as the steps allow, and then all over again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from solvers.collectives.model import Part
from solvers.collectives.problem import Network
from solvers.collectives.schedule import Send

_Carried = dict[tuple[int, int], int]


def greedy_sends(
    network: Network, parts: Sequence[Part], steps: int, hops: Sequence[Sequence[int]]
) -> tuple[Send, ...]:
    """Sends of every part along shortest trees.

    Args:
        network: Links and lanes.
        parts: What is copied; every destination is at most `steps` links away.
        steps: S.
        hops: (nodes, nodes) links on a shortest way.
    """
    into: list[list[tuple[int, int]]] = [[] for _ in range(network.nodes)]
    for link, (u, v) in enumerate(network.links):
        into[v].append((u, link))
    carried: _Carried = defaultdict(int)
    sends: list[Send] = []
    for part in parts:
        away = [int(hop) for hop in hops[part.source]]
        late = steps - max(away[node] for node in part.destinations)
        for copy, chunk in enumerate(part.chunks):
            first = copy % (late + 1)
            for link, step in _tree(network, part, away, first, into, carried):
                sends.append(Send(step, *network.links[link], chunk))
    return tuple(sorted(sends))


def _tree(
    network: Network,
    part: Part,
    away: Sequence[int],
    first: int,
    into: Sequence[Sequence[tuple[int, int]]],
    carried: _Carried,
) -> list[tuple[int, int]]:
    """(link, step) of one shortest tree that starts in a step; counted in `carried`."""
    layers: dict[int, set[int]] = defaultdict(set)
    for node in part.destinations:
        layers[away[node]].add(node)
    tree = []
    for distance in range(max(layers), 0, -1):
        step = first + distance - 1
        for node in sorted(layers[distance]):
            _, link, parent = min(
                ((carried[link, step] + 1) / network.lanes[link], link, u)
                for u, link in into[node]
                if away[u] == distance - 1
            )
            carried[link, step] += 1
            tree.append((link, step))
            layers[distance - 1].add(parent)
    return tree


def rounds_of(network: Network, sends: Sequence[Send], steps: int) -> tuple[int, ...]:
    """The fewest rounds of each step that carry its sends; at least 1."""
    link_at = {ends: link for link, ends in enumerate(network.links)}
    carried: _Carried = defaultdict(int)
    for send in sends:
        carried[link_at[send.source, send.target], send.step] += 1
    rounds = [1] * steps
    for (link, step), count in carried.items():
        rounds[step] = max(rounds[step], -(-count // network.lanes[link]))
    for port in network.shared:
        for step in range(steps):
            count = sum(carried.get((link, step), 0) for link in port.links)
            rounds[step] = max(rounds[step], -(-count // port.capacity))
    return tuple(rounds)
