"""Every proved front, and the 36 cells of the DGX-1 allgather, found and replayed."""

from fractions import Fraction

from collective_networks import dgx1, ring, switch, torus
from support.cases import each

from solvers.collectives.checking import faults
from solvers.collectives.front import pareto
from solvers.collectives.problem import Network
from solvers.collectives.rows import Row
from solvers.collectives.step_search import Effort
from solvers.collectives.synthesis import fewest_rounds, question, synthesize
from solvers.solution import Status

NETWORKS = {"dgx-1": dgx1(), "ring": ring(8), "switch": switch(16, 6), "torus": torus(4, 4)}
COMPLETE = {
    ("dgx-1", "allgather"): [(2, 2, 3), (6, 3, 7)],
    ("dgx-1", "reduce-scatter"): [(2, 2, 3), (6, 3, 7)],
    ("dgx-1", "gather"): [(6, 2, 7)],
    ("dgx-1", "scatter"): [(6, 2, 7)],
    ("dgx-1", "alltoall"): [(3, 2, 8)],
    ("ring", "allgather"): [(2, 4, 7)],
    ("ring", "alltoall"): [(1, 4, 8)],
    ("ring", "gather"): [(2, 4, 7)],
    ("ring", "scatter"): [(2, 4, 7)],
    ("switch", "allgather"): [(2, 1, 5)],
    ("torus", "allgather"): [(4, 4, 15)],
    ("torus", "alltoall"): [(1, 4, 8)],
}
"""Fronts to which no number of chunks and steps can add."""


def shape(rows: tuple[Row, ...]) -> list[tuple[int, int, int]]:
    return [(row.chunks, row.steps, row.rounds) for row in rows]


@each(("name", "collective"), COMPLETE)
def test_complete_fronts(name: str, collective: str) -> None:
    network = NETWORKS[name]
    found = pareto(network, collective)
    assert shape(found.rows) == COMPLETE[name, collective]
    assert found.complete
    assert found.complete_to is None
    assert found.rows[-1].load == found.limit
    assert all(row.proved and row.least_load for row in found.rows)
    assert all(faults(row.schedule, network) == () for row in found.rows)
    assert "no schedule with more steps" in found.ends


@each("collective", ["broadcast", "reduce"])
def test_pipelines_of_a_dgx1_gain_with_every_step(collective: str) -> None:
    found = pareto(dgx1(), collective)
    searched, piped = found.rows[:4], found.rows[4:]
    assert shape(searched) == [(2, 2, 2), (22, 3, 9), (13, 4, 4), (19, 5, 5)]
    assert all(row.steps > 5 and row.load < Fraction(5, 19) for row in piped)
    loads = [Fraction(1), Fraction(9, 22), Fraction(4, 13), Fraction(5, 19)]
    assert [row.load_bound for row in searched] == loads
    assert all(row.proved and row.least_load for row in searched)
    assert all(faults(row.schedule, dgx1()) == () for row in found.rows)
    assert found.limit == Fraction(1, 6)
    assert not found.complete
    # No worse than six rings of 32 slices in 38 steps; six packed trees of depth 7 carry 6 (S - 6).
    assert shape(piped)[-2:] == [(198, 39, 39), (270, 51, 51)]
    assert found.ends.startswith(
        "more than 5 steps were not tried; up to 51 steps only along known trees; a smaller R/C is "
        "not excluded, with 6 or more steps down to 1/6: "
    )
    assert [(gap.steps, gap.load, gap.reason) for gap in found.gaps] == [
        (6, Fraction(1, 6), "steps")
    ]
    assert found.ended_by == "steps"
    short = pareto(dgx1(), collective, effort=Effort(time_limit_s=6.0))
    for row in short.rows:
        assert min(one.load for one in found.rows if one.steps <= row.steps) <= row.load
    assert shape(short.rows)[-2:] == shape(piped)[-2:]


def test_both_families_of_allreduce() -> None:
    found = pareto(dgx1(), "allreduce")
    assert shape(found.rows) == [(2, 2, 3), (16, 4, 6), (48, 6, 14)]
    assert [row.schedule.local_reduce for row in found.rows] == [True, False, False]
    assert all(faults(row.schedule, dgx1()) == () for row in found.rows)
    # 14 sends of each of C chunks over 48 lanes: nothing beats the last one for large buffers.
    assert found.limit == found.rows[-1].load == Fraction(14, 48)
    assert [row.proved for row in found.rows] == [False, False, True]


