"""The clocks of a plan's stages."""

from planner.plan import Plan, Stage
from planner.plan.clocks import clocks_of


def test_a_stage_without_a_clock_has_that_of_its_plan() -> None:
    stages = (Stage(layers=3), Stage(layers=5, clock=0.7))
    assert clocks_of(Plan(pp=2, clock=0.9, stages=stages)) == (0.9, 0.7)
    assert clocks_of(Plan(pp=2, clock=0.9)) == (0.9, 0.9)
