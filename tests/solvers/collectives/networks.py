"""Networks of the solver tests, written out as links (the solvers know no machine by name)."""

from itertools import product

import networkx as nx

from solvers.collectives.problem import Network, Shared

NVLINKS = (
    (0, 2, 1, 1, 2, 0, 0, 0),
    (2, 0, 1, 2, 0, 1, 0, 0),
    (1, 1, 0, 2, 0, 0, 2, 0),
    (1, 2, 2, 0, 0, 0, 0, 1),
    (2, 0, 0, 0, 0, 2, 1, 1),
    (0, 1, 0, 0, 2, 0, 1, 2),
    (0, 0, 2, 0, 1, 1, 0, 2),
    (0, 0, 0, 1, 1, 2, 2, 0),
)
"""NVLinks between the eight GPUs of a DGX-1, in SCCL's numbering."""


def network(lanes: dict[tuple[int, int], int]) -> Network:
    """Directed links with lanes, nodes counted from the largest number."""
    links = tuple(sorted(lanes))
    return Network(
        nodes=1 + max(max(link) for link in links),
        links=links,
        lanes=tuple(lanes[link] for link in links),
    )


def dgx1() -> Network:
    return network({(u, v): NVLINKS[u][v] for u in range(8) for v in range(8) if NVLINKS[u][v]})


def ring(nodes: int, lanes: int = 1) -> Network:
    """Both ways round."""
    return network({(u, (u + way) % nodes): lanes for u in range(nodes) for way in (1, -1)})


def torus(*sides: int) -> Network:
    """One lane to each neighbour; a side of 2 is one link of one lane."""
    number = {place: at for at, place in enumerate(product(*map(range, sides)))}
    lanes = {}
    for place, at in number.items():
        for axis, side in enumerate(sides):
            for way in (1, -1):
                there = list(place)
                there[axis] = (there[axis] + way) % side
                lanes[at, number[tuple(there)]] = 1
    return network(lanes)


def torus_translations(*sides: int) -> tuple[tuple[int, ...], ...]:
    """One step along each axis, as permutations of the nodes."""
    places = list(product(*map(range, sides)))
    number = {place: at for at, place in enumerate(places)}
    return tuple(
        tuple(
            number[tuple((c + (at == axis)) % sides[at] for at, c in enumerate(place))]
            for place in places
        )
        for axis in range(len(sides))
    )


def switch(ports: int, lanes: int) -> Network:
    """Every pair joined through one switch; each port carries so many lanes each way."""
    links = [(u, v) for u in range(ports) for v in range(ports) if u != v]
    shared = [
        Shared(links=tuple(i for i, link in enumerate(links) if link[way] == node), capacity=lanes)
        for way in (0, 1)
        for node in range(ports)
    ]
    return Network(
        nodes=ports, links=tuple(links), lanes=(lanes,) * len(links), shared=tuple(shared)
    )


def two_dgx1(pairs: tuple[int, ...] = (0, 2, 5, 7)) -> Network:
    """Two DGX-1 whose GPUs of these numbers are joined by InfiniBand, half an NVLink fast."""
    lanes = {}
    for (u, v), count in zip(dgx1().links, dgx1().lanes, strict=True):
        for box in (0, 8):
            lanes[u + box, v + box] = 2 * count
    for node in pairs:
        lanes[node, node + 8] = lanes[node + 8, node] = 1
    return network(lanes)


def random_digraph(seed: int, nodes: int, *, most_lanes: int = 2) -> Network:
    """Strongly connected: a directed ring and random links."""
    graph = nx.gnp_random_graph(nodes, 0.3, seed=seed, directed=True)
    links = {(u, (u + 1) % nodes) for u in range(nodes)} | set(graph.edges)
    return network({(u, v): 1 + (u * 7 + v * 3 + seed) % most_lanes for u, v in links})
