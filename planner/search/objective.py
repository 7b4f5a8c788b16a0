"""The optimum of one objective on an exact front, and its proved bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.base.arrays import FloatArray
from planner.objectives import Costs, Objective
from solvers.solution import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """The best point of a front for one objective.

    Attributes:
        row: Its row in the front.
        value: Its value; `bound`: no plan is below this (equal when proved).
    """

    row: int
    value: float
    bound: float


def values(points: FloatArray, objective: Objective) -> FloatArray:
    """(f,) an objective of points (time, energy[, memory]) or (memory,)."""
    if points.shape[1] == 1:
        nothing = np.full(len(points), np.nan)
        memory = Costs(step_time_s=nothing, energy_j=nothing, memory_bytes=points[:, 0])
        return objective.values(memory)
    held = points[:, 2] if points.shape[1] > 2 else np.nan
    costs = Costs(step_time_s=points[:, 0], energy_j=points[:, 1], memory_bytes=held)
    return objective.values(costs)


def optimum(
    points: FloatArray, lowest: FloatArray, status: Status, objective: Objective
) -> Optimum:
    """The least value of an objective on a front.

    Every objective grows with time, energy and memory, so the least value over all plans is on
    the front. Ties go to the least of the other objectives in their order.

    Args:
        points: (f, d) the front, f >= 1.
        lowest: (d,) no plan is below this in any single objective.
        status: OPTIMAL when the front is complete.
        objective: What is minimized.
    """
    found = values(points, objective)
    row = int(np.lexsort((*points.T[::-1], found))[0])
    value = float(found[row])
    bound = value if status is Status.OPTIMAL else float(values(lowest[None], objective)[0])
    return Optimum(row=row, value=value, bound=min(bound, value))
