"""Every plan whose stages may differ, of jobs with few layers on few chips."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enumerated.allowed import fitting, wanted, within
from enumerated.found import Enumerated
from enumerated.plain import Plain, no_freedom
from enumerated.stages import MOST_PLANS, plans_of, rows_of, told
from enumerated.uniform import add_all
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.frameworks.framework import Target
from planner.objectives import Costs
from planner.plan import Plan, PlanTable
from planner.question.request import Request
from planner.question.resolved import Resolved, resolve


def on_one_machine(request: Request, plain: Plain = no_freedom) -> Enumerated:
    """All plans on the chips of a question."""
    resolved = resolve(request)
    found = _all(request, resolved, resolved.runners.targets, plain)
    if not len(found.front) and resolved.runners.assumed:
        found = _all(request, resolved, (), plain)
    return found


def _interleaved_alike(request: Request, model: CostModel) -> Request | None:
    """The question of interleaved plans with stages alike alone; None: it leaves none.

    Their chunks cost a v-th of their stage each, so that they may be faster than the same chunks
    listed (docs/uneven.md, Limits).
    """
    sizes = [v for v in wanted(request, "interleave", range(model.job.model.layers + 3)) if v > 1]
    fixed = {**request.fix, "interleave": [str(v) for v in sizes]}
    return request.model_copy(update={"fix": fixed}) if sizes else None


def _all(
    request: Request, resolved: Resolved, targets: Sequence[Target], plain: Plain
) -> Enumerated:
    found, model, listed = Enumerated(request), resolved.cost, list[Plan]()
    for row in rows_of(request, model, resolved.chips):
        listed += plans_of(model, row, MOST_PLANS - len(listed))
    if (alike := _interleaved_alike(request, model)) is not None:
        add_all(found, model, resolved.chips, targets, plain, alike)
    if not listed:
        return found
    plans = PlanTable.from_plans(listed)
    plans = plans.take(np.flatnonzero(fitting(request, model, plans)))
    if len(plans) and targets:
        plans = plans.take(np.flatnonzero(told(model, plans, targets)))
    if len(plans):
        totals = evaluate_totals(model, plans)
        costs = Costs(
            step_time_s=totals.step_time_s,
            energy_j=totals.energy_j,
            memory_bytes=totals.memory_bytes,
            chips=totals.chips.astype(np.float64),
        )
        allowed = within(request, [(model, resolved.chips)], costs)
        found.add(costs, allowed, plain(model, plans))
    return found
