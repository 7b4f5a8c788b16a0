"""The least that one limit of an impossible fleet has to be for a schedule to be possible."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from solvers.fleet.cpsat import searched
from solvers.fleet.problem import Fleet
from solvers.fleet.program import END, LATE, MONEY, POWER, TOTAL_POWER, UNITS, Program
from solvers.solution import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Least:
    """A value of a limit that is enough, and whether it is proved that less is not."""

    value: int
    proved: bool


def more_units(fleet: Fleet, at: int, seconds: float) -> Least | None:
    """Units of a cluster; None: no number of them is enough, or none was found."""
    return _least(Program(fleet, UNITS, at), seconds)


def more_power(fleet: Fleet, at: int | None, seconds: float) -> Least | None:
    """Power of a cluster, or of all."""
    program = Program(fleet, TOTAL_POWER) if at is None else Program(fleet, POWER, at)
    return _least(program, seconds)


def more_money(fleet: Fleet, seconds: float) -> Least | None:
    """Money."""
    return _least(Program(fleet, MONEY), seconds)


def longer_horizon(fleet: Fleet, seconds: float) -> Least | None:
    """Steps until the last job ends, deadlines that have to be held kept."""
    steps = np.zeros(len(fleet.jobs), dtype=np.int64)
    np.maximum.at(steps, fleet.choices.job, fleet.choices.steps)
    longer = int(fleet.horizon + fleet.jobs.release.max() + steps.sum())
    open_ended = fleet.jobs.latest >= fleet.horizon
    jobs = replace(fleet.jobs, latest=np.where(open_ended, longer, fleet.jobs.latest))
    return _least(Program(replace(fleet, jobs=jobs, horizon=longer), END), seconds)


def later_deadlines(fleet: Fleet, seconds: float) -> Least | None:
    """Steps by which all deadlines that have to be held would have to be later."""
    held = fleet.jobs.latest < fleet.horizon
    jobs = replace(
        fleet.jobs,
        latest=np.full(len(held), fleet.horizon, dtype=np.int64),
        deadline=np.where(held, fleet.jobs.latest, fleet.horizon),
    )
    return _least(Program(replace(fleet, jobs=jobs), LATE), seconds)


def _least(program: Program, seconds: float) -> Least | None:
    found = searched(program, seconds=seconds)
    if found.schedule is None:
        return None
    return Least(value=found.value, proved=found.status is Status.OPTIMAL)
