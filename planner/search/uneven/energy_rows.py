"""The rows of an uneven search as a family of stage problems of time and joules.

A row has, in turn, the mean bound; with the memory of its stages; with ranges of its slowest stage;
its columns with prices of a second. Each costs more and is tighter; a row is taken to the next one
only while it may hold a plan below the cheapest that is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from planner.cost.context import CostModel
from planner.plan import BoolArray, FloatArray, IntArray
from planner.search.limits import Limits
from planner.search.uneven.bounds import RowForms
from planner.search.uneven.columns import RowColumns, Units, row_columns
from planner.search.uneven.energy_bounds import full_work
from planner.search.uneven.rows import Rows
from solvers.stages.energy_bounds import (
    BottleneckBound,
    MeanBound,
    bottleneck_bound,
    filled_mean_bound,
)
from solvers.stages.family import UNLIMITED
from solvers.stages.priced import PricedBound, priced_bound
from solvers.stages.problem import Ints, StageProblem

_MEAN, _MEMORY, _RANGES, _COLUMNS = range(4)
_INTERVALS = 16
_PRICES = 8
_AT_A_TIME = 64
"""Rows whose ranges are bounded together."""


@dataclass(slots=True, kw_only=True)
class EnergyRows:
    """A family in the sense of `solvers.stages.family`.

    Attributes:
        model, limits: Job, machine, memory and power.
        rows: n rows.
        forms: Theirs.
        mean: Their mean bounds.
        soonest_s: (n,) no plan of a row takes less time.
        clocks: (k,) relative clocks of stages.
        upper_s: No limit is above it.
        units: Of all columns.
    """

    model: CostModel
    limits: Limits
    rows: Rows
    forms: RowForms
    mean: MeanBound
    soonest_s: FloatArray
    clocks: FloatArray
    upper_s: float
    units: Units
    columns: dict[int, RowColumns | None] = field(init=False, default_factory=dict)
    _level: IntArray = field(init=False)
    _blocks: list[tuple[IntArray, BottleneckBound]] = field(init=False, default_factory=list)
    _priced: dict[int, PricedBound] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._level = np.full(len(self.rows), _MEAN, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def slack(self) -> FloatArray:
        """(n,) units by which a plan may be longer or dearer than its integers say."""
        plans = self.rows.plans
        return np.asarray(2 * self.rows.micro_batches(self.model) + 4 * plans.pp + 16)

    def bounds(self, limit: int | None) -> Ints:
        """(n,) units of joules below which no choice within `limit` units of time is."""
        upper = self.upper_s / self.units.time_s
        most = upper if limit is None else min(float(limit), upper)
        limits = (most + self.slack) * self.units.time_s
        joules = self.mean.at(limits)
        for rows, bound in self._blocks:
            joules[rows] = np.maximum(joules[rows], bound.at(limits[rows]))
        joules = np.where(self.soonest_s > limits, np.inf, joules)
        units = np.minimum(joules / self.units.joules - self.slack, float(UNLIMITED))
        low = np.maximum(units, 0.0).astype(np.int64)
        for row, priced in self._priced.items():
            low[row] = max(low[row], _whole(priced.at(limit)))
        for row, columns in self.columns.items():
            if columns is None:
                low[row] = UNLIMITED
        return low

    def levels(self) -> list[tuple[str, BoolArray]]:
        """Names of the bounds in order, each with the (n,) rows that it is the last of."""
        names = ("LB_E mean", "LB_E memory", "LB_E ranges", "columns")
        return [(name, self._level == level) for level, name in enumerate(names)]

    def loose(self) -> BoolArray:
        """(n,) rows that have no columns yet."""
        return np.asarray(self._level < _COLUMNS)

    def tighten(self, rows: Ints, limit: int | None) -> None:
        """The next bound of the first of `rows`, and of others that are as far."""
        level = int(self._level[rows[0]])
        if level == _RANGES:
            self._to_columns(int(rows[0]), limit)
            return
        same = rows[self._level[rows] == level]
        if level == _RANGES - 1:
            same = same[:_AT_A_TIME]
        upper_s = self.upper_s if limit is None else limit * self.units.time_s
        price = self.mean.price(min(upper_s, self.upper_s))[same]
        prices = np.stack([np.zeros(len(same)), price / 2, price], axis=1)
        few, forms = self.rows.take(same), self.forms.take(same)
        work = full_work(self.model, self.limits, few, forms, self.clocks)
        beyond = np.full(len(same), self.upper_s * (1 + 1e-6))
        if level == _MEAN:
            bound = filled_mean_bound(work, prices, beyond)
        else:
            bound = bottleneck_bound(work, self._edges(forms), prices, beyond)
        self._blocks.append((same, bound))
        self._level[same] = level + 1

    def _edges(self, forms: RowForms) -> FloatArray:
        """(n, g + 1) ranges of the slowest stage within the upper limit."""
        upper_s = self.upper_s * (1 + 1e-6)
        most = np.minimum(forms.slowest_within(upper_s) * (1 + 1e-9), upper_s)
        low = forms.slowest
        steps = np.linspace(0.0, 1.0, _INTERVALS + 1)
        return np.asarray(low[:, None] + steps * np.maximum(most - low, 0.0)[:, None])

    def _to_columns(self, row: int, limit: int | None) -> None:
        """Makes the columns of a row, and their bound by prices."""
        upper_s = self.upper_s if limit is None else (limit + self.slack[row]) * self.units.time_s
        made = row_columns(
            self.model,
            self.limits,
            self.rows,
            row,
            self.clocks,
            min(upper_s, self.upper_s),
            units=self.units,
            energy=True,
        )
        self.columns[row] = made
        self._level[row] = _COLUMNS
        if made is not None:
            self._priced[row] = priced_bound(made.problem, self._prices(row), beyond=limit)

    def _prices(self, row: int) -> FloatArray:
        """(z,) units of joules per unit of time at which settings of the row tie."""
        unit = self.units.joules / self.units.time_s
        ties = np.unique(self.mean.prices[row] / unit)
        few = ties[np.linspace(0, len(ties) - 1, min(_PRICES, len(ties))).astype(np.intp)]
        return np.unique(np.concatenate([[0.0], few]))

    def problem(self, row: int, _limit: int | None) -> StageProblem | None:
        """The columns of a row."""
        columns = self.columns[row]
        return None if columns is None else columns.problem


def _whole(bound: float) -> int:
    """A bound on whole numbers."""
    if bound == math.inf:
        return UNLIMITED
    return 0 if bound <= 0 else math.ceil(bound)
