"""Schedules with given rounds: as trees in time, and at the root of a mixed-integer program."""

import math
import time

from collective_networks import dgx1, random_network, switch
from support.cases import each

from solvers.collectives.branchings import Branchings
from solvers.collectives.linear import linear_crossings
from solvers.collectives.model import Crossing, parts_of, sends_of, symmetry_of
from solvers.collectives.problem import Network
from solvers.collectives.schedule import Schedule
from solvers.collectives.searching import Search
from solvers.collectives.synthesis import Question, as_asked, fewest_rounds, question

SMALL = ((dgx1(), 6, (2, 2, 3)), (dgx1(2), 3, (3, 3, 1, 1)), (switch(8, 2), 2, (7,)))
LARGE = ((dgx1(2), 8, (7, 3, 3, 3, 1, 1)), (dgx1(2), 24, (24, 14, 8, 4, 3)), SMALL[2])
"""Network, chunks, rounds of each step: the fewest there can be."""


def made(
    asked: Question, chunks: int, rounds: tuple[int, ...], crossings: list[Crossing]
) -> Schedule:
    """The schedule, replayed by the checker."""
    parts = parts_of(asked.copied(chunks))
    held = symmetry_of(asked.forward, parts, asked.group)
    return as_asked(asked, chunks, sends_of(asked.forward, parts, held, crossings), rounds)


@each(("network", "chunks", "rounds"), LARGE)
def test_trees_in_time_fit_in_the_fewest_rounds(
    network: Network, chunks: int, rounds: tuple[int, ...]
) -> None:
    asked = question(network, "allgather")
    parts = parts_of(asked.copied(chunks))
    held = symmetry_of(asked.forward, parts, asked.group)
    trees = Branchings(asked.forward, parts, held, len(rounds), asked.hops)
    crossings = trees.crossings(rounds, math.inf)
    assert crossings is not None
    assert made(asked, chunks, rounds, crossings).total_rounds == sum(rounds)


@each(("network", "chunks", "rounds"), SMALL)
def test_the_program_finds_a_schedule_at_once(
    network: Network, chunks: int, rounds: tuple[int, ...]
) -> None:
    asked = question(network, "allgather")
    parts = parts_of(asked.copied(chunks))
    held = symmetry_of(asked.forward, parts, asked.group)
    crossings = linear_crossings(asked.forward, parts, held, rounds, asked.hops, math.inf)
    assert crossings is not None
    assert made(asked, chunks, rounds, crossings).total_rounds == sum(rounds)


@each("seed", range(6))
def test_too_few_rounds_have_no_trees_and_no_program(seed: int) -> None:
    """One round less than the fewest, taken from any step."""
    asked = question(random_network(seed, most=5), "allgather")
    steps = asked.least_steps + 1
    found = fewest_rounds(asked, 2, steps)
    assert found.decision is not None
    parts = parts_of(asked.copied(2))
    held = symmetry_of(asked.forward, parts)
    trees = Branchings(asked.forward, parts, held, steps, asked.hops)
    for step, count in enumerate(found.decision.rounds):
        fewer = tuple(r - (at == step) for at, r in enumerate(found.decision.rounds))
        if count > 1:
            assert trees.crossings(fewer, time.perf_counter() + 60.0) is None
            assert linear_crossings(
                asked.forward, parts, held, fewer, asked.hops, time.perf_counter() + 60.0
            ) is None  # fmt: skip


def test_a_search_without_time_is_given_up() -> None:
    asked = question(dgx1(2), "allgather")
    search = Search(
        asked=asked, parts=parts_of(asked.copied(24)), steps=5, least=53, enough=53,
        deadline=time.perf_counter(), work=math.inf, ready=time.perf_counter(), seed=0,
    )  # fmt: skip
    search.at_once()
    search.fixed((24, 14, 8, 4, 3))
    assert not search.ended
