"""The schedule of a collective with the fewest rounds, for a number of chunks and of steps.

In this order, until one meets the lower bound on R that holds for every schedule:

    1. at once: every chunk as early as it can be (`layers`), or an exchange by displacements
       (`exchange`), invariant under a group H;
    2. r fixed to what the program of the bound gives (`rounds`), invariant under H;
    3. r free, invariant under H;
    4. r free, any schedule: what CP-SAT proves here holds.

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

from solvers.collectives.checking import faults
from solvers.collectives.commodities import copying
from solvers.collectives.compose import DUAL, reverse
from solvers.collectives.cuts import cut_bound
from solvers.collectives.distances import hops, least_steps
from solvers.collectives.exchange import exchange_crossings
from solvers.collectives.flows import load_bound
from solvers.collectives.greedy import greedy_sends, rounds_of
from solvers.collectives.layers import layered_crossings
from solvers.collectives.model import (
    Part,
    Permutation,
    Symmetry,
    bind_rounds,
    free_rounds,
    parts_of,
    sends_of,
    size_of,
    symmetry_of,
    unrolled,
)
from solvers.collectives.problem import COMBINING, Goal, Network, goal_of
from solvers.collectives.rounds import RoundBound, least_rounds
from solvers.collectives.schedule import Schedule, Send
from solvers.collectives.symmetry import free_subgroup
from solvers.solution import Solution, Status

MOST_CROSSINGS = 1_000_000
"""Sends in question above which CP-SAT is not asked."""
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
    """

    network: Network
    collective: str
    root: int
    groups: tuple[tuple[int, ...], ...] | None
    forward: Network
    hops: tuple[tuple[int, ...], ...]
    least_steps: int
    group: tuple[Permutation, ...]

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
) -> Question:
    """Make a collective on a network ready for any C and S.

    Args:
        network: Nodes, links, lanes, shared capacities.
        collective: Any but allreduce, which is composed (`front.allreduce_front`).
        root: Of rooted collectives: its place within every group.
        groups: Members of each group; default: all nodes.
        symmetries: Known automorphisms, e.g. translations; default: they are searched for.

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
        group=tuple(free_subgroup(network, goal, symmetries)),
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
    asked = question(network, collective, root=root, groups=groups, symmetries=symmetries)
    limit = load_limit(asked) if steps >= asked.least_steps else Fraction(0)
    return fewest_rounds(
        asked, chunks, steps, rounds=rounds, limit=limit, time_limit_s=time_limit_s, seed=seed
    )


def load_limit(asked: Question) -> Fraction:
    """What R / C is at least in any steps: by cuts and, where nothing is copied, steady flows."""
    goal = asked.copied(1)
    limit = cut_bound(asked.forward, goal, group=asked.group).load
    if all(len(end) == 1 for end in goal.final):
        limit = max(limit, load_bound(asked.forward, goal, group=asked.group).load)
    return limit


def round_bound(
    asked: Question,
    chunks: int,
    steps: int,
    *,
    limit: Fraction = Fraction(0),
    time_limit_s: float = 60.0,
) -> RoundBound:
    """`rounds.least_rounds` of a question: what R is at least, and rounds to try.

    Args:
        asked: The question.
        chunks, steps: C and S.
        limit: See `fewest_rounds`.
        time_limit_s: Of the mixed-integer program.
    """
    return least_rounds(
        asked.forward,
        asked.copied(1),
        chunks,
        steps,
        group=asked.group,
        at_least=limit,
        time_limit_s=time_limit_s,
    )


def fewest_rounds(
    asked: Question,
    chunks: int,
    steps: int,
    *,
    rounds: int | None = None,
    limit: Fraction = Fraction(0),
    known: RoundBound | None = None,
    time_limit_s: float = 60.0,
    seed: int = 0,
) -> Solution[Schedule]:
    """`synthesize` for a question made ready.

    Args:
        asked: The question.
        chunks, steps, rounds, time_limit_s, seed: See `synthesize`.
        limit: A proved lower bound on R / C at so many steps, e.g. of a cut.
        known: What `round_bound` says of this C and S; None: it is asked.
    """
    if steps < 1:
        raise ValueError(f"{steps} steps; at least 1")
    started = time.perf_counter()
    if steps < asked.least_steps:
        return _answer(None, math.inf, started)
    least = max(steps, math.ceil(limit * chunks), known.lower_bound if known else 0)
    search = _Search(
        asked=asked,
        parts=parts_of(asked.copied(chunks)),
        steps=steps,
        least=least,
        enough=max(least, rounds or 0),
        deadline=started + time_limit_s,
        seed=seed,
    )
    search.at_once()
    if sum(search.rounds) > search.least:
        share = time_limit_s * _SHARE
        known = known or round_bound(asked, chunks, steps, limit=limit, time_limit_s=share)
        search.least = max(search.least, known.lower_bound)
        search.enough = max(search.enough, search.least)
        if rounds is not None and rounds < search.least:
            return _answer(None, search.least, started)
        search.run(known.rounds)
    schedule = as_asked(asked, chunks, search.sends, search.rounds)
    found = _answer(schedule, search.least, started, search.counts)
    return found if rounds is None else _enough(found, rounds)


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


@dataclass(slots=True, kw_only=True)
class _Search:
    """The searches of one (C, S), the best schedule so far, and what is proved.

    Attributes:
        asked: The question.
        parts: Of the goal that copies.
        steps: S.
        least: No schedule has fewer rounds.
        enough: A schedule with at most so many rounds ends the search.
        deadline: On the clock of `time.perf_counter`.
        seed: Of CP-SAT.
        sends, rounds: The best schedule.
        counts: Searches run, by kind.
    """

    asked: Question
    parts: tuple[Part, ...]
    steps: int
    least: int
    enough: int
    deadline: float
    seed: int
    sends: tuple[Send, ...] = ()
    rounds: tuple[int, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)

    def at_once(self) -> None:
        """What is made without a search: a schedule to start from, often the best already."""
        forward, hops_ = self.asked.forward, self.asked.hops
        held = symmetry_of(forward, self.parts, self.asked.group)
        for made in (layered_crossings, exchange_crossings):
            crossings = made(forward, self.parts, held, self.steps, hops_)
            if crossings is not None:
                self._keep(sends_of(forward, self.parts, held, crossings))
                break
        if not self.ended:
            self._keep(greedy_sends(forward, self.parts, self.steps, hops_))

    def _keep(self, sends: tuple[Send, ...]) -> None:
        """Takes sends that need fewer rounds than those so far."""
        rounds = rounds_of(self.asked.forward, sends, self.steps)
        if not self.rounds or sum(rounds) < sum(self.rounds):
            self.sends, self.rounds = sends, rounds

    def run(self, vector: Sequence[int] | None) -> None:
        """All searches in order, as long as there is time and something to win.

        Args:
            vector: r_s with which a fractional flow meets the bound, or None.
        """
        forward = self.asked.forward
        held = symmetry_of(forward, self.parts, self.asked.group)
        free = symmetry_of(forward, self.parts)
        if vector is not None and sum(vector) < sum(self.rounds) and not self.ended:
            self._search("fixed rounds", held, vector)
        if len(held.group) > 1 and not self.ended:
            self._search("under symmetry", held)
        if not self.ended:
            self._search("free", free)

    @property
    def ended(self) -> bool:
        """Whether the best schedule is good enough."""
        return bool(self.rounds) and sum(self.rounds) <= self.enough

    def _search(self, kind: str, symmetry: Symmetry, vector: Sequence[int] | None = None) -> None:
        """One search by CP-SAT; keeps a better schedule, and the bound where it holds for all.

        Rounds can be added to any schedule, so none between `enough` and the best is none below.
        """
        from ortools.sat.python import cp_model  # noqa: PLC0415  (heavy)

        seconds = (self.deadline - time.perf_counter()) * (1.0 if kind == "free" else _SHARE)
        if seconds <= 0:
            return
        problem = (self.asked.forward, self.parts, symmetry, self.steps, self.asked.hops)
        if size_of(*problem) > MOST_CROSSINGS:
            return
        self.counts[kind] = 1
        best = sum(self.rounds)
        made = unrolled(*problem)
        bind_rounds(
            made,
            self.asked.forward,
            symmetry,
            vector or free_rounds(made, self.steps, self.enough, best - 1),
        )
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = seconds
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = self.seed
        status = solver.solve(made.model)
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            crossings = [c for c, x in made.crossings.items() if solver.boolean_value(x)]
            self.sends = sends_of(self.asked.forward, self.parts, symmetry, crossings)
            self.rounds = rounds_of(self.asked.forward, self.sends, self.steps)
        if kind == "free" and status != cp_model.MODEL_INVALID:
            none = status == cp_model.INFEASIBLE
            bound = best if none else math.ceil(solver.best_objective_bound - 1e-6)
            if bound > self.enough:
                self.least = max(self.least, min(bound, best))
