"""Experts of frameworks that divide each of them by tp; the experts of a plan are whole."""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.plan import Plan, PlanTable


def undivided(model: CostModel, plans: PlanTable) -> BoolArray:
    """Nothing divides experts, or there are none."""
    return np.asarray((plans.tp == 1) | (model.shapes.experts == 0))


def undivided_in_groups(model: CostModel, plans: PlanTable) -> BoolArray:
    """Expert groups keep experts whole; without them nothing may divide these."""
    return np.asarray((plans.ep > 1) | undivided(model, plans))


def divided(target: str, plan: Plan) -> str:
    """How a target cuts experts, in one sentence."""
    return (
        f"{target} divides the width of every expert by tp {plan.tp}, where the plan counts whole "
        "experts; nearest tp: 1"
    )
