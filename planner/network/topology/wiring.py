"""A graph of chips and switches as arrays: what the measures and the traffic are computed on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.base.errors import InputError
from planner.base.messages import not_one_of, shown
from planner.base.numerals import number_of
from planner.network.topology.figures import LEAST, MOST
from planner.network.topology.graphs import MOST_EDGES, check_nodes

if TYPE_CHECKING:
    import networkx as nx

KINDS = ("chip", "switch")
FIGURES = ("bandwidth_bytes_per_s", "energy_j_per_byte", "latency_s", "price")
"""What an edge may say of each of its links."""
_WORDS = {"bandwidth_bytes_per_s": "greater than 0"}
_NAMED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """Chips, switches and the links between them; nodes 0 .. N - 1 are the chips.

    Attributes:
        labels: (n,) names of the nodes, chips first.
        chips: The number of chips N.
        ends: (m, 2) nodes at the two ends of each edge.
        links: (m,) parallel links of each edge.
        figures: Each of `FIGURES` to its (m,) values per link; NaN where the graph says nothing.
        directed: Edges lead from their first end to their second alone; else they carry both ways.
            The measures and loads of this package are those of undirected ones.
    """

    labels: tuple[str, ...]
    chips: int
    ends: IntArray
    links: IntArray
    figures: dict[str, FloatArray]
    directed: bool = False

    @property
    def adjacency(self) -> sparse.csr_array:
        """(n, n) links between nodes, symmetric."""
        count = len(self.labels)
        u, v = self.ends.T
        rows, columns = np.concatenate([u, v]), np.concatenate([v, u])
        values = np.concatenate([self.links, self.links]).astype(np.float64)
        return sparse.csr_array((values, (rows, columns)), shape=(count, count))

    @property
    def link_count(self) -> int:
        """Links in all, parallel ones counted one by one."""
        return int(self.links.sum())

    @property
    def node_ports(self) -> IntArray:
        """(n,) ends of links at each node."""
        ends = np.bincount(self.ends.ravel(), np.repeat(self.links, 2), len(self.labels))
        return ends.astype(np.int64)

    @property
    def ports_per_chip(self) -> int:
        """The most ends of links at one chip."""
        return int(self.node_ports[: self.chips].max())

    @property
    def switches(self) -> int:
        """The number of switches."""
        return len(self.labels) - self.chips

    @property
    def switch_ports(self) -> int:
        """Ends of links at all switches."""
        return int(self.node_ports[self.chips :].sum())


def wiring_of(graph: nx.Graph, *, one_way: bool = False) -> Wiring:
    """The arrays of a graph.

    Args:
        graph: Nodes may have `kind` ("chip", the default, or "switch"); edges may have `links` and
            the `FIGURES`. Parallel edges of a multigraph are added up.
        one_way: Directed edges are allowed (then there must be a way from every node to every
            other); else they are refused.

    Raises:
        InputError: It is directed, has fewer than two chips, more than `MOST_NODES` nodes or
            `MOST_EDGES` edges, is disconnected, has a link from a node to itself, or an edge's
            figures make no sense; one line per mistake.
    """
    if graph.is_directed() and not one_way:
        raise InputError(
            "graph: has directed edges; a link carries both ways: leave directions out"
        )
    check_nodes(graph.number_of_nodes())
    if graph.number_of_edges() > MOST_EDGES:
        raise InputError(f"graph: {graph.number_of_edges():,} links; at most {MOST_EDGES:,}")
    problems: list[str] = []
    nodes = _ordered(graph, problems)
    chips = sum(graph.nodes[node].get("kind", "chip") == "chip" for node in nodes)
    if chips < 2 and not problems:
        problems.append(f"graph: {chips} chip{'s' * (chips != 1)}; at least 2 make a network")
    merged = _merged(graph, problems)
    if problems:
        raise InputError("\n".join(dict.fromkeys(problems)))
    _check_connected(graph)
    index = {node: at for at, node in enumerate(nodes)}
    ends = [(index[u], index[v]) for u, v in merged]
    return Wiring(
        labels=tuple(map(str, nodes)),
        chips=chips,
        ends=np.asarray(ends, dtype=np.int64).reshape(-1, 2),
        links=np.asarray([edge["links"] for edge in merged.values()], dtype=np.int64),
        figures={
            name: np.asarray([edge[name] for edge in merged.values()], dtype=np.float64)
            for name in FIGURES
        },
        directed=graph.is_directed(),
    )


def _ordered(graph: nx.Graph, problems: list[str]) -> list[Any]:
    """Chips first, then switches, each in the order of the graph."""
    kinds = {node: data.get("kind", "chip") for node, data in graph.nodes(data=True)}
    for node, kind in kinds.items():
        if kind not in KINDS:
            problems.append(f"graph: node {shown(node)}: kind: {not_one_of(kind, KINDS)}")
    return sorted(graph.nodes, key=lambda node: kinds[node] == "switch")


def _merged(graph: nx.Graph, problems: list[str]) -> dict[tuple[Any, Any], dict[str, float]]:
    """Each joined pair of nodes once, with its links and figures."""
    merged: dict[tuple[Any, Any], dict[str, float]] = {}
    for u, v, data in graph.edges(data=True):
        name = f"graph: link {u}-{v}"
        if u == v:
            problems.append(f"{name}: joins a node to itself; leave it out")
        links = _figure(name, "links", data.get("links", 1), problems)
        if not (links >= 1 and links % 1 == 0):
            problems.append(f"{name}: links: {shown(data['links'])} is not a whole number above 0")
            links = 1
        links = min(links, MOST["links"])
        figures = {key: _figure(name, key, data.get(key), problems) for key in FIGURES}
        known = merged.get((u, v)) or (None if graph.is_directed() else merged.get((v, u)))
        if known is None:
            merged[u, v] = {"links": int(links), **figures}
            continue
        if any(known[key] != figures[key] and not np.isnan(figures[key]) for key in FIGURES):
            problems.append(f"{name}: parallel links differ in their figures; make them equal")
        known["links"] += int(links)
    return merged


def _figure(link: str, key: str, value: Any, problems: list[str]) -> float:
    """A figure of a link as a number; NaN where it is not given."""
    if value is None:
        return float("nan")
    try:
        number = number_of(value)
    except OverflowError:  # a whole number; below, it is refused as too large
        number = sys.float_info.max if value > 0 else -sys.float_info.max
    except (TypeError, ValueError):
        problems.append(f"{link}: {key}: {shown(value)} is not a number")
        return float("nan")
    words = _WORDS.get(key, "at least 0")
    low = number < LEAST if words == "greater than 0" else number < 0
    if key != "links" and (low or not np.isfinite(number)):
        problems.append(f"{link}: {key}: {shown(value)} must be finite and {words}")
    elif number > MOST[key]:
        problems.append(f"{link}: {key}: {shown(value)} must be at most {MOST[key]:g}")
    return number


def _check_connected(graph: nx.Graph) -> None:
    """Refuses a graph in parts, and says which chips are apart."""
    import networkx as nx  # noqa: PLC0415  (takes a noticeable time)

    directed = graph.is_directed()
    find = nx.strongly_connected_components if directed else nx.connected_components
    parts = sorted(find(graph), key=len, reverse=True)
    if len(parts) == 1:
        return
    order = {node: at for at, node in enumerate(graph.nodes)}
    parts = sorted(parts, key=lambda part: (-len(part), min(map(order.__getitem__, part))))
    named = [_some([str(node) for node in sorted(part, key=order.__getitem__)]) for part in parts]
    between = "without ways both there and back" if directed else "with no link"
    raise InputError(
        f"graph: is in {len(parts)} parts {between} between them: {' | '.join(named[:3])}"
        + (" | ..." if len(parts) > 3 else "")
    )


def _some(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (
        f", ... ({len(names)} nodes)" if len(names) > _NAMED else ""
    )
