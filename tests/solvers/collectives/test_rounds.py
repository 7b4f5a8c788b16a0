"""The fewest rounds with C chunks and S steps."""

import math
from fractions import Fraction

import pytest
from collective_networks import both_ways, dgx1, random_network, ring, switch, torus, translations
from second_formulation import fewest_rounds, total_rounds
from support.cases import each

from solvers.collectives.distances import least_steps
from solvers.collectives.problem import Network, Shared, goal_of
from solvers.collectives.rounds import RoundBound, least_rounds
from solvers.collectives.symmetry import free_subgroup
from solvers.solution import Status


def bound(network: Network, name: str, chunks: int, steps: int) -> RoundBound:
    goal = goal_of(name, network.nodes, 1)
    given = translations(4, 4, 4) if network.nodes == 64 else ()
    group = free_subgroup(network, goal, given)
    found = least_rounds(network, goal, chunks, steps, group=group)
    assert found.status is Status.OPTIMAL
    assert found.rounds is not None
    assert len(found.rounds) == steps
    assert min(found.rounds) >= 1
    assert sum(found.rounds) == found.lower_bound
    return found


@each("steps", range(2, 8))
@each("chunks", range(1, 7))
def test_the_36_cells_of_the_dgx1_allgather(chunks: int, steps: int) -> None:
    load = Fraction(3, 2) if steps == 2 else Fraction(7, 6)
    expected = max(steps, math.ceil(chunks * load))
    assert bound(dgx1(), "allgather", chunks, steps).lower_bound == expected


@each(
    ("network", "name", "chunks", "steps", "rounds"),
    [
        (dgx1(), "reduce-scatter", 6, 3, 7),
        (dgx1(), "gather", 6, 2, 7), (dgx1(), "scatter", 6, 2, 7), (dgx1(), "alltoall", 3, 2, 8),
        (dgx1(), "alltoall", 1, 2, 3), (dgx1(), "broadcast", 2, 2, 2),
        (dgx1(), "broadcast", 22, 3, 9), (dgx1(), "reduce", 22, 3, 9),
        (dgx1(), "broadcast", 13, 4, 4), (dgx1(), "broadcast", 19, 5, 5),
        (ring(8), "allgather", 2, 4, 7), (ring(8), "alltoall", 1, 4, 8),
        (ring(8), "gather", 2, 4, 7), (switch(16, 6), "allgather", 2, 1, 5),
        (torus(4, 4), "allgather", 4, 4, 15), (torus(4, 4), "alltoall", 1, 4, 8),
        (torus(4, 4, 4), "alltoall", 1, 6, 32),
        (dgx1(2), "allgather", 1, 4, 4), (dgx1(2), "allgather", 4, 4, 11),
        (dgx1(2), "allgather", 4, 5, 10), (dgx1(2), "allgather", 7, 5, 16),
        (dgx1(2), "alltoall", 1, 4, 16),
    ],
)  # fmt: skip
def test_published_and_measured_points(
    network: Network, name: str, chunks: int, steps: int, rounds: int
) -> None:
    assert bound(network, name, chunks, steps).lower_bound == rounds


@each("seed", range(10))
def test_against_all_ways_to_deal_out_rounds(seed: int) -> None:
    network = random_network(seed, most=4, lanes=2)
    if seed % 2:
        port = Shared(links=(0, len(network.links) - 1), capacity=1)
        network = Network(
            nodes=network.nodes, links=network.links, lanes=network.lanes, shared=(port,)
        )
    name = ("allgather", "alltoall", "broadcast", "gather", "reduce-scatter", "reduce")[seed % 6]
    goal = goal_of(name, network.nodes, 1)
    steps = least_steps(network, goal)
    found = bound(network, name, 2, steps)
    assert found.lower_bound == fewest_rounds(network, goal, 2, steps)
    assert total_rounds(network, goal_of(name, network.nodes, 2), steps, found.rounds) is not None


def test_a_group_changes_no_bound() -> None:
    goal = goal_of("alltoall", 6, 1)
    network = ring(6)
    group = free_subgroup(network, goal)
    assert len(group) == 6
    for chunks, steps in ((1, 3), (2, 4), (3, 3)):
        with_group = least_rounds(network, goal, chunks, steps, group=group)
        alone = least_rounds(network, goal, chunks, steps)
        assert with_group.lower_bound == alone.lower_bound


def test_too_few_steps_have_no_schedule() -> None:
    found = least_rounds(dgx1(), goal_of("allgather", 8, 1), 2, 1)
    assert found.status is Status.INFEASIBLE
    assert (found.lower_bound, found.rounds) == (0, None)


def test_out_of_time_the_known_bound_stays() -> None:
    goal = goal_of("allgather", 16, 1)
    found = least_rounds(
        dgx1(2), goal, 8, 6, at_least=Fraction(2), time_limit_s=0.001,
    )  # fmt: skip
    assert found.lower_bound >= 16
    assert found.status in (Status.TIME_LIMIT, Status.FEASIBLE)
    assert found.seconds < 5


def test_what_is_too_large_keeps_the_known_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solvers.collectives.rounds.MOST_SENDS", 10)
    found = least_rounds(dgx1(), goal_of("allgather", 8, 1), 6, 3, at_least=Fraction(7, 6))
    assert (found.lower_bound, found.rounds, found.status) == (7, None, Status.TIME_LIMIT)


def test_bad_questions_are_refused() -> None:
    goal = goal_of("allgather", 4, 1)
    with pytest.raises(ValueError, match="0 chunks"):
        least_rounds(ring(4), goal, 0, 2)
    apart = both_ways(4, {(0, 1): 1, (2, 3): 1})
    with pytest.raises(ValueError, match="no way leads from node 0 to node 2"):
        least_rounds(apart, goal, 1, 2)
