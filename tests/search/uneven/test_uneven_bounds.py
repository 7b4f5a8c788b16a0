"""Lower bounds of random rows are below random plans of theirs."""

import random
import time
from dataclasses import replace

import numpy as np
import pytest
from support.jobs import cost_model, dense_model, moe_model, random_chips, random_cost_model
from support.uneven import device_of, first_chunks_first, random_sizes

from models_db import load_model
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table, evaluate_totals
from planner.cost.stages.explicit import chunk_kinds
from planner.frameworks.rules import violations
from planner.plan import FULL, SELECTIVE, SHARDINGS, Plan, PlanTable, Stage
from planner.question.options import SpaceOptions
from planner.search.deadline import Deadline
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.uneven.bounds.memory import second_bound, stage_memory_of
from planner.search.uneven.bounds.time import first_bound, partial_plan_lower, row_forms
from planner.search.uneven.certificate import best_time
from planner.search.uneven.rows import Rows, cross_rows, uneven_partial_plans
from planner.search.uneven.shortage import shortage
from planner.search.uneven.terms import row_terms
from planner.search.uniform.engine import UniformSpace
from solvers.solution import Status

ROUNDED = 1 + 2e-12
OPTIONS = SpaceOptions(clocks=False)


def random_plan(rng: random.Random, model: CostModel, rows: Rows, row: int) -> Plan:
    """Random chunks, recomputation counts and shardings on a row."""
    plan = rows.plans.plan(row)
    sizes = random_sizes(rng, model.job.model.layers, plan.pp, plan.interleave)
    kinds = chunk_kinds(model.job.model.layer_kinds, sizes)
    shardings = [SHARDINGS[z] for z in np.flatnonzero(rows.shardings[row])]
    chosen = [rng.choice(shardings) for _ in range(plan.pp)]
    share = rng.choice([0.0, 0.5, 1.0])
    counts = []
    for pair in kinds.tolist():
        full = [min(int(rng.random() * share * 1.99 * n), n) for n in pair]
        full = full if FULL in rows.recomputes else [0, 0]
        rest = [n - taken for n, taken in zip(pair, full, strict=True)]
        some = [rng.randint(0, n) if SELECTIVE in rows.recomputes else 0 for n in rest]
        none = [n - taken for n, taken in zip(rest, some, strict=True)]
        counts.append({"none": none, "selective": some, "full": full})
    if plan.interleave > 1:
        first_chunks_first(counts, plan.pp)
    stages = tuple(
        Stage(
            layers=size,
            recompute="none",
            selective=(chunk["selective"][0], chunk["selective"][1]),
            full=(chunk["full"][0], chunk["full"][1]),
            sharding=chosen[device_of(plan, at)],
            clock=1.0,
        )
        for at, (size, chunk) in enumerate(zip(sizes, counts, strict=True))
    )
    return replace(plan, stages=stages, clock=1.0)


def real_model(seed: int) -> tuple[CostModel, int]:
    """A published model on a cluster of its size, or a random small job."""
    rng = random.Random(seed)
    if seed % 3:
        model = random_cost_model(seed)
        return model, random_chips(model, seed, most=64)
    name = rng.choice(["llama3.1-70b", "gpt3-175b", "deepseek-v2-lite", "gpt-oss-20b"])
    frame = rng.choice(["megatron", "megatron-zb", "torchtitan", "jax", "hai-llm"])
    model = cost_model(load_model(name), "dgx-h100-ndr", global_batch=64, framework=frame)
    return model, rng.choice([64, 128])


@pytest.mark.parametrize("seed", range(12))
def test_bounds_are_below_random_plans(seed: int) -> None:
    rng = random.Random(seed)
    model, chips = real_model(seed)
    partial_plans = uneven_partial_plans(model, (chips,), OPTIONS)
    if not len(partial_plans):
        pytest.skip("no mesh")
    chosen = np.sort(rng.sample(range(len(partial_plans)), min(len(partial_plans), 12)))
    for at in chosen:
        few = partial_plans.take(np.array([at]))
        rows = cross_rows(model, few, OPTIONS)
        if not len(rows):
            continue
        lowest = float(partial_plan_lower(model, few, OPTIONS)[0])
        forms = row_forms(model, rows, row_terms(model, rows, model.clocks(wanted=False)))
        first = first_bound(forms)
        row = rng.randrange(len(rows))
        plans = PlanTable.from_plans([random_plan(rng, model, rows, row) for _ in range(4)])
        assert not violations(model, plans)
        cost = evaluate_totals(model, plans)
        limits = Limits(memory_bytes=float(np.median(cost.memory_bytes)))
        second = second_bound(model, limits, rows, forms, np.inf)
        fits = cost.memory_bytes <= limits.chip_bytes(model)
        assert first[row] <= second[row] * ROUNDED
        assert second[row] <= cost.step_time_s[fits].min() * ROUNDED
        assert max(lowest, first[row]) <= cost.step_time_s.min() * ROUNDED


