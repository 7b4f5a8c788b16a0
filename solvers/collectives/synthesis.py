"""The schedule of a collective with the fewest rounds, for a number of chunks and of steps.

In this order, until one meets the lower bound on R that holds for every schedule:

    1. at once: every chunk as early as it can be (`layers`), or an exchange by displacements
       (`exchange`), invariant under a group H;
    2. r fixed to what deliveries need (`deliveries`), invariant under H: as trees in time
       (`branchings`) where there are many sends, else by CP-SAT;
    3. r fixed to what the program of the bound gives (`rounds`), likewise;
    4. r free, invariant under H;
    5. r free, any schedule: what CP-SAT proves here holds.

A schedule by shortest trees is there from the start, so a time limit leaves an answer. Goals that
add up are solved as their reversed dual (see `compose.reverse`).

Source of the question: Cai et al., Synthesizing Optimal Collective Algorithms, PPoPP 2021,
doi:10.1145/3437801.3441620, section 3.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from solvers.clock import OutOfTime, deadline_of, left_s
from solvers.collectives.checking import faults
from solvers.collectives.commodities import commodities, copying
from solvers.collectives.compose import DUAL, reverse
from solvers.collectives.cuts import cut_bound
from solvers.collectives.deliveries import Deliveries, deliveries
from solvers.collectives.distances import hops, least_steps
from solvers.collectives.flows import load_bound
from solvers.collectives.greedy import greedy_sends, rounds_of
from solvers.collectives.model import Permutation, parts_of
from solvers.collectives.problem import COMBINING, Goal, Network, goal_of
from solvers.collectives.rounds import RoundBound, least_rounds
from solvers.collectives.schedule import Schedule, Send
from solvers.collectives.searching import Search, many_sends
from solvers.collectives.symmetry import free_subgroup
from solvers.collectives.ways import Ways
from solvers.collectives.whole_rounds import fewest_for
from solvers.solution import Solution, Status

NODES_OF_WORK = 100  # of the program of the bound, for each unit of work
_SHARE = 0.5
"""Of the time that is left, what each search but the last may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A collective on a network, made ready: the same for all C and S.

    Attributes:
        network: As asked.
        collective: As asked, not an all-reduce.
        root: Of rooted collectives.
        groups: Members of each group, or None.
        forward: The network on which the copying dual runs: reversed for goals that add up.
        hops: (nodes, nodes) links on a shortest way of `forward`.
        least_steps: S_min.
        group: The free automorphisms that schedules are held to first.
        made: Ways in so many steps, once they were made (`rooted`).
    """

    network: Network
    collective: str
    root: int
    groups: tuple[tuple[int, ...], ...] | None
    forward: Network
    hops: tuple[tuple[int, ...], ...]
    least_steps: int
    group: tuple[Permutation, ...]
    made: dict[int, Ways] = field(default_factory=dict, compare=False, repr=False)

    @property
    def members(self) -> tuple[int, ...]:
        """How many members each group has."""
        return tuple(map(len, self.groups)) if self.groups else (self.network.nodes,)

    def goal(self, chunks: int) -> Goal:
        """The goal as asked, with C chunks."""
        return goal_of(
            self.collective, self.network.nodes, chunks, root=self.root, groups=self.groups
        )

    def copied(self, chunks: int) -> Goal:
        """The goal that copies: of collectives that add up, the dual."""
        return copying(self.network, self.goal(chunks))[1]


def question(
    network: Network,
    collective: str,
    *,
    root: int = 0,
    groups: Sequence[Sequence[int]] | None = None,
    symmetries: Sequence[Permutation] = (),
    time_limit_s: float = math.inf,
) -> Question:
    """Make a collective on a network ready for any C and S.

    Args:
        network: Nodes, links, lanes, shared capacities.
        collective: Any but allreduce, which is composed (`front.allreduce_front`).
        root: Of rooted collectives: its place within every group.
        groups: Members of each group; default: all nodes.
        symmetries: Known automorphisms, e.g. translations; default: they are searched for.
        time_limit_s: Of that search.

    Raises:
        ValueError: A wrong collective, root or group, or nodes that cannot be reached.
    """
    if collective == "allreduce":
        raise ValueError("an all-reduce is composed of a reduce-scatter and an allgather")
    goal = goal_of(collective, network.nodes, 1, root=root, groups=groups)
    forward, _ = copying(network, goal)
    return Question(
        network=network,
        collective=collective,
        root=root,
        groups=None if groups is None else tuple(tuple(members) for members in groups),
        forward=forward,
        hops=tuple(map(tuple, hops(forward).tolist())),
        least_steps=least_steps(network, goal),
        group=tuple(free_subgroup(network, goal, symmetries, time_limit_s=time_limit_s)),
    )


def synthesize(
    network: Network,
    collective: str,
    chunks: int,
    steps: int,
    *,
    root: int = 0,
    groups: Sequence[Sequence[int]] | None = None,
    symmetries: Sequence[Permutation] = (),
    rounds: int | None = None,
    time_limit_s: float = 60.0,
    seed: int = 0,
) -> Solution[Schedule]:
    """The schedule of C chunks in S steps with the fewest rounds.

    Args:
        network, collective, root, groups, symmetries: See `question`.
        chunks: C, at least 1.
        steps: S, at least 1.
        rounds: R that is enough: the search ends with the first schedule of at most so many, and
            the status is INFEASIBLE where the bound is more. Default: the fewest.
        time_limit_s: When the search ends without a proof.
        seed: Of CP-SAT, which runs with one worker.

    Returns:
        Objective and bound are rounds R. OPTIMAL: R equals a lower bound that holds for every
        schedule with this C and S, or CP-SAT proved it without any restriction. FEASIBLE: the
        time ended before. INFEASIBLE: fewer steps than `question(...).least_steps`.

    Raises:
        ValueError: No chunks or steps, or what `question` refuses.
    """
    deadline = deadline_of(time_limit_s)
    asked = question(
        network, collective, root=root, groups=groups, symmetries=symmetries,
        time_limit_s=time_limit_s * _SHARE,
    )  # fmt: skip
    limit = Fraction(0)
    if steps >= asked.least_steps:
        limit = load_limit(asked, left_s(deadline) * _SHARE)
    return fewest_rounds(
        asked, chunks, steps, rounds=rounds, limit=limit, time_limit_s=left_s(deadline), seed=seed
    )


def load_limit(asked: Question, time_limit_s: float = math.inf) -> Fraction:
    """What R / C is at least in any steps: by cuts and, where nothing is copied, steady flows."""
    goal = asked.copied(1)
    if all(len(end) == 1 for end in goal.final):
        return load_bound(asked.forward, goal, group=asked.group, time_limit_s=time_limit_s).load
    return cut_bound(asked.forward, goal, group=asked.group, time_limit_s=time_limit_s).load


def round_bound(
    asked: Question,
    chunks: int,
    steps: int,
    *,
    limit: Fraction = Fraction(0),
    time_limit_s: float = 60.0,
    nodes: int | None = None,
) -> RoundBound:
    """`rounds.least_rounds` of a question: what R is at least, and rounds to try.

    Args:
        asked, chunks, steps, limit: See `fewest_rounds`.
        time_limit_s, nodes: Of the mixed-integer program.
    """
    return least_rounds(
        asked.forward, asked.copied(1), chunks, steps, group=asked.group, at_least=limit,
        time_limit_s=time_limit_s, nodes=nodes,
    )  # fmt: skip


def deliveries_of(asked: Question, steps: int, *, phase: bool = False) -> Deliveries | None:
    """`deliveries` of a question; None where they bound little, or are too many."""
    parts = commodities(asked.copied(1))
    return deliveries(asked.forward, parts, steps, group=asked.group, phase=phase)


def delivered_rounds(
    asked: Question, chunks: int, steps: int, *, time_limit_s: float = 60.0
) -> RoundBound | None:
    """What R is at least by deliveries alone, and rounds to try: quicker than `round_bound`.

    None where there are no deliveries (`deliveries_of`), or time ended.
    """
    started, deadline = time.perf_counter(), deadline_of(time_limit_s)
    made = deliveries_of(asked, steps)
    if made is None:
        return None
    try:
        lower, rounds = fewest_for(made, chunks, deadline=deadline)
    except OutOfTime:
        return None
    return RoundBound(
        lower_bound=lower, rounds=rounds, status=Status.OPTIMAL,
        seconds=time.perf_counter() - started,
    )  # fmt: skip


def fewest_rounds(
    asked: Question,
    chunks: int,
    steps: int,
    *,
    rounds: int | None = None,
    limit: Fraction = Fraction(0),
    known: RoundBound | None = None,
    ready_s: float | None = None,
    along_ways: bool = True,
    time_limit_s: float = 60.0,
    work: float | None = None,
    seed: int = 0,
) -> Solution[Schedule]:
    """`synthesize` for a question made ready.

    Args:
        asked: The question.
        chunks, steps, rounds, time_limit_s, seed: See `synthesize`.
        limit: A proved lower bound on R / C at so many steps, e.g. of a cut.
        known: What `round_bound` says of this C and S; None: it is asked.
        work: Ends each search after so much deterministic time, the same on every machine, and
            the program of the bound after `NODES_OF_WORK` nodes for each unit; None: only time.
        ready_s: What is made without a search may take so long; default: the time limit.
        along_ways: Broadcasts and others with a root are made along ways too (`rooted`).
    """
    if steps < 1:
        raise ValueError(f"{steps} steps; at least 1")
    started = time.perf_counter()
    if steps < asked.least_steps:
        return _answer(None, math.inf, started)
    least = max(steps, math.ceil(limit * chunks), known.lower_bound if known else 0)
    search = Search(
        asked=asked,
        parts=parts_of(asked.copied(chunks)),
        steps=steps,
        least=least,
        enough=max(least, rounds or 0),
        deadline=started + time_limit_s,
        work=math.inf if work is None else work,
        ready=started + max(ready_s or 0.0, time_limit_s),
        seed=seed,
        along_ways=along_ways,
    )
    search.at_once()
    if limit and search.least == steps and not search.ended:
        search.straight()
    late = known is None and work is None and sum(search.rounds) > search.least
    if late and many_sends(asked, search.parts, steps):
        _by_deliveries(search, chunks, math.inf if rounds is None else rounds)
        if rounds is not None and rounds < search.least:
            return _answer(None, search.least, started)
    if sum(search.rounds) > search.least:
        share = left_s(search.deadline) * _SHARE
        nodes = None if work is None else max(1, int(work * NODES_OF_WORK))
        known = known or round_bound(
            asked, chunks, steps, limit=limit, time_limit_s=share, nodes=nodes
        )
        search.raised(known.lower_bound)
        if rounds is not None and rounds < search.least:
            return _answer(None, search.least, started)
        search.run(known.rounds)
    schedule = as_asked(asked, chunks, search.sends, search.rounds)
    found = _answer(schedule, search.least, started, search.counts)
    return found if rounds is None else _enough(found, rounds)


def _by_deliveries(search: Search, chunks: int, most: float) -> None:
    """Raises the bound of a search by deliveries, and tries their rounds if they are few enough."""
    delivered = delivered_rounds(
        search.asked, chunks, search.steps, time_limit_s=left_s(search.deadline) * _SHARE
    )
    if delivered is None:
        return
    search.raised(delivered.lower_bound)
    if delivered.rounds is not None and search.least <= most:
        search.fixed(delivered.rounds)


def tree_schedule(
    asked: Question, chunks: int, steps: int
) -> tuple[tuple[Send, ...], tuple[int, ...]]:
    """Sends by shortest trees (`greedy`) with their rounds, in the direction of `forward`."""
    sends = greedy_sends(asked.forward, parts_of(asked.copied(chunks)), steps, asked.hops)
    return sends, rounds_of(asked.forward, sends, steps)


def _answer(
    schedule: Schedule | None, least: float, started: float, counts: dict[str, int] | None = None
) -> Solution[Schedule]:
    """A schedule with what is proved of its rounds; none: there is no schedule."""
    total = math.inf if schedule is None else float(schedule.total_rounds)
    status = Status.OPTIMAL if least >= total else Status.FEASIBLE
    return Solution(
        decision=schedule,
        objective=total,
        bound=float(min(least, total)),
        status=Status.INFEASIBLE if schedule is None else status,
        seconds=time.perf_counter() - started,
        counts=counts or {},
    )


def _enough(found: Solution[Schedule], rounds: int) -> Solution[Schedule]:
    """The answer to "at most so many rounds": without a schedule where it takes more."""
    if found.objective <= rounds:
        return found
    status = Status.INFEASIBLE if found.bound > rounds else Status.TIME_LIMIT
    return replace(found, decision=None, objective=math.inf, status=status)


def as_asked(
    asked: Question, chunks: int, sends: Sequence[Send], rounds: tuple[int, ...]
) -> Schedule:
    """The schedule of the collective asked for; replayed, for nothing leaves here unchecked."""
    adds_up = asked.collective in COMBINING
    schedule = Schedule(
        collective=DUAL[asked.collective] if adds_up else asked.collective,
        chunks=chunks,
        rounds=rounds,
        sends=tuple(sends),
    )
    if adds_up:
        schedule = reverse(schedule)
    wrong = faults(schedule, asked.network, asked.goal(chunks))
    if wrong:
        raise AssertionError(f"a synthesized schedule is wrong: {wrong[0].text}")
    return schedule
