"""The rows of an uneven search as a family of stage problems of time and joules.

A row has, in turn, the mean bounds; that with ranges of its slowest stage; columns with prices of a
second. Each costs more and is tighter; a row is taken to the next one only while it may hold a plan
below the cheapest that is known.

No plan of a row that takes longer than (E - still) / standing power costs less than E, where still
is the least that the row's plans cost beside what their time adds. With E the joules of the fastest
plan that is known, no slower plan matters at any limit. Nor does a row cost less than still and
what waiting costs in its least time.
"""

from __future__ import annotations

import math
from dataclasses import field, replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.cost.context import CostModel
from planner.plan import Plan
from planner.search.deadline import Deadline, OutOfTime
from planner.search.limits import Limits
from planner.search.rounding import ROUNDED_DOWN
from planner.search.uneven.bounds.energy import full_work, slowest_ranges
from planner.search.uneven.bounds.power import price_within, ranges_within
from planner.search.uneven.bounds.time import RowForms
from planner.search.uneven.columns.columns import RowColumns, row_columns
from planner.search.uneven.columns.integers import Units
from planner.search.uneven.rows import Rows
from solvers.stages.backend import UnansweredError
from solvers.stages.energy_bounds import BottleneckBound, MeanBound, bottleneck_bound
from solvers.stages.family import UNLIMITED, Known
from solvers.stages.priced import PricedBound, priced_bound
from solvers.stages.problem import Choice, Ints, StageProblem, TooManyColumnsError

LEVELS = ("LB_E again", "LB_E ranges", "columns")
_MEAN, _RANGES, _COLUMNS = range(len(LEVELS))
_PRICES = 8
_AT_A_TIME = 64
"""Rows whose ranges are bounded together."""
_ROUNDED_UP = 1 + 1e-6


