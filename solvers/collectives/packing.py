"""All-gathers along packed spanning trees: the least R / C of any wiring, in long pipelines.

With the bottleneck cut p / q, p rounds carry q chunks of every node: by Edmonds' theorem on
branchings there are q spanning trees out of every node that together use no link more than
p lanes times. The trees are grown link by link. A set of m trees with nodes A may take a link
out of A for as many of them as leave room for all other trees that are not whole yet: that is a
maximum flow. Pieces of the buffer then follow each other down the trees, one step apart.

Source: Zhao et al., ForestColl, arXiv:2402.06787 (spanning trees packed at the bottleneck cut).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from solvers.collectives.greedy import rounds_of
from solvers.collectives.problem import Network
from solvers.collectives.schedule import Schedule, Send

UNBOUNDED = 1 << 40
"""More than all capacities together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """So many equal spanning trees out of a node.

    Attributes:
        root: The node.
        count: How many.
        links: Numbers of links, each out of a node that was reached before.
    """

    root: int
    count: int
    links: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class _Grown:
    """Trees under way."""

    root: int
    count: int
    links: list[int] = field(default_factory=list)
    nodes: set[int] = field(default_factory=set)


def packed_trees(
    network: Network,
    load: Fraction,
    roots: Sequence[int] | None = None,
    *,
    deadline: float = math.inf,
    on_tree: Callable[[int, int], None] | None = None,
) -> tuple[Tree, ...]:
    """Spanning trees out of every root, `load.denominator` each, within `load.numerator` rounds.

    Args:
        network: Links and lanes; without shared capacities.
        load: At least the bottleneck cut of its all-gather (`cuts.cut_bound`), or of a broadcast
            from the one root.
        roots: Nodes that trees start from; default: all.
        deadline: On the clock of `time.perf_counter`.
        on_tree: Called with (kinds of trees that are whole, kinds so far).

    Raises:
        TimeoutError: The deadline passed.
        ValueError: Shared capacities, or a load below the cut.
    """
    if network.shared:
        raise ValueError("trees are packed into links; ports that links share are not known here")
    room = np.array(network.lanes, dtype=np.int64) * load.numerator
    sets = [
        _Grown(root=root, count=load.denominator, nodes={root})
        for root in (range(network.nodes) if roots is None else roots)
    ]
    at = 0
    while at < len(sets):
        tree = sets[at]
        if on_tree is not None:
            on_tree(at, len(sets))
        while len(tree.nodes) < network.nodes:
            if time.perf_counter() > deadline:
                raise TimeoutError("the time ended before all trees were packed")
            link, most = _next(network, room, sets, at)
            if most < tree.count:
                rest = _Grown(
                    root=tree.root, count=tree.count - most,
                    links=list(tree.links), nodes=set(tree.nodes),
                )  # fmt: skip
                sets.append(rest)
                tree.count = most
            tree.links.append(link)
            tree.nodes.add(network.links[link][1])
            room[link] -= tree.count
        at += 1
    return tuple(Tree(root=one.root, count=one.count, links=tuple(one.links)) for one in sets)


def _next(network: Network, room: np.ndarray, sets: list[_Grown], at: int) -> tuple[int, int]:
    """The link that the most of a set of trees can take, breadth first, and how many."""
    tree = sets[at]
    best = (-1, 0)
    depth = {tree.root: 0}
    for link in tree.links:
        u, v = network.links[link]
        depth[v] = depth[u] + 1
    out = [
        link
        for link, (u, v) in enumerate(network.links)
        if u in tree.nodes and v not in tree.nodes and room[link] > 0
    ]
    for link in sorted(out, key=lambda link: (depth[network.links[link][0]], -room[link], link)):
        most = _allowed(network, room, sets, at, link)
        if most >= tree.count:
            return link, tree.count
        best = max(best, (link, most), key=lambda one: one[1])
    if best[1] < 1:
        raise ValueError("no trees can be packed: the load is below the bottleneck cut")
    return best


def _allowed(network: Network, room: np.ndarray, sets: list[_Grown], at: int, link: int) -> int:
    """Of how many trees of the set the link can be: what a maximum flow into it has to spare."""
    from ortools.graph.python.max_flow import SimpleMaxFlow  # noqa: PLC0415  (heavy)

    tree, n = sets[at], network.nodes
    x, y = network.links[link]
    others = [one for one in sets[at + 1 :] if len(one.nodes) < n]
    flow = SimpleMaxFlow()
    ends = np.array(network.links, dtype=np.int32)
    used = np.flatnonzero(room > 0)
    flow.add_arcs_with_capacity(ends[used, 0], ends[used, 1], room[used])
    for place, one in enumerate(others):
        flow.add_arc_with_capacity(x, n + place, one.count)
        for node in one.nodes:
            flow.add_arc_with_capacity(n + place, node, UNBOUNDED)
    top = n + len(others)
    flow.add_arc_with_capacity(top, x, UNBOUNDED)
    if flow.solve(top, y) != flow.OPTIMAL:
        raise RuntimeError("the maximum flow was not found")
    spare = flow.optimal_flow() - sum(one.count for one in others)
    return int(min(room[link], tree.count, max(spare, 0)))


def along_trees(network: Network, trees: tuple[Tree, ...], pieces: int = 1) -> Schedule:
    """The all-gather in which pieces follow each other down the trees, one step apart.

    A chunk crosses the d-th link of its way in the d-th step of its piece; rounds are what the
    fullest link needs. With D steps for one piece there are D + pieces - 1 in all, and R / C
    comes near the load of the trees as the pieces grow in number.

    Args:
        network: Links and lanes.
        trees: As many out of every node.
        pieces: Parts of the buffer.
    """
    chunks = sum(tree.count for tree in trees if tree.root == trees[0].root)
    given = [0] * network.nodes
    sends: list[Send] = []
    for tree in trees:
        depth = {tree.root: 0}
        for link in tree.links:
            u, v = network.links[link]
            depth[v] = depth[u] + 1
            sends += [
                Send(depth[u] + piece, u, v, (tree.root * pieces + piece) * chunks + number)
                for piece in range(pieces)
                for number in range(given[tree.root], given[tree.root] + tree.count)
            ]
        given[tree.root] += tree.count
    steps = 1 + max(send.step for send in sends)
    return Schedule(
        collective="allgather",
        chunks=chunks * pieces,
        rounds=rounds_of(network, sends, steps),
        sends=tuple(sorted(sends)),
    )
