"""The searches for a schedule with given chunks and steps, from the quickest to the surest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from solvers.clock import OutOfTime, deadline_of, keep_time, left_s
from solvers.collectives.branchings import Branchings
from solvers.collectives.commodities import commodities
from solvers.collectives.deliveries import deliveries
from solvers.collectives.exchange import exchange_crossings
from solvers.collectives.greedy import greedy_sends, rounds_of
from solvers.collectives.layers import layered_crossings
from solvers.collectives.linear import linear_crossings
from solvers.collectives.model import (
    Part,
    Symmetry,
    bind_rounds,
    free_rounds,
    sends_of,
    size_of,
    symmetry_of,
    unrolled,
)
from solvers.collectives.rooted import rooted_sends
from solvers.collectives.schedule import Send
from solvers.collectives.whole_rounds import other_rounds
from solvers.cpsat_solver import new_solver, run_search

if TYPE_CHECKING:
    from solvers.collectives.synthesis import Question

MOST_CROSSINGS = 1_000_000
"""Sends in question above which CP-SAT is not asked."""
_FEW_CROSSINGS = 1_000
"""Sends in question up to which a mixed-integer program is tried before CP-SAT."""
_MANY_CROSSINGS = 4_000
"""Sends in question above which trees in time are tried before CP-SAT for all chunks at once."""
_VECTORS = 12
"""Ways to share out rounds among the steps that trees in time are looked for with."""
_MOST_LEADERS = 16
"""Leading parts up to which trees are made for each."""
RAISED = "bound raised by search"
"""Among the counts: CP-SAT proved more than the programs of the bounds."""
_SHARES = {"free": 1.0, "a round a step": 0.25}
_SHARE = 0.5
"""Of the time that is left, what each search but the last may take."""

_TREES_SHARE = 0.75
"""And what trees in time may take."""


def many_sends(asked: Question, parts: Sequence[Part], steps: int) -> bool:
    """Whether chunks are copied in so many ways that trees in time are quicker than CP-SAT alone.

    Args:
        asked: The question.
        parts: Of its goal that copies.
        steps: S.
    """
    held = symmetry_of(asked.forward, parts, asked.group)
    size = size_of(asked.forward, parts, held, steps, asked.hops)
    return copied(parts) and size > _MANY_CROSSINGS


def copied(parts: Sequence[Part]) -> bool:
    """Whether some chunks go to several nodes."""
    return any(len(part.destinations) > 1 for part in parts)


@dataclass(slots=True, kw_only=True)
class Search:
    """The searches of one (C, S), the best schedule so far, and what is proved.

    Attributes:
        asked: The question.
        parts: Of the goal that copies.
        steps: S.
        least: No schedule has fewer rounds.
        enough: A schedule with at most so many rounds ends the search.
        deadline: On the clock of `time.perf_counter`.
        work: The most deterministic time of one search by CP-SAT.
        ready: When what is made without a search must be there; else it is by shortest trees.
        seed: Of CP-SAT.
        along_ways: Makes schedules of collectives with a root along ways (`rooted`).
        sends, rounds: The best schedule.
        counts: Searches run, by kind.
    """

    asked: Question
    parts: tuple[Part, ...]
    steps: int
    least: int
    enough: int
    deadline: float
    work: float
    ready: float
    seed: int
    along_ways: bool = True
    sends: tuple[Send, ...] = ()
    rounds: tuple[int, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)

    def at_once(self) -> None:
        """What is made without a search: a schedule to start from, often the best already."""
        forward, hops_ = self.asked.forward, self.asked.hops
        held = symmetry_of(forward, self.parts, self.asked.group)
        for made in (layered_crossings, exchange_crossings):
            crossings = made(forward, self.parts, held, self.steps, hops_, self.ready)
            if crossings is not None:
                self._keep(sends_of(forward, self.parts, held, crossings))
                break
        if self.along_ways and not self.ended:
            sends = rooted_sends(self.asked, self.parts, self.steps, self.least, self.ready)
            if sends is not None:
                self._keep(sends)
        if not self.ended:
            self._keep(greedy_sends(forward, self.parts, self.steps, hops_))

    def straight(self) -> None:
        """One round a step, where no bound is against it: then nothing else has S rounds."""
        forward, parts = self.asked.forward, self.parts
        self._tried(
            "a round a step", symmetry_of(forward, parts, self.asked.group), (1,) * self.steps
        )

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
        if vector is not None:
            self.fixed(vector)
        if len(held.group) > 1 and not self.ended:
            self._tried("under symmetry", held)
        if not self.ended:
            self._tried("free", free)

    def fixed(self, vector: Sequence[int]) -> None:
        """Looks for a schedule with given rounds, invariant under H, if they are fewer."""
        forward = self.asked.forward
        held = symmetry_of(forward, self.parts, self.asked.group)
        if sum(vector) >= sum(self.rounds) or self.ended:
            return
        size = size_of(forward, self.parts, held, self.steps, self.asked.hops)
        other = math.isinf(self.work)  # CP-SAT alone counts its work.
        with suppress(OutOfTime):
            if other and size <= _FEW_CROSSINGS:
                self._linear(held, vector)
            elif other and size > _MANY_CROSSINGS and copied(self.parts):
                self._as_trees(held, vector)
        if not self.ended:
            self._tried("fixed rounds", held, vector)

    def _linear(self, held: Symmetry, vector: Sequence[int]) -> None:
        """The same by a mixed-integer program that ends soon: CP-SAT takes longer to load."""
        self.counts["fixed rounds"] = 1
        until = deadline_of(left_s(self.deadline) * _SHARE)
        keep_time(until)
        crossings = linear_crossings(
            self.asked.forward, self.parts, held, vector, self.asked.hops, until
        )
        if crossings is not None:
            self._keep(sends_of(self.asked.forward, self.parts, held, crossings))

    def _as_trees(self, held: Symmetry, vector: Sequence[int]) -> None:
        """The same as trees in time, each for many chunks; also with as many rounds otherwise."""
        if len(held.leaders) > _MOST_LEADERS:
            return
        asked, until = self.asked, deadline_of(left_s(self.deadline) * _TREES_SHARE)
        keep_time(until)
        self.counts["trees in time"] = 1
        trees = Branchings(asked.forward, self.parts, held, self.steps, asked.hops)
        parts, chunks = commodities(asked.copied(1)), len(self.parts[0].chunks)
        made = deliveries(asked.forward, parts, self.steps, group=asked.group)
        rounds: Sequence[int] | None = vector
        for turn in range(_VECTORS):
            crossings = None if rounds is None else trees.crossings(rounds, until)
            if crossings is not None:
                self._keep(sends_of(asked.forward, self.parts, held, crossings))
            if crossings is not None or made is None:
                return
            rounds = other_rounds(made, chunks, sum(vector), turn, deadline=until)

    def raised(self, bound: int) -> None:
        """No schedule has fewer rounds than a bound."""
        self.least = max(self.least, bound)
        self.enough = max(self.enough, self.least)

    @property
    def ended(self) -> bool:
        """Whether the best schedule is good enough."""
        return bool(self.rounds) and sum(self.rounds) <= self.enough

    def _tried(self, kind: str, symmetry: Symmetry, vector: Sequence[int] | None = None) -> None:
        """One search, given up where its time ends before CP-SAT has begun."""
        with suppress(OutOfTime):
            self._search(kind, symmetry, vector)

    def _search(self, kind: str, symmetry: Symmetry, vector: Sequence[int] | None = None) -> None:
        """One search by CP-SAT; keeps a better schedule, and the bound where it holds for all.

        Rounds can be added to any schedule, so none between `enough` and the best is none below.
        """
        from ortools.sat.python import cp_model  # noqa: PLC0415  (heavy)

        until = deadline_of(left_s(self.deadline) * (_SHARES.get(kind, _SHARE)))
        if not left_s(self.deadline):
            return
        problem = (self.asked.forward, self.parts, symmetry, self.steps, self.asked.hops)
        if size_of(*problem) > MOST_CROSSINGS:
            return
        self.counts[kind] = 1
        best = sum(self.rounds)
        made = unrolled(*problem, deadline=until)
        bind_rounds(
            made,
            self.asked.forward,
            symmetry,
            vector or free_rounds(made, self.steps, self.enough, best - 1),
        )
        keep_time(until)
        solver = new_solver()
        solver.parameters.max_time_in_seconds = left_s(until)
        solver.parameters.max_deterministic_time = self.work
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = self.seed
        status = run_search(solver, made.model)
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            crossings = [c for c, x in made.crossings.items() if solver.boolean_value(x)]
            self.sends = sends_of(self.asked.forward, self.parts, symmetry, crossings)
            self.rounds = rounds_of(self.asked.forward, self.sends, self.steps)
        if kind == "free" and status != cp_model.MODEL_INVALID:
            none = status == cp_model.INFEASIBLE
            bound = best if none else math.ceil(solver.best_objective_bound - 1e-6)
            if bound > self.enough and min(bound, best) > self.least:
                self.counts[RAISED] = 1
                self.least = max(self.least, min(bound, best))
