"""The searches for a schedule with given chunks and steps, from the quickest to the surest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from solvers.collectives.clock import OutOfTime, deadline_of, keep_time, left_s
from solvers.collectives.exchange import exchange_crossings
from solvers.collectives.greedy import greedy_sends, rounds_of
from solvers.collectives.layers import layered_crossings
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
from solvers.cpsat_solver import new_solver

if TYPE_CHECKING:
    from solvers.collectives.synthesis import Question

MOST_CROSSINGS = 1_000_000
"""Sends in question above which CP-SAT is not asked."""
RAISED = "bound raised by search"
"""Among the counts: CP-SAT proved more than the programs of the bounds."""
_SHARES = {"free": 1.0, "a round a step": 0.25}
_SHARE = 0.5
"""Of the time that is left, what each search but the last may take."""


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
        if vector is not None and sum(vector) < sum(self.rounds) and not self.ended:
            self._tried("fixed rounds", held, vector)
        if len(held.group) > 1 and not self.ended:
            self._tried("under symmetry", held)
        if not self.ended:
            self._tried("free", free)

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
        status = solver.solve(made.model)
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
