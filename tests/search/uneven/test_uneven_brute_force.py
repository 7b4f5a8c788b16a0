"""Bounds, columns and the certificate against all plans of rows of small jobs."""

import random
from dataclasses import replace

import numpy as np
import pytest
from support.jobs import cost_model, dense_model, moe_model, with_images
from support.uneven import every_plan, rows_of, values

from models_db import Order, Recurrence
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table, evaluate_totals
from planner.plan import RECOMPUTES, PlanTable
from planner.question.options import SpaceOptions
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.uneven.aligned import fullest_devices
from planner.search.uneven.bounds.memory import fits_in_memory, second_bound
from planner.search.uneven.bounds.time import first_bound, row_forms
from planner.search.uneven.certificate import best_time
from planner.search.uneven.columns.columns import RowColumns, row_columns
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import row_terms
from planner.search.uniform.engine import UniformSpace
from solvers.solution import Status
from solvers.stages.backend import Question
from solvers.stages.solving import solve_stages

ROUNDED = 1 + 2e-12
FRAMEWORKS = ("megatron", "torchtitan", "jax", "megatron-zb", "deepspeed", "nanotron", "hai-llm")


def small_job(rng: random.Random) -> CostModel:
    """A model of few layers of one or two kinds."""
    two = rng.random() < 0.3
    model = moe_model(3, 4) if two else dense_model(rng.choice([3, 4, 5]), 512, 8, 8, 2048)
    hardware = rng.choice(["dgx-h100-ndr", "dgx-a100-80-hdr", "gb200-nvl72"])
    return cost_model(
        model, hardware, global_batch=rng.choice([8, 16]), framework=rng.choice(FRAMEWORKS)
    )


def least_of(columns: RowColumns) -> tuple[float, float, PlanTable]:
    """Bound and seconds of the best choice, and its plan."""
    found = solve_stages(Question(problem=columns.problem))
    assert found.status is Status.OPTIMAL
    assert found.decision is not None
    plan = PlanTable.from_plans([columns.plan(found.decision)])
    return found.bound * columns.units.time_s, found.objective * columns.units.time_s, plan


def some_rows(rng: random.Random, rows: Rows, most: int) -> list[int]:
    """Rows whose plans can be listed, those with stages first."""
    chunks = rows.plans.pp * rows.plans.interleave
    small = np.flatnonzero(chunks <= 4).tolist()
    rng.shuffle(small)
    return sorted(small, key=lambda row: int(rows.plans.pp[row] == 1))[:most]


@pytest.mark.parametrize("seed", range(24))
def test_bounds_and_columns_against_all_plans(seed: int) -> None:
    rng = random.Random(seed)
    check_some_rows(small_job(rng), rng)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_and_columns_of_hybrids_against_all_plans(seed: int) -> None:
    """Layers of attention, of a recurrence, of a feed-forward alone, with experts or without."""
    rng = random.Random(40 + seed)
    kinds = "E-" if seed % 2 else "-"
    model = moe_model(3, 4) if seed % 2 else dense_model(4, 512, 8, 8, 2048)
    mixer = Recurrence(
        kind="mamba2" if seed < 2 else "gated-delta",
        heads=16,
        head_dim=64,
        key_heads=8,
        key_dim=64,
        kernel=4,
        rank=0,
        bias=(),
        norm="full-width",
        chunk=64,
    )
    order = Order(mixers="M*M" if seed < 2 else "M.*", feed_forwards=kinds if seed < 2 else "")
    job = replace(model, order=order, recurrence=mixer)
    found = cost_model(job, "dgx-h100-ndr", global_batch=8, framework=FRAMEWORKS[seed % 3])
    check_some_rows(found, rng)


@pytest.mark.parametrize("seed", range(2, 8))
def test_bounds_and_columns_of_a_vision_tower_against_all_plans(seed: int) -> None:
    """A tower that takes from less than one to several layers of the decoder."""
    rng = random.Random(60 + seed)
    images = rng.choice([1, 8, 30])
    check_some_rows(with_images(small_job(rng), images, rng.choice(RECOMPUTES)), rng)


def test_a_tower_as_long_as_half_of_the_model_is_a_stage_of_its_own() -> None:
    model = with_images(
        cost_model(dense_model(4, 384, 6, 6, 1536), "dgx-h100-ndr", global_batch=16), 30
    )
    fixed = {name: frozenset({1}) for name in ("tp", "cp", "dp", "fsdp", "interleave")}
    rows = rows_of(model, 2, pp=frozenset({2}), micro_batch=frozenset({1}), **fixed)
    found = []
    for row in range(len(rows)):
        plans = PlanTable.from_plans(every_plan(model, rows, row))
        least = float(evaluate_totals(model, plans).step_time_s.min())
        columns = row_columns(model, Limits(), rows, row, model.clocks(wanted=False), 2 * least)
        assert columns is not None
        found.append(least_of(columns))
        assert found[-1][1] == pytest.approx(least, rel=1e-7)
    _, _, best = min(found, key=lambda one: one[1])
    assert best.stages is not None
    assert best.stages.layers[0].tolist() == [0, 4]


