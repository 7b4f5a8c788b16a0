"""The optimum of one objective on an exact front, and its proved bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.base.arrays import FloatArray
from solvers.solution import Status

OBJECTIVES = ("time", "energy", "edp", "memory")


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


def values(points: FloatArray, objective: str) -> FloatArray:
    """(f,) an objective of points (time, energy[, memory]) or (memory,): s, J, J s or bytes."""
    if objective == "edp":
        product: FloatArray = points[:, 0] * points[:, 1]
        return product
    column: FloatArray = points[:, {"time": 0, "energy": 1, "memory": -1}[objective]]
    return column


def optimum(points: FloatArray, lowest: FloatArray, status: Status, objective: str) -> Optimum:
    """The least value of an objective on a front.

    Every objective grows with time, energy and memory, so the least value over all plans is on
    the front. Ties go to the least of the other objectives in their order.

    Args:
        points: (f, d) the front, f >= 1.
        lowest: (d,) no plan is below this in any single objective.
        status: OPTIMAL when the front is complete.
        objective: One of `OBJECTIVES`.
    """
    found = values(points, objective)
    row = int(np.lexsort((*points.T[::-1], found))[0])
    value = float(found[row])
    bound = value if status is Status.OPTIMAL else float(values(lowest[None], objective)[0])
    return Optimum(row=row, value=value, bound=min(bound, value))
