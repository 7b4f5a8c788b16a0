"""Link loads against routes walked one by one."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import each

from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.network.topology.graphs import dgx1_graph, graph_of
from planner.network.topology.hops import exact_average_hops
from planner.network.topology.loads import load_of, shortest_loads
from planner.network.topology.routing import routed_loads
from planner.network.topology.spec import parse_topology
from planner.network.topology.traffic import PATTERNS, traffic_matrix
from planner.network.topology.wiring import FIGURES, Wiring, wiring_of

SPECS = [
    "linear:6",
    "linear:7",
    "ring:2",
    "ring:5",
    "ring:6",
    "fully-connected:5",
    "mesh:4x3",
    "mesh:3x2x2",
    "torus:4x3",
    "torus:4x2",
    "torus:3x3x2",
    "hypercube:8",
    "hyperx:3x3",
    "star:6",
    "switch:5",
    "leaf-spine:12",
    "fat-tree:k=2",
    "fat-tree:k=4",
    "dragonfly:a=2,h=2,p=1",
    "dragonfly:a=3,h=1,p=0",
]
FIXED = [
    "linear:6",
    "ring:5",
    "ring:6",
    "fully-connected:5",
    "mesh:4x3",
    "mesh:3x2x2",
    "torus:4x3",
    "torus:4x2",
    "torus:5x4",
    "torus:4x3x2",
    "hypercube:8",
    "hyperx:3x4",
]


def some_traffic(chips: int, seed: int = 0) -> FloatArray:
    random = np.random.default_rng(seed)
    matrix = random.random((chips, chips)) * (random.random((chips, chips)) < 0.6)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def add(loads: FloatArray, wiring: Wiring, path: list[int], amount: float) -> None:
    """Bytes over a path, link by link."""
    edges = {tuple(pair): (at, 0) for at, pair in enumerate(wiring.ends.tolist())}
    edges |= {pair[::-1]: (at, 1) for pair, (at, _) in list(edges.items())}
    for step in pairwise(path):
        loads[edges[step]] += amount


def walked_shortest(wiring: Wiring, traffic: FloatArray) -> FloatArray:
    """Every shortest path of every pair; parallel links are different paths."""
    graph = nx.Graph()
    for (u, v), links in zip(wiring.ends.tolist(), wiring.links.tolist(), strict=True):
        graph.add_edge(u, v, links=links)
    loads = np.zeros((len(wiring.ends), 2))
    for s, t in np.argwhere(traffic > 0).tolist():
        paths = list(nx.all_shortest_paths(graph, s, t))
        steps = [list(pairwise(path)) for path in paths]
        weights = [np.prod([graph.edges[step]["links"] for step in path]) for path in steps]
        for path, weight in zip(paths, weights, strict=True):
            add(loads, wiring, path, traffic[s, t] * weight / sum(weights))
    return loads


@each("spec", SPECS)
def test_shortest_loads_equal_walked_paths(spec: str) -> None:
    topology = parse_topology(spec)
    wiring = wiring_of(graph_of(topology))
    traffic = some_traffic(wiring.chips)
    expected = walked_shortest(wiring, traffic)
    assert shortest_loads(wiring, traffic) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    routed = routed_loads(wiring, traffic, topology)
    assert routed == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_parallel_links_take_their_share() -> None:
    wiring = wiring_of(dgx1_graph())
    traffic = some_traffic(8)
    expected = walked_shortest(wiring, traffic)
    assert shortest_loads(wiring, traffic) == pytest.approx(expected, rel=1e-12)
    load = load_of(wiring, expected)
    assert load.busiest_bytes == pytest.approx((expected.max(axis=1) / wiring.links).max())


@settings(max_examples=60, deadline=None)
@given(nodes=st.integers(2, 9), seed=st.integers(0, 10**6), chips=st.integers(2, 9))
def test_any_graph(nodes: int, seed: int, chips: int) -> None:
    tree = nx.random_labeled_tree(nodes, seed=seed)
    graph = nx.compose(nx.gnp_random_graph(nodes, 0.3, seed=seed), tree)
    for u, v in graph.edges:
        graph.edges[u, v]["links"] = 1 + (u + v + seed) % 3
    for node in range(min(chips, nodes), nodes):
        graph.nodes[node]["kind"] = "switch"
    wiring = wiring_of(graph)
    traffic = some_traffic(wiring.chips, seed)
    expected = walked_shortest(wiring, traffic)
    assert shortest_loads(wiring, traffic) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def ways(s: int, t: int, k: int, *, closed: bool) -> list[list[int]]:
    """The coordinates passed from s to t: one way, or both where they are as long."""
    up = [(s + step) % k for step in range((t - s) % k + 1)]
    down = [(s - step) % k for step in range((s - t) % k + 1)]
    if closed and k > 2:
        return [way for way in (up, down) if len(way) == min(len(up), len(down))]
    return [up if t > s else down]


def walked_in_order(spec: str, wiring: Wiring, traffic: FloatArray) -> FloatArray:
    """Dimension order, packet by packet."""
    topology = parse_topology(spec)
    sizes = (2,) * topology.sizes[0] if topology.name == "hypercube" else topology.sizes
    loads = np.zeros((len(wiring.ends), 2))
    for s, t in np.argwhere(traffic > 0).tolist():
        at, goal = list(np.unravel_index(s, sizes)), np.unravel_index(t, sizes)
        for axis, k in enumerate(sizes):
            a, b = int(at[axis]), int(goal[axis])
            if a == b:
                continue
            direct = topology.name in ("hyperx", "fully-connected")
            closed = topology.name in ("torus", "ring")
            routes = [[a, b]] if direct else ways(a, b, k, closed=closed)
            for route in routes:
                path = [
                    int(np.ravel_multi_index([*at[:axis], c, *at[axis + 1 :]], sizes))
                    for c in route
                ]
                add(loads, wiring, path, traffic[s, t] / len(routes))
            at[axis] = b
    return loads


@each("spec", FIXED)
def test_dimension_order_equals_walked_routes(spec: str) -> None:
    topology = parse_topology(spec)
    wiring = wiring_of(graph_of(topology))
    traffic = some_traffic(wiring.chips)
    expected = walked_in_order(spec, wiring, traffic)
    found = routed_loads(wiring, traffic, topology, "fixed")
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


@each("a_h_p", [(2, 1, 1), (3, 1, 0), (2, 2, 2), (4, 2, 1), (3, 2, 0)])
def test_dragonfly_equals_walked_routes(a_h_p: tuple[int, int, int]) -> None:
    """Local, global, local, found on the graph itself: the only link between two groups."""
    a, h, p = a_h_p
    topology = parse_topology(f"dragonfly:a={a},h={h},p={p}")
    wiring = wiring_of(graph_of(topology))
    first = wiring.chips if p else 0
    between = {}
    for u, v in wiring.ends.tolist():
        one, two = (u - first) // a, (v - first) // a
        if u >= first and v >= first and one != two:
            between[one, two], between[two, one] = (u, v), (v, u)
    traffic = some_traffic(wiring.chips)
    expected = np.zeros((len(wiring.ends), 2))
    for s, t in np.argwhere(traffic > 0).tolist():
        u, v = (first + s // p, first + t // p) if p else (s, t)
        one, two = (u - first) // a, (v - first) // a
        middle = [u, *between[one, two], v] if one != two else [u, v]
        path = [s, *middle, t] if p else middle
        path = [node for at, node in enumerate(path) if at == 0 or node != path[at - 1]]
        add(expected, wiring, path, traffic[s, t])
    found = routed_loads(wiring, traffic, topology, "fixed")
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


@each("spec", ["mesh:4x3", "ring:6", "fat-tree:k=4"])
@each("pattern", PATTERNS)
def test_loads_sum_to_bytes_times_hops(spec: str, pattern: str) -> None:
    topology = parse_topology(spec)
    wiring = wiring_of(graph_of(topology))
    traffic = traffic_matrix(pattern, wiring.chips, 6e6)
    load = load_of(
        wiring, shortest_loads(wiring, traffic), bandwidth_bytes_per_s=2e9, energy_j_per_byte=3e-10
    )
    hops = np.zeros(traffic.shape)
    for s, lengths in nx.all_pairs_shortest_path_length(graph_of(topology)):
        if s in range(wiring.chips):
            hops[s] = [lengths[t] for t in range(wiring.chips)]
    assert load.byte_hops == pytest.approx((traffic * hops).sum(), rel=1e-12)
    assert load.energy_j == pytest.approx(3e-10 * load.byte_hops, rel=1e-12)
    assert load.time_s == pytest.approx(load.busiest_bytes / 2e9, rel=1e-12)
    if pattern in ("uniform", "all-gather"):
        average = float(exact_average_hops(topology))
        assert load.byte_hops == pytest.approx(traffic.sum() * average, rel=1e-12)


def test_slow_link_is_the_bottleneck() -> None:
    graph = nx.path_graph(4)
    graph.edges[0, 1]["bandwidth_bytes_per_s"] = 1.0
    graph.edges[0, 1]["energy_j_per_byte"] = 5.0
    wiring = wiring_of(graph)
    assert set(wiring.figures) == set(FIGURES)
    traffic = traffic_matrix("uniform", 4, 3.0)
    loads = shortest_loads(wiring, traffic)
    load = load_of(wiring, loads, bandwidth_bytes_per_s=4.0, energy_j_per_byte=1.0)
    assert (load.busiest_edge, load.bottleneck_edge) == (1, 0)
    assert load.time_s == 3.0
    assert load.energy_j == pytest.approx(5 * 6 + 8 + 6)
    assert load_of(wiring, loads).time_s is None
    assert load_of(wiring, loads).energy_j is None


def test_trees_have_no_fixed_routes() -> None:
    topology = parse_topology("fat-tree:k=4")
    wiring = wiring_of(graph_of(topology))
    with pytest.raises(InputError, match="fat-tree has no fixed routes"):
        routed_loads(wiring, some_traffic(16), topology, "fixed")


def test_patterns() -> None:
    for chips in (2, 5, 8):
        for pattern in PATTERNS:
            matrix = traffic_matrix(pattern, chips, 10.0, seed=3)
            assert matrix.shape == (chips, chips)
            assert not matrix.diagonal().any()
        uniform = traffic_matrix("uniform", chips, 10.0)
        assert uniform.sum(axis=1) == pytest.approx(np.full(chips, 10.0))
        gather = traffic_matrix("all-gather", chips, 10.0)
        assert gather.sum() == pytest.approx(10.0 * (chips - 1))
        assert traffic_matrix("pipeline", chips, 10.0).sum() == 10.0 * (chips - 1)
        for pattern in ("ring", "opposite", "permutation"):
            matrix = traffic_matrix(pattern, chips, 10.0, seed=1)
            assert (matrix.sum(axis=0) == 10.0).all()
            assert (matrix.sum(axis=1) == 10.0).all()
    with pytest.raises(InputError, match="did you mean 'uniform'"):
        traffic_matrix("unifrm", 4, 1.0)
    with pytest.raises(InputError, match=r"^bytes"):
        traffic_matrix("uniform", 4, 0.0)
