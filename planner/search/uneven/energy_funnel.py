"""Which rows of an uneven search may hold a plan of the front of time and energy, and why not.

LB0, LB1, LB2   a step so long that waiting alone draws more than a known plan
                (`planner.search.uneven.bounds.time`); LB2 also drops what memory does not hold
LB_E            joules of every limit on the time above those of known plans
memory, ranges, columns   `planner.search.uneven.energy_rows`
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.cost.context import CostModel
from planner.frameworks.rules import TARGET
from planner.question.options import SpaceOptions
from planner.results.certificate import LAUNCHABLE, FunnelStage
from planner.search.deadline import Deadline
from planner.search.limits import Limits
from planner.search.uneven.bounds.energy import mean_bounds, memory_bounds, open_rows
from planner.search.uneven.bounds.launchable_memory import launchable_bound
from planner.search.uneven.bounds.memory import by_fullest
from planner.search.uneven.bounds.power import soonest_within
from planner.search.uneven.bounds.time import (
    RowForms,
    clocked_forms,
    first_bound,
    partial_plan_lower,
)
from planner.search.uneven.columns.integers import Units
from planner.search.uneven.counts import Counted, LogicalMeshes, logical_meshes
from planner.search.uneven.energy_rows import EnergyRows
from planner.search.uneven.launchable import launchable_rows
from planner.search.uneven.rows import Rows, cross_rows, uneven_partial_plans
from planner.search.uniform.space import PartialPlans
from solvers.stages.energy_bounds import MeanBound
from solvers.stages.family import UNLIMITED, FamilySearch, Point

_AT_A_TIME, _SECOND_AT_A_TIME = 100_000, 20_000
"""Rows whose bounds by time are in memory at once: LB1, LB2."""


@dataclass(slots=True, kw_only=True)
class Funnel:
    """What each bound dropped.

    Attributes:
        family: The rows that are left for the search.
        watts: That all chips draw while they wait.
        open_rows: That came to a bound and were not dropped, so far.
        left: (n,) rows of the family that are not excluded once the search ends.
        lowest_left: Joules, the least bound among those left; None without any.
        refused: See `Certificate`.
    """

    family: EnergyRows = field(init=False)
    watts: float
    open_rows: int = 0
    left: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    lowest_left: float | None = None
    refused: dict[str, int] = field(default_factory=dict)
    _counted: Counted = field(default_factory=lambda: Counted("J"))

    def drop(self, name: str, meshes: LogicalMeshes, joules: FloatArray, kept: IntArray) -> None:
        """Notes what a bound kept of rows that cost at least (n,) joules."""
        self.open_rows = len(kept)
        self._counted.add(name, meshes, joules, kept)

    def close(self, search: FamilySearch, point: Point) -> None:
        """Notes what each bound of the search dropped for its first point, and what is left."""
        low = search.bounds(point.limit)
        self._leave(low, np.asarray(low < search.enough(point.found)))
        joules = np.where(low >= UNLIMITED, np.inf, low) * self.family.units.joules
        kept = self.left.copy()
        kept[list(search.solved)] = True
        here = np.arange(len(self.family))
        for name, level in self.family.levels():
            left = np.flatnonzero(~level[here] | kept[here])
            self.drop(name, self.family.rows.take(here).logical_meshes, joules[here], left)
            here = here[left]

    def open_without(self, search: FamilySearch) -> None:
        """Notes what is left where no point was found."""
        low = search.bounds(int(self.family.upper_s / self.family.units.time_s))
        self._leave(low, low < UNLIMITED)

    def open_below(self, lows: Sequence[IntArray], above_s: Sequence[float], js: float) -> None:
        """Notes what is left in ranges of the step time where energy x time may be below `js`.

        Args:
            lows: (n,) bounds of the rows in each range.
            above_s: Its plans are slower.
            js: Joule seconds.
        """
        unit = self.family.units.joules
        left: BoolArray = np.array(
            [low * unit * s < js for low, s in zip(lows, above_s, strict=False)]
        )
        low = np.where(left, lows[: len(left)], UNLIMITED).min(axis=0)
        self._leave(low, low < UNLIMITED)

    def _leave(self, low: IntArray, left: BoolArray) -> None:
        """Notes rows that are left, with the bounds of all."""
        self.left = left
        self.lowest_left = float(low[left].min()) * self.family.units.joules if left.any() else None

    def stages(self) -> tuple[FunnelStage, ...]:
        """All so far."""
        return tuple(self._counted.stages())


class NoRowsError(Exception):
    """No row is left to choose from; the funnel says what dropped them."""


def energy_rows(
    model: CostModel,
    options: SpaceOptions,
    limits: Limits,
    chips: int,
    points: FloatArray,
    lower_s: float,
    upper_s: float,
    funnel: Funnel,
    deadline: Deadline,
) -> EnergyRows:
    """The rows that may hold a plan below the staircase of known plans.

    Args:
        model, options, limits: What is searched, and within what.
        chips: That plans use.
        points: (f, 2) seconds and joules of known plans, ascending in time.
        lower_s: No plan is faster.
        upper_s: Slower plans are not wanted.
        funnel: Notes what is dropped, and becomes that of the rows.
        deadline: When to give up.

    Raises:
        OutOfTime: The deadline passed.
        NoRowsError: There are none: stages cannot differ.
    """
    partial_plans = _partial_plans(model, options, chips, upper_s, funnel, deadline)
    rows = cross_rows(model, partial_plans, options, deadline)
    funnel.refused = {name: count for name, count in rows.counts.items() if TARGET in name}
    clocks = model.clocks(wanted=options.clocks)
    if not len(rows):
        funnel.open_rows = 0
        raise NoRowsError
    rows, forms = _timely(model, rows, clocks, upper_s, funnel, deadline)
    work = (model, limits, clocks, points, (lower_s, upper_s), funnel, deadline)
    left = _cheap(*work, rows, forms)
    if options.runnable_in and len(left.rows):
        rows = launchable_rows(model, options, left.rows)
        left = _cheap(*work, rows, clocked_forms(model, rows, clocks), LAUNCHABLE)
    rows, of, soonest = by_fullest(model, left.rows, left.forms, left.soonest_s)
    mean, memory = left.means
    family = EnergyRows(
        model=model,
        limits=limits,
        rows=rows,
        forms=left.forms.take(of),
        means=(mean.take(of), memory.take(of)),
        soonest_s=soonest,
        clocks=clocks,
        upper_s=upper_s,
        top_j=float(points[0, 1]) * (1 + 1e-6),
        standing_w=funnel.watts,
        units=Units.of(funnel.watts, upper_s),
        plans=[],
        deadline=deadline,
    )
    funnel.family = family
    return family


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """Rows that bounds leave, with what `EnergyRows` has of them."""

    rows: Rows
    forms: RowForms
    means: tuple[MeanBound, MeanBound]
    soonest_s: FloatArray


def _cheap(
    model: CostModel,
    limits: Limits,
    clocks: FloatArray,
    points: FloatArray,
    between_s: tuple[float, float],
    funnel: Funnel,
    deadline: Deadline,
    rows: Rows,
    forms: RowForms,
    which: str = "",
) -> _Left:
    """The rows that may hold a plan below known ones by their joules, their memory, and both."""
    lower_s, upper_s = between_s
    mean = mean_bounds(model, rows, forms, clocks, deadline)
    at = open_rows(mean, points)
    funnel.drop(f"LB_E{which}", rows.logical_meshes, mean.at(upper_s), at)
    rows, forms, mean = rows.take(at), forms.take(at), mean.take(at)
    soonest = np.maximum(_soonest(model, limits, rows, forms, upper_s, deadline), lower_s)
    if limits.power_w is not None:
        soonest = np.maximum(soonest, soonest_within(mean, limits.power_w, funnel.watts))
    at = np.flatnonzero(soonest <= upper_s)
    funnel.drop(f"LB2{which}", rows.logical_meshes, soonest * funnel.watts, at)
    rows, forms, mean, soonest = rows.take(at), forms.take(at), mean.take(at), soonest[at]
    memory = memory_bounds(model, limits, rows, forms, mean, clocks, float(points[0, 0]), deadline)
    at = open_rows(memory, points)
    funnel.drop(f"LB_E memory{which}", rows.logical_meshes, memory.at(upper_s), at)
    return _Left(
        rows=rows.take(at),
        forms=forms.take(at),
        means=(mean.take(at), memory.take(at)),
        soonest_s=soonest[at],
    )


def _soonest(
    model: CostModel,
    limits: Limits,
    rows: Rows,
    forms: RowForms,
    upper_s: float,
    deadline: Deadline,
) -> FloatArray:
    """(n,) LB2 in seconds, some rows at a time."""
    found = np.empty(len(rows))
    for at in deadline.parts(len(rows), _SECOND_AT_A_TIME):
        found[at] = launchable_bound(model, limits, rows.take(at), forms.take(at), upper_s)
    return found


def _partial_plans(
    model: CostModel,
    options: SpaceOptions,
    chips: int,
    upper_s: float,
    funnel: Funnel,
    deadline: Deadline,
) -> PartialPlans:
    """Partial plans that are not too slow on the best of networks."""
    partial_plans = uneven_partial_plans(model, (chips,), options)
    funnel.open_rows = len(partial_plans)
    soonest = partial_plan_lower(model, partial_plans, options, deadline)
    kept = np.flatnonzero(soonest <= upper_s)
    funnel.drop("LB0", logical_meshes(partial_plans), soonest * funnel.watts, kept)
    return partial_plans.take(kept)


def _timely(
    model: CostModel,
    rows: Rows,
    clocks: FloatArray,
    upper_s: float,
    funnel: Funnel,
    deadline: Deadline,
) -> tuple[Rows, RowForms]:
    """Rows that are not too slow at the best clocks, with their forms."""
    parts, soonest = [], np.empty(len(rows))
    for here in deadline.parts(len(rows), _AT_A_TIME):
        forms = clocked_forms(model, rows.take(here), clocks)
        soonest[here] = first_bound(forms)
        parts.append(forms.take(np.flatnonzero(soonest[here] <= upper_s)))
    kept = np.flatnonzero(soonest <= upper_s)
    funnel.drop("LB1", rows.logical_meshes, soonest * funnel.watts, kept)
    return rows.take(kept), RowForms.joined(parts)
