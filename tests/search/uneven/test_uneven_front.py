"""The front of time and energy of uneven plans against all plans of small jobs."""

import random
import time
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.jobs import cost_model, dense_model, moe_model
from support.uneven import every_plan, rows_of

from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table, evaluate_totals
from planner.objectives import OBJECTIVES
from planner.plan import Plan, PlanTable
from planner.question.options import SpaceOptions
from planner.results.certificate import UnevenFound
from planner.search.driver import Driver, Found
from planner.search.limits import Limits
from planner.search.uneven.bounds.energy import full_work, mean_bounds, memory_bounds
from planner.search.uneven.bounds.time import row_forms
from planner.search.uneven.certificate import best_time
from planner.search.uneven.front import energy_front
from planner.search.uneven.terms import row_terms
from planner.search.uniform.engine import UniformSpace
from solvers.frontier import nondominated
from solvers.solution import Status
from solvers.stages.energy_bounds import bottleneck_bound

CLOCKS = (1.0, 0.7)


def with_clocks(model: CostModel, clocks: tuple[float, ...] = CLOCKS) -> CostModel:
    chip = replace(model.cluster.chip, clock_levels=clocks)
    return replace(model, cluster=replace(model.cluster, chip=chip))


def small_job(seed: int) -> tuple[CostModel, dict[str, frozenset[int]]]:
    """A job of few layers and few plans; every fourth has two kinds of layers."""
    rng = random.Random(seed)
    two = seed % 4 == 3
    layers = dense_model(rng.choice([3, 4]), rng.choice([512, 2048]), 4, 4, 4096)
    model = cost_model(
        moe_model(3, 4) if two else layers,
        rng.choice(["dgx-h100-ndr", "dgx-a100-80-hdr"]),
        global_batch=4,
        framework=rng.choice(
            ["megatron", "torchtitan", "jax", "megatron-zb", "deepspeed", "hai-llm"]
        ),
    )
    fixed = {
        "pp": frozenset({2}),
        "ep": frozenset({1}),
        "interleave": frozenset({1, 2}),
        "sharding": frozenset({0, 1, 3}) if rng.random() < 0.3 else frozenset({1, 3}),
        "micro_batch": frozenset({1}),
        rng.choice(["tp", "cp"]): frozenset({1}),
    }
    return with_clocks(model), fixed


def tight_job(seed: int) -> tuple[CostModel, dict[str, frozenset[int]]]:
    """A job whose plans on 4 chips are few for what is fixed of them.

    Pipelines have two or four stages, or two of two chunks; many jobs only recompute everything.
    """
    rng = random.Random(seed)
    two_kinds = rng.random() < 0.25
    stages, chunks = rng.choice([(2, 1), (4, 1), (2, 2)])
    layers = moe_model(3, 4) if two_kinds else dense_model(rng.choice([3, 4]), 512, 8, 8, 2048)
    frameworks = ["megatron", "torchtitan"]
    if chunks == 1:
        frameworks += ["hai-llm", "nanotron", "deepspeed", "megatron-zb"]
    model = cost_model(
        layers,
        rng.choice(["dgx-h100-ndr", "dgx-a100-80-hdr", "gb200-nvl72"]),
        global_batch=rng.choice([4, 8]),
        framework=rng.choice(frameworks),
    )
    if stages == 4 or rng.random() < 0.4:
        recomputes = {2}
    else:
        recomputes = rng.choice([{0}, {0, 1}, {0, 2}, {1, 2}])
    fixed = {
        "pp": frozenset({stages}),
        "interleave": frozenset({chunks}),
        "tp": frozenset({1}),
        "cp": frozenset({1}),
        "ep": frozenset({1}),
        "micro_batch": frozenset({1, 2}),
        "recompute": frozenset(recomputes),
        "sharding": frozenset({0, 1, 3} if stages == 2 else {0, 1}),
    }
    return with_clocks(model, (1.0, rng.choice([0.9, 0.7, 0.5]))), fixed


