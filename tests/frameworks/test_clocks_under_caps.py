"""Clocks that a plan may have: those of its chip, and what a power cap makes of them."""

from dataclasses import replace

import numpy as np
from support.cases import each
from support.jobs import cost_model, dense_model

from hardware_db import list_chips, load_chip
from planner.cost.context import CostModel
from planner.cost.energy.clock import LEAST_CAP_SHARE
from planner.frameworks.rules import broken
from planner.plan import Plan, PlanTable
from planner.question.defaults import Defaults
from planner.question.facility import clock_limit_of

SETTABLE = [name for name in list_chips() if load_chip(name).clock_settable]


def refused(model: CostModel, clock: float) -> list[str]:
    """What the rule about clocks says of a plan at a clock."""
    plans = PlanTable.from_plans([Plan(dp=2, clock=clock)])
    return [line for rule, line in broken(model, plans) if rule.name == "clock"]


def capped(chip: str, share: float) -> CostModel:
    """A small job on chips that may draw a share of their rated power."""
    model = cost_model(dense_model(2, 1024, 8, 8, 4096), "dgx-h100-ndr", global_batch=8)
    model = replace(model, cluster=replace(model.cluster, chip=load_chip(chip)))
    cap = max(share * model.chip.tdp_w, model.chip.idle_w)
    return replace(model, clock_limit=clock_limit_of(cap, model.chip, Defaults()))


@each("chip", SETTABLE)
def test_every_clock_that_is_searched_may_be_run(chip: str) -> None:
    """Under every cap that is allowed; and none that the cap does not lead to."""
    for share in (LEAST_CAP_SHARE, 0.6, 0.8, 1.0):
        model = capped(chip, share)
        clocks = model.clocks(wanted=True)
        assert not any(refused(model, float(clock)) for clock in clocks)
        assert refused(model, float(np.nextafter(clocks[-1], 0)))
        assert refused(model, 1.01)


def test_some_caps_are_below_the_lowest_level() -> None:
    models = [capped(chip, LEAST_CAP_SHARE) for chip in SETTABLE]
    below = [one for one in models if one.clock_limit < min(one.chip.clock_levels)]
    assert len(below) > 3
    free = replace(below[0], clock_limit=1.0)
    (said,) = refused(free, below[0].clock_limit)
    assert f"is outside {min(free.chip.clock_levels):g}..1 of {free.chip.name}" in said


def test_a_chip_without_levels_has_one_clock() -> None:
    free = cost_model(dense_model(2, 1024, 8, 8, 4096), "tpu-v5p", global_batch=8)
    assert free.clocks(wanted=True).tolist() == [1.0]
    assert refused(free, 0.9)
