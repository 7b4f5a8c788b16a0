"""All (choice, start) pairs of a fleet at once: what a job alone would pay for each.

A pair costs the value of the choice, the lateness of its end, and the price of what it holds. Jobs
with several segments are taken to keep their choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from solvers.fleet.problem import UNLIMITED, Fleet, Ints

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices, none below 0, of what is limited.

    Attributes:
        units, power: (k, t) of one unit, and of one unit of power, in a step on a cluster.
        total_power: (t,) of one unit of power anywhere.
        money: Of one unit of money.
        late: Of one unit of weighted lateness.
    """

    units: Floats
    power: Floats
    total_power: Floats
    money: float
    late: float

    def paid(self, fleet: Fleet) -> float:
        """What all that there is costs."""
        limited = np.where(fleet.power == UNLIMITED, 0, fleet.power)
        total = self.units.sum(axis=1) @ fleet.units + self.power.sum(axis=1) @ limited
        total += self.total_power.sum() * max(fleet.total_power, 0)
        return float(total + self.money * max(fleet.money, 0) + self.late * max(fleet.most_late, 0))


class Windows:
    """The pairs of a fleet, as a table of choices and starts."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        choices, jobs = fleet.choices, fleet.jobs
        starts = np.arange(fleet.horizon)
        ends = starts + choices.steps[:, None]
        last = np.minimum(fleet.horizon, jobs.latest)[choices.job]
        release = jobs.release[choices.job]
        self.allowed: Bools = (starts >= release[:, None]) & (ends <= last[:, None])
        self.ends: Ints = np.minimum(ends, fleet.horizon)
        over = np.maximum(0, ends - jobs.deadline[choices.job][:, None])
        self.late: Ints = over * jobs.weight[choices.job][:, None]
        own = (choices.value[:, None] + self.late).astype(np.float64)
        self.own: Floats = np.where(self.allowed, own, np.inf)
        self.first: Ints = np.flatnonzero(np.diff(choices.job, prepend=-1))

    @cached_property
    def area(self) -> Ints:
        """(c,) units times steps."""
        return self.fleet.choices.units * self.fleet.choices.steps

    @cached_property
    def least_area(self) -> Ints:
        """(j,) of the choice of each job that has the least."""
        return np.minimum.reduceat(self.area, self.first)

    @cached_property
    def most(self) -> int:
        """No schedule has a higher value: jobs with several segments take all the time there is."""
        fleet = self.fleet
        choices, jobs = fleet.choices, fleet.jobs
        whole = np.where(self.allowed, self.own, 0.0).max(axis=1)
        several = jobs.segments[choices.job] > 1
        late = np.maximum(0, fleet.horizon - jobs.deadline) * jobs.weight
        longest = choices.step_value * fleet.horizon + late[choices.job]
        worst = np.where(several, np.maximum(longest, whole), whole)
        return math.ceil(float(np.maximum.reduceat(worst, self.first).sum()))

    def priced(self, prices: Prices) -> Floats:
        """(c, t) what each pair costs at these prices; infinite where it is not allowed."""
        fleet, choices = self.fleet, self.fleet.choices
        cost = self.own + prices.money * choices.money[:, None]
        if prices.late:
            cost = cost + prices.late * self.late
        cost += choices.units[:, None] * self._windows(prices.units)
        if (fleet.power != UNLIMITED).any():
            cost += choices.power[:, None] * self._windows(prices.power)
        if fleet.total_power != UNLIMITED:
            everywhere = np.broadcast_to(prices.total_power, prices.units.shape)
            cost += choices.power[:, None] * self._windows(everywhere)
        return cost

    def _windows(self, price: Floats) -> Floats:
        """(c, t) the sum of a price over the steps of each pair."""
        sums = np.zeros((price.shape[0], price.shape[1] + 1))
        np.cumsum(price, axis=1, out=sums[:, 1:])
        cluster = self.fleet.choices.cluster[:, None]
        windows: Floats = sums[cluster, self.ends] - sums[cluster, np.arange(self.fleet.horizon)]
        return windows

    def cheapest(self, cost: Floats) -> tuple[Floats, Ints, Ints]:
        """(j,) what the cheapest pair of each job costs, its row and its start."""
        start = cost.argmin(axis=1)
        of_row = cost[np.arange(len(cost)), start]
        least = np.minimum.reduceat(of_row, self.first)
        ends = [*self.first[1:].tolist(), len(cost)]
        rows = np.array([
            low + int(of_row[low:high].argmin())
            for low, high in zip(self.first.tolist(), ends, strict=True)
        ])  # fmt: skip
        return least, rows, start[rows]

    def fitting(self, rows: Ints, units: Ints, power: Ints) -> Bools:
        """(r, t) which pairs of some rows fit beside what is used.

        Args:
            rows: Of the choices.
            units, power: (k, t) what is held and drawn already.
        """
        fleet, choices = self.fleet, self.fleet.choices
        cluster = choices.cluster[rows]
        full = units[cluster] + choices.units[rows, None] > fleet.units[cluster, None]
        limited = fleet.power[cluster] != UNLIMITED
        drawn = power[cluster] + choices.power[rows, None]
        full |= limited[:, None] & (drawn > fleet.power[cluster, None])
        if fleet.total_power != UNLIMITED:
            full |= power.sum(axis=0) + choices.power[rows, None] > fleet.total_power
        sums = np.zeros((len(rows), fleet.horizon + 1), dtype=np.int64)
        np.cumsum(full, axis=1, out=sums[:, 1:])
        inside = np.take_along_axis(sums, self.ends[rows], axis=1) - sums[:, :-1]
        fits: Bools = (inside == 0) & self.allowed[rows]
        return fits
