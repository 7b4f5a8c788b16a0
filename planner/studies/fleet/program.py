"""The fleet as arrays of whole numbers, and what their units are.

Money is in hundredths, energy in Wh, power in steps of 100 W; needs are rounded up and limits
down, so that what the arrays allow is allowed. Times are steps of the grid, rounded up. What is
weighted has a unit of its own, 10^-10 of the largest sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.base.arrays import FloatArray as Floats
from planner.base.errors import InputError
from planner.base.units import DAY_S
from planner.cost.goodput.goodput import usual_upkeep
from planner.studies.fleet.choices import Choice
from planner.studies.fleet.form import COST, ENERGY, WEIGHTED
from planner.studies.fleet.question import FleetQuestion
from solvers.fleet.problem import UNLIMITED, Choices, Fleet, Ints, Jobs

POWER_W = 100.0
MONEY = 0.01
ENERGY_KWH = 1e-3
_UNITS = {COST: MONEY, ENERGY: ENERGY_KWH}
_FINEST = 1e-10
"""Of what is weighted: the unit, as a share of the most that all jobs add without lateness."""
_WORK = 10**9
_LARGEST = 2.0**52
_LONGEST = 1e12
_SHORTEST = 1e-6  # of a step of the grid: what takes less is rounded up to one step either way
_EXACT = 1e-9


def program_of(question: FleetQuestion, choices: Sequence[Choice], *, hard: bool) -> Fleet:
    """The arrays of a fleet.

    Args:
        question: The fleet.
        choices: Of all jobs, by job.
        hard: Whether deadlines have to be held.
    """
    return Fleet(
        jobs=_jobs(question, choices, hard=hard),
        choices=_rows(question, choices, question.objective),
        units=np.array([site.units for site in question.sites], dtype=np.int64),
        power=np.array([_limit(site.form.max_power, POWER_W) for site in question.sites]),
        total_power=_limit(question.form.max_power, POWER_W),
        money=_limit(question.form.budget, MONEY),
        horizon=question.steps,
    )


def _limit(value: float | None, unit: float) -> int:
    return UNLIMITED if value is None else math.floor(value / unit * (1 + _EXACT))


def unit_of(question: FleetQuestion, choices: Sequence[Choice]) -> float:
    """What one of the whole numbers of the objective is: of money, kWh, days late, or weighted."""
    if question.objective != WEIGHTED:
        return _UNITS.get(question.objective, question.grid_s / DAY_S)
    most = _most_weighted(question, choices)
    if not most:
        return question.weights.lateness * question.grid_s / DAY_S or 1.0
    late = float(_late_steps(question, choices).max(initial=0.0)) * question.steps
    return max(most * _FINEST, (most + late) * len(question.tasks) / _LARGEST)


def _most_weighted(question: FleetQuestion, choices: Sequence[Choice]) -> float:
    """The most that all jobs could add to what is weighted, beside lateness."""
    values, steps = _values(question, choices, WEIGHTED), _steps(question, choices)
    several = np.array([question.tasks[one.task].segments > 1 for one in choices])
    of_step = values / np.clip(steps, _SHORTEST, None)
    values = np.where(steps > question.steps, 0.0, values)  # no schedule has those
    values = np.where(several, of_step * question.steps, values)  # at any size, all the time
    most = np.zeros(len(question.tasks))
    np.maximum.at(most, np.array([one.task for one in choices], dtype=np.int64), values)
    return float(most.sum())


def _late_steps(question: FleetQuestion, choices: Sequence[Choice]) -> Floats:
    """(j,) what a step of lateness of each job adds to the objective.

    Priorities are whole, so lateness differs by a step of priority 1 or not at all. Where that
    weighs more than all else together, it is what is least first, however much more it weighs. So
    it counts as twice all else at most, of which the other half is for what is rounded up.
    """
    counted = [one.form.priority if one.deadline is not None else 0 for one in question.tasks]
    step = question.grid_s / DAY_S
    if question.objective == WEIGHTED:
        step *= question.weights.lateness
        most = _most_weighted(question, choices)
        step = min(step, 2.0 * most) if most else step
    return np.array(counted) * step * question.counts_lateness


def _steps(question: FleetQuestion, choices: Sequence[Choice]) -> Floats:
    """(c,) steps of the grid that each choice runs, before they are rounded."""
    return np.array([one.days for one in choices]) * DAY_S / question.grid_s


def _jobs(question: FleetQuestion, choices: Sequence[Choice], *, hard: bool) -> Jobs:
    tasks, steps = question.tasks, question.steps
    deadline = np.array([steps if one.deadline is None else one.deadline for one in tasks])
    weight = np.rint(_late_steps(question, choices) / unit_of(question, choices))
    _check_small("weights", weight * steps, len(tasks))
    return Jobs(
        release=np.array([one.release for one in tasks], dtype=np.int64),
        deadline=deadline.astype(np.int64),
        weight=weight.astype(np.int64),
        latest=deadline.astype(np.int64) if hard else np.full(len(tasks), steps, dtype=np.int64),
        work=np.full(len(tasks), _WORK, dtype=np.int64),
        segments=np.array([one.segments for one in tasks], dtype=np.int64),
    )


def _rows(question: FleetQuestion, choices: Sequence[Choice], objective: str) -> Choices:
    steps = _steps(question, choices)
    usable = steps <= question.steps
    steps = np.clip(steps, _SHORTEST, _LONGEST)  # the most: far beyond the last step of any grid
    money = np.array([one.money or 0.0 for one in choices]) / MONEY
    unit = unit_of(question, choices) if objective == question.objective else _UNITS[objective]
    value = _values(question, choices, objective) / unit
    _check_small("price_per_chip_hour", money[usable], len(question.tasks))
    _check_small("weights", value[usable], len(question.tasks))
    money, value = np.minimum(money, _LARGEST), np.minimum(value, _LARGEST)
    rate = np.maximum(1, _up(_WORK / steps))
    several = np.array([question.tasks[one.task].segments > 1 for one in choices])
    restart = np.array([_restart_steps(question, one) for one in choices])
    return Choices(
        job=np.array([one.task for one in choices], dtype=np.int64),
        cluster=np.array([one.site for one in choices], dtype=np.int64),
        steps=np.where(several, -(-_WORK // rate), np.maximum(1, _up(steps))),
        units=np.array([one.units for one in choices], dtype=np.int64),
        power=_up(np.array([one.power_w for one in choices]) / POWER_W),
        money=_up(money),
        value=_up(value),
        rate=rate,
        lost=_up(rate * restart),
        step_money=_up(money / steps),
        step_value=_up(value / steps),
    )


def _check_small(name: str, values: Floats, jobs: int) -> None:
    """Refuses amounts whose sum over the jobs a whole number cannot hold exactly.

    Raises:
        InputError: They are too large.
    """
    if values.max(initial=0.0) * jobs > _LARGEST:
        raise InputError(f"{name}: makes sums beyond {_LARGEST * MONEY:.3g}; give smaller figures")


def _up(values: Floats) -> Ints:
    """Rounded up, but for what floating point may have added."""
    return np.asarray(np.ceil(values * (1 - _EXACT) - _EXACT), dtype=np.int64)


def _restart_steps(question: FleetQuestion, choice: Choice) -> float:
    """Steps in which a job that was resized does not work: its restart."""
    own = question.tasks[choice.task].request.restart
    return (usual_upkeep().restart_s if own is None else own) / question.grid_s


def _values(question: FleetQuestion, choices: Sequence[Choice], objective: str) -> Floats:
    """(c,) what each choice adds to an objective beside lateness, in money, kWh or weighted."""
    money = np.array([one.money or 0.0 for one in choices])
    energy = np.array([one.energy_kwh for one in choices])
    if objective == COST:
        return money
    if objective == ENERGY:
        return energy
    if objective == WEIGHTED:
        return question.weights.cost * money + question.weights.energy * energy
    return np.zeros(len(choices))


def second_of(question: FleetQuestion) -> str:
    """What decides between schedules that are equally late: cost, or energy without prices."""
    return COST if question.priced else ENERGY


def by_second(fleet: Fleet, question: FleetQuestion, choices: Sequence[Choice], late: int) -> Fleet:
    """The program that looks for the least of `second_of` among schedules with no more lateness."""
    return replace(fleet, choices=_rows(question, choices, second_of(question)), most_late=late)
