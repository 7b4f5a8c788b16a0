"""Uneven plans for a target: the fastest and the cheapest of all that its rules pass."""

import random
from dataclasses import replace

import numpy as np
import pytest
from support.jobs import cost_model, dense_model, moe_model
from support.uneven import every_plan, rows_of

from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.frameworks.rules import broken, demands_of, freedom_of
from planner.frameworks.targets import TARGETS
from planner.plan import Plan, PlanTable
from planner.question.options import SpaceOptions
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.uneven.certificate import best_time
from planner.search.uneven.front import energy_front
from planner.search.uniform.engine import UniformSpace
from solvers.frontier import nondominated
from solvers.solution import Status

CASES = [
    ("megatron", "megatron"),
    ("megatron", "megatron-bridge"),
    ("hai-llm", "megatron"),
    ("torchtitan", "torchtitan"),
    ("deepspeed", "deepspeed"),
    ("jax", "maxtext"),
    ("nanotron", "nanotron"),
]


def small_job(rng: random.Random, framework: str) -> CostModel:
    """A model of three to five layers of one or two kinds."""
    two = rng.random() < 0.3 and framework != "torchtitan"  # which has no such mixture
    model = moe_model(3, 4) if two else dense_model(rng.choice([3, 4, 5]), 512, 4, 4, 2048)
    return cost_model(model, "dgx-h100-ndr", global_batch=8, framework=framework)


def fixed_of(rng: random.Random) -> dict[str, frozenset[int]]:
    """Values that leave plans of few chunks."""
    fixed = {"pp": frozenset({1, 2}), "ep": frozenset({1}), "interleave": frozenset({1, 2})}
    return {**fixed, rng.choice(("tp", "cp")): frozenset({1}), "micro_batch": frozenset({1, 2})}


def runnable(model: CostModel, plan: Plan, target: str) -> bool:
    """Whether an export to a target accepts a plan."""
    table = PlanTable.from_plans([plan])
    return not broken(model, table) and not broken(model, table, target=TARGETS[target])


def first_runnable(
    model: CostModel, plans: list[Plan], values: np.ndarray, target: str
) -> float | None:
    """The least value of a plan that a target runs."""
    for row in np.argsort(values, kind="stable").tolist():
        if runnable(model, plans[row], target):
            return float(values[row])
    return None


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("framework", "target"), CASES)
def test_the_fastest_plan_against_all_that_the_rules_pass(
    framework: str, target: str, seed: int
) -> None:
    rng = random.Random(f"{framework}{target}{seed}")
    model, fixed = small_job(rng, framework), fixed_of(rng)
    rows = rows_of(model, 4, **fixed)
    plans = [p for row in range(len(rows)) for p in every_plan(model, rows, row, blocks=True)]
    cost = evaluate_totals(model, PlanTable.from_plans(plans))
    limit = float(np.quantile(cost.memory_bytes, rng.choice([0.02, 0.1, 0.4, 1.0])))
    at = np.flatnonzero(cost.memory_bytes <= limit)
    best = first_runnable(model, [plans[row] for row in at], cost.step_time_s[at], target)
    options = SpaceOptions(fixed=fixed, clocks=False, runnable_in=(TARGETS[target],))
    limits = Limits(memory_bytes=limit)
    uniform = Driver().run(UniformSpace(model=model, options=options, limits=limits, chips=(4,)))
    found = best_time(model, options, limits, 4, uniform=uniform if seed % 2 else None)
    if best is None:
        assert found.status is Status.INFEASIBLE
        return
    if freedom_of(model, demands_of(model, options.runnable_in)).no_lists is not None:
        found = best_time(model, options, limits, 4, uniform=uniform)
    assert found.status is Status.OPTIMAL
    assert found.points[0, 0] == pytest.approx(best, rel=1e-9)
    assert found.certificate.gap < 1e-6
    assert runnable(model, found.plans.plan(0), target)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("target", ["megatron", "torchtitan", "deepspeed"])
def test_the_front_against_all_that_the_rules_pass(target: str, seed: int) -> None:
    """Stages have clocks of their own, which hosts set: deepspeed, too, has them beside one choice
    of all else for all stages."""
    rng = random.Random(f"{target}{seed}")
    model = small_job(rng, target)
    chip = replace(model.cluster.chip, clock_levels=(1.0, 0.7))
    model = replace(model, cluster=replace(model.cluster, chip=chip))
    fixed = {"pp": frozenset({2}), "ep": frozenset({1}), "interleave": frozenset({1})}
    fixed |= {"micro_batch": frozenset({1}), "cp": frozenset({1}), "fsdp": frozenset({1, 2})}
    rows = rows_of(model, 4, **fixed)
    clocks = [1.0, 0.7]
    plans = [p for row in range(len(rows)) for p in every_plan(model, rows, row, clocks)]
    cost = evaluate_totals(model, PlanTable.from_plans(plans))
    memory = cost.memory_bytes
    limit = float(np.quantile(memory, rng.choice([0.1, 0.4])))
    points = np.stack([cost.step_time_s, cost.energy_j], axis=1)
    left = [row for row in np.flatnonzero(memory <= limit).tolist()]
    best: list[np.ndarray] = []
    for row in sorted(left, key=lambda row: tuple(points[row])):
        beaten = best and points[row, 1] >= best[-1][1] * (1 - 1e-9)
        if not beaten and runnable(model, plans[row], target):
            best.append(points[row])
    options = SpaceOptions(fixed=fixed, runnable_in=(TARGETS[target],))
    limits = Limits(memory_bytes=limit)
    uniform = Driver().run(UniformSpace(model=model, options=options, limits=limits, chips=(4,)))
    start = best_time(model, options, limits, 4, uniform=uniform)
    if not best:
        assert start.status is Status.INFEASIBLE
        return
    found = energy_front(model, options, limits, 4, start=start, uniform=uniform)
    assert found.front_complete
    assert all(runnable(model, found.plans.plan(row), target) for row in range(len(found.plans)))
    front = np.array(best)
    np.testing.assert_allclose(found.points[[0, -1]], front[[0, -1]], rtol=1e-7)
    both = np.concatenate([found.points, front])
    assert {*nondominated(found.points)} == {*range(len(found.points))}
    for point in both:  # neither front is beaten by the other
        for other in (found.points, front):
            near = other[other[:, 0] <= point[0] * (1 + 1e-7)]
            assert near[:, 1].min() <= point[1] * (1 + 1e-7)