def check_some_rows(model: CostModel, rng: random.Random) -> None:
    """Two rows of a job against all of their plans, at a limit of memory that some of them keep."""
    rows = rows_of(model, rng.choice([4, 8]))
    for row in some_rows(rng, rows, 2):
        plans = every_plan(model, rows, row)
        if len(plans) > 6000:
            continue
        cost = evaluate_totals(model, PlanTable.from_plans(plans))
        share = rng.choice([0.02, 0.3, 0.9, 1.0])
        limit = float(np.quantile(cost.memory_bytes, share))
        best = float(cost.step_time_s[cost.memory_bytes <= limit].min())
        check_row(model, Limits(memory_bytes=limit), rows, row, best)


def check_row(model: CostModel, limits: Limits, rows: Rows, row: int, best: float) -> None:
    """All bounds of a row are below its best plan, and its columns find that."""
    clocks = model.clocks(wanted=False)
    one = rows.take(np.array([row]))
    forms = row_forms(model, one, row_terms(model, one, clocks))
    first = float(first_bound(forms)[0])
    second = float(second_bound(model, limits, one, forms, np.inf)[0])
    assert first <= second * ROUNDED <= best * ROUNDED**2
    assert fits_in_memory(model, limits, one).all()
    columns = row_columns(model, limits, rows, row, clocks, 1.3 * best)
    assert columns is not None
    bound, _, plan = least_of(columns)
    cost = evaluate_table(model, plan)
    assert bound <= best * ROUNDED
    assert float(cost.step_time_s[0]) == pytest.approx(best, rel=1e-7)
    assert float(cost.memory_per_chip_bytes[0]) <= limits.chip_bytes(model)
    assert row_columns(model, limits, rows, row, clocks, best * (1 - 1e-6)) is None or (
        bound >= best * (1 - 1e-6)
    )


@pytest.mark.parametrize("seed", range(8))
def test_certificate_against_all_plans(seed: int) -> None:
    """With plans of stages that are alike known before, and without."""
    rng = random.Random(seed)
    model = cost_model(
        moe_model(3, 4) if seed % 4 == 3 else dense_model(rng.choice([3, 4]), 512, 4, 4, 2048),
        "dgx-h100-ndr",
        global_batch=4,
        framework=FRAMEWORKS[seed % 5],
    )
    fixed = {"pp": frozenset({1, 2}), "ep": frozenset({1}), "interleave": frozenset({1, 2})}
    fixed |= {"tp": frozenset({1})} if seed % 2 else {"cp": frozenset({1})}
    rows = rows_of(model, 4, **fixed)
    plans = [plan for row in range(len(rows)) for plan in every_plan(model, rows, row)]
    cost = evaluate_totals(model, PlanTable.from_plans(plans))
    memory = cost.memory_bytes
    limit = float(np.quantile(memory, rng.choice([0.0, 0.05, 0.5, 1.0])))
    best = float(cost.step_time_s[memory <= limit].min())
    options, limits = SpaceOptions(fixed=fixed, clocks=False), Limits(memory_bytes=limit)
    space = UniformSpace(model=model, options=options, limits=limits, chips=(4,))
    for known in (Driver().run(space), None):
        found = best_time(model, options, limits, 4, uniform=known)
        assert found.status is Status.OPTIMAL, known
        assert found.points[0, 0] == pytest.approx(best, rel=1e-9), known
        assert found.certificate.bound <= best * ROUNDED, known
        assert found.certificate.gap < 1e-6, known
        seconds, fits = values(model, [found.plans.plan(0)], limits)
        assert seconds[0] == found.points[0, 0], known
        assert fits[0], known


@pytest.mark.parametrize(
    ("layers", "pp", "v"),
    [(7, 2, 2), (8, 2, 2), (9, 2, 3), (8, 2, 4), (8, 4, 2), (9, 4, 2), (10, 3, 2), (7, 3, 2)],
)
@pytest.mark.parametrize("vocabulary", [2048, 100_000])
def test_interleaved_rows_against_all_plans(layers: int, pp: int, v: int, vocabulary: int) -> None:
    """Every number of layers that the fullest device may have, with a light and a heavy head."""
    rng = random.Random(layers * v)
    model = cost_model(
        replace(dense_model(layers, 512, 8, 8, 2048), vocab_size=vocabulary),
        "dgx-h100-ndr",
        global_batch=8 * pp,
    )
    fixed = {"pp": {pp}, "tp": {1}, "cp": {1}, "interleave": {v}, "micro_batch": {1}}
    fixed["recompute"] = {0, 2} if layers == 7 else {0}
    rows = rows_of(model, pp, **{name: frozenset(values) for name, values in fixed.items()})
    assert set(rows.fullest.tolist()) == set(fullest_devices(layers, pp, v))
    for row in range(len(rows)):
        plans = every_plan(model, rows, row)
        cost = evaluate_totals(model, PlanTable.from_plans(plans))
        limit = float(np.quantile(cost.memory_bytes, rng.choice([0.3, 1.0])))
        best = float(cost.step_time_s[cost.memory_bytes <= limit].min())
        check_row(model, Limits(memory_bytes=limit), rows, row, best)
