"""Cut bounds against every set of nodes, and certificates that are counted again."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from collective_networks import both_ways, dgx1, random_network, ring, switch, torus, translations
from scipy.optimize import linprog
from support.cases import each

from solvers.collectives.commodities import commodities, copying
from solvers.collectives.cuts import LISTED_NODES, check_cut, cut_bound
from solvers.collectives.problem import Goal, Network, Shared, goal_of
from solvers.collectives.symmetry import free_subgroup

NAMES = ("allgather", "reduce-scatter", "broadcast", "reduce", "gather", "scatter", "alltoall")


def carried(network: Network, inside: frozenset[int]) -> float:
    """The most chunks per round over the links that leave a set, by a linear program."""
    crossing = [i for i, (u, v) in enumerate(network.links) if u in inside and v not in inside]
    if not network.shared:
        return sum(network.lanes[i] for i in crossing)
    rows = np.array([[i in port.links for i in crossing] for port in network.shared], dtype=float)
    found = linprog(
        -np.ones(len(crossing)), A_ub=rows, b_ub=[port.capacity for port in network.shared],
        bounds=[(0, network.lanes[i]) for i in crossing],
    )  # fmt: skip
    return -float(found.fun)


def greatest(network: Network, goal: Goal) -> float:
    """The greatest ratio over all sets of nodes."""
    network, goal = copying(network, goal)
    best = 0.0
    for size in range(1, network.nodes):
        for chosen in combinations(range(network.nodes), size):
            inside = frozenset(chosen)
            demand = sum(
                chunks
                for source, ends, chunks in commodities(goal)
                if source in inside and not inside.issuperset(ends)
            )
            best = max(best, demand / carried(network, inside) if demand else 0.0)
    return best


def with_ports(network: Network, seed: int) -> Network:
    """Some nodes have a limit on all that they send, some on all that they receive."""
    random = np.random.default_rng(seed)
    ports = [
        Shared(links=links, capacity=int(random.integers(1, 4)))
        for side in (0, 1)
        for node in range(network.nodes)
        if (links := tuple(i for i, ends in enumerate(network.links) if ends[side] == node))
        and random.random() < 0.6
    ]
    return replace(network, shared=tuple(ports))


@each("name", NAMES)
@each("seed", range(8))
def test_the_greatest_of_all_sets(seed: int, name: str) -> None:
    network = random_network(seed)
    goal = goal_of(name, network.nodes, 1)
    cut = cut_bound(network, goal)
    assert float(cut.load) == pytest.approx(greatest(network, goal), rel=1e-12)
    assert check_cut(network, goal, cut) == cut.load


@each("name", NAMES[:-1])
@each("seed", range(4))
def test_ports_of_nodes_are_honoured(seed: int, name: str) -> None:
    network = with_ports(random_network(seed, most=5), seed)
    goal = goal_of(name, network.nodes, 1)
    cut = cut_bound(network, goal)
    assert float(cut.load) == pytest.approx(greatest(network, goal), rel=1e-9)
    assert check_cut(network, goal, cut) == cut.load


@each("seed", range(12))
def test_trunks_of_any_links_keep_the_bound_valid(seed: int) -> None:
    network = random_network(seed, most=5)
    random = np.random.default_rng(seed)
    trunks = tuple(
        Shared(
            links=tuple(sorted(random.choice(len(network.links), size=3, replace=False).tolist())),
            capacity=int(random.integers(1, 3)),
        )
        for _ in range(2)
    )
    network = replace(network, shared=trunks)
    goal = goal_of(NAMES[seed % len(NAMES)], network.nodes, 1)
    cut = cut_bound(network, goal)
    assert check_cut(network, goal, cut) == cut.load
    assert float(cut.load) <= greatest(network, goal) + 1e-9


def test_two_trunks_of_a_leaf_spine_are_found() -> None:
    # Two leaves of three chips with ports of 2, and one trunk of 1 each way between the leaves.
    links = tuple((u, v) for u in range(6) for v in range(6) if u != v)
    shared = [
        Shared(links=tuple(i for i, ends in enumerate(links) if ends[side] == node), capacity=2)
        for side in (0, 1)
        for node in range(6)
    ]
    for leaf in (range(3), range(3, 6)):
        out = tuple(i for i, (u, v) in enumerate(links) if u in leaf and v not in leaf)
        shared.append(Shared(links=out, capacity=1))
    network = Network(nodes=6, links=links, lanes=(2,) * len(links), shared=tuple(shared))
    cut = cut_bound(network, goal_of("allgather", 6, 1))
    assert (cut.load, len(cut.nodes), cut.links, len(cut.shared)) == (Fraction(3), 3, (), 1)
    assert cut_bound(network, goal_of("broadcast", 6, 1)).load == 1


@each(
    ("network", "loads"),
    [
        (dgx1(), {"allgather": "7/6", "broadcast": "1/6", "gather": "7/6", "alltoall": "8/3"}),
        (dgx1(2), {"allgather": "2", "reduce-scatter": "2"}),
        (dgx1(4), {"allgather": "3"}),
        (ring(8), {"allgather": "7/2", "alltoall": "8", "scatter": "7/2"}),
        (switch(16, 6), {"allgather": "5/2", "broadcast": "1/6"}),
        (torus(4, 4), {"allgather": "15/4"}),
    ],
)
def test_measured_bounds(network: Network, loads: dict[str, str]) -> None:
    for name, load in loads.items():
        goal = goal_of(name, network.nodes, 1)
        alone = cut_bound(network, goal)
        turned = cut_bound(network, goal, group=free_subgroup(network, goal))
        assert alone.load == turned.load == Fraction(load)
        assert check_cut(network, goal, turned) == turned.load


def test_a_torus_of_512_by_its_translations() -> None:
    network, goal = torus(8, 8, 8), goal_of("allgather", 512, 1)
    group = free_subgroup(network, goal, translations(8, 8, 8))
    assert cut_bound(network, goal, group=group).load == Fraction(511, 6)


def test_beyond_listed_nodes_an_alltoall_leaves_out_one() -> None:
    assert LISTED_NODES < 16
    assert cut_bound(torus(4, 4), goal_of("alltoall", 16, 1)).load == Fraction(15, 4)


def test_capacities_of_many_lanes_stay_exact() -> None:
    wide = both_ways(3, {(0, 1): 3_000_000_001, (1, 2): 2_999_999_999})
    cut = cut_bound(wide, goal_of("allgather", 3, 1))
    assert cut.load == Fraction(2, 2_999_999_999)


def test_wrong_certificates_are_refused() -> None:
    goal = goal_of("allgather", 8, 1)
    cut = cut_bound(dgx1(), goal)
    with pytest.raises(ValueError, match="is not covered"):
        check_cut(dgx1(), goal, replace(cut, links=cut.links[1:]))
    with pytest.raises(ValueError, match="7 chunks leave over 6, not 8 over 6"):
        check_cut(dgx1(), goal, replace(cut, demand=8))
    with pytest.raises(ValueError, match="7 chunks leave over 6, not 7 over 5"):
        check_cut(dgx1(), goal, replace(cut, capacity=5))
    with pytest.raises(ValueError, match="composed of two"):
        cut_bound(dgx1(), goal_of("allreduce", 8, 8))
    stays = Goal(initial=(frozenset({0}),), final=(frozenset({0}),), combined=False)
    with pytest.raises(ValueError, match="no chunk has to move"):
        cut_bound(dgx1(), stays)
