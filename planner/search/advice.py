"""Which plans to measure where the best ones cannot be told apart by a prediction."""

from __future__ import annotations

import numpy as np

from planner.cost.context import CostModel
from planner.cost.intervals import error_covariance, is_prediction, tie_noise
from planner.objectives import Objective
from planner.plan import PlanTable
from planner.search.best_few import BestFew
from solvers.selection import least_expected_minimum


def with_advice(
    model: CostModel, objective: Objective, few: BestFew
) -> tuple[PlanTable, frozenset[int]]:
    """The best plans, those near them that are worth measuring, and which of all to measure.

    Where the second plan ties with the first, those to measure are as many as there are best
    plans, but those whose best member is expected to be best: plans that are alike share their
    error, so that measuring all of them says little more than measuring one.

    Args:
        model: Job, cluster, assumptions.
        objective: What is minimized.
        few: The best plans, and others that were met.

    Returns:
        Plans, the best first, and positions among them; none where no two plans tie.
    """
    count, degree = len(few.plans), max(objective.degree, 1)
    apart = np.log(few.values / few.values[0]) / degree
    if not is_prediction(model.assumptions) or count < 2 or apart[1] > tie_noise(model.job):
        return few.plans, frozenset()
    every = PlanTable.joined([few.plans, few.near])
    chosen = least_expected_minimum(apart, error_covariance(model.job, every), count)
    rows = [*range(count), *(row for row in chosen if row >= count)]
    return every.take(np.array(rows)), frozenset(rows.index(row) for row in chosen)
