"""Machines and synthesized schedules that several tests share, each found once."""

from functools import cache

from planner.collectives.machines.degraded import degrade, fail
from planner.collectives.machines.machine import Machine
from planner.collectives.machines.machines import LinkAsked, machine_of
from solvers.collectives.compose import in_turn, reverse
from solvers.collectives.schedule import Schedule, Send
from solvers.collectives.synthesis import synthesize

CELLS = ((1, 2), (2, 2), (3, 3), (4, 3), (5, 3), (6, 3), (6, 7))
"""(C, S) of the schedules whose times were compared with the formula first."""


@cache
def dgx1() -> Machine:
    return machine_of("dgx-1")


@cache
def slow_pair() -> Machine:
    """The single NVLink between 0 and 2 at a quarter of its bandwidth."""
    return degrade(dgx1(), [(0, 2)], 0.25)


@cache
def failed_pair() -> Machine:
    return fail(dgx1(), [(0, 2)])


@cache
def allgather(chunks: int, steps: int, state: str = "healthy") -> Schedule:
    """The schedule with the fewest rounds on `dgx1`, `slow_pair` or `failed_pair`."""
    one = {"healthy": dgx1, "slow": slow_pair, "failed": failed_pair}[state]()
    found = synthesize(one.network, "allgather", chunks, steps, symmetries=one.symmetries)
    assert found.decision is not None
    return found.decision


@cache
def allreduce() -> Schedule:
    """(2,2,3) backwards and then forwards."""
    half = allgather(2, 2)
    return in_turn(reverse(half), half, members=8)


def ring_machine(nodes: int, lanes: int = 1, start_s: float = 0.0) -> Machine:
    return machine_of(f"ring:{nodes}", links=LinkAsked(lanes=lanes, start_s=start_s))


def ring_allgather(nodes: int) -> Schedule:
    """Every node passes on to its right what came from its left."""
    sends = [
        Send(step, node, (node + 1) % nodes, (node - step) % nodes)
        for step in range(nodes - 1)
        for node in range(nodes)
    ]
    return Schedule(
        collective="allgather", chunks=1, rounds=(1,) * (nodes - 1), sends=tuple(sorted(sends))
    )