def all_points(model: CostModel, fixed: dict[str, frozenset[int]]) -> tuple[FloatArray, FloatArray]:
    """(n, 2) time and energy of every plan, (n,) bytes."""
    rows = rows_of(model, 4, **fixed)
    clocks = [float(clock) for clock in model.clocks(wanted=True)]
    plans = [p for row in range(len(rows)) for p in every_plan(model, rows, row, clocks)]
    cost = evaluate_totals(model, PlanTable.from_plans(plans))
    return np.stack([cost.step_time_s, cost.energy_j], axis=1), cost.memory_bytes


def searched(
    model: CostModel, options: SpaceOptions, limits: Limits, chips: int = 4
) -> tuple[Found, UnevenFound]:
    uniform = Driver().run(
        UniformSpace(model=model, options=options, limits=limits, chips=(chips,))
    )
    return uniform, best_time(model, options, limits, chips, uniform=uniform)


@pytest.mark.parametrize("seed", range(14))
def test_the_front_is_that_of_all_plans(seed: int) -> None:
    model, fixed = small_job(seed)
    points, held = all_points(model, fixed)
    share = random.Random(seed).choice([0.1, 0.4, 1.0])
    limits = Limits(memory_bytes=float(np.quantile(held, share)))
    options = SpaceOptions(fixed=fixed)
    uniform, start = searched(model, options, limits)
    streamed: list[tuple[Plan, float, float]] = []
    found = energy_front(
        model,
        options,
        limits,
        4,
        start=start,
        uniform=uniform,
        on_point=lambda *point: streamed.append(point),
    )
    true = points[held <= limits.chip_bytes(model)]
    true = true[nondominated(true)]
    assert found.status is Status.OPTIMAL
    assert found.front_complete
    assert found.bound[1] <= true[:, 1].min() * (1 + 1e-9)
    assert same_staircase(found.points, true)
    cost = evaluate_table(model, found.plans)
    assert np.allclose(cost.step_time_s, found.points[:, 0], rtol=1e-12)
    assert (cost.memory_per_chip_bytes <= limits.chip_bytes(model)).all()
    assert len(streamed) >= 1
    assert found.certificate.gap < 1e-6
    assert found.certificate.objective == found.points[:, 1].min()


def same_staircase(one: FloatArray, other: FloatArray, tolerance: float = 1e-6) -> bool:
    """Whether each point of both fronts is matched or beaten by one of the other, but rounding."""

    def covered(points: FloatArray, by: FloatArray) -> bool:
        no_worse = by[None] <= points[:, None] * (1 + tolerance)
        return bool(no_worse.all(axis=2).any(axis=1).all())

    return covered(one, other) and covered(other, one)


@pytest.mark.parametrize("seed", range(8))
def test_bounds_of_energy_are_below_all_plans(seed: int) -> None:
    check_bounds(*small_job(seed), share=0.3)


@pytest.mark.parametrize("seed", range(12))
def test_bounds_of_energy_in_tight_memory(seed: int) -> None:
    check_bounds(*tight_job(seed), share=0.02)


def check_bounds(model: CostModel, fixed: dict[str, frozenset[int]], *, share: float) -> None:
    """Of every row, at several limits on the time, with and without memory."""
    rows = rows_of(model, 4, **fixed)
    clocks = model.clocks(wanted=True)
    forms = row_forms(model, rows, row_terms(model, rows, model.clocks(wanted=False)))
    plans = [every_plan(model, rows, row, clocks.tolist()) for row in range(len(rows))]
    costs = [evaluate_totals(model, PlanTable.from_plans(listed)) for listed in plans]
    held = np.concatenate([cost.memory_bytes for cost in costs])
    limits = Limits(memory_bytes=float(np.quantile(held, share)))
    mean = mean_bounds(model, rows, forms, clocks)
    work = full_work(model, limits, rows, forms, clocks)
    most = np.array([cost.step_time_s.max() for cost in costs]) * 1.001
    prices = np.stack([np.zeros(len(rows)), mean.price(float(np.median(most)))], axis=1)
    edges = forms.slowest[:, None] + np.linspace(0, 1, 9) * (most - forms.slowest)[:, None]
    ranges = bottleneck_bound(work, edges, prices, most)
    memory = memory_bounds(model, limits, rows, forms, mean, clocks, float(np.median(most)))
    for part in (0.5, 0.8, 1.0):
        limit = part * most
        for row, cost in enumerate(costs):
            fits = cost.memory_bytes <= limits.chip_bytes(model)
            timely = cost.step_time_s <= limit[row]
            least = cost.energy_j[timely].min(initial=np.inf)
            fitting = cost.energy_j[timely & fits].min(initial=np.inf)
            waits = cost.energy_j - work.per_time[row] * cost.step_time_s
            assert memory.still[row] <= waits[fits].min(initial=np.inf) * (1 + 1e-9)
            assert mean.at(limit)[row] <= least * (1 + 1e-9)
            assert memory.at(limit)[row] <= fitting * (1 + 1e-9)
            assert ranges.at(limit)[row] <= fitting * (1 + 1e-9)


