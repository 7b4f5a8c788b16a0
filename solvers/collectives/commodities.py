"""The parts of a goal that are alike: chunks with one source and the same destinations.

Bounds and syntheses work on copies only. A goal that adds up (reduce-scatter, reduce) is met by
the reversed schedule of its dual on reversed links (`copying`); an all-reduce is composed of two.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from solvers.collectives.problem import Goal, Network


class Commodity(NamedTuple):
    """Chunks that start at one node and go to the same others.

    Attributes:
        source: The node that has them at the start.
        destinations: The other nodes that must have them at the end, rising; at least one.
        chunks: How many chunks there are of the kind.
    """

    source: int
    destinations: tuple[int, ...]
    chunks: int


def copying(network: Network, goal: Goal) -> tuple[Network, Goal]:
    """The problem itself, or of a goal that adds up the dual: reversed links, reversed goal.

    A schedule of the dual read backwards is one of the goal, with the same steps and rounds. A
    network that is its own mirror image stays as it is, so that duals are solved alike.
    """
    if not goal.combined:
        return network, goal
    return network if same_backwards(network) else network.reversed(), goal.reversed()


def same_backwards(network: Network) -> bool:
    """Whether a network and the one with all links turned round are the same."""
    there, back = (
        (
            set(zip(way.links, way.lanes, strict=True)),
            Counter(
                (frozenset(way.links[link] for link in port.links), port.capacity)
                for port in way.shared
            ),
        )
        for way in (network, network.reversed())
    )
    return there == back


@lru_cache(maxsize=8)
def commodities(goal: Goal) -> tuple[Commodity, ...]:
    """The chunks of a goal that copies, by what is alike; sorted, without those that stay put.

    Raises:
        ValueError: Chunks are added up (use `copying`), or start at several nodes.
    """
    if goal.combined:
        raise ValueError("chunks that are added up have no single source; take the reversed goal")
    if any(len(start) != 1 for start in goal.initial):
        raise ValueError("every chunk must start at one node; an all-reduce is composed of two")
    alike: Counter[tuple[int, tuple[int, ...]]] = Counter()
    sorted_of: dict[frozenset[int], tuple[int, ...]] = {}
    for initial, final in zip(goal.initial, goal.final, strict=True):
        (source,) = initial
        others = sorted_of.get(final) or sorted_of.setdefault(final, tuple(sorted(final)))
        alike[source, others] += 1
    kinds = Counter[tuple[int, tuple[int, ...]]]()
    for (source, ends), chunks in alike.items():
        kinds[source, tuple(end for end in ends if end != source)] += chunks
    return tuple(
        Commodity(source, others, chunks)
        for (source, others), chunks in sorted(kinds.items())
        if others
    )
