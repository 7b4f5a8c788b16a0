"""Interleaved rows that no limit on power lets through, against every plan of them."""

from dataclasses import replace

import numpy as np
import pytest
from support.jobs import cost_model, dense_model, moe_model
from support.uneven import every_plan, rows_of

from planner.cost.context import CostModel
from planner.cost.energy.energy import standing_w
from planner.cost.evaluate import evaluate_totals
from planner.plan import PlanTable
from planner.question.options import SpaceOptions
from planner.schedules.interleaved import SCHEDULE as INTERLEAVED
from planner.search.limits import Limits
from planner.search.uneven import certificate
from planner.search.uneven.bounds.least_power import always_above, least_excess_j
from planner.search.uneven.bounds.time import longest_step_s, row_forms
from planner.search.uneven.certificate import best_time
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import row_terms
from solvers.solution import Status

CLOCKS = np.array([1.0, 0.6])
CASES = {
    "2 devices": (2, 4, {"micro_batch": {1, 2}, "recompute": {0, 2}}),
    "few layers": (2, 5, {"micro_batch": {1}, "recompute": {0, 2}}),
    "4 devices": (4, 8, {"micro_batch": {1}, "recompute": {0}, "sharding": {0}}),
    "two kinds": (2, 4, {"micro_batch": {1}, "recompute": {0, 2}, "ep": {1}}),
    "shardings": (2, 4, {"micro_batch": {1}, "recompute": {0}, "sharding": {0, 1, 2}}),
}


def case(name: str) -> tuple[CostModel, Rows, dict[str, frozenset[int]]]:
    pp, layers, fixed = CASES[name]
    made = moe_model(layers, 4) if name == "two kinds" else dense_model(layers, 512, 8, 8, 2048)
    model = cost_model(made, "dgx-h100-ndr", global_batch=16)
    chip = replace(model.cluster.chip, clock_levels=tuple(CLOCKS.tolist()))
    model = replace(model, cluster=replace(model.cluster, chip=chip))
    every = {"pp": {pp}, "tp": {1}, "cp": {1}, "interleave": {2}, "sequence_parallel": {0}}
    every |= {"sharding": {1}} | fixed
    coded = {key: frozenset(value) for key, value in every.items()}
    return model, rows_of(model, 4, **coded), coded


@pytest.mark.parametrize("name", CASES)
def test_no_plan_is_below_the_least_power_or_slower_than_the_longest(name: str) -> None:
    model, rows, _ = case(name)
    forms = row_forms(model, rows, row_terms(model, rows, CLOCKS[:1]))
    own = [every_plan(model, rows, row, CLOCKS.tolist()) for row in range(len(rows))]
    assert all(own)
    totals = evaluate_totals(model, PlanTable.from_plans([one for plans in own for one in plans]))
    seconds, joules = totals.step_time_s, totals.energy_j
    first = np.cumsum([0, *map(len, own)])[:-1]
    least_w = np.minimum.reduceat(joules / seconds, first)
    waiting_w = 4 * standing_w(model, 4)
    dropped = 0
    near_w = [least_w.min() * share for share in (0.9, 0.97, 1.0, 1.1)]
    for power_w in (waiting_w * 0.9, *near_w, *np.quantile(joules / seconds, [0.1, 0.9])):
        limits = Limits(power_w=float(power_w))
        excess = np.minimum.reduceat(joules - power_w * seconds, first)
        bound = least_excess_j(model, limits, rows, forms, CLOCKS)
        assert (bound <= excess + 1e-9 * joules.max()).all()
        above = always_above(model, limits, rows, forms, CLOCKS)
        assert (least_w[above] > power_w).all()
        dropped += above.sum()
    assert dropped
    for row, (at, plans) in enumerate(zip(first, own, strict=True)):
        alone = rows.take(np.array([row]))
        longest = longest_step_s(model, alone, row_terms(model, alone, CLOCKS[-1:]))
        assert seconds[at : at + len(plans)].max() <= longest


def test_schedules_that_wait_in_their_own_way_are_not_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, rows, _ = case("2 devices")
    forms = row_forms(model, rows, row_terms(model, rows, CLOCKS[:1]))
    asked = (model, Limits(power_w=4 * standing_w(model, 4)), rows, forms, CLOCKS)
    assert always_above(*asked).all()
    monkeypatch.setattr(type(INTERLEAVED), "bubble_s", lambda *_: None, raising=False)
    assert not always_above(*asked).any()


def test_a_limit_that_no_plan_keeps_is_proved_without_stage_problems(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, rows, coded = case("4 devices")
    plans = [plan for row in range(len(rows)) for plan in every_plan(model, rows, row, [1.0, 0.6])]
    totals = evaluate_totals(model, PlanTable.from_plans(plans))
    least_w = float((totals.energy_j / totals.step_time_s).min())
    options = SpaceOptions(fixed=coded)
    found = best_time(model, options, Limits(power_w=least_w * (1 + 1e-6)), 4)
    assert found.status is Status.OPTIMAL

    def unasked(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(certificate, "row_columns", unasked)
    lowest = best_time(model, options, Limits(power_w=least_w * 0.8), 4)
    assert lowest.status is Status.INFEASIBLE
