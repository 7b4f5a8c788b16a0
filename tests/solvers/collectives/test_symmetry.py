"""Automorphisms against all permutations, and groups that keep no node."""

from itertools import permutations

import numpy as np
import pytest
from collective_networks import dgx1, random_network, ring, switch, torus, translations
from support.cases import each

from solvers.collectives.problem import Network, Shared, goal_of
from solvers.collectives.symmetry import (
    automorphisms,
    closure,
    free_subgroup,
    is_automorphism,
    is_free,
    keeps_goal,
    link_images,
    orbits,
    shared_images,
)


def keeps_links(network: Network, image: tuple[int, ...]) -> bool:
    """Whether every link lands on one with its lanes: the definition."""
    lanes = dict(zip(network.links, network.lanes, strict=True))
    return all(lanes.get((image[u], image[v])) == count for (u, v), count in lanes.items())


@each("seed", range(12))
def test_all_automorphisms_are_found(seed: int) -> None:
    network = random_network(seed, most=5, lanes=1)
    every = [p for p in permutations(range(network.nodes)) if keeps_links(network, p)]
    assert list(automorphisms(network)) == every
    assert all(is_automorphism(network, p) == (p in every) for p in permutations(every[0]))


def test_the_dgx1_has_four_and_all_are_free() -> None:
    group = automorphisms(dgx1())
    assert group == free_subgroup(dgx1(), goal_of("allgather", 8, 3))
    assert (2, 3, 0, 1, 6, 7, 4, 5) in group
    assert (4, 5, 6, 7, 0, 1, 2, 3) in group
    assert len(group) == 4


@each(
    ("network", "size"),
    [(dgx1(2), 8), (dgx1(4), 16), (ring(8), 8), (torus(3, 5), 15), (torus(4, 4), 16),
     (switch(12, 2), 12)],
)  # fmt: skip
def test_the_largest_free_groups_are_found(network: Network, size: int) -> None:
    goal = goal_of("reduce-scatter", network.nodes, 1)
    group = free_subgroup(network, goal)
    assert len(group) == size
    assert closure(group, network.nodes) == group
    assert is_free(group)
    assert all(is_automorphism(network, one) for one in group)
    for images in (np.array(group), link_images(network, group)):
        assert set(np.unique(orbits(images), return_counts=True)[1]) == {size}


def test_translations_generate_the_group_of_a_large_torus() -> None:
    network = torus(8, 8, 8)
    group = free_subgroup(network, goal_of("allgather", 512, 1), translations(8, 8, 8))
    assert len(group) == 512
    assert is_free(group)
    assert len(np.unique(orbits(link_images(network, group)))) == 6


def test_a_root_leaves_the_identity_alone() -> None:
    for name in ("broadcast", "reduce", "gather", "scatter"):
        assert free_subgroup(dgx1(), goal_of(name, 8, 1)) == (tuple(range(8)),)


def test_groups_of_members_are_kept() -> None:
    goal = goal_of("allgather", 8, 1, groups=[range(4), range(4, 8)])
    assert free_subgroup(ring(8), goal) == (
        (0, 1, 2, 3, 4, 5, 6, 7),
        (3, 2, 1, 0, 7, 6, 5, 4),
        (4, 5, 6, 7, 0, 1, 2, 3),
        (7, 6, 5, 4, 3, 2, 1, 0),
    )
    assert keeps_goal(8, goal, (4, 5, 6, 7, 0, 1, 2, 3))
    assert not keeps_goal(8, goal, (1, 2, 3, 4, 5, 6, 7, 0))
    # Of the given rotations the half turn is left.
    assert len(free_subgroup(ring(8), goal, ((1, 2, 3, 4, 5, 6, 7, 0),))) == 2


def test_stale_symmetries_are_not_believed() -> None:
    network = ring(6)
    broken = Network(nodes=6, links=network.links, lanes=(2, *network.lanes[1:]))
    rotation = (1, 2, 3, 4, 5, 0)
    goal = goal_of("alltoall", 6, 1)
    assert len(free_subgroup(network, goal, (rotation,))) == 6
    assert len(free_subgroup(broken, goal, (rotation,))) == 1


def test_shared_capacities_are_respected() -> None:
    network = switch(6, 2)
    turn = (1, 2, 3, 4, 5, 0)
    assert is_automorphism(network, turn)
    assert sorted(shared_images(network, (turn,))[0]) == list(range(12))
    slower = Shared(links=network.shared[0].links, capacity=1)
    uneven = Network(
        nodes=6, links=network.links, lanes=network.lanes, shared=(slower, *network.shared[1:])
    )
    assert not is_automorphism(uneven, turn)
    assert all(one[0] == 0 for one in automorphisms(uneven))
    assert len(automorphisms(uneven)) == 120
    assert -1 in shared_images(uneven, (turn,))


def test_large_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="more than 100 others"):
        closure(((1, 0, 2, 3, 4, 5), (1, 2, 3, 4, 5, 0)), 6, most=100)
