"""Bisections in closed form against the proved ones and against every half."""

from itertools import combinations

import numpy as np
from support.cases import each

from planner.network.topology import forms
from planner.network.topology.graphs import dgx1_graph, graph_of
from planner.network.topology.measures import cut_links, halves, least_cut
from planner.network.topology.spec import parse_topology
from planner.network.topology.wiring import Wiring, wiring_of
from solvers.bisection import BisectionProblem, fewest_cut
from solvers.solution import Status

PROVED = [
    "linear:7",
    "linear:8",
    "ring:2",
    "ring:3",
    "ring:8",
    "fully-connected:7",
    "fully-connected:8",
    "mesh:4x3",
    "mesh:3x3",
    "mesh:5x4",
    "mesh:5x3",
    "mesh:3x3x2",
    "mesh:4x2x2",
    "torus:4x4",
    "torus:3x2",
    "torus:5x2",
    "torus:3x3",
    "torus:5x3",
    "torus:4x3",
    "torus:7x2",
    "torus:3x3x2",
    "torus:3x2x2",
    "torus:4x2x2",
    "hypercube:16",
    "hyperx:3x3",
    "hyperx:4x3",
    "hyperx:5x3",
    "hyperx:3x3x2",
    "hyperx:2x5",
    "star:2",
    "star:5",
    "star:6",
    "switch:5",
    "switch:8",
    "leaf-spine:16",
    "leaf-spine:chips=12,leaf=4,spines=2",
    "leaf-spine:chips=15,leaf=3,spines=1",
    "leaf-spine:chips=9,leaf=3,spines=4",
    "leaf-spine:chips=8,leaf=8",
    "fat-tree:k=2",
    "dragonfly:a=2,h=1,p=1",
    "dragonfly:a=2,h=1,p=0",
    "dragonfly:a=4,h=1,p=0",
    "dragonfly:a=3,h=1,p=1",
]


def problem_of(wiring: Wiring) -> BisectionProblem:
    rows = np.column_stack([wiring.ends, wiring.links]).tolist()
    edges = tuple((u, v, links) for u, v, links in rows)
    return BisectionProblem(nodes=len(wiring.labels), marked=wiring.chips, edges=edges)


@each("spec", PROVED)
def test_closed_forms_are_the_proved_bisections(spec: str) -> None:
    topology = parse_topology(spec)
    wiring = wiring_of(graph_of(topology))
    side, cut = halves(wiring)
    assert cut_links(wiring, side) == cut
    assert side[: wiring.chips].sum() == wiring.chips // 2
    found = fewest_cut(
        problem_of(wiring), time_limit_s=60, hint=side.tolist(), at_least=least_cut(wiring)
    )
    assert found.status is Status.OPTIMAL
    assert forms.bisection_links(topology.name, topology.sizes) == found.objective <= cut


@each("spec", ["dragonfly:a=2,h=2,p=0", "dragonfly:a=2,h=2,p=1",
                                  "dragonfly:a=3,h=1,p=0", "dragonfly:a=2,h=2,p=2"])  # fmt: skip
def test_the_cut_between_groups_is_a_bound(spec: str) -> None:
    topology = parse_topology(spec)
    found = fewest_cut(problem_of(wiring_of(graph_of(topology))), time_limit_s=60)
    assert found.objective <= forms.bisection_links(topology.name, topology.sizes)
    assert not forms.bisection_is_exact(topology.name)


@each("spec", ["ring:8", "mesh:3x3", "torus:4x2", "hypercube:8", "hyperx:3x3",
                                  "dragonfly:a=3,h=1,p=0"])  # fmt: skip
def test_lower_bound_is_below_every_half(spec: str) -> None:
    wiring = wiring_of(graph_of(parse_topology(spec)))
    cuts = []
    for half in combinations(range(wiring.chips), wiring.chips // 2):
        side = np.isin(np.arange(wiring.chips), half).astype(np.int64)
        cuts.append(cut_links(wiring, side))
    assert 1 <= least_cut(wiring) <= min(cuts) == halves(wiring)[1]


def test_dgx1_is_cut_by_six_links() -> None:
    wiring = wiring_of(dgx1_graph())
    assert fewest_cut(problem_of(wiring), time_limit_s=30).objective == 6


def test_leaf_spines_over_subscription() -> None:
    """Fewer spines than chips per leaf: the spines limit, 8 leaves x 2 spines / 2."""
    assert forms.bisection_links("leaf-spine", (64, 8, 2)) == 8
    assert forms.bisection_links("leaf-spine", (64, 8, 8)) == 32
    assert forms.bisection_links("leaf-spine", (64, 8, 16)) == 32
