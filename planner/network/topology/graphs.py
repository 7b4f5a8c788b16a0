"""Every topology as a networkx graph: chips 0 .. N - 1, switches by name, links as edges.

Nodes carry `kind` ("chip" or "switch"); edges carry `links`, the parallel links between the two.
Chips of a grid are numbered in C order: the last dimension runs fastest.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

import hardware_db
from planner.base.arrays import IntArray
from planner.base.errors import InputError
from planner.network.topology import forms
from planner.network.topology.kinds import GRIDS, Topology

if TYPE_CHECKING:
    import networkx as nx

MOST_NODES = 2048
"""Chips and switches of a graph; its matrix of distances takes 32 MB."""
MOST_EDGES = 300_000
"""Edges of a graph."""


def check_nodes(count: int) -> None:
    """Refuses a graph with more nodes than are measured.

    Raises:
        InputError: It has.
    """
    if count > MOST_NODES:
        raise InputError(f"graph: {count:,} nodes; at most {MOST_NODES:,}")


def graph_of(topology: Topology) -> nx.Graph:
    """The graph of a topology with its sizes.

    Raises:
        InputError: It is too large, see `has_graph`.
    """
    if not has_graph(topology):
        raise InputError(
            f"topology: {topology.spec}: no graph above {MOST_NODES:,} chips and switches or "
            f"{MOST_EDGES:,} links"
        )
    if topology.name in GRIDS:
        return _grid(topology.sizes, _ALONG[topology.name])
    return _BUILT[topology.name](*topology.sizes)


def has_graph(topology: Topology) -> bool:
    """Whether a topology has at most `MOST_NODES` chips and switches and `MOST_EDGES` links."""
    of = topology.name, topology.sizes
    nodes = topology.chips + int(forms.switch_count(*of))
    return nodes <= MOST_NODES and int(forms.link_count(*of)) <= MOST_EDGES


def dgx1_links() -> tuple[IntArray, IntArray]:
    """(pairs, 2) chips of a DGX-1 V100 that are joined, each rising, and (pairs,) their NVLinks.

    Source: `hardware_db` reference topologies, entry dgx1-v100.
    """
    table = hardware_db.load_reference("topologies").quantities["dgx1-v100.links_between"].value
    links = np.triu(np.asarray(table, dtype=np.int64))
    return np.argwhere(links), links[links > 0]


def dgx1_graph() -> nx.Graph:
    """The hybrid cube mesh of DGX-1 V100: 8 chips, 24 NVLinks, some pairs with two."""
    ends, links = dgx1_links()
    graph = _with_chips(int(ends.max()) + 1)
    for (u, v), count in zip(ends.tolist(), links.tolist(), strict=True):
        graph.add_edge(u, v, links=count)
    return graph


def _with_chips(count: int) -> nx.Graph:
    import networkx as nx  # noqa: PLC0415  (takes a noticeable time)

    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from(range(count), kind="chip")
    return graph


def _line(k: int) -> list[tuple[int, int]]:
    return [(i, i + 1) for i in range(k - 1)]


def _closed(k: int) -> list[tuple[int, int]]:
    """A line whose ends are joined where it has three chips or more."""
    return _line(k) + ([(0, k - 1)] if k > 2 else [])


def _all(k: int) -> list[tuple[int, int]]:
    return list(combinations(range(k), 2))


_ALONG: dict[str, Callable[[int], list[tuple[int, int]]]] = {
    "mesh": _line,
    "torus": _closed,
    "hyperx": _all,
}


def _grid(sizes: tuple[int, ...], along: Callable[[int], list[tuple[int, int]]]) -> nx.Graph:
    """The product of a graph per dimension: chips that differ in one coordinate are joined."""
    numbers = np.arange(int(np.prod(sizes))).reshape(sizes)
    graph = _with_chips(numbers.size)
    for axis, k in enumerate(sizes):
        lines = np.moveaxis(numbers, axis, 0).reshape(k, -1)
        for u, v in along(k):
            graph.add_edges_from(zip(lines[u].tolist(), lines[v].tolist(), strict=True), links=1)
    return graph


def _on_one(along: Callable[[int], list[tuple[int, int]]]) -> Callable[[int], nx.Graph]:
    return lambda chips: _grid((chips,), along)


def _hypercube(dimensions: int) -> nx.Graph:
    return _grid((2,) * dimensions, _line)


def _star(chips: int) -> nx.Graph:
    """Chip 0 is the hub."""
    graph = _with_chips(chips)
    graph.add_edges_from(((0, chip) for chip in range(1, chips)), links=1)
    return graph


def _add(graph: nx.Graph, *switches: str) -> None:
    graph.add_nodes_from(switches, kind="switch")


def _switch(chips: int) -> nx.Graph:
    graph = _with_chips(chips)
    _add(graph, "switch")
    graph.add_edges_from(((chip, "switch") for chip in range(chips)), links=1)
    return graph


def _leaf_spine(chips: int, leaf: int, spines: int) -> nx.Graph:
    """Chip i hangs on leaf i // g; every leaf has one link to every spine."""
    graph = _with_chips(chips)
    _add(graph, *(f"leaf {i}" for i in range(chips // leaf)))
    _add(graph, *(f"spine {j}" for j in range(spines)))
    graph.add_edges_from(((chip, f"leaf {chip // leaf}") for chip in range(chips)), links=1)
    for i in range(chips // leaf):
        graph.add_edges_from(((f"leaf {i}", f"spine {j}") for j in range(spines)), links=1)
    return graph


def _fat_tree(k: int) -> nx.Graph:
    """K pods of k/2 edge and k/2 aggregation switches; aggregation j meets cores j k/2 and on.

    Source: Al-Fares, Loukissas, Vahdat, A scalable, commodity data center network architecture,
    SIGCOMM 2008.
    """
    half = k // 2
    graph = _with_chips(k * half * half)
    for level, count in (("edge", k * half), ("aggregation", k * half), ("core", half * half)):
        _add(graph, *(f"{level} {i}" for i in range(count)))
    for chip in range(k * half * half):
        graph.add_edge(chip, f"edge {chip // half}", links=1)
    for at in range(k * half):
        pod, j = divmod(at, half)
        for i in range(half):
            graph.add_edge(f"edge {pod * half + i}", f"aggregation {at}", links=1)
            graph.add_edge(f"aggregation {at}", f"core {j * half + i}", links=1)
    return graph


def gateway(a: int, h: int, group: Any, other: Any) -> Any:
    """The router of a dragonfly group, 0 .. a - 1, that has the link to another group.

    Global port q = (other - group - 1) mod G of a group is on router q // h. Takes integers or
    integer arrays.
    """
    return ((other - group - 1) % (a * h + 1)) // h


def _dragonfly(a: int, h: int, p: int) -> nx.Graph:
    """G = a h + 1 groups of a routers, all joined inside; one link between each two groups.

    Router r carries chips p r .. p r + p - 1; with p = 0 the routers are the chips.

    Source: Kim, Dally, Scott, Abts, Technology-driven, highly-scalable dragonfly topology, ISCA
    2008.
    """
    groups = a * h + 1
    graph = _with_chips(a * groups * max(p, 1))
    node: Callable[[int], Any] = (lambda r: f"router {r}") if p else (lambda r: r)
    if p:
        _add(graph, *(f"router {r}" for r in range(a * groups)))
        graph.add_edges_from(((c, node(c // p)) for c in range(a * groups * p)), links=1)
    for group in range(groups):
        for u, v in combinations(range(a), 2):
            graph.add_edge(node(group * a + u), node(group * a + v), links=1)
    for g, t in combinations(range(groups), 2):
        near, far = g * a + gateway(a, h, g, t), t * a + gateway(a, h, t, g)
        graph.add_edge(node(near), node(far), links=1)
    return graph


_BUILT: dict[str, Callable[..., nx.Graph]] = {
    "linear": _on_one(_line),
    "ring": _on_one(_closed),
    "fully-connected": _on_one(_all),
    "hypercube": _hypercube,
    "star": _star,
    "switch": _switch,
    "leaf-spine": _leaf_spine,
    "fat-tree": _fat_tree,
    "dragonfly": _dragonfly,
}
