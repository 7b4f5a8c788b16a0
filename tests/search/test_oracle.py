"""Two engines on one problem: the exhaustive one, and CP-SAT on the oracle's integer program.

On every random job: the join of the oracle's tables has exactly the candidates of the space, its
integer times and energies are those of the cost model but for the rounding, and CP-SAT's optimum
and whole front are those of the join; the exhaustive engine's front is the same within the
rounding, both ways.
"""

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest
from support.jobs import cost_model, dense_model, random_chips, random_cost_model, with_images

from planner.collectives.tables.tables import table_of
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals, memory_table
from planner.frameworks.rules import violations
from planner.question.options import SpaceOptions
from planner.schedules import SCHEDULES, code_of_schedule, schedule_of
from planner.search.driver import Driver
from planner.search.limits import Limits, usable_bytes
from planner.search.oracle.oracle import MeshProblem, mesh_problem
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import cross_choices, cross_partial_plans
from solvers.factored import ARRAY_OPS, enumerate_assignments
from solvers.factored_cpsat import front, minimize
from solvers.frontier import nondominated
from solvers.solution import Status

DUALPIPE = code_of_schedule("dualpipe")
ZERO_BUBBLE = code_of_schedule("zero-bubble")

BLOCKS, PER_BLOCK = 40, 8
MOST_PLANS = 300
ROUNDING = 1e-3


def instance(seed: int) -> tuple[CostModel, int, SpaceOptions, Limits] | None:
    """A random job small enough for CP-SAT, some with a limit that many plans break."""
    rng = random.Random(seed)
    model = random_cost_model(1000 + seed)
    chips = random_chips(model, seed, most=8)
    fixed = {
        "schedule": frozenset(range(len(SCHEDULES))) - {ZERO_BUBBLE, DUALPIPE},
        "interleave": frozenset({1, 2, 3, 4}),
    }
    if rng.random() < 0.5:
        fixed["recompute"] = frozenset({0, 2})
    if rng.random() < 0.5:
        fixed["sharding"] = frozenset({0, 3}) if rng.random() < 0.5 else frozenset({1, 3})
    options = SpaceOptions(
        fixed=fixed, clocks=seed % 2 == 0, all_orders=seed % 5 == 0, offload=seed % 7 == 0
    )
    meshes = enumerate_meshes(model, (chips,), options)
    space = cross_choices(model, cross_partial_plans(model, meshes, options), options)
    clocks = len(model.chip.clock_levels) if options.clocks and model.chip.clock_settable else 1
    size = len(space) * clocks * (8 if options.offload else 1)
    if not 0 < size <= MOST_PLANS:
        return None
    peak = memory_table(model, space.plans).peak
    share = rng.choice([0.0, 0.1, 0.5, 1.0])
    limit = float(np.quantile(peak, share)) * rng.choice([0.9, 1.0001])
    return model, chips, options, Limits(memory_bytes=min(limit, usable_bytes(model)))


def instances(block: int) -> list[tuple[CostModel, int, SpaceOptions, Limits]]:
    """`PER_BLOCK` jobs that are neither empty nor large."""
    found = (instance(1000 * block + seed) for seed in itertools.count())
    return list(itertools.islice((job for job in found if job is not None), PER_BLOCK))


def everything(
    model: CostModel, problem: MeshProblem
) -> tuple[np.ndarray, np.ndarray, dict[str, int]]:
    """Of every assignment of the join.

    (n, 2) integer objectives over those of the model, minus one; (f, 2) the front of those within
    the limits, first objective descending; how many there are.
    """
    free = replace(problem.problem, limits=())
    columns, counts = enumerate_assignments(free)
    names = [*free.choices]
    rows = [dict(zip(names, row, strict=True)) for row in np.stack([columns[n] for n in names], 1)]
    totals = evaluate_totals(model, problem.decode(rows))
    units = {"time": problem.time_s, "energy": problem.energy_j}
    exact = {"time": totals.step_time_s, "energy": totals.energy_j}
    found = {n: free.objectives[n](columns, ARRAY_OPS) for n in ("time", "energy")}
    errors = np.stack([found[n] * units[n] / exact[n] - 1 for n in found], axis=1)
    within = np.ones(len(rows), dtype=np.bool_)
    for limit in problem.problem.limits:
        within &= limit.expression(columns, ARRAY_OPS) <= limit.upper
    points = np.stack([*found.values()], axis=1)[within]
    return errors, points[nondominated(points.astype(np.float64))[::-1]], counts


