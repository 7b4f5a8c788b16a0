"""Switches contracted: chips with switches between them become joined by links of their own.

Every ordered pair of chips that switches join gets one directed link along one shortest way
through them. The cables of the way are shared: what all links over a cable carry together is
limited by its lanes. Switches with the same neighbours over the same cables act as one, whose
cables have their lanes together: chunks can be spread over them evenly, whatever goes where.

Source: Koenig's theorem on edge colouring: demands between the sides of a bipartite graph with at
most c d at each node split into c parts of at most d at each (as in Clos networks; Clos, A study
of non-blocking switching networks, 1953).
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.base.errors import InputError
from solvers.collectives.problem import Network, Shared

MOST_LINKS = 300_000
"""Links between chips after contraction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cables:
    """Directed cables between chips and switches.

    Attributes:
        nodes: Chips and switches; nodes 0 .. chips - 1 are the chips.
        chips: The number of chips.
        ends: (m, 2) where each starts and ends, each pair once.
        lanes: (m,) chunks per round.
        latency_s: (m,) seconds beside the bytes.
    """

    nodes: int
    chips: int
    ends: IntArray
    lanes: IntArray
    latency_s: FloatArray


class Contracted(NamedTuple):
    """Chips alone.

    Attributes:
        network: Direct links first, then those through switches.
        latency_s: (links,) of all cables on the way.
        several_ways: Some pair of chips has several shortest ways through switches, of which one
            is used: R may be larger than what free routing reaches.
        passed_over: Pairs of chips that switches join beside a direct link, which alone is used.
    """

    network: Network
    latency_s: FloatArray
    several_ways: bool
    passed_over: int


def contracted(cables: Cables) -> Contracted:
    """Contracts the switches.

    Raises:
        InputError: More than `MOST_LINKS` links would result.
    """
    merged = _twins_merged(cables)
    direct = [tuple(end) for end in merged.ends.tolist() if max(end) < merged.chips]
    index = {tuple(end): at for at, end in enumerate(merged.ends.tolist())}
    ways, several = _ways(merged) if merged.nodes > merged.chips else ({}, False)
    beside = {pair for pair in ways if pair in index}
    through = sorted(set(ways) - beside)
    if len(direct) + len(through) > MOST_LINKS:
        raise InputError(
            f"topology: {len(direct) + len(through):,} links between chips; at most {MOST_LINKS:,}"
        )
    cables_of = [[index[pair]] for pair in direct] + [
        [index[step] for step in ways[pair]] for pair in through
    ]
    links = (*direct, *through)
    lanes = tuple(int(merged.lanes[way].min()) for way in cables_of)
    latency = np.asarray([merged.latency_s[way].sum() for way in cables_of], dtype=np.float64)
    shared = _shared(merged, links, cables_of)
    network = Network(nodes=merged.chips, links=links, lanes=lanes, shared=shared)
    return Contracted(network, latency, several, len(beside))


def _twins_merged(cables: Cables) -> Cables:
    """Switches with equal cables to equal neighbours as one, until none are left."""
    current = cables
    while True:
        around: list[set[tuple[int, int, int, float]]] = [set() for _ in range(current.nodes)]
        rows = zip(
            current.ends.tolist(), current.lanes.tolist(), current.latency_s.tolist(), strict=True
        )
        for (u, v), lanes, latency in rows:
            around[u].add((0, v, lanes, latency))
            around[v].add((1, u, lanes, latency))
        kept: dict[frozenset[tuple[int, int, int, float]], int] = {}
        onto = np.arange(current.nodes)
        for node in range(current.chips, current.nodes):
            onto[node] = kept.setdefault(frozenset(around[node]), node)
        if (onto == np.arange(current.nodes)).all():
            return current
        current = _mapped(current, onto)


def _mapped(cables: Cables, onto: IntArray) -> Cables:
    """Cables with their ends mapped; lanes of those that fall together add up."""
    left = np.unique(onto)
    number = np.zeros(cables.nodes, dtype=np.int64)
    number[left] = np.arange(len(left))
    ends = number[onto[cables.ends]]
    pairs, first, inverse = np.unique(ends, axis=0, return_index=True, return_inverse=True)
    lanes = np.bincount(inverse.ravel(), weights=cables.lanes, minlength=len(pairs))
    return Cables(
        nodes=len(left),
        chips=cables.chips,
        ends=pairs,
        lanes=lanes.astype(np.int64),
        latency_s=cables.latency_s[first],
    )


_Way = list[tuple[int, int]]


def _ways(cables: Cables) -> tuple[dict[tuple[int, int], _Way], bool]:
    """For pairs of chips the cables of one shortest way through switches; whether some have more.

    Of several ways the one is taken that spreads pairs: number (source + target) modulo their
    count at each switch, from the target back.
    """
    onward: list[list[int]] = [[] for _ in range(cables.nodes)]
    for u, v in cables.ends.tolist():
        onward[u].append(v)
    ways: dict[tuple[int, int], _Way] = {}
    several = False
    for source in range(cables.chips):
        before = _before(source, onward, cables.chips)
        for target, last in before.items():
            if target >= cables.chips or last == [source]:
                continue
            way, node = [], target
            while node != source:
                choices = before[node]
                several |= len(choices) > 1
                step = choices[(source + target) % len(choices)]
                way.append((step, node))
                node = step
            ways[source, target] = way[::-1]
    return ways, several


def _before(source: int, onward: list[list[int]], chips: int) -> dict[int, list[int]]:
    """For each node that switches lead to from a chip: the nodes before it on shortest ways."""
    before: dict[int, list[int]] = {}
    ring = [source]
    while ring:
        found: dict[int, list[int]] = defaultdict(list)
        for node in ring:
            for other in onward[node]:
                to_switch = node != source or other >= chips
                if to_switch and other != source and other not in before:
                    found[other].append(node)
        before |= found
        ring = [node for node in found if node >= chips]
    return before


def _shared(
    cables: Cables, links: tuple[tuple[int, int], ...], cables_of: list[list[int]]
) -> tuple[Shared, ...]:
    """The limits of cables that several links go over, less those that never bind."""
    over: dict[int, list[int]] = defaultdict(list)
    for link, way in enumerate(cables_of):
        for cable in way:
            over[cable].append(link)
    first = {link: way[0] for link, way in enumerate(cables_of)}
    last = {link: way[-1] for link, way in enumerate(cables_of)}
    found: dict[tuple[int, ...], int] = {}
    for cable, members in sorted(over.items()):
        if len(members) == 1:
            continue
        capacity = int(cables.lanes[cable])
        enters = sum(int(cables.lanes[port]) for port in {first[link] for link in members})
        leaves = sum(int(cables.lanes[port]) for port in {last[link] for link in members})
        is_port = cable in (first[members[0]], last[members[0]])
        if not is_port and min(enters, leaves) <= capacity:
            continue
        key = tuple(members)
        found[key] = min(capacity, found.get(key, capacity))
    return tuple(Shared(links=key, capacity=capacity) for key, capacity in found.items())
