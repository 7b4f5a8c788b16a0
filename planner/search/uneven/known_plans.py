"""Plans that are known before a front of uneven plans is searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.base.arrays import FloatArray
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.plan import Plan, PlanTable
from planner.results.certificate import UnevenFound
from planner.search.driver import Found
from solvers.frontier import nondominated


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPlans:
    """Plans that are known before the search.

    Attributes:
        plans: Non-dominated, ascending in time.
        points: (f, 2) seconds and joules.
    """

    plans: list[Plan]
    points: FloatArray


def known_plans(model: CostModel, start: UnevenFound, uniform: Found) -> KnownPlans:
    """Uniform plans and the fastest one, as the cost model evaluates them."""
    plans = [table.plan(i) for table in (start.plans, uniform.plans) for i in range(len(table))]
    points = seconds_and_joules(model, plans)
    keep = nondominated(points)
    return KnownPlans(plans=[plans[i] for i in keep], points=points[keep])


def seconds_and_joules(model: CostModel, plans: Sequence[Plan]) -> FloatArray:
    """(n, 2) seconds and joules."""
    totals = evaluate_totals(model, PlanTable.from_plans(plans))
    return np.stack([totals.step_time_s, totals.energy_j], axis=1)
