"""Closed forms of topologies against their graphs, as exact fractions."""

from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.network.topology import forms
from planner.network.topology.fit import fits, fitted, most_cubic, nearest_chips
from planner.network.topology.graphs import dgx1_graph, graph_of, has_graph
from planner.network.topology.hops import average_hops, average_hops_of, exact_average_hops
from planner.network.topology.kinds import GRIDS, NAMES, Topology
from planner.network.topology.measures import measured_diameter, measured_hops
from planner.network.topology.routing import routed_loads
from planner.network.topology.spec import parse_topology
from planner.network.topology.wiring import wiring_of

GRID_SIZES = [
    (2, 2), (3, 2), (4, 2), (3, 3), (4, 3), (5, 3), (4, 4), (5, 4), (7, 3), (6, 5), (9, 2), (12, 2),
    (2, 2, 2), (3, 2, 2), (3, 3, 2), (3, 3, 3), (4, 3, 2), (4, 4, 2), (5, 3, 3), (4, 4, 4),
    (2, 2, 2, 2), (3, 2, 2, 2), (3, 3, 2, 2), (6, 6), (2, 3, 5),
]  # fmt: skip
SHORTEST = [
    *[
        Topology(name=name, sizes=(n,))
        for name in ("linear", "ring", "fully-connected", "star", "switch")
        for n in range(2, 26)
    ],
    *[Topology(name=name, sizes=sizes) for name in GRIDS for sizes in GRID_SIZES],
    *[Topology(name="hypercube", sizes=(d,)) for d in range(1, 8)],
    *[
        Topology(name="leaf-spine", sizes=(leaf * leaves, leaf, spines))
        for leaf in (1, 2, 3, 4, 8) for leaves in (1, 2, 3, 5) for spines in (1, 4)
        if leaf * leaves > 1
    ],
    *[Topology(name="fat-tree", sizes=(k,)) for k in (2, 4, 6, 8)],
    *[Topology(name="dragonfly", sizes=(a, 1, p)) for a in (2, 3, 4, 5) for p in (0, 1, 2)],
]  # fmt: skip
DRAGONFLIES = [
    Topology(name="dragonfly", sizes=sizes)
    for sizes in [(2, 2, 0), (3, 2, 0), (4, 2, 0), (6, 3, 0), (4, 2, 2), (3, 2, 1), (5, 3, 2)]
]


def test_the_sizes_are_many() -> None:
    assert len(SHORTEST) >= 236


@each("topology", SHORTEST)
def test_closed_forms_equal_the_graph(topology: Topology) -> None:
    graph = graph_of(topology)
    wiring = wiring_of(graph)
    of = topology.name, topology.sizes
    chips = [node for node, kind in graph.nodes(data="kind") if kind == "chip"]
    pairs = len(chips) * (len(chips) - 1)
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    total = sum(lengths[u][v] for u in chips for v in chips)
    assert exact_average_hops(topology) == Fraction(total, pairs) == measured_hops(wiring)
    assert topology.chips == wiring.chips == len(chips)
    assert forms.link_count(*of) == wiring.link_count == graph.number_of_edges()
    assert forms.ports_per_chip(*of) == wiring.ports_per_chip
    assert forms.switch_count(*of) == wiring.switches == len(graph) - len(chips)
    assert forms.switch_ports(*of) == wiring.switch_ports
    assert forms.diameter_hops(*of) == measured_diameter(wiring)


@each("topology", DRAGONFLIES)
def test_dragonfly_is_the_mean_of_its_routes(topology: Topology) -> None:
    """One byte per pair: the loads of local-global-local routes sum to the hops."""
    wiring = wiring_of(graph_of(topology))
    each = 1.0 - np.eye(wiring.chips)
    hops = routed_loads(wiring, each, topology, "fixed").sum()
    assert round(hops) == pytest.approx(hops, abs=1e-6)
    assert Fraction(round(hops), int(each.sum())) == exact_average_hops(topology)
    shorter = float(measured_hops(wiring) / exact_average_hops(topology))
    assert 0.98 < shorter <= 1
    of = topology.name, topology.sizes
    assert forms.link_count(*of) == wiring.link_count
    assert forms.ports_per_chip(*of) == wiring.ports_per_chip
    assert forms.switch_ports(*of) == wiring.switch_ports


@each(
    ("name", "hops"),
    [
        ("linear", [5 / 3, 7 / 3, 3, 13 / 3]),
        ("ring", [4 / 3, 9 / 5, 16 / 7, 36 / 11]),
        ("fully-connected", [1, 1, 1, 1]),
    ],
)
def test_values_of_the_report(name: str, hops: list[float]) -> None:
    assert average_hops(name, [4, 6, 8, 12]).tolist() == pytest.approx(hops, rel=1e-15)


@each("name", NAMES)
def test_arrays_equal_single_sizes(name: str) -> None:
    n = [count for count in range(2, 130) if fits(name, count)]
    expected = [float(exact_average_hops(fitted(name, count))) for count in n]
    assert average_hops(name, np.array(n)).tolist() == expected
    assert average_hops(name, np.array([n, n])).shape == (2, len(n))
    sizes = forms.sizes_of(name, n)
    assert average_hops_of(name, sizes).tolist() == expected
    every = [fitted(name, count) for count in n]
    for form in (forms.link_count, forms.ports_per_chip, forms.switch_count, forms.switch_ports,
                 forms.diameter_hops, forms.bisection_links):  # fmt: skip
        assert form(name, sizes).tolist() == [int(form(name, one.sizes)) for one in every]


