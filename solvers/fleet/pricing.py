"""A bound from prices of what is limited, and schedules that follow the prices.

At any prices that are not below 0, what all jobs pay for their cheapest pairs of choice and start,
less the price of all that there is, is no more than the value of any schedule: the Lagrangian bound
of the program over (choice, start) pairs, whose best value is that of its linear relaxation. With
one price for all steps it is the bound of areas. Subgradient steps find good prices (Held, Wolfe,
Crowder, Validation of subgradient optimization, Math. Programming 6 (1974), 62-88; of schedules:
Fisher, The Lagrangian relaxation method, Management Science 27 (1981), 1-18).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers.fleet.listing import in_order
from solvers.fleet.problem import UNLIMITED, Fleet, Ints, Schedule, objective_of
from solvers.fleet.windows import Floats, Prices, Windows

_ROUNDS, _ROUNDS_PER_JOB = 600, 15
_TRIED_EVERY = 10
_STALLED = 20
_QUICK = 3
"""Steps without a better bound, and the few after which the next goal is further away."""
_ENOUGH = 0.1
"""Share of the way to the goal that counts as a better bound."""
_SMALLEST_REACH = 3e-4
"""Share of the bound below which a goal is not worth a step."""
_EXACT = 1e-9
"""Below this, and of a quotient that is rounded, floating point may be what is left."""
_ROUNDED = 1e-11
"""What sums of up to 10^5 floating point numbers lose at most, of the sum of their sizes."""


@dataclass(slots=True, kw_only=True)
class Priced:
    """What the prices found.

    Attributes:
        bound: No schedule has a lower value; above `most`, there is none at all.
        most: No schedule has a higher value.
        schedule, value: The best one found, and its value; None and infinite: none.
        cost: (c, t) what each pair costs at the prices of the best bound.
        rounds: Steps taken.
    """

    bound: int
    most: int
    schedule: Schedule | None
    value: float
    cost: Floats
    rounds: int


def priced(fleet: Fleet, gap: float, deadline: float) -> Priced:
    """A bound and a schedule.

    Args:
        fleet: Every job has a choice that its time allows.
        gap: The relative one that is enough.
        deadline: Of `time.perf_counter`.
    """
    windows = Windows(fleet)
    found = Priced(
        bound=0, most=windows.most, schedule=None, value=math.inf, cost=windows.own, rounds=0
    )
    prices = _free(fleet)
    floor = _floor(fleet)
    reach, stalled, best, kept = 0.0, 0, -math.inf, prices
    rounds = min(_ROUNDS, _ROUNDS_PER_JOB * len(fleet.jobs))
    while found.rounds < rounds and not _done(found, gap, deadline):
        cost = windows.priced(prices)
        least, rows, starts = windows.cheapest(cost)
        least = np.where(fleet.jobs.segments == 1, least, floor)
        paid = prices.paid(fleet)
        bound = float(least.sum()) - paid
        safe = math.ceil(bound - _ROUNDED * (float(np.abs(least).sum()) + paid) - _EXACT)
        found.bound = max(found.bound, safe)
        if found.rounds % _TRIED_EVERY == 0:
            _try(windows, cost, starts, rows, found)
        found.rounds += 1
        reach = reach or _first_reach(found, bound)
        if bound > best + _ENOUGH * reach:
            reach = 2 * reach if stalled < _QUICK else reach
            best, stalled, kept, found.cost = bound, 0, prices, cost
        elif (stalled := stalled + 1) >= _STALLED:
            reach, stalled, prices, bound = reach / 2, 0, kept, best
            if reach < _SMALLEST_REACH * max(abs(best), 1.0):
                break
            least, rows, starts = windows.cheapest(windows.priced(prices))
        goal = min(best + reach, found.value, found.most + 1.0)
        prices = _moved(windows, prices, (rows, starts), max(goal - bound, 1e-9 * goal + 1e-9))
    return found


def _done(found: Priced, gap: float, deadline: float) -> bool:
    """Whether no more steps are needed, or there is no time for them."""
    near = found.schedule is not None and found.value - found.bound <= gap * abs(found.value)
    return near or found.bound > found.most or time.perf_counter() > deadline


def _first_reach(found: Priced, bound: float) -> float:
    """How far above the bound the first goal is."""
    if found.schedule is not None:
        return max(found.value - bound, 1e-9)
    return 0.1 * abs(bound) + 0.01 * found.most + 1e-9


def _free(fleet: Fleet) -> Prices:
    nothing = np.zeros((len(fleet.units), fleet.horizon))
    return Prices(units=nothing, power=nothing, total_power=nothing[0], money=0.0, late=0.0)


def _floor(fleet: Fleet) -> Floats:
    """(j,) no less than this is paid for a job with several segments, whatever the prices are."""
    floor = np.zeros(len(fleet.jobs))
    jobs, choices = fleet.jobs, fleet.choices
    for job in np.flatnonzero(jobs.segments > 1).tolist():
        rows = fleet.rows_of(job)
        share = choices.step_value[rows] / choices.rate[rows]
        earliest = int(jobs.release[job]) + math.ceil(jobs.work[job] / choices.rate[rows].max())
        late = max(0, earliest - int(jobs.deadline[job])) * int(jobs.weight[job])
        in_steps = float(jobs.work[job]) * float(share.min()) * (1 - _EXACT)
        floor[job] = min(in_steps, float(choices.value[rows].min())) + late
    return floor


def _try(windows: Windows, cost: Floats, starts: Ints, rows: Ints, found: Priced) -> None:
    """Makes schedules that follow prices, and keeps the best."""
    fleet = windows.fleet
    middle = starts + fleet.choices.steps[rows] / 2
    for order in (starts, middle, windows.ends[rows, starts]):
        for costs in (cost, windows.own):
            schedule = in_order(windows, np.argsort(order, kind="stable").tolist(), costs)
            if schedule is None:
                continue
            value = objective_of(fleet, schedule)
            if value < found.value:
                found.schedule, found.value = schedule, value


def _moved(windows: Windows, prices: Prices, pairs: tuple[Ints, Ints], length: float) -> Prices:
    """Prices a step further: higher where more is asked for than there is, else lower."""
    fleet, (rows, starts) = windows.fleet, pairs
    used = np.flatnonzero(fleet.jobs.segments == 1)
    units = -np.repeat(fleet.units[:, None], fleet.horizon, axis=1).astype(np.float64)
    power = np.zeros_like(units)
    choices = fleet.choices
    for row, start in zip(rows[used].tolist(), starts[used].tolist(), strict=True):
        at, end = choices.cluster[row], start + choices.steps[row]
        units[at, start:end] += choices.units[row]
        power[at, start:end] += choices.power[row]
    everywhere = (power.sum(axis=0) - fleet.total_power) * (fleet.total_power != UNLIMITED)
    limited = (fleet.power != UNLIMITED)[:, None]
    power = np.where(limited, power - fleet.power[:, None], 0.0)
    money = float(choices.money[rows[used]].sum() - fleet.money) * (fleet.money != UNLIMITED)
    late = float(windows.late[rows[used], starts[used]].sum() - fleet.most_late)
    late *= fleet.most_late != UNLIMITED
    slopes = {
        "units": units, "power": power, "total_power": everywhere, "money": money, "late": late,
    }  # fmt: skip
    return Prices(
        **{name: _stepped(getattr(prices, name), slopes[name], length) for name in slopes}
    )


def _stepped(price: Any, slope: Any, length: float) -> Any:
    """One kind of price along its slope; kinds are scaled so that none drowns the others.

    A price at 0 that would fall does not move, so that its slope is no reason for caution.
    """
    active = np.where((np.asarray(price) <= 0) & (np.asarray(slope) < 0), 0.0, slope)
    square = float(np.square(active).sum())
    after = np.maximum(0.0, price + (length / square if square else 0.0) * active)
    return float(after) if isinstance(price, float) else after
