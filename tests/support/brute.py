"""Step times of all plans of a small question, in every order: what best plans are held to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from planner.answers.evaluation import limits_of, options_of
from planner.cost.evaluate import evaluate_table
from planner.plan import ORDERS, Plan, PlanTable
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.search.oracle.oracle import _whole_space

Loads = Callable[[PlanTable], Any]


def brute_force_s(fields: dict[str, Any], loads: Loads) -> float:
    """The least step time of all plans in every order, of those that a checkpoint loads into."""
    times = (times.min(initial=np.inf) for _, times in _by_order(fields, loads))
    return float(min(times, default=np.inf))


def every_plan_s(fields: dict[str, Any]) -> dict[Plan, float]:
    """The step time of each plan that fits."""
    found: dict[Plan, float] = {}
    for plans, times in _by_order(fields, lambda plans: np.ones(len(plans), dtype=np.bool_)):
        found |= {plans.plan(at): float(time) for at, time in enumerate(times)}
    return found


def _by_order(fields: dict[str, Any], loads: Loads) -> Iterator[tuple[PlanTable, Any]]:
    """The plans that fit, with their step times, order by order."""
    request = request_from(fields)
    resolved = resolve(request)
    model, options = resolved.cost, options_of(request, resolved.runners.targets)
    plans = _whole_space(model, fields["chips"], options).plans
    plans = plans.take(np.flatnonzero(loads(plans)))
    for order in options.orders(model.framework) if len(plans) else ():
        placed = replace(plans, order=np.full(len(plans), ORDERS.index(order)))
        costs = evaluate_table(model, placed)
        fits, _ = limits_of(request).memory(model, placed, costs.memory)
        rows = np.flatnonzero(fits)
        yield placed.take(rows), costs.step_time_s[rows]