def test_order_of_the_report() -> None:
    """Linear >= ring >= fully connected, all equal at two, ring = full at three."""
    n = np.arange(2, 65)
    line, ring = average_hops("linear", n), average_hops("ring", n)
    assert (line >= ring).all()
    assert (ring >= 1).all()
    assert line[0] == ring[0] == 1
    assert ring[1] == 1


@each("n", [1, 0, -3, 1_000_001])
def test_numbers_of_chips_are_checked(n: int) -> None:
    with pytest.raises(InputError, match=r"^chips: "):
        average_hops("ring", [4, n])
    with pytest.raises(InputError, match=r"^chips: "):
        fitted("ring", n)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'torus'"):
        average_hops("tours", 8)
    with pytest.raises(InputError, match="no closed form"):
        average_hops("custom", 8)
    with pytest.raises(InputError, match="whole"):
        average_hops("ring", 2.5)


@each(
    ("chips", "dimensions", "sizes"),
    [(64, 3, (4, 4, 4)), (8192, 3, (32, 16, 16)), (12, 2, (4, 3)), (7, 3, (7,)), (16, 4, (2,) * 4)],
)
def test_most_cubic(chips: int, dimensions: int, sizes: tuple[int, ...]) -> None:
    assert most_cubic(chips, dimensions) == sizes


@each("chips", range(2, 80))
def test_most_cubic_is_the_least_sum(chips: int) -> None:
    """Against all factorizations in two dimensions."""
    best = min(a + chips // a for a in range(1, chips + 1) if chips % a == 0)
    assert sum(most_cubic(chips, 2)) in (best, best - 1)


def test_nearest_numbers_of_chips() -> None:
    assert nearest_chips("fat-tree", 100) == [54, 128]
    assert nearest_chips("hypercube", 12) == [8, 16]
    with pytest.raises(InputError, match="nearest: 54 or 128"):
        fitted("fat-tree", 100)


@each(
    ("spec", "sizes"),
    [
        ("ring:8", (8,)),
        ("torus:4x4x4", (4, 4, 4)),
        ("torus:64", (4, 4, 4)),
        ("mesh:1x5", (5,)),
        ("hypercube:16", (4,)),
        ("hypercube:d=3", (3,)),
        ("fat-tree:k=4", (4,)),
        ("fat-tree:16", (4,)),
        ("leaf-spine:chips=16,leaf=8", (16, 8, 8)),
        ("leaf-spine:chips=16,leaf=8,spines=2", (16, 8, 2)),
        ("dragonfly:a=4,h=2,p=2", (4, 2, 2)),
        ("dragonfly:a=4,h=2", (4, 2, 2)),
    ],
)
def test_specs(spec: str, sizes: tuple[int, ...]) -> None:
    topology = parse_topology(spec)
    assert topology.sizes == sizes
    assert parse_topology(topology.spec) == topology


@each("topology", SHORTEST[::7] + DRAGONFLIES)
def test_specs_read_back(topology: Topology) -> None:
    assert parse_topology(topology.spec) == topology


@each(
    ("spec", "words"),
    [
        ("rng:8", "did you mean 'ring'"),
        ("ring", "no number of chips"),
        ("ring:1", "at least 2"),
        ("ring:abc", "like ring:16"),
        ("torus:4x0x4", "at least 1"),
        ("torus:4y4", "like torus:4x4x4"),
        ("torus:9999x9999", "more than 1,000,000"),
        ("fat-tree:k=3", "nearest: k=2 or k=4"),
        ("fat-tree:a=3", "'a' is not one of k"),
        ("fat-tree:k=4,k=4", "given twice"),
        ("leaf-spine:chips=10,leaf=3", "nearest: leaf=2"),
        ("leaf-spine:chips=10", "leaf is missing"),
        ("leaf-spine:chips=10,leaf=5,spines=0", "at least 1"),
        ("dragonfly:a=0,h=2,p=2", "at least 1"),
        ("hypercube:12", "nearest: 8 or 16"),
        ("hypercube:d=40", "1 to 19"),
        ("custom", "--graph"),
        ("dgx-1:8", "takes no sizes"),
        ("mesh:" + "x".join("2" * 13), "12 dimensions"),
    ],
)
def test_wrong_specs_are_one_line(spec: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        parse_topology(spec)
    assert str(caught.value).startswith("topology: ")
    assert "\n" not in str(caught.value)


def test_chips_that_differ_are_refused() -> None:
    with pytest.raises(InputError, match="has 8 chips, but 16"):
        parse_topology("ring:8", 16)


def test_dgx1() -> None:
    """Hybrid cube mesh: 24 links, six per chip, two hops at most; 10/7 hops on average."""
    wiring = wiring_of(dgx1_graph())
    assert (wiring.chips, wiring.link_count, wiring.ports_per_chip) == (8, 24, 6)
    assert set(wiring.node_ports) == {6}
    assert measured_diameter(wiring) == 2
    joined = {frozenset(pair) for pair in wiring.ends.tolist()}
    far = sum(frozenset(pair) not in joined for pair in combinations(range(8), 2))
    assert measured_hops(wiring) == Fraction(28 + far, 28)


@each(
    ("spec", "fits"),
    [("ring:2048", True), ("ring:2049", False), ("switch:2048", False), ("fat-tree:k=16", True),
     ("fully-connected:775", True), ("fully-connected:776", False)],
)  # fmt: skip
def test_large_graphs_are_refused(spec: str, fits: bool) -> None:
    topology = parse_topology(spec)
    assert has_graph(topology) == fits
    if not fits:
        with pytest.raises(InputError, match="no graph"):
            graph_of(topology)
