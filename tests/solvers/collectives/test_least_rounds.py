"""The fewest rounds against a search through all states, and random networks against bounds."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product

from collective_networks import random_network, ring, switch
from support.cases import each

from solvers.collectives.checking import faults
from solvers.collectives.distances import least_steps
from solvers.collectives.flows import load_bound
from solvers.collectives.problem import COLLECTIVES, Goal, Network, goal_of
from solvers.collectives.synthesis import question, synthesize
from solvers.solution import Status

State = tuple[frozenset[int], ...]


def searched_rounds(links: Network, goal: Goal, steps: int, most: int) -> int | None:
    """The fewest rounds by breadth-first search: what can every node have after each step.

    Copies never hurt, so only sends that fill their links, or leave nothing to send, are tried.
    """
    start: State = tuple(
        frozenset(c for c, there in enumerate(goal.initial) if node in there)
        for node in range(links.nodes)
    )
    wanted = [
        {c for c, there in enumerate(goal.final) if node in there} for node in range(links.nodes)
    ]

    @cache
    def after(state: State, rounds: int) -> frozenset[State]:
        choices = []
        for (u, v), lanes in zip(links.links, links.lanes, strict=True):
            news = sorted(state[u] - state[v])
            choices.append(list(combinations(news, min(len(news), lanes * rounds))))
        found = set()
        for chosen in product(*choices):
            has = [set(held) for held in state]
            for (_, v), sent in zip(links.links, chosen, strict=True):
                has[v].update(sent)
            found.add(tuple(map(frozenset, has)))
        return frozenset(found)

    for total in range(steps, most + 1):
        for ends in combinations(range(1, total), steps - 1):
            rounds = [b - a for a, b in zip((0, *ends), (*ends, total), strict=True)]
            states = {start}
            for count in rounds:
                states = {new for state in states for new in after(state, count)}
            for state in states:
                if all(need <= held for need, held in zip(wanted, state, strict=True)):
                    return total
    return None


LINE = Network(nodes=3, links=((0, 1), (1, 0), (1, 2), (2, 1)), lanes=(1, 1, 2, 1))
DIAMOND = Network(nodes=4, links=((0, 1), (0, 2), (1, 3), (2, 3), (3, 0)), lanes=(1,) * 5)
TINY = {"line": LINE, "diamond": DIAMOND, "ring": ring(4), "triangle": ring(3)}
CASES = [
    ("line", "allgather", 1, 2), ("line", "allgather", 2, 2), ("line", "allgather", 2, 3),
    ("line", "scatter", 2, 2), ("line", "gather", 2, 3), ("line", "alltoall", 1, 2),
    ("line", "reduce-scatter", 2, 2), ("diamond", "broadcast", 2, 2), ("diamond", "reduce", 2, 3),
    ("diamond", "broadcast", 3, 3), ("diamond", "allgather", 1, 3), ("ring", "broadcast", 2, 2),
    ("ring", "broadcast", 2, 3), ("ring", "allgather", 1, 2), ("ring", "reduce", 2, 2),
    ("triangle", "allgather", 2, 1), ("triangle", "allgather", 2, 2),
    ("triangle", "alltoall", 1, 1),
]  # fmt: skip


@each(("name", "collective", "chunks", "steps"), CASES)
def test_equal_to_a_search_through_all_states(
    name: str, collective: str, chunks: int, steps: int
) -> None:
    links = TINY[name]
    found = synthesize(links, collective, chunks, steps)
    goal = goal_of(collective, links.nodes, chunks)
    dual = (links.reversed(), goal.reversed()) if goal.combined else (links, goal)
    assert found.status is Status.OPTIMAL
    assert found.objective == searched_rounds(*dual, steps, int(found.objective))
    assert found.decision is not None
    assert faults(found.decision, links) == ()


def test_a_port_takes_what_one_link_would() -> None:
    star = switch(3, 1)
    found = synthesize(star, "allgather", 1, 1)
    # Each port takes in two chunks, one a round.
    assert (found.objective, found.status) == (2, Status.OPTIMAL)
    assert synthesize(replace(star, shared=()), "allgather", 1, 1).objective == 1


@each("seed", range(12))
def test_random_networks_keep_every_bound(seed: int) -> None:
    links = random_network(seed, most=7)
    collective = [name for name in COLLECTIVES if name != "allreduce"][seed % 7]
    chunks = 1 + seed % 3
    asked = question(links, collective, root=seed % links.nodes)
    steps = asked.least_steps + seed % 2
    found = synthesize(links, collective, chunks, steps, root=seed % links.nodes, time_limit_s=20)
    schedule = found.decision
    assert schedule is not None
    assert faults(schedule, links, root=seed % links.nodes) == ()
    goal = goal_of(collective, links.nodes, 1, root=seed % links.nodes)
    assert steps >= least_steps(links, goal)
    assert schedule.load >= load_bound(links, goal, steps).load
    assert schedule.load >= Fraction(steps, chunks)
    assert found.bound <= found.objective == schedule.total_rounds
    assert found.status is Status.OPTIMAL


@each("seed", range(4))
def test_every_send_is_needed(seed: int) -> None:
    links = random_network(seed + 40, most=7)
    found = synthesize(links, "broadcast", 2, question(links, "broadcast").least_steps + 1)
    assert found.decision is not None
    sends = found.decision.sends
    assert len(sends) == len({(send.target, send.chunk) for send in sends})
    assert len(sends) == 2 * (links.nodes - 1)
