"""Clocks of the stages of a given plan against all of them."""

from itertools import product

import numpy as np
import pytest
from support.jobs import cost_model, dense_model
from test_uneven_front import same_staircase, with_clocks

from planner.base.arrays import FloatArray
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.plan import Plan, PlanTable
from planner.search.uneven.clocks import clock_front, explicit_plan, with_stage_clocks
from solvers.frontier import nondominated

CLOCKS = (1.0, 0.8, 0.6)
PLANS = {
    "1f1b": Plan(pp=4, dp=2, micro_batch=1),
    "gpipe": Plan(pp=4, dp=2, schedule="gpipe"),
    "zero-bubble": Plan(pp=4, dp=2, schedule="zero-bubble", recompute="full"),
    "interleaved": Plan(pp=4, dp=2, schedule="interleaved", interleave=3, recompute="selective"),
    "even-counted": Plan(pp=2, tp=4, schedule="interleaved", interleave=7, split="even-counted"),
    "dualpipe": Plan(pp=4, dp=2, schedule="dualpipe", micro_batch=1),
    "alone": Plan(dp=8, sharding="zero2"),
}


def job() -> CostModel:
    model = cost_model(dense_model(12, 2048, 16, 16, 8192), "dgx-h100-ndr", global_batch=16)
    return with_clocks(model, CLOCKS)


def points_of(model: CostModel, plans: list[Plan]) -> FloatArray:
    cost = evaluate_totals(model, PlanTable.from_plans(plans))
    return np.stack([cost.step_time_s, cost.energy_j], axis=1)


@pytest.mark.parametrize("name", PLANS)
def test_the_front_of_clocks_is_that_of_all_clocks(name: str) -> None:
    model, plan = job(), explicit_plan(job(), PLANS[name])
    every = [with_stage_clocks(plan, clocks) for clocks in product(CLOCKS, repeat=plan.pp)]
    true = points_of(model, every)
    plans, points = clock_front(model, PLANS[name])
    assert same_staircase(points, true[nondominated(true)])
    assert np.allclose(points_of(model, plans), points, rtol=1e-12)
    assert (np.diff(points[:, 0]) > 0).all()


@pytest.mark.parametrize("name", PLANS)
def test_a_listed_plan_costs_what_the_plan_costs(name: str) -> None:
    model, plan = job(), PLANS[name]
    same = points_of(model, [plan, explicit_plan(model, plan)])
    if name == "even-counted":  # its first and last chunk are shorter than what fills the pipeline
        assert (same[0] <= same[1]).all()
        assert same[1] == pytest.approx(same[0], rel=0.01)
    else:
        assert same[1] == pytest.approx(same[0], rel=1e-9)


def test_no_plan_is_slower_than_wanted() -> None:
    model, plan = job(), PLANS["1f1b"]
    fastest = float(points_of(model, [plan])[0, 0])
    _, points = clock_front(model, plan, 1.1 * fastest)
    assert points[0, 0] == pytest.approx(fastest, rel=1e-9)
    assert points[-1, 0] <= 1.1 * fastest * (1 + 1e-9)
    assert clock_front(model, plan, 0.5 * fastest) == ([], pytest.approx(np.empty((0, 2))))
