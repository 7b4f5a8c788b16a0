"""Plans that are known before a front of uneven plans is searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.base.arrays import FloatArray
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.plan import Plan, PlanTable
from planner.results.certificate import UnevenFound
from planner.search.driver import Found
from solvers.frontier import nondominated


def with_uniform(model: CostModel, start: UnevenFound, uniform: Found) -> UnevenFound:
    """The outcome of a search for the fastest plan, with all non-dominated plans that are known.

    Uniform plans and the fastest one, as the cost model evaluates them, ascending in time.
    """
    plans = [table.plan(i) for table in (start.plans, uniform.plans) for i in range(len(table))]
    points = seconds_and_joules(model, plans)
    keep = nondominated(points)
    known = PlanTable.from_plans([plans[i] for i in keep])
    return replace(start, plans=known, points=points[keep])


def seconds_and_joules(model: CostModel, plans: Sequence[Plan]) -> FloatArray:
    """(n, 2) seconds and joules."""
    totals = evaluate_totals(model, PlanTable.from_plans(plans))
    return np.stack([totals.step_time_s, totals.energy_j], axis=1)