@pytest.mark.parametrize("seed", [0, 5, 10])
def test_limits_on_power_and_time_are_obeyed(seed: int) -> None:
    model, fixed = small_job(seed)
    points, _ = all_points(model, fixed)
    watts = points[:, 1] / points[:, 0]
    fastest = points[points[:, 0].argmin()]
    limits = Limits(
        power_w=float(np.quantile(watts, 0.4)), step_time_s=float(np.quantile(points[:, 0], 0.9))
    )
    inside = points[(watts <= limits.power_w) & (points[:, 0] <= limits.step_time_s)]
    options = SpaceOptions(fixed=fixed)
    uniform, start = searched(model, options, limits)
    found = energy_front(model, options, limits, 4, start=start, uniform=uniform)
    assert same_staircase(found.points, inside[nondominated(inside)], 1e-5)
    assert (found.points[:, 1] <= limits.power_w * found.points[:, 0]).all()
    assert (found.points[:, 0] <= limits.step_time_s * (1 + 1e-6)).all()
    assert fastest[0] <= found.points[0, 0]


@pytest.mark.parametrize("seed", range(17))
def test_the_front_in_tight_memory_without_and_under_limits_on_power(seed: int) -> None:
    model, fixed = tight_job(seed)
    rng = random.Random(seed)
    points, held = all_points(model, fixed)
    held_most = float(np.quantile(held, rng.choice([0.0, 0.02, 0.2, 1.0])))
    inside = points[held <= held_most]
    watts = inside[:, 1] / inside[:, 0]
    power_w = float(np.quantile(watts, rng.choice([0.0, 0.1, 0.5]))) * (1 + 1e-3)
    limits = Limits(memory_bytes=held_most)
    check_front(model, fixed, limits, inside, tolerance=1e-6)
    powered = replace(limits, power_w=power_w)
    plans = check_front(model, fixed, powered, inside[watts <= power_w], tolerance=1e-5)
    cost = evaluate_table(model, plans)
    assert (cost.energy.total <= power_w * cost.step_time_s).all()


def check_front(
    model: CostModel,
    fixed: dict[str, frozenset[int]],
    limits: Limits,
    inside: FloatArray,
    *,
    tolerance: float,
) -> PlanTable:
    """The plans of the front, which is that of the points of all plans within the limits."""
    uniform, start = searched(model, SpaceOptions(fixed=fixed), limits)
    found = energy_front(model, SpaceOptions(fixed=fixed), limits, 4, start=start, uniform=uniform)
    assert found.status is Status.OPTIMAL
    assert found.front_complete
    assert same_staircase(found.points, inside[nondominated(inside)], tolerance)
    assert found.bound[1] <= inside[:, 1].min() * (1 + 1e-9)
    cost = evaluate_table(model, found.plans)
    assert (cost.memory_per_chip_bytes <= limits.chip_bytes(model)).all()
    return found.plans


def medium() -> tuple[CostModel, SpaceOptions]:
    model = cost_model(dense_model(12, 2048, 16, 16, 8192), "dgx-h100-ndr", global_batch=16)
    return with_clocks(model, (1.0, 0.8, 0.6)), SpaceOptions(fixed={"pp": frozenset({2, 4})})


@cache
def medium_searched() -> tuple[Found, UnevenFound]:
    """Its plans with stages alike, and its fastest plan."""
    return searched(*medium(), Limits(), 8)


@cache
def medium_front() -> UnevenFound:
    uniform, start = medium_searched()
    return energy_front(*medium(), Limits(), 8, start=start, uniform=uniform)


