"""The columns of a front: objectives of plans, and what none of them goes below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.cost.context import CostModel
from planner.cost.energy.energy import standing_w
from planner.objectives import ENERGY, TIME, Bounds, Costs, Objective, RunCosts
from planner.search.limits import Limits, by_count

if TYPE_CHECKING:
    from planner.cost.goodput.runs import Kept

Columns = tuple[Objective, ...]
BOTH: Columns = (TIME, ENERGY)
_ROUNDED_UP = 1 + 1e-9


def points_of(columns: Columns, costs: Costs) -> FloatArray:
    """(n, d) the objectives of n plans."""
    return np.stack([column.values(costs) for column in columns], axis=1)


def corners_of(
    columns: Columns, model: CostModel, limits: Limits, chips: IntArray, low: Costs
) -> FloatArray:
    """(n, k, d) lower bounds of the objectives; inf where no whole run is within its limits.

    Args:
        columns: The objectives.
        model, limits: Of the search.
        chips: (n,) that the plans use.
        low: (n, k) least time, energy and memory.
    """
    bounds = Bounds(low=low)
    if not all(column.monotone for column in columns):
        bounds = Bounds(
            low=low,
            longest_s=by_count(chips, lambda n: limits.longest_s(model, n))[:, None] * _ROUNDED_UP,
            standing_w=by_count(chips, lambda n: n * standing_w(model, n))[:, None],
        )
    shape = np.shape(low.step_time_s)
    least = np.stack([np.broadcast_to(one.least(bounds), shape) for one in columns], axis=2)
    if limits.on_run and low.run is not None:
        least[~limits.may_run(model, low.run)] = np.inf
    return least


def asks_run(columns: Columns, limits: Limits) -> bool:
    """Whether what whole runs take is an objective, or limited."""
    return limits.on_run or any(column.of_run for column in columns)


def least_runs(
    model: CostModel, kept: Kept | IntArray | None, times: FloatArray, energies: FloatArray
) -> RunCosts | None:
    """(n, k) what no whole runs go below; None where nothing is asked of these.

    Args:
        model: Job, machine and run.
        kept: (n,) what they need, or the chips of plans of which no more is known.
        times, energies: (n, k) lower bounds of a step.
    """
    if kept is None:
        return None
    from planner.cost.goodput.runs import (  # noqa: PLC0415  (few ask)
        COLUMN,
        Kept,
        least_kept,
        least_run_costs,
    )

    known = kept if isinstance(kept, Kept) else least_kept(model, kept)
    return least_run_costs(model, known.at(COLUMN), times, energies)


def proving(objective: Objective) -> Columns:
    """Columns of a front that holds the least of an objective."""
    return (TIME, objective) if objective.over_chips or not objective.monotone else BOTH


def prover_of(objective: Objective, shown: Columns) -> Columns:
    """The columns that are searched for the least of an objective: those shown, if they hold it.

    Memory has a search of its own.
    """
    own = proving(objective)
    held = at(shown, objective) is not None or all(at(shown, one) is not None for one in own)
    return shown if held or objective.of_memory else own


def at(columns: Sequence[Objective], objective: Objective) -> int | None:
    """Which column an objective is; None: it is none."""
    names = [column.name for column in columns]
    return names.index(objective.name) if objective.name in names else None


def column_of(
    points: FloatArray, columns: Sequence[Objective], objective: Objective
) -> FloatArray | None:
    """An objective of points, or a lower bound of it; None where the columns do not tell."""
    place = at(columns, objective)
    return None if place is None else np.asarray(points[..., place])
