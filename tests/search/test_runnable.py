"""Plans for a target: the search finds the front of all plans that the rules of targets pass."""

import random
from dataclasses import replace

import numpy as np
import pytest
from support.jobs import random_chips, random_cost_model

from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals, memory_table
from planner.plan import ORDERS, BoolArray, PlanTable
from planner.rules import applicable, broken, judged_for
from planner.search.engine import Found, Search
from planner.search.limits import Limits
from planner.search.meshes import enumerate_meshes
from planner.search.options import SpaceOptions
from planner.search.space import cross_choices, cross_skeletons
from planner.targets import TARGETS, Target
from solvers.frontier import nondominated
from solvers.solution import Status

PARTS = 20
OF_FRAMEWORK = {
    "jax": ("maxtext", "jax"),
    "megatron": ("megatron", "megatron-bridge"),
    "megatron-zb": ("megatron",),
    "fsdp": ("accelerate",),
}


def targets_of(rng: random.Random, model: CostModel) -> tuple[Target, ...]:
    """One or two targets, mostly of the framework of the job."""
    framework = model.framework.name
    likely = OF_FRAMEWORK.get(framework, (framework,) if framework in TARGETS else ())
    first = rng.choice(likely or tuple(TARGETS)) if rng.random() < 0.7 else rng.choice([*TARGETS])
    others = (rng.choice([*TARGETS]),) if rng.random() < 0.2 else ()
    return tuple(TARGETS[name] for name in dict.fromkeys((first, *others)))


def passed(model: CostModel, plans: PlanTable, targets: tuple[Target, ...]) -> BoolArray:
    """(n,) plans that obey every rule of the job's framework and of all targets."""
    ok = np.ones(len(plans), dtype=np.bool_)
    for rule in applicable(model.framework):
        if rule.name != "placement-offered":  # of the orders that are asked for
            ok &= rule.holds(model, plans)
    for target in targets:
        judged = judged_for(model, target)
        for rule in applicable(judged.framework, target):
            ok &= rule.holds(judged, plans)
    return ok


def everything(model: CostModel, chips: int, options: SpaceOptions) -> np.ndarray:
    """(c, 2) time and energy of every plan that fits and passes, by direct evaluation."""
    free = replace(options, runnable_in=())
    meshes = enumerate_meshes(model, (chips,), free)
    space = cross_choices(model, cross_skeletons(model, meshes, free), free)
    codes = [ORDERS.index(order) for order in options.orders(model.framework)]
    clocks = model.clocks(wanted=options.clocks)
    rows = [np.empty((0, 2))]
    for mask in range(8 if options.offload else 1):
        table = replace(space.plans, offload=np.full(len(space), mask, dtype=np.int64))
        fits, _ = Limits().memory(model, memory_table(model, table))
        at = np.flatnonzero(fits)
        every = np.stack(np.meshgrid(at, codes, clocks, indexing="ij"), axis=-1).reshape(-1, 3)
        plans = table.take(every[:, 0].astype(np.int64))
        plans = replace(plans, order=every[:, 1].astype(np.int64), clock=every[:, 2])
        plans = plans.take(np.flatnonzero(passed(model, plans, options.runnable_in)))
        if len(plans):
            cost = evaluate_totals(model, plans)
            rows.append(np.stack([cost.step_time_s, cost.energy_j], axis=1))
    return np.vstack(rows)


def check(seed: int) -> bool:
    """Holds the search of a random job against every plan; whether there was one."""
    rng = random.Random(seed)
    model = random_cost_model(seed)
    options = SpaceOptions(
        all_orders=seed % 10 == 0,
        offload=seed % 16 == 1,
        clocks=seed % 2 == 0,
        runnable_in=targets_of(rng, model),
    )
    chips = random_chips(model, seed, most=4)
    brute = everything(model, chips, options)
    found = Search(model=model, options=options, limits=Limits()).run((chips,))
    expected = brute[nondominated(brute)] if len(brute) else brute
    np.testing.assert_array_equal(found.points, expected)
    assert found.status is (Status.OPTIMAL if len(brute) else Status.INFEASIBLE)
    for target in options.runnable_in:
        assert not broken(model, found.plans, target=target)
    check_counts(found)
    return len(brute) > 0


def check_counts(found: Found) -> None:
    """What was dropped, and what passed, adds up to what was considered."""
    for stage, counts in found.counts.items():
        others = sum(number for name, number in counts.items() if name != "considered")
        assert counts.get("considered", 0) == others, stage


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_the_front_is_that_of_all_plans_that_pass(part: int) -> None:
    there = [check(seed) for seed in range(part, 200, PARTS)]
    assert any(there)
