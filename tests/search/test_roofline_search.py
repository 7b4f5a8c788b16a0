"""Searches under the preset `roofline`: proofs against brute force, and the order of ties."""

import random
from dataclasses import replace

import numpy as np
import pytest
from support.jobs import dense_model, roofline_model

from planner.base.vocabulary import MESH_AXES
from planner.cost.context import CostModel
from planner.cost.evaluate import Totals, evaluate_table, evaluate_totals, memory_table
from planner.plan import ORDERS, PlanTable
from planner.question.options import SpaceOptions
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.oracle.oracle import mesh_problem
from planner.search.ties import Ties
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import cross_choices, cross_partial_plans
from solvers.factored import brute_force_minimum
from solvers.frontier import nondominated
from solvers.solution import Status

JOBS = [("tpu-v5p", 64), ("tpu-v5e", 16), ("dgx-h100-ndr", 16), ("tpu-v4", 32), ("mi300x-8way", 8)]
SAME = 1e-9
ROUNDING = 1e-3  # of the integer program, as in test_oracle


def random_model(seed: int) -> tuple[CostModel, int]:
    """A small stack of MLPs on one of the clusters, from comm-bound to compute-bound."""
    rng = random.Random(seed)
    hardware, chips = JOBS[seed % len(JOBS)]
    model = dense_model(rng.choice((4, 6, 8)), 1024, 8, 8, rng.choice((4096, 12288)))
    axes = {"fsdp": 2.0, "tp": 1.0} if hardware == "tpu-v5p" and rng.random() < 0.5 else None
    tokens = chips * rng.choice((8, 100, 500.5, 2000, 30000))
    return roofline_model(model, hardware, chips, tokens, mfu=0.5, torus_axes=axes), chips


def all_plans(model: CostModel, chips: int, options: SpaceOptions) -> tuple[PlanTable, Totals]:
    """Every plan that fits, with every order, and its totals, by direct evaluation."""
    meshes = enumerate_meshes(model, (chips,), options)
    space = cross_choices(model, cross_partial_plans(model, meshes, options), options)
    fits, _ = Limits().memory(
        model, space.plans, memory_table(model, space.plans)
    )  # whatever the order
    space = space.take(np.flatnonzero(fits))
    orders = [ORDERS.index(order) for order in options.orders(model.framework)]
    pairs = np.stack(np.meshgrid(np.arange(len(space)), orders, indexing="ij"), axis=-1)
    rows = pairs.reshape(-1, 2)
    clocks = np.ones(len(rows))
    plans = replace(space.plans.take(rows[:, 0]), order=rows[:, 1], clock=clocks)
    return plans, evaluate_totals(model, plans)


@pytest.mark.parametrize("seed", range(10))
def test_the_front_is_that_of_all_plans_and_ties_go_in_the_stated_order(seed: int) -> None:
    """Least time, of those least energy; then communication, memory, axes: by brute force."""
    model, chips = random_model(seed)
    options = SpaceOptions(clocks=False)
    plans, totals = all_plans(model, chips, options)
    search = UniformSpace(model=model, options=options, limits=Limits(), chips=(chips,))
    found = Driver().run(search)
    assert found.status is Status.OPTIMAL
    points = np.stack([totals.step_time_s, totals.energy_j], axis=1)
    exact = points[nondominated(points)]
    for point in found.points:
        assert np.isclose(exact, point, rtol=SAME, atol=0).all(axis=1).any()
    for point in exact:
        assert np.isclose(found.points, point, rtol=SAME, atol=0).all(axis=1).any()
    assert search.last is not None
    time, energy = found.points[0]
    first = Ties(
        space=search,
        nodes=search.last,
        time_s=float(time),
        energy_j=float(energy),
    ).first(found.plans.take(np.array([0])))
    rows = np.flatnonzero(np.isclose(points, found.points[0], rtol=SAME, atol=0).all(axis=1))
    tied = plans.take(rows)
    costs = evaluate_table(model, tied)
    axes = np.sum([getattr(tied, name) > 1 for name in MESH_AXES], axis=0)
    sent = np.sum(list(costs.communication_s.values()), axis=0)
    expected = evaluate_table(model, first)
    mine = (
        float(np.sum(list(expected.communication_s.values()), axis=0)[0]),
        float(expected.memory_per_chip_bytes[0]),
        int(np.sum([getattr(first, name) > 1 for name in MESH_AXES], axis=0)[0]),
    )
    rows = np.arange(len(tied))
    for column, value in zip((sent, costs.memory_per_chip_bytes, axes), mine, strict=True):
        assert value == pytest.approx(float(column[rows].min()), rel=SAME)
        rows = rows[column[rows] <= column[rows].min() * (1 + SAME)]


@pytest.mark.parametrize("seed", range(5))
def test_the_integer_program_agrees(seed: int) -> None:
    """The oracle solves the same problem without bubbles and latencies."""
    model, chips = random_model(seed)
    options = SpaceOptions(clocks=False, axes=frozenset({"fsdp", "dp", "tp", "pp"}))
    found = Driver().run(
        UniformSpace(model=model, options=options, limits=Limits(), chips=(chips,))
    )
    oracle = mesh_problem(model, chips, options, Limits())
    solution = brute_force_minimum(oracle.problem, "time")
    assert solution.status is Status.OPTIMAL
    assert solution.objective * oracle.time_s == pytest.approx(found.points[0, 0], rel=ROUNDING)