@dataclass(slots=True, kw_only=True)
class EnergyRows:
    """A family in the sense of `solvers.stages.family`.

    Attributes:
        model, limits: Job, machine, memory and power.
        rows: n rows.
        forms: Theirs.
        means: Their mean bounds, without and with memory.
        soonest_s: (n,) no plan of a row takes less time.
        clocks: (k,) relative clocks of stages.
        upper_s: No limit is above it.
        top_j: Nothing dearer is wanted.
        standing_w: That all chips draw while they wait.
        units: Of the family.
        plans: Known by their number.
        deadline: When to give up making columns.
        columns: Of the rows that have come to them.
        unmade: Rows whose columns are too many.
    """

    model: CostModel
    limits: Limits
    rows: Rows
    forms: RowForms
    means: tuple[MeanBound, MeanBound]
    soonest_s: FloatArray
    clocks: FloatArray
    upper_s: float
    top_j: float
    standing_w: float
    units: Units
    plans: list[Plan]
    deadline: Deadline
    columns: dict[int, RowColumns | None] = field(init=False, default_factory=dict)
    unmade: set[int] = field(init=False, default_factory=set)
    _latest_s: FloatArray = field(init=False)
    _least_j: FloatArray = field(init=False)
    _level: IntArray = field(init=False)
    _blocks: list[tuple[IntArray, BottleneckBound]] = field(init=False, default_factory=list)
    _priced: dict[int, tuple[PricedBound, int]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._level = np.full(len(self.rows), _MEAN, dtype=np.int64)
        self._latest_s = np.full(len(self.rows), self.upper_s)
        still = np.maximum(*(mean.still for mean in self.means))
        latest = (self.top_j - still) / self.standing_w * _ROUNDED_UP
        self._latest_s = np.minimum(self._latest_s, latest)
        self._least_j = (still + self.standing_w * self.soonest_s) * ROUNDED_DOWN

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def slack(self) -> FloatArray:
        """(n,) units of time by which a plan may be longer than its integers say."""
        plans = self.rows.plans
        return np.asarray(2 * self.rows.micro_batches(self.model) + 4 * plans.pp + 16)

    @property
    def slack_cost(self) -> FloatArray:
        """(n,) units of joules by which a plan may be dearer than its integers say."""
        per_time = round(self.standing_w * self.units.time_s / self.units.joules)
        return np.asarray(per_time * self.slack + self.rows.plans.pp)

    def bounds(self, limit: int | None) -> Ints:
        """(n,) units of joules below which no choice within `limit` units of time is."""
        asked = np.inf if limit is None else (limit + self.slack) * self.units.time_s
        latest = np.minimum(asked, self._latest_s)
        joules = np.maximum(self._least_j, [mean.at(latest) for mean in self.means]).max(axis=0)
        for rows, bound in self._blocks:
            joules[rows] = np.maximum(joules[rows], bound.at(latest[rows]))
        joules = np.where(self.soonest_s > latest, np.inf, joules)
        low = np.clip(joules / self.units.joules - self.slack_cost, 0, UNLIMITED).astype(np.int64)
        for row, (priced, scale) in self._priced.items():
            within = None if limit is None else (limit + 1) * scale - 1
            low[row] = max(low[row], _whole(priced.at(within)) // scale)
        gone = [row for row, columns in self.columns.items() if columns is None]
        low[gone] = UNLIMITED
        top = int(self.top_j / self.units.joules)
        return np.where(asked > self._latest_s, np.minimum(low, top), low)

    def levels(self) -> list[tuple[str, BoolArray]]:
        """Names of the bounds in order, each with the (n,) rows that it is the last of."""
        return [(name, self._level == level) for level, name in enumerate(LEVELS)]

    def loose(self) -> BoolArray:
        """(n,) rows that have no columns yet."""
        return np.asarray(self._level < _COLUMNS)

    def tighten(self, rows: Ints, limit: int | None) -> None:
        """The next bound of the first of `rows`, and of others that are as far."""
        level = int(self._level[rows[0]])
        if level == _RANGES:
            self._to_columns(int(rows[0]), limit)
            return
        same = rows[self._level[rows] == level][:_AT_A_TIME]
        self._bound(same, limit)
        self._level[same] = _RANGES

    def problem(self, row: int, _limit: int | None) -> StageProblem | None:
        """The columns of a row.

        Raises:
            UnansweredError: They are too many.
        """
        if row in self.unmade:
            raise UnansweredError("the columns of a row are too many")
        columns = self.columns[row]
        return None if columns is None else columns.problem

    def scale(self, row: int) -> int:
        """Units of a row in one of the family."""
        columns = self.columns[row]
        return 1 if columns is None else self._scale(columns)

    def real(self, row: int, choice: Choice) -> Known | None:
        """The plan of a choice, known by its number."""
        columns = self.columns[row]
        assert columns is not None
        scale = self._scale(columns)
        self.plans.append(columns.plan(choice))
        return Known(
            time=choice.time // scale,
            cost=choice.cost // scale,
            row=row,
            choice=choice,
            problem=columns.problem,
            label=len(self.plans) - 1,
        )

    def _scale(self, columns: RowColumns) -> int:
        return round(self.units.time_s / columns.units.time_s)

    def _bound(self, rows: IntArray, limit: int | None) -> None:
        """The bound of rows by ranges of their slowest stage."""
        upper_s = self.upper_s if limit is None else limit * self.units.time_s
        price = self.means[0].price(min(upper_s, self.upper_s))[rows]
        power_w, other = self.limits.power_w, price / 2
        if power_w is not None:
            other = price_within(self.means[0].take(rows), power_w)
        prices = np.stack([np.zeros(len(rows)), other, price], axis=1)
        few, forms = self.rows.take(rows), self.forms.take(rows)
        work = full_work(self.model, self.limits, few, forms, self.clocks)
        beyond = self._latest_s[rows] * _ROUNDED_UP
        edges = slowest_ranges(forms, beyond)
        bound = bottleneck_bound(work, edges, prices, beyond)
        self._blocks.append((rows, bound if power_w is None else ranges_within(bound, power_w)))

    def _to_columns(self, row: int, limit: int | None) -> None:
        """Makes the columns of a row, and their bound."""
        upper_s = float(self._latest_s[row])
        if limit is not None:
            upper_s = min(upper_s, (limit + self.slack[row]) * self.units.time_s)
        self._level[row] = _COLUMNS
        at = (self.model, self.limits, self.rows, row, self.clocks, upper_s)
        try:
            made = row_columns(*at, units=self.units, energy=True, deadline=self.deadline)
        except TooManyColumnsError:
            self.unmade.add(row)
            return
        except OutOfTime:  # the search ends
            self._level[row] = _RANGES
            return
        self.columns[row] = made
        if made is not None and made.inside is not None:
            self.columns[row] = replace(made, problem=made.inside)
        if made is not None:
            scale = self._scale(made)
            beyond = None if limit is None else (limit + 1) * scale - 1
            bound = priced_bound(made.problem, self._prices(row), beyond=beyond)
            self._priced[row] = bound, scale

    def _prices(self, row: int) -> FloatArray:
        """(z,) units of joules per unit of time at which settings of the row tie."""
        unit = self.units.joules / self.units.time_s
        ties = np.unique(self.means[0].prices[row] / unit)
        few = ties[np.linspace(0, len(ties) - 1, min(_PRICES, len(ties))).astype(np.intp)]
        return np.unique(np.concatenate([[0.0], few]))


def _whole(bound: float) -> int:
    """A bound on whole numbers."""
    if bound == math.inf:
        return UNLIMITED
    return 0 if bound <= 0 else math.ceil(bound)
