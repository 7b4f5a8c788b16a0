"""Cut bounds: what must leave a set of nodes, over what its links carry per round.

    R / C  >=  (parts with the source in A and a destination outside) / capacity(A -> outside)

for every set A of nodes, whatever the steps. The greatest ratio is found by Dinkelbach's
iteration: with the ratio p / q so far, a set for which q x chunks - p x capacity > 0 is better, and
the best of those that leave out a given destination is a minimum cut. All numbers are whole, so
the ratio is exact, and the set with the links and ports that cover its cut is its certificate.

Sources: Dinkelbach, Management Science 1967, doi:10.1287/mnsc.13.7.492; Zhao et al., ForestColl,
arXiv:2402.06787 (bottleneck cuts of collectives).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from solvers.clock import deadline_of, left_s
from solvers.collectives.commodities import Commodity, commodities
from solvers.collectives.distances import least_steps
from solvers.collectives.expansion import representatives
from solvers.collectives.problem import Goal, Network
from solvers.collectives.symmetry import Permutation

LISTED_NODES = 14
"""Up to so many nodes every set is tried where minimum cuts do not reach all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A set of nodes, and what bounds the chunks that leave it.

    Attributes:
        nodes: The set A, rising.
        links, shared: Indices of links and shared capacities; every link that leaves A is one of
            the links or goes through one of the shared capacities.
        demand: Chunks, with one per part of the goal, that must leave A.
        capacity: Chunks per round that those links and shared capacities carry.
    """

    nodes: tuple[int, ...]
    links: tuple[int, ...]
    shared: tuple[int, ...]
    demand: int
    capacity: int

    @property
    def load(self) -> Fraction:
        """The lower bound of R / C."""
        return Fraction(self.demand, self.capacity)


def cut_bound(
    network: Network,
    goal: Goal,
    *,
    group: Sequence[Permutation] = (),
    time_limit_s: float = math.inf,
) -> Cut:
    """The cut with the greatest lower bound of R / C.

    It is the greatest over all sets of nodes if the chunks of all sources go to all other nodes
    or to one root, come from one root, or are those of one of these adding up; so for every
    collective with a root, for allgather and reduce-scatter. For an all-to-all every set is tried
    up to `LISTED_NODES` nodes without shared capacities, and beyond that those that leave out one
    destination or hold one source. Trunks that many nodes share may be counted too wide, which
    keeps the bound valid.

    Args:
        network: Nodes and links.
        goal: With one chunk per part, e.g. `goal_of(collective, nodes, 1)`.
        group: Symmetries of network and goal; one destination of each orbit is left out in turn.
        time_limit_s: When the search ends with the best cut so far, a valid bound too.

    Raises:
        ValueError: A destination cannot be reached, or the goal is an all-reduce.
    """
    deadline = deadline_of(time_limit_s)
    least_steps(network, goal)
    # Link for link, so that the links of a cut are those of the network.
    links, copied = (network.reversed(), goal.reversed()) if goal.combined else (network, goal)
    parts = commodities(copied)
    if not parts:
        raise ValueError("no chunk has to move")
    spots = representatives(network, tuple(group))
    best = _by_target(links, parts, spots, deadline)
    single = tuple(Commodity(d[0], (s,), w) for s, d, w in parts if len(d) == 1)
    if single:
        turned = _by_target(links.reversed(), single, spots, deadline)
        best = max(best, _complement(links, parts, turned), key=lambda cut: cut.load)
    mixed = len({part.source for part in parts}) > 1 and len({d for _, d, _ in parts}) > 1
    if single and mixed and network.nodes <= LISTED_NODES and not network.shared:
        best = max(best, _listed(links, parts), key=lambda cut: cut.load)
    return _complement(network, parts, best, recount=False) if goal.combined else best


def check_cut(network: Network, goal: Goal, cut: Cut) -> Fraction:
    """The lower bound of R / C that a cut proves, counted again from network and goal.

    Raises:
        ValueError: Its numbers are not those of the network and goal, or a link that leaves the
            set is not covered.
    """
    inside = frozenset(cut.nodes)
    covered = set(cut.links)
    for at in cut.shared:
        covered |= set(network.shared[at].links)
    for at, (u, v) in enumerate(network.links):
        if u in inside and v not in inside and at not in covered:
            raise ValueError(f"link {u} to {v} leaves the set and is not covered")
    capacity = sum(network.lanes[at] for at in cut.links)
    capacity += sum(network.shared[at].capacity for at in cut.shared)
    demand = 0
    for initial, final in zip(goal.initial, goal.final, strict=True):
        # Copies must get out to a destination; parts of a sum must get out to be added up.
        if goal.combined:
            demand += bool(initial & inside) and not final <= inside
        else:
            demand += initial <= inside and not final <= inside
    if (demand, capacity) != (cut.demand, cut.capacity):
        raise ValueError(
            f"{demand} chunks leave over {capacity}, not {cut.demand} over {cut.capacity}"
        )
    return Fraction(demand, capacity)


def _demand(parts: Sequence[Commodity], inside: frozenset[int]) -> int:
    """Chunks with the source inside and a destination outside."""
    return sum(
        chunks for source, ends, chunks in parts if source in inside and not inside.issuperset(ends)
    )


def _complement(
    network: Network, parts: Sequence[Commodity], cut: Cut, *, recount: bool = True
) -> Cut:
    """The cut of the reversed network as one of the network: the same links, the other side."""
    inside = frozenset(range(network.nodes)) - frozenset(cut.nodes)
    demand = _demand(parts, inside) if recount else cut.demand
    return Cut(
        nodes=tuple(sorted(inside)),
        links=cut.links,
        shared=cut.shared,
        demand=demand,
        capacity=cut.capacity,
    )


class _Pipes:
    """The flow network of a network: chips, then an entry and an exit of each shared capacity.

    A link leads from its source through its shared capacities, those of the fewest sources first,
    to its target, and its lanes bound every piece of the way.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.of_link: list[list[int]] = [[] for _ in network.links]
        for at in sorted(range(len(network.shared)), key=self._spread):
            for link in network.shared[at].links:
                self.of_link[link].append(at)
        lanes: dict[tuple[int, int], int] = {}
        for (u, v), count, chain in zip(network.links, network.lanes, self.of_link, strict=True):
            here = u
            for at in chain:
                entry = network.nodes + 2 * at
                lanes[here, entry] = lanes.get((here, entry), 0) + count
                here = entry + 1
            lanes[here, v] = lanes.get((here, v), 0) + count
        for at, port in enumerate(network.shared):
            entry = network.nodes + 2 * at
            lanes[entry, entry + 1] = port.capacity
        self.ends = np.array(sorted(lanes), dtype=np.int64).reshape(-1, 2)
        self.lanes = np.array([lanes[u, v] for u, v in self.ends.tolist()], dtype=np.int64)
        self.top = network.nodes + 2 * len(network.shared)

    def _spread(self, at: int) -> tuple[int, int]:
        links = self.network.shared[at].links
        return (len({self.network.links[link][0] for link in links}), at)

    def source_side(
        self, supplies: Sequence[tuple[int, int]], sink: int, scale: int
    ) -> frozenset[int]:
        """Nodes on the source side of a minimum cut, all capacities of pipes times `scale`."""
        from ortools.graph.python.max_flow import SimpleMaxFlow  # noqa: PLC0415  (heavy)

        flow = SimpleMaxFlow()
        starts, amounts = np.array(supplies, dtype=np.int64).reshape(-1, 2).T
        flow.add_arcs_with_capacity(
            np.concatenate([self.ends[:, 0], np.full(len(starts), self.top)]).astype(np.int32),
            np.concatenate([self.ends[:, 1], starts]).astype(np.int32),
            np.concatenate([scale * self.lanes, amounts]),
        )
        if flow.solve(self.top, sink) != flow.OPTIMAL:
            raise RuntimeError("the maximum flow was not found")
        return frozenset(int(node) for node in flow.get_source_side_min_cut())

    def cut(self, parts: Sequence[Commodity], side: frozenset[int]) -> Cut:
        """The cut of the chips on a side, and what covers it."""
        nodes = self.network.nodes
        inside = frozenset(node for node in side if node < nodes)
        shared = tuple(
            at
            for at in range(len(self.network.shared))
            if nodes + 2 * at in side and nodes + 2 * at + 1 not in side
        )
        links = tuple(
            at
            for at, (u, v) in enumerate(self.network.links)
            if u in inside and v not in inside and not set(shared) & set(self.of_link[at])
        )
        capacity = sum(self.network.lanes[at] for at in links)
        capacity += sum(self.network.shared[at].capacity for at in shared)
        return Cut(
            nodes=tuple(sorted(inside)),
            links=links,
            shared=shared,
            demand=_demand(parts, inside),
            capacity=capacity,
        )


