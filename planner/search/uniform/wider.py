"""What lifting a wish of a question would give: a plan that is better than the best one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.objectives import Objective
from planner.plan import PlanTable
from planner.search.driver import Driver, Found
from planner.search.rounding import SAME
from planner.search.uniform.engine import UniformSpace
from solvers.solution import Status


def better_plan(
    space: UniformSpace, objective: Objective, known: PlanTable, value: float
) -> tuple[PlanTable | None, bool]:
    """The plan of least objective, where it has less than a known one, and whether that is proved.

    The known plan is the incumbent: nodes whose lower bound is no less are not opened.

    Args:
        space: What is searched; its columns are of no account.
        objective: What there is to have less of.
        known: One row, a plan of the space.
        value: Its objective, in the unit of that.
    """

    def search() -> Found:
        driver = Driver()
        driver.start_from(space.model, known, np.array([[value]]), (objective,))
        return driver.run(*replace(space, columns=(objective,)).of_one_job)

    found = space.recalled("wider", search, objective, of=known.plan(0))
    better = float(found.points[0, 0]) < value * (1 - SAME)
    return found.plans.take(np.array([0])) if better else None, found.status is Status.OPTIMAL
