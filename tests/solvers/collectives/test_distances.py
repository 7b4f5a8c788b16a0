"""Fewest steps, and what chunks of a goal are alike."""

import networkx as nx
import pytest
from collective_networks import both_ways, dgx1, random_network, ring, switch, torus
from support.cases import each

from solvers.collectives.commodities import Commodity, commodities, copying
from solvers.collectives.distances import distances, least_steps
from solvers.collectives.problem import COLLECTIVES, ROOTED, Goal, Network, goal_of


@each("seed", range(8))
def test_hop_counts_are_shortest_paths(seed: int) -> None:
    network = random_network(seed)
    lengths = dict(nx.all_pairs_shortest_path_length(nx.DiGraph(list(network.links))))
    found = distances(network)
    assert all(found[u, v] == lengths[u][v] for u in lengths for v in lengths[u])
    assert least_steps(network, goal_of("alltoall", network.nodes, 1)) == found.max()
    assert least_steps(network, goal_of("broadcast", network.nodes, 1)) == found[0].max()
    assert least_steps(network, goal_of("reduce", network.nodes, 1)) == found[:, 0].max()
    assert least_steps(network, goal_of("gather", network.nodes, 1)) == found[:, 0].max()


@each(
    ("network", "steps"),
    [(dgx1(), 2), (dgx1(2), 4), (dgx1(4), 5), (ring(8), 4), (torus(4, 4), 4), (switch(16, 6), 1)],
)
def test_the_diameter_is_the_fewest_steps(network: Network, steps: int) -> None:
    nodes = network.nodes
    found = {name: least_steps(network, goal_of(name, nodes, nodes)) for name in COLLECTIVES}
    assert found.pop("allreduce") == 2 * steps
    rooted = {name: found.pop(name) for name in ROOTED}
    assert set(found.values()) == {steps}
    assert all(1 <= fewest <= steps for fewest in rooted.values())


def test_groups_go_at_once() -> None:
    goal = goal_of("allgather", 8, 1, groups=[range(4), range(4, 8)])
    assert least_steps(dgx1(), goal) == 1
    assert least_steps(ring(8), goal) == 3


def test_what_cannot_be_reached_is_named() -> None:
    oneway = Network(nodes=3, links=((0, 1), (1, 2)), lanes=(1, 1))
    with pytest.raises(ValueError, match="no way leads from node 1 to node 0"):
        distances(oneway)
    with pytest.raises(ValueError, match="no way leads from node 1 to node 0"):
        least_steps(oneway, goal_of("reduce", 3, 1))
    with pytest.raises(ValueError, match="no way leads from node 1 to node 0"):
        least_steps(oneway, goal_of("allreduce", 3, 3))
    with pytest.raises(ValueError, match="no way leads from node 2 to node 0"):
        least_steps(oneway, goal_of("broadcast", 3, 1, root=2))
    assert least_steps(oneway, goal_of("broadcast", 3, 1)) == 2
    apart = both_ways(4, {(0, 1): 1, (2, 3): 1})
    with pytest.raises(ValueError, match="no way leads from node 0 to node 2"):
        least_steps(apart, goal_of("allgather", 4, 1))


def test_alike_chunks_are_one_commodity() -> None:
    everyone = (0, 1, 2)
    assert commodities(goal_of("allgather", 3, 2)) == tuple(
        Commodity(node, tuple(other for other in everyone if other != node), 2) for node in everyone
    )
    assert commodities(goal_of("gather", 3, 4, root=1)) == (
        Commodity(0, (1,), 4),
        Commodity(2, (1,), 4),
    )
    pairs = [(u, v) for u in everyone for v in everyone if u != v]
    assert commodities(goal_of("alltoall", 3, 1)) == tuple(Commodity(u, (v,), 1) for u, v in pairs)


def test_sums_are_met_by_their_dual() -> None:
    network, goal = copying(random_network(3), goal_of("reduce-scatter", 4, 2))
    assert network == random_network(3).reversed()
    assert commodities(goal) == commodities(goal_of("allgather", 4, 2))
    with pytest.raises(ValueError, match="reversed goal"):
        commodities(goal_of("reduce", 4, 1))
    with pytest.raises(ValueError, match="composed of two"):
        commodities(Goal(initial=(frozenset({0, 1}),), final=(frozenset({2}),), combined=False))
