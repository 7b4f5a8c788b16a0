"""A limit on power at each boundary: the search against every plan, at that boundary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.cases import each
from support.jobs import cost_model, dense_model, random_cost_model
from support.uneven import every_plan, rows_of

import planner
from planner.base.errors import InputError
from planner.base.units import parse_watts
from planner.base.vocabulary import BOUNDARIES
from planner.cost.context import CostModel
from planner.cost.energy.boundaries import MEASURED
from planner.cost.energy.facility import Facility
from planner.cost.energy.meter import meter_of, waiting_w_per_chip
from planner.cost.evaluate import evaluate_figures, memory_table
from planner.cost.pools.evaluate import evaluate_pooled
from planner.cost.pools.pools import Pool
from planner.frameworks.rules import applicable
from planner.plan import ORDERS, PlanTable
from planner.question.options import SpaceOptions
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.pools.pools import best_on_pools
from planner.search.uneven.certificate import best_time
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import cross_choices, cross_partial_plans
from solvers.frontier import nondominated
from solvers.solution import Status

SMALL: dict[str, Any] = {
    "model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8, "batch_tokens": 2**16,
}  # fmt: skip


def test_what_waits_draws_its_host_and_the_facility_with_it() -> None:
    model = random_cost_model(0)
    chip, boundaries = model.chip, BOUNDARIES
    assert waiting_w_per_chip(model, boundaries[0]) == chip.wait_w
    assert waiting_w_per_chip(model, boundaries[1]) == chip.wait_w + chip.host_w
    facility = replace(model, facility=replace(model.facility, pue=1.3))
    assert waiting_w_per_chip(facility, boundaries[-1]) == pytest.approx(
        1.3 * (chip.wait_w + chip.host_w)
    )


def every_candidate(model: CostModel, counts: tuple[int, ...]) -> PlanTable:
    """Every uniform plan that fits, with its rank orders and clocks."""
    options = SpaceOptions()
    meshes = enumerate_meshes(model, counts, options)
    space = cross_choices(model, cross_partial_plans(model, meshes, options), options)
    fits, _ = Limits().memory(model, space.plans, memory_table(model, space.plans))
    for rule in applicable(model.framework):
        fits &= rule.holds(model, space.plans)
    codes = [ORDERS.index(order) for order in model.framework.orders or ORDERS]
    clocks = model.chip.clock_levels if model.chip.clock_settable else (1.0,)
    at = np.meshgrid(np.flatnonzero(fits), codes, clocks, indexing="ij")
    rows, order, clock = (one.ravel() for one in at)
    return replace(
        space.plans.take(rows.astype(np.int64)), order=order.astype(np.int64), clock=clock
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_front_within_a_limit_is_that_of_brute_force(seed: int) -> None:
    """Over several numbers of chips, whose hosts and networks draw what the meter may leave out."""
    model = random_cost_model(900 + seed)
    model = replace(model, facility=Facility.of((1.1, 1.3)[seed % 2]))
    counts = model.cluster.chip_counts(8)
    plans = every_candidate(model, counts)
    costs = evaluate_figures(model, plans)
    points = np.stack([costs.step_time_s, costs.energy.boundaries["node_and_fabric"]], axis=1)
    space = UniformSpace(model=model, options=SpaceOptions(), limits=Limits()).on(*counts)
    for boundary in BOUNDARIES:
        watts = costs.energy.boundaries[boundary] / costs.step_time_s
        for share in (0.02, 0.4):
            limits = Limits(power_w=float(np.quantile(watts, share)), power_boundary=boundary)
            within = points[watts <= limits.most_w]
            found = Driver().run(replace(space, limits=limits))
            assert found.status is Status.OPTIMAL
            wanted = within[nondominated(within)]
            np.testing.assert_array_equal(found.points, wanted, err_msg=f"{boundary} {share}")


@each("boundary", BOUNDARIES)
def test_a_limit_that_a_plan_just_obeys_keeps_it_and_a_hair_less_drops_it(boundary: str) -> None:
    best = planner.solve(**SMALL).best
    assert best is not None
    watts = best.power_w(boundary)
    kept = planner.solve(**SMALL, max_power=watts, power_boundary=boundary)
    assert kept.best == best
    less = planner.solve(**SMALL, max_power=watts * (1 - 1e-9), power_boundary=boundary).best
    assert less is not None
    assert less.step_time_s > best.step_time_s
    assert less.power_w(boundary) < watts


def test_a_facility_lets_through_what_its_machines_draw_times_the_pue() -> None:
    inside = planner.solve(**SMALL, max_power=5000, power_boundary="it")
    around = planner.solve(**SMALL, max_power=5000 * 1.25, pue=1.25)
    assert inside.best is not None
    assert around.best is not None
    assert around.best.plan == inside.best.plan
    assert [one.plan for one in around.front] == [one.plan for one in inside.front]


def small(hardware: str = "dgx-h100-ndr") -> CostModel:
    return cost_model(dense_model(3, 512, 8, 8, 2048), hardware, global_batch=8, few_clocks=True)


@each("boundary", BOUNDARIES)
def test_stages_that_differ_obey_the_limit_as_brute_force_does(boundary: str) -> None:
    model = small()
    fixed = {"pp": {2}, "tp": {1}, "cp": {1}, "micro_batch": {1}, "interleave": {1}}
    fixed |= {"recompute": {0}, "sharding": {1}, "sequence_parallel": {0}}
    coded = {name: frozenset(value) for name, value in fixed.items()}
    rows = rows_of(model, 4, **coded)
    clocks = list(model.chip.clock_levels)
    plans = [one for row in range(len(rows)) for one in every_plan(model, rows, row, clocks)]
    costs = evaluate_figures(model, PlanTable.from_plans(plans))
    watts = costs.energy.boundaries[boundary] / costs.step_time_s
    for share in (0.05, 0.5):
        power_w = float(np.quantile(watts, share)) * (1 + 1e-6)
        limits = Limits(power_w=power_w, power_boundary=boundary)
        found = best_time(model, SpaceOptions(fixed=coded), limits, 4)
        assert found.status is Status.OPTIMAL
        least_s = float(costs.step_time_s[watts <= power_w].min())
        assert found.points[0, 0] == pytest.approx(least_s, rel=1e-9), share
        again = evaluate_figures(model, found.plans)
        assert again.energy.boundaries[boundary][0] <= power_w * again.step_time_s[0]


@each("boundary", BOUNDARIES)
def test_pools_obey_the_limit(boundary: str) -> None:
    names = ("dgx-h100-ndr", "dgx-a100-80-hdr")
    model = dense_model(5, 2048, 16, 16, 8192)
    pools = tuple(
        Pool(name=one, chips=4, model=cost_model(model, one, global_batch=8)) for one in names
    )
    fixed = {"pp": {2}, "tp": {4}, "cp": {1}, "micro_batch": {2}, "recompute": {0}}
    options = SpaceOptions(fixed={name: frozenset(codes) for name, codes in fixed.items()})

    def watts_of(plan: Any) -> float:
        costs = evaluate_pooled(pools, plan).costs
        return float(costs.energy.boundaries[boundary][0] / costs.step_time_s[0])

    free = best_on_pools(pools, options, Limits())
    watts = watts_of(free.plan)
    above = Limits(power_w=watts * (1 + 1e-12), power_boundary=boundary)
    assert best_on_pools(pools, options, above).time_s == pytest.approx(free.time_s, rel=1e-9)
    below = Limits(power_w=watts * (1 - 1e-6), power_boundary=boundary)
    found = best_on_pools(pools, options, below)
    assert found.plan is None or watts_of(found.plan) <= below.most_w


@each("hardware", ["dgx-h100-ndr", "gb200-nvl72", "tpu-v5p"])
def test_a_meter_shows_what_the_energy_of_a_plan_says(hardware: str) -> None:
    framework = "jax" if hardware.startswith("tpu") else "megatron"
    job = dense_model(8, 512, 8, 8, 2048)
    model = cost_model(job, hardware, global_batch=8, framework=framework)
    plans = every_candidate(model, model.cluster.chip_counts(8))
    costs = evaluate_figures(model, plans)
    for boundary in BOUNDARIES:
        for row in range(0, len(plans), max(len(plans) // 20, 1)):
            it_w, inside_w = (
                float(costs.energy.boundaries[name][row] / costs.step_time_s[row])
                for name in ("node_and_fabric", boundary)
            )
            meter = meter_of(model, boundary, int(plans.chips[row]))
            assert meter.shown_w(it_w) == pytest.approx(inside_w, rel=1e-12)
            assert meter.it_w(inside_w) == pytest.approx(it_w, rel=1e-12)
            waiting_w = plans.chips[row] * waiting_w_per_chip(model, boundary)
            assert waiting_w <= inside_w


def test_machines_are_held_to_the_boundary() -> None:
    asked = {**SMALL, "pes": [66, 132], "chips_at_most": 8, "axes": ["dp"]}
    del asked["chips"]
    for boundary in BOUNDARIES:
        found = planner.solve(**asked, max_power=4000, power_boundary=boundary)
        assert found.status == "optimal"
        assert found.best is not None
        assert all(one.power_w(boundary) <= 4000 for one in found.front)


@each("boundary", BOUNDARIES)
@each(
    "machines",
    [
        {},
        {"pes": [66, 132]},
        {"layout": "uneven", "fix": {"micro_batch": [1], "recompute": ["none"]}},
    ],
)
def test_the_watts_that_are_said_to_be_enough_are(boundary: str, machines: dict[str, Any]) -> None:
    asked = {**SMALL, **machines, "axes": ["dp"], "power_boundary": boundary}
    none = planner.solve(**asked, max_power=900, chips_exact=True)
    assert none.best is None
    assert none.diagnosis is not None
    assert none.diagnosis.constraint == "max-power"
    assert MEASURED[boundary] in none.diagnosis.explanation or "layout" in machines
    flag, watts = none.diagnosis.remedies[0].split()[:2]
    assert flag == "--max-power"
    freed = planner.solve(**asked, max_power=watts, chips_exact=True)
    assert freed.best is not None
    assert freed.best.power_w(boundary) <= parse_watts(watts)
    hotter = parse_watts(watts) * 0.99
    assert planner.solve(**asked, max_power=hotter, chips_exact=True).best is None


@each("boundary", ["chip", "node"])
def test_what_components_leave_to_the_plan_is_refused(boundary: str) -> None:
    asked = {"model": "gpt3-350m", "hardware": "c2c-ndr400-rack", "chips": 8, "max_power": 2500}
    asked |= {"assumptions": "rack-energy", "batch_tokens": 2**16}
    with pytest.raises(InputError, match=f"power_boundary: {boundary} is not limited under"):
        planner.solve(**asked, power_boundary=boundary)
    assert planner.solve(**asked).best is not None


def test_a_boundary_without_a_limit_has_no_effect() -> None:
    with pytest.raises(InputError, match="power_boundary: node has no effect without max-power"):
        planner.solve(**SMALL, power_boundary="nodes")
