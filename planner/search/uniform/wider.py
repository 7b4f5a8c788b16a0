"""What lifting a wish of a question would give: a plan that is better than the best one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.cost.evaluate import evaluate_table
from planner.objectives import Costs, Objective
from planner.plan import PlanTable
from planner.search.driver import Driver
from planner.search.ties import SAME
from planner.search.uniform.engine import UniformSpace
from solvers.solution import Status


def better_plan(
    space: UniformSpace, objective: Objective, known: PlanTable
) -> tuple[PlanTable | None, bool]:
    """The plan of least objective, where it has less than a known one, and whether that is proved.

    The known plan is the incumbent: nodes whose lower bound is no less are not opened.

    Args:
        space: What is searched; its columns are of no account.
        objective: What there is to have less of.
        known: One row, a plan of the space.
    """
    value = _value(space, objective, known)
    driver = Driver()
    driver.start_from(space.model, known, np.array([[value]]), (objective,))
    found = driver.run(replace(space, columns=(objective,)))
    better = float(found.points[0, 0]) < value * (1 - SAME)
    return found.plans.take(np.array([0])) if better else None, found.status is Status.OPTIMAL


def _value(space: UniformSpace, objective: Objective, plan: PlanTable) -> float:
    """The objective of one plan."""
    costs = evaluate_table(space.model, plan)
    return objective.value_of(
        Costs(
            step_time_s=float(costs.step_time_s[0]),
            energy_j=float(costs.energy.total[0]),
            memory_bytes=float(costs.memory_per_chip_bytes[0]),
            chips=float(plan.chips[0]),
        )
    )
