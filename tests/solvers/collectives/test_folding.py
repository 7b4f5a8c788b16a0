"""Symmetries that keep the source change no bound, only the number of variables."""

from dataclasses import replace
from fractions import Fraction
from math import factorial

import pytest
from collective_networks import dgx1, ring, switch, torus, translations

from solvers.collectives.expansion import expand, flows_of, oriented, representatives
from solvers.collectives.flows import load_bound
from solvers.collectives.folding import folded
from solvers.collectives.prices import Prices, check_prices
from solvers.collectives.problem import Network, Shared, goal_of
from solvers.collectives.rounds import least_rounds
from solvers.collectives.symmetry import closure, fixing, free_subgroup, is_automorphism

WORTH = "solvers.collectives.folding.WORTH_SENDS"


@pytest.mark.parametrize(
    ("network", "name", "steps"),
    [
        (torus(3, 3), "allgather", 2), (torus(3, 3), "reduce-scatter", 3),
        (torus(3, 3), "broadcast", 3), (torus(3, 4), "reduce", 4), (ring(6), "broadcast", 4),
        (switch(5, 2), "allgather", 1), (switch(5, 2), "broadcast", 3), (dgx1(), "broadcast", 3),
    ],
    ids=lambda value: f"{value.nodes} nodes" if isinstance(value, Network) else str(value),
)  # fmt: skip
def test_the_bounds_are_those_of_all_variables(
    network: Network, name: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal = goal_of(name, network.nodes, 1)
    group = free_subgroup(network, goal)
    found = {}
    for worth in (0, 10**9):
        monkeypatch.setattr(WORTH, worth)
        bound = load_bound(network, goal, steps, group=group)
        assert bound.exact
        assert isinstance(bound.certificate, Prices)
        assert check_prices(network, goal, bound.certificate) == bound.load
        rounds = [least_rounds(network, goal, c, steps, group=group).lower_bound for c in (1, 3)]
        found[worth] = (bound.load, rounds)
    assert found[0] == found[10**9]


def test_variables_on_one_orbit_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WORTH, 0)
    network = torus(4, 4)
    goal = goal_of("allgather", 16, 1)
    group = free_subgroup(network, goal, translations(4, 4))
    facing = oriented(network, goal)
    model = expand(network, flows_of(facing.parts, representatives(network, group)), 4, group)
    small = folded(model, facing)
    # The quarter turns and reflections about a node are 8.
    assert model.columns / 8 <= small.columns < model.columns / 4
    assert small.balance.shape[0] < model.balance.shape[0] / 4
    assert len(small.column_of) == model.columns


def test_those_that_keep_a_node_are_found() -> None:
    parts = oriented(ring(7), goal_of("allgather", 7, 1)).parts
    assert fixing(ring(7), parts, 0) == ((0, 1, 2, 3, 4, 5, 6), (0, 6, 5, 4, 3, 2, 1))
    network = torus(4, 4)
    parts = oriented(network, goal_of("allgather", 16, 1)).parts
    group = fixing(network, parts, 0)
    assert len(group) == factorial(4)
    assert closure(group, 16) == group
    assert all(one[0] == 0 and is_automorphism(network, one) for one in group)
    # A switch has too many to list.
    parts = oriented(switch(9, 1), goal_of("broadcast", 9, 1)).parts
    assert len(fixing(switch(9, 1), parts, 0)) == 1


def test_a_port_that_is_no_orbit_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WORTH, 0)
    links = torus(3, 3).links
    leaving = tuple(i for i, (u, _) in enumerate(links) if u == 0)
    network = replace(torus(3, 3), shared=(Shared(links=leaving, capacity=2),))
    goal = goal_of("broadcast", 9, 1)
    found = load_bound(network, goal, 3)
    assert found.exact
    monkeypatch.setattr(WORTH, 10**9)
    assert load_bound(network, goal, 3).load == found.load >= Fraction(1, 2)


def test_a_torus_of_64_is_proved_exactly() -> None:
    network = torus(8, 8)
    goal = goal_of("allgather", 64, 1)
    group = free_subgroup(network, goal, translations(8, 8))
    found = load_bound(network, goal, 8, group=group)
    assert (found.load, found.exact) == (Fraction(63, 4), True)
    assert isinstance(found.certificate, Prices)
