"""Plans for a target: the search finds the front of all plans that the rules of targets pass."""

import random
from dataclasses import replace

import numpy as np
import pytest
from support.jobs import dense_model, random_chips, random_cost_model

from hardware_db import Cluster, load_cluster
from planner.assumptions.assumptions import calibrated
from planner.base.arrays import BoolArray, distinct
from planner.base.vocabulary import MESH_AXES
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals, memory_table
from planner.cost.job import Job
from planner.cost.memory.risk import memory_risks
from planner.frameworks.profiles import FRAMEWORKS
from planner.frameworks.rules import all_rules, applicable, broken, judged_for
from planner.frameworks.targets import TARGETS, Target
from planner.plan import ALL_TO_ALL, ORDERS, PlanTable
from planner.question.options import SpaceOptions
from planner.search.driver import Driver, Found
from planner.search.limits import Limits
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import cross_choices, cross_partial_plans
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


def everything(
    model: CostModel, chips: int, options: SpaceOptions, risk: float | None = None
) -> np.ndarray:
    """(c, 2) time and energy of every plan that fits and passes, by direct evaluation."""
    free = replace(options, runnable_in=())
    meshes = enumerate_meshes(model, (chips,), free)
    space = cross_choices(model, cross_partial_plans(model, meshes, free), free)
    codes = [ORDERS.index(order) for order in options.orders(model.framework)]
    clocks = model.clocks(wanted=options.clocks)
    rows = [np.empty((0, 2))]
    for mask in range(8 if options.offload else 1):
        table = replace(space.plans, offload=np.full(len(space), mask, dtype=np.int64))
        held = memory_table(model, table)
        fits, _ = Limits().memory(model, table, held)
        if risk is not None:
            fits &= memory_risks(model, table, held.peak)[0] <= risk
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
    risk = rng.choice([None, 0.05, 0.2])
    return len(compared(model, random_chips(model, seed, most=4), options, risk)) > 0


def compared(
    model: CostModel, chips: int, options: SpaceOptions, risk: float | None = None
) -> PlanTable:
    """What the search finds, after it was held against every plan."""
    brute = everything(model, chips, options, risk)
    limits = Limits(oom_risk=risk)
    found = Driver().run(UniformSpace(model=model, options=options, limits=limits, chips=(chips,)))
    expected = brute[nondominated(brute)] if len(brute) else brute
    np.testing.assert_array_equal(found.points, expected)
    assert found.status is (Status.OPTIMAL if len(brute) else Status.INFEASIBLE)
    for target in options.runnable_in:
        assert not broken(model, found.plans, target=target)
    check_counts(found)
    return found.plans


def check_counts(found: Found) -> None:
    """What was dropped, and what passed, adds up to what was considered."""
    for stage, counts in found.counts.items():
        others = sum(number for name, number in counts.items() if name != "considered")
        assert counts.get("considered", 0) == others, stage


@pytest.mark.parametrize("part", range(PARTS))
def test_the_front_is_that_of_all_plans_that_pass(part: int) -> None:
    there = [check(seed) for seed in range(part, 200, PARTS)]
    assert any(there)


def slices_of_four(*, near: bool) -> Cluster:
    """TPU v5e as slices of four chips, so that axes of a few chips cross them.

    Args:
        near: The network between slices is faster than the links inside.
    """
    cluster = load_cluster("tpu-v5e")
    ici, dcn = cluster.levels
    assert ici.torus is not None
    torus = replace(
        ici.torus, slices=((1, 1), (2, 2)), largest_slice_chips=4, smallest_multislice_chips=4
    )
    if near:
        dcn = replace(
            dcn, bandwidth_bytes_per_s=1e13, peer_bandwidth_bytes_per_s=1e13, latency_s=1e-9
        )
    return replace(cluster, levels=(replace(ici, torus=torus), dcn))


def exchanging(seed: int, *, near: bool = False, **fixed: int) -> tuple[CostModel, SpaceOptions]:
    """A job for MaxText on slices of four chips, with values of plans that are fixed."""
    rng = random.Random(seed)
    cluster, framework = slices_of_four(near=near), FRAMEWORKS["jax"]
    job = Job(
        model=dense_model(4, 2048, 16, rng.choice([8, 16]), rng.choice([4096, 8192])),
        seq_len=rng.choice([2048, 8192]),
        global_batch=8,
        framework=framework,
        era=framework.era,
    )
    model = CostModel.build(job, cluster, calibrated(cluster.chip, framework.era))
    options = SpaceOptions(
        all_orders=seed % 2 == 0,
        clocks=False,
        fixed={name: frozenset({value}) for name, value in fixed.items()},
        runnable_in=(TARGETS["maxtext"],),
    )
    return model, options


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("fixed", [{"pp": 1}, {"cp": 2, "cp_mode": ALL_TO_ALL}])
def test_exchanges_stay_in_slices(fixed: dict[str, int], *, near: bool, seed: int) -> None:
    model, options = exchanging(seed, near=near, **fixed)
    assert len(compared(model, 8, options))


@pytest.mark.parametrize("offload", [False, True])
def test_the_fastest_order_is_left_out_where_it_crosses_slices(*, offload: bool) -> None:
    model, options = exchanging(2, near=True, cp=2, fsdp=4, cp_mode=ALL_TO_ALL)
    options = replace(options, offload=offload)
    anywhere = UniformSpace(model=model, options=replace(options, runnable_in=()), limits=Limits())
    assert broken(model, Driver().run(anywhere.on(8)).plans, target=TARGETS["maxtext"])
    assert len(compared(model, 8, options))


def test_an_axis_outside_of_the_slice_is_laid_inside() -> None:
    """Of tensors over four chips and sequences over two, the usual order crosses the slices."""
    model, options = exchanging(0, tp=4, cp=2, cp_mode=ALL_TO_ALL)
    plans = compared(model, 8, options)
    assert len(plans)
    assert all(plans.plan(row).order[0] == "cp" for row in range(len(plans)))


def test_an_axis_larger_than_the_slice_has_no_order() -> None:
    model, options = exchanging(0, cp=8, cp_mode=ALL_TO_ALL)
    found = Driver().run(UniformSpace(model=model, options=options, limits=Limits(), chips=(8,)))
    assert found.status is Status.INFEASIBLE
    assert found.counts["plans"]["maxtext: maxtext-all-to-all-slices"] > 0


def test_only_targets_judge_orders_beside_choices() -> None:
    """A search for no target holds its rules against plans without an order."""
    assert all(rule.launch for rule in all_rules() if rule.placed)


def test_rules_of_shardings_look_at_the_mesh_and_the_sharding_alone() -> None:
    rules = [rule for rule in all_rules() if rule.of_sharding]
    assert {rule.name for rule in rules} == {"megatron-fsdp-pipeline", "megatron-fsdp-replicas"}
    broken_by = dict.fromkeys((rule.name for rule in rules), 0)
    for seed in range(8):
        model = random_cost_model(seed)
        options = SpaceOptions()
        meshes = enumerate_meshes(model, (random_chips(model, seed, most=16),), options)
        plans = cross_choices(model, cross_partial_plans(model, meshes, options), options).plans
        keys = [getattr(plans, name) for name in (*MESH_AXES, "sharding")]
        first, which = distinct(keys)
        for rule in rules:
            holds = rule.holds(model, plans)
            assert np.array_equal(holds, holds[first][which]), rule.name
            broken_by[rule.name] += int((~holds).sum())
    assert min(broken_by.values()) > 0
