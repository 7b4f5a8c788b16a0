"""Fronts under a time limit: the limit holds, and no hard number of chunks takes all of it."""

import time
from fractions import Fraction

from collective_networks import dgx1, torus
from support.cases import each

from solvers.collectives.checking import faults
from solvers.collectives.flows import load_bound
from solvers.collectives.front import pareto
from solvers.collectives.greedy import rounds_of
from solvers.collectives.problem import goal_of
from solvers.collectives.rows import EXACT, MIXED_INTEGER, Row
from solvers.collectives.step_search import Effort
from solvers.collectives.synthesis import question, synthesize, tree_schedule


def test_two_boxes_in_a_short_time() -> None:
    network = dgx1(2)
    started = time.perf_counter()
    found = pareto(network, "allgather", effort=Effort(time_limit_s=4.0))
    assert time.perf_counter() - started < 5.5
    assert found.rows[0].steps == 4
    assert found.rows[0].load <= 4  # (1, 4, 4), which takes a fraction of a second
    asked = question(network, "allgather")
    for chunks in (1, 2, 7, 32):
        sends, rounds = tree_schedule(asked, chunks, 4)
        assert rounds == rounds_of(network, sends, 4)
        assert found.rows[0].load <= Fraction(sum(rounds), chunks)
    assert all(faults(row.schedule, network) == () for row in found.rows)


@each(("network", "collective"), [(dgx1(4), "alltoall"), (torus(6, 6), "broadcast")])
def test_the_limit_holds_for_all_that_is_done(network, collective) -> None:  # type: ignore[no-untyped-def]
    started = time.perf_counter()
    found = pareto(network, collective, effort=Effort(time_limit_s=0.5))
    assert time.perf_counter() - started < 2.0
    assert found.rows
    assert all(row.rounds >= row.lower_bound for row in found.rows)


def test_bounds_keep_their_time() -> None:
    goal = goal_of("alltoall", 36, 1)
    started = time.perf_counter()
    bound = load_bound(torus(6, 6), goal, 8, time_limit_s=0.05)
    assert time.perf_counter() - started < 1.0
    assert 0 < bound.load <= 27


def test_what_a_proof_rests_on() -> None:
    exact = synthesize(dgx1(), "allgather", 6, 3)
    assert exact.decision is not None
    row = Row(
        schedule=exact.decision, lower_bound=7, load_bound=Fraction(7, 6), bound_by=MIXED_INTEGER
    )
    assert row.proof == EXACT
    weaker = Row(
        schedule=exact.decision, lower_bound=7, load_bound=Fraction(1), bound_by=MIXED_INTEGER
    )
    assert weaker.proof == MIXED_INTEGER
    open_ = Row(schedule=exact.decision, lower_bound=6, load_bound=Fraction(1))
    assert open_.proof is None
