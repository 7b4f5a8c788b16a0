"""The best schedule of a fleet, proved or with its gap."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from solvers.fleet.cpsat import Program, searched
from solvers.fleet.listing import first_come, packed
from solvers.fleet.pricing import priced
from solvers.fleet.problem import (
    UNLIMITED,
    Fleet,
    Schedule,
    broken,
    objective_of,
    without_dominated,
)
from solvers.fleet.recreating import recreated
from solvers.fleet.windows import Windows
from solvers.solution import Solution, Status


def solve(
    fleet: Fleet, *, seconds: float = 60.0, gap: float = 0.0, seed: int = 0
) -> Solution[Schedule]:
    """The schedule of least value.

    Args:
        fleet: What is asked.
        seconds: Wall time that there is.
        gap: The relative gap that is enough; 0: none is left.
        seed: Of the search.
    """
    started = time.perf_counter()
    if not _possible(fleet):
        return _answer(None, np.inf, 0, Status.INFEASIBLE, started)
    small, rows = without_dominated(fleet)
    found = priced(small, gap, started + seconds / 2)
    if found.bound > found.most:
        return _answer(None, np.inf, 0, Status.INFEASIBLE, started)
    schedule, value, bound = found.schedule, found.value, found.bound
    if (usual := first_come(small)) is not None and not broken(small, usual):
        usual_value = objective_of(small, usual)
        if usual_value < value:
            schedule, value = usual, usual_value
    if schedule is None or value - bound > gap * abs(value):
        better = recreated(
            Windows(small), schedule, bound / (1 - gap), started + seconds / 2, seed
        )
        if better is not None and (better_value := objective_of(small, better)) < value:
            schedule, value = better, better_value
    if schedule is None or value - bound > gap * abs(value):
        left = seconds - (time.perf_counter() - started)
        ended = searched(
            Program(small), seconds=left, gap=gap, bound=bound, start=schedule, seed=seed
        )
        if ended.status is Status.INFEASIBLE:
            return _answer(None, np.inf, 0, Status.INFEASIBLE, started)
        bound = max(bound, ended.bound)
        if ended.schedule is not None and ended.value < value:
            schedule, value = ended.schedule, ended.value
    if schedule is None:
        return _answer(None, np.inf, bound, Status.TIME_LIMIT, started)
    whole = tuple(replace(run, choice=int(rows[run.choice])) for run in packed(small, schedule))
    value = objective_of(fleet, whole)
    bound = min(bound, value)
    status = Status.OPTIMAL if bound >= value else Status.FEASIBLE
    return _answer(whole, value, bound, status, started)


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
    fits &= choices.units <= fleet.units[choices.cluster]
    limited = fleet.power[choices.cluster] != UNLIMITED
    fits &= ~limited | (choices.power <= fleet.power[choices.cluster])
    if fleet.total_power != UNLIMITED:
        fits &= choices.power <= fleet.total_power
    return len(np.unique(choices.job[fits])) == len(jobs)
