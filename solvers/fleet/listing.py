"""Schedules made job by job: each in turn gets the best pair of choice and start that still fits.

First come first served with every job's fastest choice, which people use, is one of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solvers.fleet.problem import UNLIMITED, Fleet, Ints, Run, Schedule
from solvers.fleet.windows import Bools, Floats, Windows


class Board:
    """What a part of a schedule uses, to which jobs are added and from which they are taken.

    Jobs with several segments keep one choice.

    Args:
        windows: The pairs of the fleet.
        allowed: (c,) the choices that may be used; None: all.
    """

    def __init__(self, windows: Windows, allowed: Bools | None = None) -> None:
        self.windows, self.fleet = windows, windows.fleet
        fleet = self.fleet
        self.units: Ints = np.zeros((len(fleet.units), fleet.horizon), dtype=np.int64)
        self.power: Ints = np.zeros_like(self.units)
        self.money, self.late = 0, 0
        self.runs: dict[int, Run] = {}
        rows = [fleet.rows_of(job) for job in range(len(fleet.jobs))]
        self.rows = rows if allowed is None else [own[allowed[own]] for own in rows]

    def add(self, run: Run) -> None:
        """Adds a job."""
        self.runs[run.job] = run
        self._count(run, 1)

    def take(self, job: int) -> None:
        """Takes a job away, if it is there."""
        if (run := self.runs.pop(job, None)) is not None:
            self._count(run, -1)

    def _count(self, run: Run, times: int) -> None:
        choices, at = self.fleet.choices, int(self.fleet.choices.cluster[run.choice])
        self.units[at, run.start : run.end] += times * int(choices.units[run.choice])
        self.power[at, run.start : run.end] += times * int(choices.power[run.choice])
        self.money += times * int(choices.money[run.choice])
        self.late += times * int(self.windows.late[run.choice, run.start])

    def best(self, job: int, cost: Floats) -> Run | None:
        """The cheapest pair of a job that fits; of equal ones, the one that ends first."""
        fleet, rows = self.fleet, self.rows[job]
        if fleet.money != UNLIMITED:
            rows = rows[fleet.choices.money[rows] <= fleet.money - self.money]
        if not len(rows):
            return None
        fits = self.windows.fitting(rows, self.units, self.power)
        if fleet.most_late != UNLIMITED:
            fits &= self.windows.late[rows] <= fleet.most_late - self.late
        found = np.where(fits, cost[rows], np.inf)
        least = float(found.min())
        if not np.isfinite(least):
            return None
        tied = found <= least + 1e-12 * abs(least) + 1e-9
        ends = np.where(tied, self.windows.ends[rows], np.iinfo(np.int64).max)
        at, start = np.unravel_index(int(ends.argmin()), ends.shape)
        row = int(rows[at])
        steps = int(fleet.choices.steps[row])
        return Run(job=job, choice=row, start=int(start), steps=steps)

    def fill(self, order: Sequence[int], cost: Floats) -> list[int]:
        """Adds jobs in an order; those that no longer fit."""
        left = []
        for job in order:
            run = self.best(job, cost)
            if run is None:
                left.append(job)
            else:
                self.add(run)
        return left

    @property
    def schedule(self) -> Schedule | None:
        """The schedule; None: some job has no place yet."""
        whole = len(self.runs) == len(self.fleet.jobs)
        return tuple(self.runs[job] for job in sorted(self.runs)) if whole else None


def in_order(windows: Windows, order: Sequence[int], cost: Floats) -> Schedule | None:
    """The schedule that an order makes; None: some job no longer fits."""
    board = Board(windows)
    return None if board.fill(order, cost) else board.schedule


def first_come(fleet: Fleet) -> Schedule | None:
    """What people do: jobs in the order of release, each its fastest choice, as soon as can be.

    None: the horizon or the money is over before every job has run. Of several equally fast choices
    the first is taken; deadlines that must be held are.
    """
    windows = Windows(fleet)
    fastest = np.zeros(len(fleet.choices), dtype=np.bool_)
    for job in range(len(fleet.jobs)):
        rows = fleet.rows_of(job)
        rows = rows[fits_alone(fleet)[rows]]
        if len(rows):
            fastest[rows[int(fleet.choices.steps[rows].argmin())]] = True
    order = np.argsort(fleet.jobs.release, kind="stable").tolist()
    board = Board(windows, fastest)
    ends = np.where(windows.allowed, windows.ends, np.inf)
    return None if board.fill(order, ends) else board.schedule


def fits_alone(fleet: Fleet) -> Bools:
    """(c,) which choices hold and draw no more than there is."""
    choices = fleet.choices
    power = fleet.power[choices.cluster]
    fits = choices.units <= fleet.units[choices.cluster]
    fits &= (power == UNLIMITED) | (choices.power <= power)
    fits &= (fleet.total_power == UNLIMITED) | (choices.power <= fleet.total_power)
    return np.asarray(fits)


def earliest_end(fleet: Fleet, job: int) -> int | None:
    """The step at which a job ends alone; None: none of its choices is within units and power."""
    rows = fleet.rows_of(job)
    rows = rows[fits_alone(fleet)[rows]]
    return int(fleet.jobs.release[job] + fleet.choices.steps[rows].min()) if len(rows) else None


def packed(fleet: Fleet, schedule: Schedule) -> Schedule:
    """The same choices, with each run as early as the others leave it, in the order of starts.

    Nothing ends later, so that nothing gets worse; segments of a job move together.
    """
    starts: dict[int, int] = {}
    for run in schedule:
        starts[run.job] = min(run.start, starts.get(run.job, run.start))
    found = list(schedule)
    for job in sorted(starts, key=lambda job: (starts[job], job)):
        own = [run for run in found if run.job == job]
        others = [run for run in found if run.job != job]
        while (moved := _earlier(own)) and _room(fleet, others, moved):
            own = moved
        found = others + own
    return tuple(sorted(found, key=lambda run: (run.job, run.start)))


def _earlier(runs: Sequence[Run]) -> list[Run]:
    return [
        Run(job=run.job, choice=run.choice, start=run.start - 1, steps=run.steps) for run in runs
    ]


def _room(fleet: Fleet, others: Sequence[Run], own: Sequence[Run]) -> bool:
    """Whether runs that begin a step earlier fit beside others, in the step that is new."""
    first = own[0]
    if first.start < fleet.jobs.release[first.job]:
        return False
    choices = fleet.choices
    for run in own:
        at, step = int(choices.cluster[run.choice]), run.start
        beside = [r.choice for r in others if r.start <= step < r.end]
        here = [row for row in beside if choices.cluster[row] == at]
        units = int(choices.units[here].sum()) + int(choices.units[run.choice])
        power = int(choices.power[here].sum()) + int(choices.power[run.choice])
        everywhere = int(choices.power[beside].sum()) + int(choices.power[run.choice])
        if units > fleet.units[at]:
            return False
        if fleet.power[at] != UNLIMITED and power > fleet.power[at]:
            return False
        if fleet.total_power != UNLIMITED and everywhere > fleet.total_power:
            return False
    return True
