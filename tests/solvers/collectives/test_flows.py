"""Rounds per chunk for S steps: proved in fractions, and against a second formulation."""

from dataclasses import replace
from fractions import Fraction

import pytest
from collective_networks import (
    dgx1,
    random_shared_network,
    ring,
    switch,
    torus,
    translations,
)
from second_formulation import total_rounds
from support.cases import each

from solvers.clock import OutOfTime
from solvers.collectives.cuts import Cut, check_cut
from solvers.collectives.distances import least_steps
from solvers.collectives.flows import LoadBound, load_bound
from solvers.collectives.prices import Prices, check_prices
from solvers.collectives.problem import Network, Shared, goal_of
from solvers.collectives.symmetry import free_subgroup

NAMES = ("allgather", "reduce-scatter", "broadcast", "reduce", "gather", "scatter", "alltoall")


def proved(network: Network, name: str, steps: int | None) -> LoadBound:
    """The bound, its certificate counted again."""
    goal = goal_of(name, network.nodes, 1)
    given = translations(4, 4, 4) if network.nodes == 64 else ()
    found = load_bound(network, goal, steps, group=free_subgroup(network, goal, given))
    assert isinstance(found.certificate, Prices)
    assert check_prices(network, goal, found.certificate) == found.load
    assert found.exact
    return found


@each(
    ("network", "name", "loads"),
    [
        (dgx1(), "allgather", {2: "3/2", 3: "7/6"}),
        (dgx1(), "reduce-scatter", {2: "3/2", 3: "7/6"}),
        (dgx1(), "gather", {2: "7/6"}),
        (dgx1(), "scatter", {2: "7/6"}),
        (dgx1(), "alltoall", {2: "8/3", None: "8/3"}),
        (dgx1(), "broadcast", {2: "1", 3: "9/22", 4: "4/13", 5: "5/19"}),
        (dgx1(), "reduce", {2: "1", 3: "9/22", 4: "4/13", 5: "5/19"}),
        (ring(8), "allgather", {4: "7/2"}),
        (ring(8), "alltoall", {4: "8", None: "8"}),
        (switch(16, 6), "allgather", {1: "5/2"}),
        (torus(4, 4), "allgather", {4: "15/4"}),
        (torus(4, 4), "alltoall", {4: "8", None: "8"}),
        (dgx1(2), "allgather", {4: "93/38", 5: "419/190"}),
        (torus(4, 4, 4), "alltoall", {6: "32"}),
    ],
)
def test_measured_bounds_are_proved_exactly(
    network: Network, name: str, loads: dict[int | None, str]
) -> None:
    for steps, load in loads.items():
        assert proved(network, name, steps).load == Fraction(load)


@each("name", NAMES)
@each("seed", range(4))
def test_against_the_second_formulation(seed: int, name: str) -> None:
    network = random_shared_network(seed)
    goal = goal_of(name, network.nodes, 1)
    steps = least_steps(network, goal)
    found = proved(network, name, steps)
    assert float(found.load) == pytest.approx(total_rounds(network, goal, steps), rel=1e-9)


@each("name", ["allgather", "alltoall"])
def test_a_group_changes_no_bound(name: str) -> None:
    # The trunk of two links is an orbit of its own under the half turn.
    network = ring(6)
    trunk = tuple(i for i, link in enumerate(network.links) if link in {(0, 1), (3, 4)})
    network = replace(network, shared=(Shared(links=trunk, capacity=1),))
    goal = goal_of(name, 6, 1)
    group = free_subgroup(network, goal)
    assert len(group) == 2
    for steps in (3, 4, 5):
        with_group = load_bound(network, goal, steps, group=group)
        assert with_group.load == load_bound(network, goal, steps).load
        assert with_group.exact


def test_more_steps_never_need_more_rounds_per_chunk() -> None:
    loads = [proved(ring(5), "broadcast", steps).load for steps in range(2, 7)]
    assert loads == sorted(loads, reverse=True)
    assert loads[-1] > load_bound(ring(5), goal_of("broadcast", 5, 1)).load == Fraction(1, 2)


def test_without_steps_what_is_copied_has_its_cut() -> None:
    goal = goal_of("allgather", 8, 1)
    found = load_bound(dgx1(), goal)
    assert isinstance(found.certificate, Cut)
    assert check_cut(dgx1(), goal, found.certificate) == found.load == Fraction(7, 6)
    assert found.exact


def test_what_is_too_large_has_its_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solvers.collectives.flows.MOST_SENDS", 100)
    found = load_bound(dgx1(), goal_of("allgather", 8, 1), 2)
    assert isinstance(found.certificate, Cut)
    assert (found.load, found.exact) == (Fraction(7, 6), False)


@each("ended", ["keep_time", "expand", "check_prices"])
def test_out_of_time_the_cut_stands_in(ended: str) -> None:
    goal = goal_of("allgather", 8, 1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(f"solvers.collectives.flows.{ended}", _out_of_time)
        found = load_bound(dgx1(), goal, 2)
    assert isinstance(found.certificate, Cut)
    assert (found.load, found.exact) == (Fraction(7, 6), False)


def _out_of_time(*_of_them: object, **_named: object) -> None:
    """As the clock does where there is no time left, wherever a search looks at it."""
    raise OutOfTime


def test_without_time_a_bound_is_a_cut_at_once() -> None:
    found = load_bound(dgx1(), goal_of("allgather", 8, 1), 2, time_limit_s=0.0)
    assert isinstance(found.certificate, Cut)
    assert 0 < found.load <= Fraction(7, 6)
    assert not found.exact


def test_groups_of_nodes_at_once() -> None:
    goal = goal_of("allgather", 8, 1, groups=[range(4), range(4, 8)])
    found = load_bound(dgx1(), goal, 1, group=free_subgroup(dgx1(), goal))
    assert (found.load, found.exact) == (1, True)
    # With two steps chunks go round the pair of single lanes.
    assert load_bound(dgx1(), goal, 2).load < 1


def test_too_few_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="too few steps, 1: the farthest chunk needs 2"):
        load_bound(dgx1(), goal_of("allgather", 8, 1), 1)


def test_wrong_prices_are_refused() -> None:
    goal = goal_of("allgather", 8, 1)
    certificate = proved(dgx1(), "allgather", 2).certificate
    assert isinstance(certificate, Prices)
    key, price = next(iter(certificate.links.items()))
    dearer = {at: 2 * value for at, value in certificate.links.items()}
    with pytest.raises(ValueError, match="more than 1"):
        check_prices(dgx1(), goal, replace(certificate, links=dearer))
    with pytest.raises(ValueError, match="negative or out of the steps"):
        check_prices(dgx1(), goal, replace(certificate, links={**certificate.links, key: -price}))
    with pytest.raises(ValueError, match="not the same on an orbit"):
        check_prices(
            dgx1(), goal, replace(certificate, links={**certificate.links, key: price / 2})
        )
    wrong = (certificate.group[0], (1, 0, 2, 3, 4, 5, 6, 7))
    with pytest.raises(ValueError, match="does not keep the network"):
        check_prices(dgx1(), goal, replace(certificate, group=wrong))
    part, node = next(iter(certificate.shares))
    shares = {
        **certificate.shares,
        (part, node): {at: 2 * value for at, value in certificate.links.items()},
    }
    with pytest.raises(ValueError, match="shares exceed the price"):
        check_prices(dgx1(), goal, replace(certificate, shares=shares))
    assert check_prices(dgx1(), goal, replace(certificate, shares={})) == 0
