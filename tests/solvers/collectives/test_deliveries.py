"""Bounds by what every destination must receive: against flows of all chunks, and by search."""

from fractions import Fraction

import pytest
from collective_networks import dgx1, random_shared_network, switch, torus
from support.cases import each

from solvers.collectives.deliveries import steps_bound
from solvers.collectives.flows import load_bound
from solvers.collectives.front import pareto
from solvers.collectives.problem import Network
from solvers.collectives.synthesis import (
    Question,
    deliveries_of,
    fewest_rounds,
    load_limit,
    question,
)
from solvers.collectives.whole_rounds import excess, fewest_for, least_ratio
from solvers.solution import Status

COLLECTIVES = ("allgather", "reduce-scatter")


def asked(seed: int, collective: str) -> Question:
    """A small random network; every other one has ports that links share."""
    network = random_shared_network(seed)
    return question(network, collective)


def load_of(of: Question, steps: int) -> Fraction:
    """The bound of R / C, its prices checked on the way."""
    made = deliveries_of(of, steps)
    assert made is not None
    return steps_bound(of.forward, of.copied(1), made, group=of.group)[0]


@each(
    ("network", "loads"),
    [
        (dgx1(), {2: "3/2", 3: "7/6"}),
        (switch(16, 6), {1: "5/2"}),
        (torus(4, 4), {4: "15/4"}),
        (dgx1(2), {4: "93/38", 5: "419/190", 6: "1913/910", 7: "193/94"}),
    ],
)
def test_the_bounds_of_all_flows_are_met(network: Network, loads: dict[int, str]) -> None:
    of = question(network, "allgather")
    assert {steps: load_of(of, steps) for steps in loads} == {
        steps: Fraction(load) for steps, load in loads.items()
    }


@each("collective", COLLECTIVES)
@each("seed", range(8))
def test_no_more_than_the_flows_of_all_chunks(seed: int, collective: str) -> None:
    of = asked(seed, collective)
    for steps in range(of.least_steps, of.least_steps + 3):
        flows = load_bound(of.forward, of.copied(1), steps, group=of.group)
        assert flows.exact
        assert load_of(of, steps) <= flows.load


@each("collective", COLLECTIVES)
@each("seed", range(6))
def test_no_schedule_has_fewer_rounds(seed: int, collective: str) -> None:
    """Searched to the end by CP-SAT, with all numbers of chunks and steps that are few."""
    of = asked(seed, collective)
    limit, most = load_limit(of), 3
    phase = deliveries_of(of, of.least_steps, phase=True)
    assert phase is not None
    more = excess(phase, limit)
    for steps in range(of.least_steps, of.least_steps + 2):
        made = deliveries_of(of, steps)
        assert made is not None
        _, per_chunk = steps_bound(of.forward, of.copied(1), made, group=of.group)
        least = least_ratio(made, per_chunk, most)
        rounds = []
        for chunks in range(1, most + 1):
            found = fewest_rounds(of, chunks, steps)
            assert found.status is Status.OPTIMAL
            rounds.append(int(found.objective))
            assert fewest_for(made, chunks)[0] <= rounds[-1]
            assert limit * chunks + more <= rounds[-1]
        assert least.load <= min(Fraction(r, c) for c, r in enumerate(rounds, 1))
        assert sum(least.rounds) == fewest_for(made, least.chunks)[0]


def test_two_boxes_never_reach_their_limit() -> None:
    """The last step of any schedule brings nothing new from the other box, nor the one before."""
    of = question(dgx1(2), "allgather")
    phase = deliveries_of(of, of.least_steps, phase=True)
    assert phase is not None
    assert load_limit(of) == 2
    assert excess(phase, Fraction(2)) == 2


@each("collective", ["broadcast", "alltoall", "gather"])
def test_nothing_for_what_is_not_copied_from_several_nodes(collective: str) -> None:
    of = question(dgx1(), collective)
    assert deliveries_of(of, of.least_steps) is None


def test_the_fewest_chunks_that_have_the_least_ratio() -> None:
    of = question(dgx1(), "allgather")
    for steps, cell in ((2, (2, 3)), (3, (6, 7))):
        made = deliveries_of(of, steps)
        assert made is not None
        load, per_chunk = steps_bound(of.forward, of.copied(1), made, group=of.group)
        for limit in (load, Fraction(0)):
            found = least_ratio(made, per_chunk, 32, limit=limit)
            assert (found.chunks, sum(found.rounds)) == cell
            assert float(per_chunk.sum()) == pytest.approx(float(load))


def test_groups_that_share_links_have_a_front_too() -> None:
    """The program of all numbers of steps falls without end there; it then says nothing."""
    links = ((0, 3), (1, 2), (2, 4), (3, 4), (4, 0), (4, 1))
    front = pareto(Network(nodes=5, links=links, lanes=(1,) * 6), "allgather",
                   groups=[(2, 0, 3), (4, 1)])  # fmt: skip
    assert front.rows
