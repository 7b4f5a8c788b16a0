"""The bounded search finds what evaluating everything finds; its bounds are bounds."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from support.jobs import cost_model, dense_model, random_chips, random_cost_model, with_images

from models_db import load_model
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table, evaluate_totals, memory_table
from planner.frameworks.rules import applicable
from planner.objectives import ENERGY, MEMORY, OBJECTIVES, TIME
from planner.plan import ORDERS, RECOMPUTES, PlanTable
from planner.plan.choices import fixed_values
from planner.question.options import SpaceOptions
from planner.search.driver import Driver, Found
from planner.search.limits import Limits, usable_bytes
from planner.search.objective import least_left, optimum, values
from planner.search.uniform.bounds import partial_plan_corners
from planner.search.uniform.candidates import Candidates
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.mesh_memory import NOTHING_FITS, least_recompute
from planner.search.uniform.meshes import enumerate_meshes, factorizations
from planner.search.uniform.space import PARTIAL_PLAN, cross_choices, cross_partial_plans
from planner.search.uniform.tables import build_placements
from solvers.frontier import nondominated
from solvers.solution import Status

SEEDS = range(40)


def everything(
    model: CostModel,
    counts: tuple[int, ...],
    options: SpaceOptions,
    limits: Limits,
    costed: Callable[[CostModel, PlanTable], np.ndarray] | None = None,
) -> np.ndarray:
    """(c, 3) time, energy, memory of every candidate that fits, by direct evaluation.

    Or (c, d) what `costed` makes of plans.
    """
    costed = costed or totals
    meshes = enumerate_meshes(model, counts, options)
    space = cross_choices(model, cross_partial_plans(model, meshes, options), options)
    if len(space) == 0:
        return np.empty((0, 3))
    tables = [space.plans]
    if options.offload:
        masks = range(1, 8)
        tables += [replace(space.plans, offload=np.full(len(space), mask)) for mask in masks]
    orders = ORDERS if options.all_orders else model.framework.orders or ORDERS
    codes = [ORDERS.index(order) for order in orders]
    clocks = model.chip.clock_levels if model.chip.clock_settable else (1.0,)
    rows = []
    for table in tables:
        held = memory_table(model, table)
        fits, _ = limits.memory(model, table, held)
        for rule in applicable(model.framework):
            fits &= rule.holds(model, table)
        at = np.flatnonzero(fits)
        if len(at) == 0:
            continue
        every = np.stack(np.meshgrid(at, codes, clocks, indexing="ij"), axis=-1).reshape(-1, 3)
        for part in np.array_split(every, len(every) // 16384 + 1):
            plans = table.take(part[:, 0].astype(np.int64))
            rows.append(
                costed(model, replace(plans, order=part[:, 1].astype(np.int64), clock=part[:, 2]))
            )
    return np.vstack(rows) if rows else np.empty((0, 3))


def totals(model: CostModel, plans: PlanTable) -> np.ndarray:
    cost = evaluate_totals(model, plans)
    return np.stack([cost.step_time_s, cost.energy_j, cost.memory_bytes], axis=1)


def run(
    model: CostModel, counts: tuple[int, ...], options: SpaceOptions, **kwargs: object
) -> Found:
    search = UniformSpace(model=model, options=options, limits=Limits(), **kwargs)  # type: ignore[arg-type]
    return Driver().run(search.on(*counts))


@pytest.mark.parametrize("seed", SEEDS)
def test_front_equals_brute_force(seed: int) -> None:
    model = random_cost_model(seed)
    options = SpaceOptions(all_orders=seed % 3 == 0, offload=seed % 8 == 1)
    most = 4 if options.all_orders else 6 if options.offload else 8
    counts = (random_chips(model, seed, most=most),)
    brute = everything(model, counts, options, Limits())
    found = run(model, counts, options)
    expected = brute[nondominated(brute[:, :2])][:, :2]
    np.testing.assert_array_equal(found.points, expected)
    assert found.status is (Status.OPTIMAL if len(brute) else Status.INFEASIBLE)
    if len(brute):
        cost = evaluate_table(model, found.plans)
        np.testing.assert_array_equal(cost.step_time_s, found.points[:, 0])
        np.testing.assert_array_equal(cost.energy.total, found.points[:, 1])


@pytest.mark.parametrize("framework", ["megatron", "megatron-zb", "hai-llm", "jax"])
def test_front_of_a_vision_tower_equals_brute_force(framework: str) -> None:
    hardware = "tpu-v5p" if framework == "jax" else "dgx-h100-ndr"
    plain = cost_model(
        dense_model(4, 512, 8, 8, 2048), hardware, global_batch=8, framework=framework,
        few_clocks=True,
    )  # fmt: skip
    model = with_images(plain, 3, RECOMPUTES[len(framework) % 3])
    brute = everything(model, (4,), SpaceOptions(), Limits())
    found = run(model, (4,), SpaceOptions(), columns=(TIME, ENERGY, MEMORY))
    np.testing.assert_array_equal(found.points, brute[nondominated(brute)])


@pytest.mark.parametrize("seed", range(8))
def test_front_with_memory_equals_brute_force(seed: int) -> None:
    model = random_cost_model(200 + seed)
    counts = (random_chips(model, seed, most=8),)
    options = SpaceOptions(offload=seed % 2 == 0)
    brute = everything(model, counts, options, Limits())
    found = run(model, counts, options, columns=(TIME, ENERGY, MEMORY))
    np.testing.assert_array_equal(found.points, brute[nondominated(brute)])


@pytest.mark.parametrize("seed", range(12))
def test_bounds_change_nothing(seed: int) -> None:
    model = random_cost_model(300 + seed)
    counts = model.cluster.chip_counts(32)
    options = SpaceOptions(all_orders=seed % 2 == 0)
    bounded, plain = run(model, counts, options), run(model, counts, options, bounded=False)
    np.testing.assert_array_equal(bounded.points, plain.points)
    assert plain.counts["candidates"].get("bound", 0) == 0


@pytest.mark.parametrize(
    ("name", "hardware", "chips", "batch"),
    [
        ("llama2-13b", "tpu-v5p", 256, 64),
        ("llama3-8b", "dgx-h100-ndr", 128, 128),
        ("gpt3-175b", "dgx-a100-80-hdr", 256, 128),
        ("mixtral-8x7b", "dgx-h100-ndr", 64, 64),
        ("deepseek-v2-lite", "gb200-nvl72", 32, 32),
        ("nemotron-h-8b", "dgx-h100-ndr", 32, 32),
        ("qwen3.5-35b-a3b", "gb200-nvl72", 16, 32),
    ],
)
def test_bounds_change_nothing_on_real_models(
    name: str, hardware: str, chips: int, batch: int
) -> None:
    framework = "jax" if hardware.startswith("tpu") else "megatron"
    model = cost_model(load_model(name), hardware, global_batch=batch, framework=framework)
    options = SpaceOptions()
    bounded, plain = run(model, (chips,), options), run(model, (chips,), options, bounded=False)
    assert len(plain.points)
    np.testing.assert_array_equal(bounded.points, plain.points)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_candidate_is_below_the_bounds_of_its_nodes(seed: int) -> None:
    model = random_cost_model(400 + seed)
    counts = (random_chips(model, seed),)
    options = SpaceOptions(all_orders=seed % 2 == 0)
    orders = options.orders(model.framework)
    meshes = enumerate_meshes(model, counts, options)
    least = least_recompute(model, meshes, Limits(), offload=False)
    meshes, least = meshes.take(np.flatnonzero(least >= 0)), least[least >= 0]
    partial_plans = cross_partial_plans(model, meshes, options)
    if len(partial_plans) == 0:
        pytest.skip("nothing fits in this random job")
    clocks = np.array([1.0, 0.7] if model.chip.clock_settable else [1.0])
    corners = partial_plan_corners(model, partial_plans, least, clocks, orders)
    space = cross_choices(model, partial_plans, options)
    space = space.take(np.flatnonzero(memory_table(model, space.plans).peak <= usable_bytes(model)))
    candidates = Candidates.build(
        model, space, build_placements(model, meshes.columns, orders), clocks
    )
    nodes = np.arange(len(space))
    rows = candidates.expand(nodes)
    cost = candidates.costs(rows)
    low_time, low_energy = candidates.bounds(nodes)
    assert np.all(low_time[rows.plan] <= cost.time)
    assert np.all(low_energy[rows.plan] <= cost.energy)
    number = {
        (int(mesh), *(int(partial_plans.columns[n][i]) for n in PARTIAL_PLAN)): i
        for i, mesh in enumerate(partial_plans.mesh_id)
    }
    plans = space.plans
    of = np.array(
        [
            number[(int(space.mesh_id[i]), *(int(getattr(plans, n)[i]) for n in PARTIAL_PLAN))]
            for i in nodes
        ],
        dtype=np.int64,
    )
    corner = corners[of][rows.plan]
    assert np.all(corner[:, :, 0] <= cost.time)
    assert np.all(corner[:, :, 1] <= cost.energy)


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("offload", [False, True])
def test_the_leanest_plan_of_a_mesh_is_the_leanest(seed: int, offload: bool) -> None:
    model = random_cost_model(500 + seed)
    counts = (random_chips(model, seed),)
    options = SpaceOptions()
    meshes = enumerate_meshes(model, counts, options)
    space = cross_choices(model, cross_partial_plans(model, meshes, options), options)
    masks = range(8) if offload else (0,)
    tables = [replace(space.plans, offload=np.full(len(space), mask)) for mask in masks]
    peak = np.min([memory_table(model, plans).peak for plans in tables], axis=0)
    for mesh in np.unique(space.mesh_id):
        here = space.mesh_id == mesh
        limits = Limits(memory_bytes=float(peak[here].min()))
        enough = least_recompute(model, meshes.take(np.array([mesh])), limits, offload=offload)
        leanest = space.plans.recompute[here][np.argmin(peak[here])]
        assert enough[0] != NOTHING_FITS
        assert enough[0] <= leanest


def test_factorizations_are_all_and_only_the_ordered_products() -> None:
    for number in (1, 2, 7, 12, 64, 360):
        table = factorizations(number, 4)
        assert np.all(table.prod(axis=1) == number)
        divisors = [d for d in range(1, number + 1) if number % d == 0]
        expected = {
            (a, b, c, number // (a * b * c))
            for a in divisors
            for b in divisors
            for c in divisors
            if number % (a * b * c) == 0
        }
        assert {tuple(row) for row in table.tolist()} == expected
        assert len(table) == len(expected)


def test_limits_drop_and_are_counted() -> None:
    model = cost_model(dense_model(8, 1024, 8, 8, 4096), "dgx-h100-ndr", global_batch=32)
    options = SpaceOptions()
    free = everything(model, (16,), options, Limits())
    slow, fast = np.quantile(free[:, 0], [0.9, 0.1])
    power = float(np.median(free[:, 1] / free[:, 0]))
    limits = Limits(
        step_time_s=float(slow), power_w=power, memory_bytes=float(np.median(free[:, 2]))
    )
    brute = everything(model, (16,), options, limits)
    allowed = (brute[:, 0] <= slow) & (brute[:, 1] <= power * brute[:, 0])
    expected = brute[allowed]
    found = Driver().run(UniformSpace(model=model, options=options, limits=limits, chips=(16,)))
    np.testing.assert_array_equal(found.points, expected[nondominated(expected[:, :2])][:, :2])
    assert found.counts["plans"]["memory"] > 0
    none = UniformSpace(model=model, options=options, limits=Limits(step_time_s=float(fast) * 1e-3))
    assert Driver().run(none.on(16)).status is Status.INFEASIBLE


@pytest.mark.parametrize("objective", ["time", "energy", "edp", "memory"])
def test_optimum_of_every_objective(objective: str) -> None:
    model = cost_model(dense_model(8, 1024, 8, 4, 4096), "dgx-a100-80-hdr", global_batch=32)
    brute = everything(model, (16,), SpaceOptions(), Limits())
    found = run(model, (16,), SpaceOptions(), columns=(TIME, ENERGY, MEMORY))
    one = OBJECTIVES[objective]
    best = optimum(found.points, found.bound, found.status, one, found.columns)
    assert best.value == best.bound == values(brute, one, found.columns).min()


def test_an_expired_deadline_leaves_a_valid_bound() -> None:
    model = cost_model(dense_model(8, 1024, 8, 8, 4096), "dgx-h100-ndr", global_batch=64)
    whole = run(model, (64,), SpaceOptions())
    stopped = run(model, (64,), SpaceOptions(), deadline=0.0)
    assert stopped.status is Status.TIME_LIMIT
    assert np.all(stopped.bound <= whole.points.min(axis=0))


def test_a_bound_is_told_without_a_plan_where_one_is_known() -> None:
    lowest, late = np.array([2.0, 3.0]), Status.TIME_LIMIT
    assert least_left(lowest, late, TIME) == 2.0
    assert least_left(lowest, late, OBJECTIVES["edp"]) == 6.0
    assert least_left(np.zeros(2), late, TIME) is None
    assert least_left(lowest, Status.INFEASIBLE, TIME) is None


def test_fixing_and_axes_narrow_the_space() -> None:
    model = cost_model(dense_model(12, 1024, 8, 8, 4096), "dgx-h100-ndr", global_batch=64)
    fixed = {"pp": fixed_values("pp", ["2"]), "sharding": fixed_values("sharding", ["zero1"])}
    found = run(model, (32,), SpaceOptions(fixed=fixed))
    assert set(found.plans.pp) == {2}
    assert set(found.plans.sharding) == {1}
    only = run(model, (32,), SpaceOptions(axes=frozenset({"dp", "tp"})))
    assert np.all((only.plans.cp == 1) & (only.plans.pp == 1) & (only.plans.fsdp == 1))


def test_several_counts_share_one_front() -> None:
    model = cost_model(dense_model(12, 1024, 8, 8, 4096), "dgx-h100-ndr", global_batch=64)
    counts = model.cluster.chip_counts(32)
    together = run(model, counts, SpaceOptions())
    search = UniformSpace(model=model, options=SpaceOptions(), limits=Limits())
    driver = Driver()
    driver.run(search.on(32))
    apart = driver.run(search.on(*(count for count in counts if count != 32)))
    np.testing.assert_array_equal(together.points, apart.points)