def covers(front: np.ndarray, points: np.ndarray, slack: float) -> bool:
    """Whether every point is at most `slack` better than some point of the front."""
    near = front[:, None, :] <= points[None, :, :] * (1 + slack)
    return bool(near.all(axis=2).any(axis=0).all())


def with_schedules(model: CostModel) -> CostModel:
    """The model whose plans may assume synthesized collectives."""
    assumptions = replace(model.assumptions, collectives="best")
    return replace(model, assumptions=assumptions, tables=table_of)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_both_engines_agree(block: int) -> None:
    check_agreement(instances(block))


@pytest.mark.parametrize("block", range(2))
def test_both_engines_agree_about_synthesized_collectives(block: int) -> None:
    check_agreement([(with_schedules(model), *job) for model, *job in instances(100 + block)])


def test_both_engines_agree_about_a_vision_tower() -> None:
    jobs = [job for job in instances(200) if job[0].job.kind != "lora"]
    check_agreement([(with_images(model, 3), *job) for model, *job in jobs[:2]])


def of_whole_passes(model: CostModel) -> CostModel:
    """The model without the schedules that the oracle leaves out: those that split B and W."""
    own = model.framework
    whole = tuple(name for name in own.schedules if not schedule_of(name).splits_backward)
    return replace(model, job=replace(model.job, framework=replace(own, schedules=whole)))


def check_agreement(jobs: list[tuple[CostModel, int, SpaceOptions, Limits]]) -> None:
    """Both engines have the same optimum and front on every job."""
    for given, chips, options, limits in jobs:
        model = of_whole_passes(given)
        problem = mesh_problem(model, chips, options, limits)
        errors, joined, counts = everything(model, problem)
        assert counts["evaluated"] == problem.assignments
        assert np.abs(errors).max() < ROUNDING
        found = Driver().run(
            UniformSpace(model=model, options=options, limits=limits, chips=(chips,))
        )
        solved = list(front(problem.problem, ("time", "energy")))
        assert [[*point[:2]] for point in solved] == joined.tolist()
        optimum = minimize(problem.problem, "time")
        if not len(joined):
            assert found.status is optimum.status is Status.INFEASIBLE
            continue
        assert optimum.status is Status.OPTIMAL
        assert optimum.objective == joined[-1, 0]
        totals = evaluate_totals(model, problem.decode([decision for *_, decision in solved]))
        points = np.stack([totals.step_time_s, totals.energy_j], axis=1)
        slack = 2 * float(np.abs(errors).max())
        assert covers(found.points, points, 0.0)
        assert covers(points, found.points, slack)
        assert points[:, 0].min() <= found.points[0, 0] * (1 + slack)
        assert np.all(totals.memory_bytes <= limits.chip_bytes(model) + 1)


@pytest.mark.parametrize("pp", [1, 2])
def test_every_assignment_is_a_plan_that_the_rules_allow(pp: int) -> None:
    """Megatron moves weights and activations to the host without a pipeline only."""
    model = cost_model(dense_model(4, 512, 8, 8, 2048), "dgx-h100-ndr", global_batch=4)
    fixed = {"pp": frozenset({pp}), "tp": frozenset({2}), "micro_batch": frozenset({1})}
    problem = mesh_problem(model, 4, SpaceOptions(fixed=fixed, offload=True, clocks=False))
    free = replace(problem.problem, limits=())
    columns, counts = enumerate_assignments(free)
    names = [*free.choices]
    rows = [dict(zip(names, row, strict=True)) for row in np.stack([columns[n] for n in names], 1)]
    assert counts["evaluated"] == problem.assignments > 0
    assert violations(model, problem.decode(rows)) == []


@pytest.mark.parametrize("schedule", [ZERO_BUBBLE, DUALPIPE])
def test_schedules_that_are_not_linear_are_left_out(schedule: int) -> None:
    model = cost_model(
        dense_model(8, 512, 8, 8, 2048), "dgx-h100-ndr", global_batch=8, framework="hai-llm"
    )
    only = SpaceOptions(fixed={"schedule": frozenset({schedule}), "pp": frozenset({2})})
    with pytest.raises(ValueError, match="no plan"):
        mesh_problem(model, 4, only)
