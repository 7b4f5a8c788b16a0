"""The optimum of one objective on an exact front, and its proved bound."""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.objectives import Costs, Objective
from planner.search.columns import BOTH, Columns, column_of
from solvers.solution import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """The best point of a front for one objective.

    Attributes:
        row: Its row in the front.
        value: Its value; `bound`: no plan is below this (equal when proved); None: nothing is
            known.
    """

    row: int
    value: float
    bound: float | None


def values(
    points: FloatArray, objective: Objective, columns: Columns = BOTH, chips: float = np.nan
) -> FloatArray:
    """(f,) an objective of points.

    Args:
        points: (f, d) of which `columns` are the objectives.
        objective: One of them, or a monotone one of time and energy.
        columns: Each column of `points`.
        chips: How many all the plans use.
    """
    if (found := column_of(points, columns, objective)) is not None:
        return found
    time_s, energy_j = (column_of(points, columns, one) for one in BOTH)
    assert objective.monotone
    assert time_s is not None
    assert energy_j is not None
    return objective.values(Costs(step_time_s=time_s, energy_j=energy_j, chips=chips))


def least_left(
    lowest: FloatArray, status: Status, objective: Objective, columns: Columns = BOTH
) -> float | None:
    """What no plan is below where time ran out before one was found; None: nothing is known.

    Args:
        lowest: (d,) no plan is below this in any single column; 0 where that is not known.
        status: How the search ended.
        objective: What is minimized.
        columns: The objectives of the front.
    """
    return _least(lowest, objective, columns) if status is Status.TIME_LIMIT else None


def _least(
    lowest: FloatArray, objective: Objective, columns: Columns, chips: float = np.nan
) -> float | None:
    """What no plan is below in an objective; None where that is nothing."""
    if not lowest.any():
        return None
    least = float(values(lowest[None], objective, columns, chips)[0])
    return least if 0 < least < np.inf else None


def optimum(
    points: FloatArray,
    lowest: FloatArray,
    status: Status,
    objective: Objective,
    columns: Columns = BOTH,
    chips: float = np.nan,
) -> Optimum:
    """The least value of an objective on a front.

    An objective that is a column of the front has its least value there, and so has one that grows
    with all its columns. Ties go to the least of the other columns in their order.

    Args:
        points: (f, d) the front, f >= 1.
        lowest: (d,) no plan is below this in any single column; 0 where that is not known.
        status: OPTIMAL when the front is complete.
        objective: What is minimized.
        columns: The objectives of the front.
        chips: How many all the plans use, where that counts.
    """
    found = values(points, objective, columns, chips)
    row = int(np.lexsort((*points.T[::-1], found))[0])
    value = float(found[row])
    bound = value if status is Status.OPTIMAL else _least(lowest, objective, columns, chips)
    return Optimum(row=row, value=value, bound=None if bound is None else min(bound, value))
