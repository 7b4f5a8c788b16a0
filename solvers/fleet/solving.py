"""The best schedule of a fleet, proved or with its gap."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from solvers.fleet.cpsat import searched
from solvers.fleet.listing import first_come, fits_alone, packed
from solvers.fleet.pricing import priced
from solvers.fleet.problem import (
    Fleet,
    Ints,
    Schedule,
    broken,
    objective_of,
    without_dominated,
)
from solvers.fleet.program import Program
from solvers.fleet.recreating import recreated
from solvers.fleet.windows import Windows
from solvers.solution import Solution, Status

_PROVING = 0.4
"""Share of the time of the constraint program in which it looks for a proof."""


def solve(
    fleet: Fleet,
    *,
    seconds: float = 60.0,
    gap: float = 0.0,
    seed: int = 0,
    start: Schedule | None = None,
) -> Solution[Schedule]:
    """The schedule of least value.

    Args:
        fleet: What is asked.
        seconds: Wall time that there is.
        gap: The relative gap that is enough; 0: none is left.
        seed: Of the search.
        start: A schedule that is known; the answer is no worse.
    """
    started = time.perf_counter()
    if not _possible(fleet):
        return _answer(None, np.inf, 0, Status.INFEASIBLE, started)
    small, rows = without_dominated(fleet, tuple(run.choice for run in start or ()))
    best = _Best(fleet=small)
    back = {row: at for at, row in enumerate(rows.tolist())}
    best.offer(start and tuple(replace(run, choice=back[run.choice]) for run in start))
    best.offer(first_come(small))
    bound = _by_prices(small, best, gap, started + seconds / 2, seed)
    if bound is not None and not best.near(bound, gap):
        left = seconds - (time.perf_counter() - started)
        bound = _by_program(small, best, gap, left, bound, seed)
    if bound is None:
        return _answer(None, np.inf, 0, Status.INFEASIBLE, started)
    if best.schedule is None:
        return _answer(None, np.inf, bound, Status.TIME_LIMIT, started)
    early = packed(small, best.schedule)
    value, whole = objective_of(small, early), _renamed(early, rows)
    status = Status.OPTIMAL if bound >= value else Status.FEASIBLE
    return _answer(whole, value, min(bound, value), status, started)


def _by_prices(fleet: Fleet, best: _Best, gap: float, until: float, seed: int) -> int | None:
    """A bound, and better schedules; None: it is proved that there is none."""
    found = priced(fleet, gap, until)
    if found.bound > found.most:
        return None
    best.offer(found.schedule)
    if not best.near(found.bound, gap):
        begin = best.schedule if best.of_one_choice else found.schedule
        enough = found.bound / (1 - gap)
        best.offer(recreated(Windows(fleet), begin, found.cost, enough, until, seed))
    return found.bound


def _by_program(
    fleet: Fleet, best: _Best, gap: float, seconds: float, bound: int, seed: int
) -> int | None:
    """The same of the constraint program, which knows a bound; after a while it proves no more."""
    share = 1.0 if best.schedule is None else _PROVING
    ended = searched(
        Program(fleet), seconds=share * seconds, gap=gap, bound=bound, start=best.schedule,
        seed=seed,
    )  # fmt: skip
    if ended.status is Status.INFEASIBLE:
        return None
    best.offer(ended.schedule)
    bound = max(bound, ended.bound)
    if best.schedule is not None and not best.near(bound, gap):
        more = searched(
            Program(fleet), seconds=(1 - share) * seconds, gap=gap, bound=bound,
            start=best.schedule, seed=seed, beside=True,
        )  # fmt: skip
        best.offer(more.schedule)
    return bound


def _renamed(schedule: Schedule, rows: Ints) -> Schedule:
    return tuple(replace(run, choice=int(rows[run.choice])) for run in schedule)


@dataclass(slots=True, kw_only=True)
class _Best:
    """The best schedule so far."""

    fleet: Fleet
    schedule: Schedule | None = None
    value: float = np.inf

    def offer(self, schedule: Schedule | None) -> None:
        """Takes a schedule that is better and breaks nothing."""
        if schedule is None:
            return
        value = objective_of(self.fleet, schedule)
        if value < self.value and not broken(self.fleet, schedule):
            self.schedule, self.value = schedule, value

    def near(self, bound: int, gap: float) -> bool:
        """Whether no schedule is better by more than the gap."""
        return self.schedule is not None and self.value - bound <= gap * abs(self.value)

    @property
    def of_one_choice(self) -> bool:
        """Whether each job keeps its choice."""
        return self.schedule is not None and len(self.schedule) == len(self.fleet.jobs)


def _answer(
    schedule: Schedule | None, value: float, bound: float, status: Status, started: float
) -> Solution[Schedule]:
    return Solution(
        decision=schedule,
        objective=float(value),
        bound=float(bound),
        status=status,
        seconds=time.perf_counter() - started,
    )


def _possible(fleet: Fleet) -> bool:
    """Whether each job alone has a choice that its time and its cluster allow."""
    choices, jobs = fleet.choices, fleet.jobs
    last = np.minimum(fleet.horizon, jobs.latest)[choices.job]
    fits = jobs.release[choices.job] + choices.steps <= last
    fits |= jobs.segments[choices.job] > 1
    return len(np.unique(choices.job[fits & fits_alone(fleet)])) == len(jobs)