def test_allreduce_where_the_ways_back_differ() -> None:
    one_way = Network(nodes=4, links=((0, 1), (1, 2), (2, 3), (3, 0), (0, 2)), lanes=(1,) * 5)
    found = pareto(one_way, "allreduce", effort=Effort(max_chunks=2))
    assert {row.schedule.local_reduce for row in found.rows} == {True, False}
    assert all(faults(row.schedule, one_way) == () for row in found.rows)
    assert all(row.rounds >= row.lower_bound for row in found.rows)


def test_all_36_cells_meet_their_bound() -> None:
    asked = question(dgx1(), "allgather")
    assert len(asked.group) == 4
    for steps in range(2, 8):
        for chunks in range(1, 7):
            found = fewest_rounds(asked, chunks, steps)
            load = Fraction(3, 2) if steps == 2 else Fraction(7, 6)
            assert found.objective == max(steps, -(-load.numerator * chunks // load.denominator))
            assert found.status is Status.OPTIMAL
            assert found.decision is not None
            assert faults(found.decision, dgx1()) == ()


def test_rounds_that_are_too_few() -> None:
    refused = synthesize(dgx1(), "allgather", 3, 2, rounds=4)
    assert refused.status is Status.INFEASIBLE
    assert refused.decision is None
    assert refused.bound == 5


def test_rounds_that_are_enough_end_the_search() -> None:
    found = synthesize(dgx1(), "allgather", 3, 2, rounds=6)
    assert found.decision is not None
    assert 5 <= found.bound <= found.objective <= 6


def test_fewer_steps_than_the_diameter() -> None:
    assert question(dgx1(), "allgather").least_steps == 2
    refused = synthesize(dgx1(), "allgather", 1, 1)
    assert refused.status is Status.INFEASIBLE
    assert refused.decision is None


def test_without_time_there_is_an_answer_and_its_bound() -> None:
    found = synthesize(dgx1(), "broadcast", 22, 3, time_limit_s=0.0)
    assert found.decision is not None
    assert faults(found.decision, dgx1()) == ()
    assert 3 <= found.bound < found.objective
    assert found.status is Status.FEASIBLE
    front = pareto(dgx1(), "allgather", effort=Effort(time_limit_s=0.0))
    assert len(front.rows) == 1
    assert not front.complete
    assert faults(front.rows[0].schedule, dgx1()) == ()


def test_rows_are_told_as_they_come() -> None:
    told: list[Row] = []
    found = pareto(dgx1(), "allgather", on_row=told.append)
    assert tuple(told) == found.rows


def test_few_chunks_and_steps() -> None:
    found = pareto(dgx1(), "allgather", effort=Effort(max_chunks=4, max_steps=3))
    assert shape(found.rows) == [(2, 2, 3), (4, 3, 5)]
    assert not found.complete


def test_what_is_left_open_of_an_allreduce_is_its_own() -> None:
    """Not the steps and the R / C of its halves; 14 sends of a chunk over 48 lanes at least."""
    found = pareto(dgx1(), "allreduce", effort=Effort(max_chunks=4, max_steps=3))
    assert found.ends.startswith(
        "a smaller R/C is not excluded, down to 7/24: its halves are not proved to be the best; "
        "tried: a reduce-scatter and then"
    )


def test_the_front_of_two_boxes_up_to_eight_chunks() -> None:
    """R / C falls with every step and never reaches 2, but of few chunks no more steps gain."""
    network = dgx1(2)
    found = pareto(network, "allgather", effort=Effort(max_chunks=8))
    assert shape(found.rows) == [(6, 4, 15), (8, 5, 18)]
    assert all(row.proved and faults(row.schedule, network) == () for row in found.rows)
    assert [row.load_bound for row in found.rows] == [Fraction(93, 38), Fraction(419, 190)]
    assert (found.complete, found.complete_to, found.ended_by) == (False, 8, "chunks")
    assert found.limit == 2
    assert found.ends.startswith("no schedule of at most 8 chunks is left out")


def test_groups_run_at_once() -> None:
    groups = ((0, 1, 2, 3), (4, 5, 6, 7))
    for collective in ("allgather", "reduce-scatter", "broadcast", "allreduce"):
        found = pareto(dgx1(), collective, groups=groups, effort=Effort(max_steps=2))
        assert found.rows
        for row in found.rows:
            assert faults(row.schedule, dgx1(), groups=groups) == ()


def test_the_same_answer_twice() -> None:
    first, second = (synthesize(dgx1(), "allgather", 4, 3).decision for _ in range(2))
    assert first == second