def _by_target(
    network: Network, parts: Sequence[Commodity], spots: frozenset[int], deadline: float
) -> Cut:
    """The best cut that leaves out a destination and counts the chunks that go there."""
    pipes, best = _Pipes(network), None
    wanted: dict[int, list[tuple[int, int]]] = {}
    for source, ends, chunks in parts:
        for node in ends:
            if node in spots:
                wanted.setdefault(node, []).append((source, chunks))
    for target in sorted(wanted):
        supplies = wanted[target]
        if best is None:
            everywhere = frozenset(range(network.nodes)) - {target}
            best = pipes.cut(parts, everywhere)
        while left_s(deadline):
            load = best.load
            scaled = [(source, load.denominator * chunks) for source, chunks in supplies]
            side = pipes.source_side(scaled, target, load.numerator)
            found = pipes.cut(parts, side) if side - {pipes.top} else best
            if found.load <= load:
                break
            best = found
    if best is None:
        raise ValueError("no destination is among those to be left out")
    return best


def _listed(network: Network, parts: Sequence[Commodity]) -> Cut:
    """The best of all sets of nodes, with links as the only limits."""
    nodes = network.nodes
    sets = np.arange(1, 2**nodes - 1)
    inside: npt.NDArray[np.bool_] = ((sets[:, None] >> np.arange(nodes)) & 1).astype(np.bool_)
    ends = np.array(network.links, dtype=np.int64)
    leaves = inside[:, ends[:, 0]] & ~inside[:, ends[:, 1]]
    capacity = leaves.astype(np.int64) @ np.array(network.lanes, dtype=np.int64)
    demand = np.zeros(len(sets), dtype=np.int64)
    for source, others, chunks in parts:
        demand += chunks * np.int64(inside[:, source] & ~inside[:, list(others)].all(axis=1))
    ratio = np.where(capacity > 0, demand / np.maximum(capacity, 1), 0.0)
    near = np.flatnonzero(ratio >= ratio.max() * (1 - 1e-9))
    chosen = max(near.tolist(), key=lambda at: Fraction(int(demand[at]), int(capacity[at])))
    return _Pipes(network).cut(parts, frozenset(np.flatnonzero(inside[chosen]).tolist()))
