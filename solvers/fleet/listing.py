"""Schedules made job by job: each in turn gets the best pair of choice and start that still fits.

First come first served with every job's fastest choice, which people use, is one of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solvers.fleet.problem import UNLIMITED, Fleet, Ints, Run, Schedule, lateness_of
from solvers.fleet.windows import Bools, Floats, Windows


def listed(
    windows: Windows, order: Sequence[int], cost: Floats, allowed: Bools | None = None
) -> Schedule | None:
    """The schedule that an order makes; None: some job no longer fits.

    Args:
        windows: The pairs of the fleet; jobs with several segments keep one choice.
        order: All jobs.
        cost: (c, t) what each pair costs; of those that cost the same, the one that ends first.
        allowed: (c,) the choices that may be used; None: all.
    """
    fleet = windows.fleet
    units = np.zeros((len(fleet.units), fleet.horizon), dtype=np.int64)
    power, left = np.zeros_like(units), fleet.money
    runs = []
    for job in order:
        rows = fleet.rows_of(job)
        rows = rows if allowed is None else rows[allowed[rows]]
        if fleet.money != UNLIMITED:
            rows = rows[windows.money[rows] <= left]
        run = _placed(windows, rows, cost, units, power)
        if run is None:
            return None
        at = int(fleet.choices.cluster[run.choice])
        units[at, run.start : run.end] += fleet.choices.units[run.choice]
        power[at, run.start : run.end] += fleet.choices.power[run.choice]
        left -= int(windows.money[run.choice]) if fleet.money != UNLIMITED else 0
        runs.append(run)
    schedule = tuple(sorted(runs, key=lambda run: (run.job, run.start)))
    over = fleet.most_late != UNLIMITED and lateness_of(fleet, schedule) > fleet.most_late
    return None if over else schedule


def _placed(windows: Windows, rows: Ints, cost: Floats, units: Ints, power: Ints) -> Run | None:
    """The cheapest pair of some rows that fits."""
    if not len(rows):
        return None
    fits = windows.fitting(rows, units, power)
    found = np.where(fits, cost[rows], np.inf)
    least = found.min()
    if not np.isfinite(least):
        return None
    tied = found <= least * (1 + 1e-12) + 1e-9
    ends = np.where(tied, windows.ends[rows], np.iinfo(np.int64).max)
    at, start = np.unravel_index(int(ends.argmin()), ends.shape)
    row = int(rows[at])
    return Run(
        job=int(windows.fleet.choices.job[row]),
        choice=row,
        start=int(start),
        steps=int(windows.fleet.choices.steps[row]),
    )


def first_come(fleet: Fleet) -> Schedule | None:
    """What people do: jobs in the order of their release, each its fastest choice, as soon as can be.

    None: the horizon or the money is over before every job has run. Deadlines are not looked at,
    and of several equally fast choices the first is taken.
    """
    windows = Windows(fleet)
    fastest = np.zeros(len(fleet.choices), dtype=np.bool_)
    for job in range(len(fleet.jobs)):
        rows = fleet.rows_of(job)
        fastest[rows] = fleet.choices.steps[rows] == fleet.choices.steps[rows].min()
    order = np.argsort(fleet.jobs.release, kind="stable").tolist()
    return listed(windows, order, windows.ends.astype(np.float64), fastest)


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
    """Whether runs that begin a step earlier fit beside others."""
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
