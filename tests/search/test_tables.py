"""The separable tables agree bit for bit with direct evaluation; merged placements lose nothing."""

from dataclasses import replace

import numpy as np
import pytest
from support.cases import each
from support.jobs import cost_model, dense_model, random_chips, random_cost_model

from planner.base.arrays import distinct, packed_key
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.plan import ORDERS, PlanTable
from planner.question.options import SpaceOptions
from planner.search.uneven.rows import no_placements
from planner.search.uniform.candidates import Candidates
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import Space, cross_choices, cross_partial_plans
from planner.search.uniform.tables import build_placements

OPTIONS = SpaceOptions(all_orders=True)


def some_space(model: CostModel, counts: tuple[int, ...], seed: int, size: int = 400) -> Space:
    """A random part of the space of the given chip counts."""
    meshes = enumerate_meshes(model, counts, OPTIONS)
    space = cross_choices(model, cross_partial_plans(model, meshes, OPTIONS), OPTIONS)
    rng = np.random.default_rng(seed)
    if len(space) <= size:
        return space
    return space.take(np.sort(rng.choice(len(space), size, replace=False)))


@pytest.mark.parametrize("seed", range(24))
def test_tables_equal_direct_evaluation_bit_for_bit(seed: int) -> None:
    model = random_cost_model(seed)
    counts = tuple({random_chips(model, seed), random_chips(model, seed + 1000)})
    space = some_space(model, counts, seed)
    if len(space) == 0:
        pytest.skip("no plan of this random job obeys the rules")
    clocks = np.array([1.0, 0.8] if model.chip.clock_settable else [1.0])
    placements = build_placements(model, space.meshes.columns, ORDERS)
    candidates = Candidates.build(model, space, placements, clocks)
    rows = candidates.expand(np.arange(len(space)))
    cost = candidates.costs(rows)
    for column, clock in enumerate(clocks):
        plans = replace(
            space.plans.take(rows.plan),
            order=placements.order[rows.placement],
            clock=np.full(len(rows), clock),
        )
        direct = evaluate_table(model, plans)
        times = np.broadcast_to(cost.time, (len(rows), len(clocks)))[:, column]
        energies = np.broadcast_to(cost.energy, (len(rows), len(clocks)))[:, column]
        np.testing.assert_array_equal(times, direct.step_time_s)
        np.testing.assert_array_equal(energies, direct.energy.total)


@pytest.mark.parametrize("seed", range(8))
def test_merged_placements_cost_what_all_orders_cost(seed: int) -> None:
    model = random_cost_model(100 + seed)
    space = some_space(model, (random_chips(model, seed),), seed, size=40)
    if len(space) == 0:
        pytest.skip("no plan of this random job obeys the rules")
    placements = build_placements(model, space.meshes.columns, ORDERS)
    every = np.tile(np.arange(len(ORDERS)), len(space))
    plans = replace(space.plans.take(np.repeat(np.arange(len(space)), len(ORDERS))), order=every)
    times = evaluate_table(model, plans).step_time_s.reshape(len(space), len(ORDERS))
    for plan in range(len(space)):
        mesh = int(space.mesh_id[plan])
        kept = placements.order[placements.start[mesh] : placements.start[mesh + 1]]
        assert set(times[plan]) == set(times[plan, kept])


def test_same_bandwidth_but_other_latency_is_another_placement() -> None:
    """Merging by bandwidth alone lost the optimum in a prototype."""
    model = cost_model(dense_model(8, 1024, 8, 8, 4096), "dgx-h100-ndr", global_batch=64)
    meshes = enumerate_meshes(model, (512,), OPTIONS)
    placements = build_placements(model, meshes.columns, ORDERS)
    features = placements.costs["data"].features
    rates = {tuple(column) for column in features[[3, 5]].T}
    both = {tuple(column) for column in features[[2, 3, 4, 5]].T}
    assert len(both) > len(rates)


def test_packed_keys_tell_rows_apart_even_when_they_do_not_fit_one_word() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2**20, 500) for _ in range(6)]
    columns = [np.concatenate([c, c]) for c in columns]
    key = packed_key(columns)
    assert len(np.unique(key)) == len(np.unique(np.stack(columns), axis=1).T)
    first, inverse = distinct(columns)
    for column in columns:
        np.testing.assert_array_equal(column[first][inverse], column)


@pytest.mark.parametrize(("least", "most"), [(0, 7), (-3, 3), (0, 2**23)])
def test_distinct_rows_ascend_by_the_columns(least: int, most: int) -> None:
    """Negative numbers, and columns whose bits are more than a word has, keep their order."""
    rng = np.random.default_rng(1)
    columns = [rng.integers(least, most, 200), *rng.integers(0, 2, (2, 200))]
    columns += [np.where(column > 0, 2**13, 0) for column in columns[1:]]
    unique, which = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    first, combination = distinct(columns)
    np.testing.assert_array_equal(np.stack(columns, axis=1)[first], unique)
    np.testing.assert_array_equal(combination, which)


def test_a_table_of_one_plan_is_the_plan() -> None:
    model = cost_model(dense_model(8, 1024, 8, 8, 4096), "dgx-h100-ndr", global_batch=16)
    space = some_space(model, (8,), 3, size=1)
    plan = space.plans.plan(0)
    again = PlanTable.from_plans([plan])
    assert again.plan(0) == plan


@each("meshes", [0, 1, 3])
def test_meshes_without_a_placement_have_none_each(meshes: int) -> None:
    assert no_placements(meshes).count.tolist() == [0] * meshes