@pytest.mark.parametrize("seed", range(12))
def test_a_first_bound_without_time_is_below_the_one_with_networks(seed: int) -> None:
    model, chips = real_model(seed)
    partial_plans = uneven_partial_plans(model, (chips,), OPTIONS)
    if not len(partial_plans):
        pytest.skip("no mesh")
    over = Deadline(time.perf_counter())
    arithmetic = partial_plan_lower(model, partial_plans, OPTIONS, over)
    with_networks = partial_plan_lower(model, partial_plans, OPTIONS)
    assert (arithmetic > 0).all()
    assert (arithmetic <= with_networks * ROUNDED).all()


def small() -> CostModel:
    return cost_model(dense_model(10, 1024, 8, 8, 4096), "dgx-h100-ndr", global_batch=16)


def test_time_limit_keeps_a_bound() -> None:
    model = small()
    uniform = Driver().run(UniformSpace(model=model, options=OPTIONS, limits=Limits(), chips=(8,)))
    ended = best_time(model, OPTIONS, Limits(), 8, uniform=uniform, deadline=time.perf_counter())
    assert ended.status is Status.FEASIBLE
    proved = best_time(model, OPTIONS, Limits(), 8, uniform=uniform)
    assert ended.certificate.bound <= proved.points[0, 0] <= ended.points[0, 0]
    none = best_time(model, OPTIONS, Limits(), 8, deadline=time.perf_counter())
    assert none.status is Status.TIME_LIMIT


def test_gap_ends_early() -> None:
    model = small()
    uniform = Driver().run(UniformSpace(model=model, options=OPTIONS, limits=Limits(), chips=(8,)))
    proved = best_time(model, OPTIONS, Limits(), 8, uniform=uniform)
    close = best_time(model, OPTIONS, Limits(), 8, uniform=uniform, gap=0.5)
    assert close.certificate.stage_solves == 0
    assert close.certificate.gap <= 0.5
    assert close.certificate.bound <= proved.points[0, 0]


def test_limits_are_obeyed() -> None:
    model = small()
    free = best_time(model, OPTIONS, Limits(), 8)
    least = float(free.points[0, 0])
    assert best_time(model, OPTIONS, Limits(step_time_s=0.99 * least), 8).status is (
        Status.INFEASIBLE
    )
    just = best_time(model, OPTIONS, Limits(step_time_s=least), 8)
    assert just.points[0, 0] == pytest.approx(least, rel=1e-9)
    power = 0.97 * float(free.points[0, 1]) / least
    clocked = replace(OPTIONS, clocks=True)
    capped = best_time(model, clocked, Limits(power_w=power), 8)
    assert capped.points[0, 1] <= power * capped.points[0, 0]
    uniform = Driver().run(
        UniformSpace(model=model, options=clocked, limits=Limits(power_w=power), chips=(8,))
    )
    assert least < capped.points[0, 0] <= uniform.points[0, 0] * (1 + 1e-4)


def test_shortage_names_stage_and_bytes() -> None:
    model = cost_model(load_model("llama3.1-405b"), "dgx-h100-ndr", global_batch=16)
    options = replace(OPTIONS, fixed={"micro_batch": frozenset({1})})
    found = best_time(model, options, Limits(), 32)
    assert found.status is Status.INFEASIBLE
    missing = shortage(model, options, Limits(), 32)
    assert missing is not None
    assert missing.least_bytes <= missing.needed_bytes
    assert missing.limit_bytes < missing.least_bytes
    assert missing.plan.stages is not None
    held = evaluate_table(model, PlanTable.from_plans([missing.plan]))
    assert float(held.memory_per_chip_bytes[0]) == missing.needed_bytes
    more = Limits(memory_bytes=missing.needed_bytes)
    assert best_time(model, options, more, 32).status is Status.OPTIMAL
    assert shortage(model, options, more, 32) is None


def test_a_layer_of_any_kind_keeps_at_least_what_is_said_of_the_first() -> None:
    """Of models with two kinds of layers the lighter one counts, in its lightest recomputation."""
    model = cost_model(moe_model(6, 4), "dgx-h100-ndr", global_batch=16)
    rows = cross_rows(model, uneven_partial_plans(model, (16,), OPTIONS), OPTIONS)
    dense, experts = (stage_memory_of(model, rows, kind) for kind in range(2))
    first_mode = np.argmax(rows.modes == 0, axis=1)
    for own, other in ((dense, experts), (experts, dense)):
        alone = np.take_along_axis(own.kept, first_mode[:, None], axis=1)[:, 0]
        least = np.minimum(alone, other.kept.min(axis=1))
        np.testing.assert_allclose(own.first, least, rtol=1e-12)
    assert (dense.first < dense.kept[:, 0]).all()
