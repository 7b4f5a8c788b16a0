"""Bounds on the joules of rows under a limit on power that a plan of theirs just obeys."""

import math

import numpy as np
import pytest
from support.cases import each
from support.jobs import cost_model, dense_model
from support.uneven import every_plan, rows_of

from planner.cost.context import CostModel
from planner.cost.energy.energy import standing_w
from planner.cost.evaluate import evaluate_totals
from planner.plan import PlanTable
from planner.question.options import SpaceOptions
from planner.search.deadline import NEVER
from planner.search.limits import Limits
from planner.search.uneven.bounds.energy import full_work
from planner.search.uneven.bounds.power import ranges_within
from planner.search.uneven.bounds.time import row_forms
from planner.search.uneven.energy_funnel import Funnel, energy_rows
from planner.search.uneven.energy_rows import EnergyRows
from planner.search.uneven.terms import row_terms
from solvers.stages.energy_bounds import BottleneckBound
from solvers.stages.family import UNLIMITED


def row_of(model: CostModel, power_w: float, upper_s: float, stages: int = 1) -> EnergyRows:
    """The row of some stages of one chip."""
    fixed = {"pp": {stages}, "micro_batch": {1}, "recompute": {0, 2}, "sharding": {0}}
    fixed["interleave"] = {1}
    options = SpaceOptions(fixed={name: frozenset(value) for name, value in fixed.items()})
    far = np.array([[1e-9, 1e9]])
    limits, funnel = Limits(power_w=power_w), Funnel(watts=standing_w(model, 1))
    family = energy_rows(model, options, limits, stages, far, 1e-9, upper_s, funnel, NEVER)
    assert len(family) == 1
    return family


def family_of(model: CostModel, power_w: float, upper_s: float) -> EnergyRows:
    """The row of one stage on one chip, with the bound of its ranges."""
    family = row_of(model, power_w, upper_s)
    family.tighten(np.array([0]), None)
    return family


def test_a_plan_that_just_obeys_the_power_is_in_the_bounds() -> None:
    """Each of 20 plans is in time for itself; the bound of the fastest one is its own time."""
    model = cost_model(dense_model(3, 512, 8, 8, 2048), "dgx-h100-ndr", global_batch=8)
    family = family_of(model, 1e9, 1e3)
    plans = every_plan(model, family.rows, 0, family.clocks.tolist())
    totals = evaluate_totals(model, PlanTable.from_plans(plans))
    for seconds, joules in zip(totals.step_time_s, totals.energy_j, strict=True):
        for upper_s in (1e3, seconds * 1.01):
            family = family_of(model, joules / seconds * (1 + 1e-9), float(upper_s))
            low = family.bounds(math.ceil(seconds / family.units.time_s))[0]
            assert low * family.units.joules <= joules


def test_less_time_never_takes_fewer_joules() -> None:
    """Without a limit on time as with one that every plan keeps; none is soon enough for none."""
    model = cost_model(dense_model(3, 512, 8, 8, 2048), "dgx-h100-ndr", global_batch=8)
    family = family_of(model, 1e9, 1e3)
    free = family.bounds(None)[0]
    seconds = [1e3, 2 * family.soonest_s[0], 1.01 * family.soonest_s[0]]
    lows = [family.bounds(math.ceil(each / family.units.time_s))[0] for each in seconds]
    assert 0 < free == lows[0] <= lows[1] <= lows[2] < UNLIMITED
    assert family.bounds(0)[0] == UNLIMITED


def test_ranges_say_more_than_means_where_stages_hold_whole_layers() -> None:
    """Six layers on four stages, of which one holds two or more at every time."""
    model = cost_model(dense_model(6, 512, 8, 8, 2048), "dgx-h100-ndr", global_batch=8)
    family = row_of(model, 1e9, 1e3, stages=4)
    limits = [math.ceil(share * family.soonest_s[0] / family.units.time_s) for share in (1.0001, 2)]
    means = [family.bounds(limit)[0] for limit in limits]
    family.tighten(np.array([0]), None)
    ranges = [family.bounds(limit)[0] for limit in limits]
    assert all(0 < mean < more for mean, more in zip(means, ranges, strict=True))


@each("framework", ["megatron", "hai-llm"])
def test_every_stage_is_in_one_class(framework: str) -> None:
    """Of rows of one to eight stages, and of pairs of ranks; the ends are classes of their own."""
    model = cost_model(
        dense_model(8, 512, 8, 8, 2048), "dgx-h100-ndr", global_batch=16, framework=framework
    )
    rows = rows_of(model, 8, micro_batch=frozenset({1}), interleave=frozenset({1}))
    clocks = model.clocks(wanted=False)
    forms = row_forms(model, rows, row_terms(model, rows, clocks))
    count = full_work(model, Limits(), rows, forms, clocks).count
    assert {1, 2, 4, 8} <= set(rows.devices.tolist())
    assert np.array_equal(count.sum(axis=1), rows.devices)
    assert np.array_equal(count[:, :2], np.stack([rows.devices > 0, rows.devices > 1], axis=1))


def test_ranges_need_the_time_in_which_their_joules_are_allowed() -> None:
    """60 J at 20 W take 3 s; 120 J at a price of 10 W take 4 s; none takes less than it did."""
    ranges = BottleneckBound(
        prices=np.array([[0.0, 10.0]]),
        least=np.array([[1.0, 1.0, 5.0]]),
        values=np.array([[[60.0, 60.0], [60.0, 120.0], [60.0, 60.0]]]),
        beyond=np.array([9.0]),
    )
    least = ranges_within(ranges, 20.0).least[0]
    assert least == pytest.approx([3.0, 4.0, 5.0], rel=1e-9)
    assert (least <= [3.0, 4.0, 5.0]).all()
