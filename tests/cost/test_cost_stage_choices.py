"""Choices of single stages are checked and named like those of the plan."""

from dataclasses import replace

import pytest

from cost.cases import case_of, runnable
from planner.plan import Plan, PlanTable, Stage
from planner.rules import violations


@pytest.mark.parametrize("sharding", ["zero1", "zero3"])
def test_stage_choices_are_checked_like_those_of_the_plan(sharding: str) -> None:
    """A TPU has one clock, and sharding needs ranks, whether a plan or its stages say so."""
    case = case_of(cluster="tpu-v5p", framework="jax")
    plan = Plan(pp=4, sharding="ddp", sequence_parallel=False, schedule="gpipe")
    halves = (Stage(layers=2),) * 3
    assert not runnable(case, replace(plan, clock=0.6))
    assert not runnable(case, replace(plan, stages=(*halves, Stage(layers=2, clock=0.6))))
    assert not runnable(case, replace(plan, sharding=sharding))
    assert not runnable(case, replace(plan, stages=(*halves, Stage(layers=2, sharding=sharding))))


def test_a_broken_rule_names_its_stage_once() -> None:
    """A stage that chooses for itself is named; stages that inherit a choice share one line."""
    case = case_of(cluster="tpu-v5p", framework="jax")
    plan = Plan(pp=4, sharding="ddp", sequence_parallel=False, schedule="gpipe")
    halves = (Stage(layers=2),) * 3

    def lines(plan: Plan) -> list[str]:
        return violations(case.model, PlanTable.from_plans([plan, replace(plan, stages=None)]))

    own = lines(replace(plan, stages=(*halves, Stage(layers=2, clock=0.6))))
    assert len(own) == 1
    assert own[0].startswith("stage 4: clock 0.6")
    inherited = lines(replace(plan, clock=0.6, stages=(*halves, Stage(layers=2))))
    assert len(inherited) == 2  # once for the plan with stages, once for the one without
    assert inherited[0] == inherited[1]
