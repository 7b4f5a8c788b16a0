"""Lower clocks make steps faster where something waits anyway: against all plans."""

from dataclasses import replace

import numpy as np
import pytest
from support.jobs import cost_model, dense_model, moe_model
from support.uneven import every_plan, rows_of

from planner.base.arrays import FloatArray
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals, memory_table
from planner.plan import PlanTable
from planner.question.options import SpaceOptions
from planner.search.limits import Limits
from planner.search.uneven.bounds.memory import second_bound
from planner.search.uneven.bounds.time import clocked_forms, first_bound
from planner.search.uneven.certificate import best_time
from solvers.solution import Status

CLOCKS = (1.0, 0.9)
CHIPS = 4


def with_clocks(model: CostModel) -> CostModel:
    chip = replace(model.cluster.chip, clock_levels=CLOCKS)
    return replace(model, cluster=replace(model.cluster, chip=chip))


def host_bound() -> tuple[CostModel, dict[str, frozenset[int]]]:
    """Few tokens for many experts: passes wait for the host, weight gradients do not."""
    model = cost_model(
        moe_model(4, 4), "gb200-nvl72", global_batch=16, framework="megatron-zb", seq_len=2048
    )
    fixed = {"pp": {2}, "tp": {1, 2}, "cp": {1}, "ep": {2}, "micro_batch": {2}}
    fixed |= {"interleave": {1}, "recompute": {0}, "sharding": {0, 1}}
    return with_clocks(model), {name: frozenset(codes) for name, codes in fixed.items()}


def dense(framework: str) -> tuple[CostModel, dict[str, frozenset[int]]]:
    layers = dense_model(4, 512, 4, 4, 2048)
    model = cost_model(layers, "dgx-h100-ndr", global_batch=8, framework=framework)
    fixed = {"pp": {2}, "tp": {1}, "cp": {1}, "ep": {1}, "micro_batch": {1}}
    fixed |= {"interleave": {1}, "recompute": {0}, "sharding": {1}}
    return with_clocks(model), {name: frozenset(codes) for name, codes in fixed.items()}


def evaluated(
    model: CostModel, fixed: dict[str, frozenset[int]]
) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """Seconds, bytes and the least clock of every plan, row by row."""
    rows, found = rows_of(model, CHIPS, **fixed), []
    for row in range(len(rows)):
        plans = every_plan(model, rows, row, CLOCKS)
        cost = evaluate_totals(model, PlanTable.from_plans(plans))
        least = [min(stage.clock or 1.0 for stage in plan.stages or ()) for plan in plans]
        found.append((cost.step_time_s, cost.memory_bytes, np.array(least)))
    return found


def without_bubbles() -> tuple[CostModel, dict[str, frozenset[int]]]:
    """Unequal stages whose reductions are hidden by passes; nothing waits for the slowest stage."""
    layers = dense_model(4, 2048, 8, 8, 8192)
    model = cost_model(layers, "mi300x-8way", global_batch=2, framework="deepspeed", seq_len=4096)
    model = replace(model, assumptions=replace(model.assumptions, bubbles=False))
    fixed = {"pp": {2}, "tp": {1}, "cp": {1}, "ep": {1}, "micro_batch": {1}}
    fixed |= {"interleave": {1}, "recompute": {0}}
    return with_clocks(model), {name: frozenset(codes) for name, codes in fixed.items()}


JOBS = {
    "host": host_bound(), "zero-bubble": dense("megatron-zb"), "dualpipe": dense("hai-llm"),
    "no bubbles": without_bubbles(),
}  # fmt: skip


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("share", [0.1, 1.0])
def test_the_fastest_plan_of_all_clocks(job: str, share: float) -> None:
    model, fixed = JOBS[job]
    plans = evaluated(model, fixed)
    limit = float(np.quantile(np.concatenate([held for _, held, _ in plans]), share))
    limits = Limits(memory_bytes=limit)
    rows = rows_of(model, CHIPS, **fixed)
    forms = clocked_forms(model, rows, np.array(CLOCKS))
    second = second_bound(model, limits, rows, forms, np.inf)
    least = np.array([seconds[held <= limit].min(initial=np.inf) for seconds, held, _ in plans])
    assert (first_bound(forms) <= least).all()
    assert (second <= least).all()
    found = best_time(model, SpaceOptions(fixed=fixed), limits, CHIPS)
    assert found.status is Status.OPTIMAL
    assert found.points[0, 0] == pytest.approx(least.min(), rel=1e-9)
    assert found.bound[0] <= least.min()


@pytest.mark.parametrize("seed", range(3))
def test_every_row_is_dropped_or_solved_though_limits_grow(seed: int) -> None:
    """Too little memory for the fastest plans: rows are solved again under a later limit."""
    layers = dense_model(5 + seed, 512, 8, 8, 2048)
    model = cost_model(layers, "dgx-h100-ndr", global_batch=8, framework="megatron-zb")
    options = SpaceOptions(clocks=False)
    fastest = best_time(model, options, Limits(), 8)
    held = memory_table(model, fastest.plans).peak[0]
    found = best_time(model, options, Limits(memory_bytes=0.7 * float(held)), 8)
    stages = {step.name: step for step in found.certificate.funnel}["stages"]
    assert stages.rows == stages.dropped + found.certificate.solved + found.certificate.left


@pytest.mark.parametrize(("job", "share"), [("host", 0.1), ("no bubbles", 1.0)])
def test_a_lower_clock_is_faster_where_something_waits(job: str, share: float) -> None:
    model, fixed = JOBS[job]
    seconds, held, clock = map(np.concatenate, zip(*evaluated(model, fixed), strict=True))
    limits = Limits(memory_bytes=float(np.quantile(held, share)))
    fits = held <= limits.chip_bytes(model)
    lowest, highest = seconds[fits].min(), seconds[fits & (clock == 1.0)].min()
    assert lowest < highest * (1 - 1e-4)
    for clocks, least in ((False, highest), (True, lowest)):
        found = best_time(model, SpaceOptions(fixed=fixed, clocks=clocks), limits, CHIPS)
        assert found.points[0, 0] == pytest.approx(least, rel=1e-9)
