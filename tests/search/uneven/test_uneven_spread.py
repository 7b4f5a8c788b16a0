"""Chunks of interleaved devices that recompute alike: where that is faster it is found."""

from dataclasses import replace

import numpy as np
import pytest
from support.jobs import cost_model, dense_model
from support.uneven import every_plan, first_recomputed, rows_of

from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.cost.stages.explicit import chunk_kinds
from planner.frameworks.targets import TARGETS
from planner.plan import Plan, PlanTable, Stage
from planner.question.options import SpaceOptions
from planner.search.limits import Limits
from planner.search.uneven.bounds.memory import second_bound
from planner.search.uneven.bounds.time import row_forms
from planner.search.uneven.certificate import best_time
from planner.search.uneven.columns.columns import row_columns
from planner.search.uneven.rows import cross_rows, uneven_partial_plans
from planner.search.uneven.terms import row_terms
from solvers.solution import Status
from solvers.stages.backend import Question
from solvers.stages.solving import solve_stages

SHAPES = [(7, 2, 2, 8), (8, 3, 2, 24)]
"""Layers, pp, interleave, sequences of a step."""


def job(layers: int, sequences: int, hidden: int = 2048) -> CostModel:
    """A small dense model with long sequences."""
    return cost_model(
        dense_model(layers, hidden, 8, 8, 8192), "dgx-h100-ndr", global_batch=sequences
    )


def fixed_of(pp: int, v: int) -> dict[str, frozenset[int]]:
    """One mesh, whose layers recompute in full or not at all."""
    fixed = {"pp": pp, "interleave": v, "tp": 1, "cp": 1, "micro_batch": 1, "sharding": 0}
    return {
        **{name: frozenset({one}) for name, one in fixed.items()},
        "recompute": frozenset({0, 2}),
    }


def begins(model: CostModel, plan: Plan) -> bool:
    """Whether the first chunks of all devices recompute first."""
    assert plan.stages is not None
    kinds = chunk_kinds(model.job.model.layer_kinds, tuple(one.layers for one in plan.stages))
    counts = tuple({"selective": one.selective, "full": one.full} for one in plan.stages)
    return first_recomputed(kinds, counts, plan.pp)


@pytest.mark.parametrize(("layers", "pp", "v", "sequences"), SHAPES)
def test_rows_find_the_faster_way(layers: int, pp: int, v: int, sequences: int) -> None:
    model = job(layers, sequences)
    rows, clocks = rows_of(model, pp, **fixed_of(pp, v)), model.clocks(wanted=False)
    gained = 0
    for row in range(len(rows)):
        plans = every_plan(model, rows, row)
        cost = evaluate_totals(model, PlanTable.from_plans(plans))
        first = np.array([begins(model, plan) for plan in plans])
        for limit in np.quantile(cost.memory_bytes, [0.05, 0.2, 0.55, 0.7]).tolist():
            fits = cost.memory_bytes <= limit
            best = float(cost.step_time_s[fits].min())
            gained += best < cost.step_time_s[fits & first].min(initial=np.inf) * (1 - 1e-6)
            limits = Limits(memory_bytes=limit)
            columns = row_columns(model, limits, rows, row, clocks, 1.3 * best)
            assert columns is not None
            decision = solve_stages(Question(problem=columns.problem)).decision
            assert decision is not None
            found = evaluate_totals(model, PlanTable.from_plans([columns.plan(decision)]))
            assert float(found.step_time_s[0]) == pytest.approx(best, rel=1e-7)
            assert float(found.memory_bytes[0]) <= limit
    assert gained > 0


@pytest.mark.parametrize("sequences", [4, 8])
def test_no_target_runs_a_faster_plan_than_is_found(sequences: int) -> None:
    """With memory for one recomputed layer of every chunk, as Megatron-LM is told of it."""
    model = job(7, sequences, hidden=512)
    fixed, target = fixed_of(2, 2), TARGETS["megatron"]
    rows = rows_of(model, 2, **fixed)
    plans = [plan for row in range(len(rows)) for plan in every_plan(model, rows, row)]
    blocks = [plan for plan in plans if all(one.full == (1, 0) for one in plan.stages or ())]
    cost = evaluate_totals(model, PlanTable.from_plans(blocks))
    limits = Limits(memory_bytes=float(cost.memory_bytes[cost.step_time_s.argmin()]))
    free, launchable_rows = (
        best_time(
            model,
            SpaceOptions(fixed=fixed, clocks=False, runnable_in=targets),
            limits,
            2,
            uniform=None,
        )
        for targets in ((), (target,))
    )
    assert free.status is launchable_rows.status is Status.OPTIMAL
    assert free.points[0, 0] == pytest.approx(launchable_rows.points[0, 0], rel=1e-9)
    assert free.points[0, 0] == pytest.approx(cost.step_time_s.min(), rel=1e-9)


def test_the_bound_of_given_chunks_of_which_the_shorter_come_first() -> None:
    """The shorter chunk of a device recomputes a layer, so that it is nearly as long."""
    given = (2, 1, 1, 2, 2, 2, 2, 1)
    model = cost_model(
        replace(dense_model(13, 2048, 8, 8, 8192), vocab_size=1024),
        "dgx-h100-ndr",
        global_batch=64,
    )
    options = SpaceOptions(fixed=fixed_of(4, 2), layers=given, clocks=False)
    rows = cross_rows(model, uneven_partial_plans(model, (4,), options), options)
    assert len(rows) == 1
    full = [(1, 0) if size == 1 and 0 < at < 3 else (0, 0) for at, size in enumerate(given)]
    stages = tuple(
        Stage(layers=size, recompute="none", full=own, sharding="ddp")
        for size, own in zip(given, full, strict=True)
    )
    plan = replace(rows.plans.plan(0), stages=stages)
    cost = evaluate_totals(model, PlanTable.from_plans([plan]))
    terms = row_terms(model, rows, model.clocks(wanted=False))
    limits = Limits(memory_bytes=1e12)
    bound = second_bound(model, limits, rows, row_forms(model, rows, terms), np.inf)
    assert bound[0] <= cost.step_time_s[0]
    best = best_time(model, options, limits, 4)
    assert best.points[0, 0] == pytest.approx(float(cost.step_time_s[0]), rel=1e-9)