def test_few_time_limits_give_points_of_the_whole_front() -> None:
    model, options = medium()
    uniform, start = medium_searched()
    asked = {"start": start, "uniform": uniform}
    whole = medium_front()
    few = energy_front(model, options, Limits(), 8, points=3, **asked)
    assert whole.front_complete
    assert not few.front_complete
    assert few.status is Status.OPTIMAL
    assert 2 <= len(few.points) <= len(whole.points)
    for point in few.points:
        within = whole.points[whole.points[:, 0] <= point[0] * (1 + 1e-9)]
        assert within[:, 1].min() <= point[1] * (1 + 1e-6)
    assert few.points[-1] == pytest.approx(whole.points[-1], rel=1e-6)
    assert few.points[:, 1].min() <= uniform.points[:, 1].min() * (1 + 1e-9)


def test_the_least_product_is_that_of_the_whole_front() -> None:
    model, options = medium()
    uniform, start = medium_searched()
    asked = {"start": start, "uniform": uniform}
    whole = medium_front()
    least = energy_front(model, options, Limits(), 8, objective=OBJECTIVES["edp"], **asked)
    product = float(whole.points.prod(axis=1).min())
    assert least.certificate.objective == pytest.approx(product, rel=1e-6)
    assert least.certificate.bound <= product
    assert least.certificate.gap < 1e-5


def test_time_and_gap_end_early_with_bounds() -> None:
    model, options = medium()
    uniform, start = medium_searched()
    asked = {"start": start, "uniform": uniform}
    whole = medium_front()
    late = energy_front(model, options, Limits(), 8, deadline=time.perf_counter(), **asked)
    assert late.status is Status.FEASIBLE
    assert not late.front_complete
    assert late.bound[1] <= whole.points[:, 1].min()
    close = energy_front(model, options, Limits(), 8, gap=0.2, **asked)
    assert close.certificate.stage_solves <= whole.certificate.stage_solves
    assert close.certificate.bound <= whole.points[:, 1].min() * (1 + 1e-9)
    assert close.certificate.gap <= 0.2


def test_a_gap_ends_the_search_for_the_least_product() -> None:
    """Also where the fastest plan is known within the gap alone."""
    model, options = medium()
    uniform, exact_start = medium_searched()
    start = replace(exact_start, bound=exact_start.bound * 0.95, status=Status.FEASIBLE)
    asked = {"uniform": uniform, "objective": OBJECTIVES["edp"]}
    exact = energy_front(model, options, Limits(), 8, start=exact_start, **asked)
    close = energy_front(model, options, Limits(), 8, start=start, gap=0.05, **asked)
    assert exact.status is Status.OPTIMAL
    assert close.status is Status.FEASIBLE
    assert 1e-6 < close.certificate.gap <= 0.05
    assert close.certificate.bound <= exact.certificate.objective * (1 + 1e-9)
    assert close.certificate.bound == pytest.approx(
        min(step.product_js for step in close.certificate.steps)
    )
    assert close.certificate.left == 0
    assert close.certificate.stage_solves <= exact.certificate.stage_solves


@pytest.mark.parametrize("gap", [0.002, 0.01, 0.03, 0.1])
def test_a_gap_that_is_told_is_never_above_the_one_asked_for(gap: float) -> None:
    """To the last digit."""
    model, options = medium()
    uniform, _ = medium_searched()
    start = best_time(model, options, Limits(), 8, uniform=uniform, gap=gap)
    asked = {"start": start, "uniform": uniform, "gap": gap}
    fronts = [
        energy_front(
            model, options, Limits(), 8, objective=OBJECTIVES[objective], points=points, **asked
        )
        for objective, points in (("energy", 1), ("edp", None))
    ]
    for found in (start, *fronts):
        assert found.certificate.gap <= gap
        assert found.certificate.left == 0


def test_energy_of_components_is_refused() -> None:
    model, options = medium()
    uniform, start = medium_searched()
    parts = replace(model, assumptions=replace(model.assumptions, component_energy=True))
    with pytest.raises(InputError, match="component"):
        energy_front(parts, options, Limits(), 8, start=start, uniform=uniform)
