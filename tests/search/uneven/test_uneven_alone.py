"""Rows of one stage, and devices of interleaved rows, as if each plan and device came alone."""

import random
from dataclasses import replace

import numpy as np
import pytest
from support.jobs import cost_model, dense_model, moe_model
from support.uneven import nearly_equal, rows_of, sizes_of

from models_db import Model
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.frameworks.targets import TARGETS
from planner.plan import SHARDINGS, Plan, PlanTable, Stage
from planner.question.options import SpaceOptions
from planner.search.limits import Limits
from planner.search.uneven.bounds.alone import alone, alone_bound
from planner.search.uneven.bounds.launchable_memory import launchable_bound
from planner.search.uneven.bounds.time import clocked_forms
from planner.search.uneven.columns import interleaved
from planner.search.uneven.columns.columns import row_columns
from planner.search.uneven.launchable import launchable_rows
from planner.search.uneven.rows import Rows


def launchable(model: CostModel, **fixed: frozenset[int]) -> Rows:
    """The rows on 8 chips that Megatron-LM can be told."""
    options = SpaceOptions(runnable_in=(TARGETS["megatron"],))
    return launchable_rows(model, options, rows_of(model, 8, **fixed))


def plans_of(model: CostModel, rows: Rows, row: int) -> list[Plan]:
    """The plans of a row of one stage that recomputes its first layers, one per sharding."""
    kinds, first = model.job.model.layer_kinds, int(rows.first[row])
    full = (kinds[:first].count("dense"), kinds[:first].count("moe"))
    shared = rows.plans.plan(row)
    found = []
    for code in np.flatnonzero(rows.shardings[row]).tolist():
        stage = Stage(
            layers=len(kinds),
            recompute="none",
            selective=(0, 0),
            full=full,
            sharding=SHARDINGS[code],
            clock=1.0,
        )
        found.append(replace(shared, sharding=SHARDINGS[code], clock=1.0, stages=(stage,)))
    return found


@pytest.mark.parametrize("model", [dense_model(6, 512, 4, 4, 2048), moe_model(5, 4)])
@pytest.mark.parametrize("seq_len", [2048, 8192])
def test_the_bound_of_one_stage_is_what_it_takes(model: Model, seq_len: int) -> None:
    """Exactly, where the backward pass is long enough to hide all that can be hidden."""
    job = cost_model(model, "dgx-h100-ndr", global_batch=16, seq_len=seq_len)
    rows = launchable(job, pp=frozenset({1}), cp=frozenset({1}))
    rows = rows.take(alone(rows))
    assert len(rows) > 20
    forms = clocked_forms(job, rows, np.array([1.0]))
    each = [plans_of(job, rows, row) for row in range(len(rows))]
    costs = [evaluate_totals(job, PlanTable.from_plans(plans)) for plans in each]
    most = float(np.median([cost.memory_bytes.min() for cost in costs]))
    limits = Limits(memory_bytes=most)
    bound = alone_bound(job, limits, rows, forms)
    whole = launchable_bound(job, limits, rows, forms, np.inf)
    alone_there = exact = 0
    for row, cost in enumerate(costs):
        fits = cost.memory_bytes <= most
        if not fits.any():
            assert bound[row] == whole[row] == np.inf
            continue
        least = cost.step_time_s[fits].min()
        assert bound[row] <= whole[row] <= least * (1 + 2e-12)
        if len(fits) == 1:
            alone_there += 1
            exact += bound[row] == pytest.approx(least, rel=1e-9)
    assert 0 < alone_there < len(rows)
    assert exact == alone_there or (seq_len == 2048 and exact >= alone_there - 1)


@pytest.mark.parametrize("seed", range(4))
def test_devices_at_once_have_the_columns_of_each_alone(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    model = moe_model(9, 4) if seed % 2 else dense_model(12, 512, 4, 4, 2048)
    job = cost_model(model, "dgx-h100-ndr", global_batch=32, few_clocks=True)
    rows = launchable(job, pp=frozenset({4}), cp=frozenset({1}), interleave=frozenset({2, 3}))
    made = 0
    for row in rng.sample(range(len(rows)), 12):
        at = (job, Limits(memory_bytes=80e9), rows, row, job.clocks(wanted=True), 1e3)
        found = []
        for most in (20_000, 0):  # ways of all devices, of one
            monkeypatch.setattr(interleaved, "_AT_A_TIME", most)
            found.append(row_columns(*at, energy=True))
        both, each = found
        assert (both is None) == (each is None)
        if both is None or each is None:
            continue
        for name in ("device", "starts", "ends", "sums", "peaks"):
            mine, others = (getattr(one.problem.columns, name) for one in found if one)
            np.testing.assert_array_equal(mine, others)
        np.testing.assert_array_equal(both.counts, each.counts)
        np.testing.assert_array_equal(both.sharding, each.sharding)
        np.testing.assert_array_equal(both.clock, each.clock)
        made += 1
    assert made > 5


def block_plans(model: CostModel, rows: Rows, row: int) -> list[Plan]:
    """All plans of a row the first layers of whose chunks recompute."""
    shared, first = rows.plans.plan(row), int(rows.first[row])
    (code,) = np.flatnonzero(rows.shardings[row]).tolist()
    layers, pp, v = model.job.model.layers, shared.pp, shared.interleave
    found = []
    for sizes in sizes_of(layers, pp * v):
        if all(sizes[1:-1]) and (v == 1 or nearly_equal(sizes, layers, pp, int(rows.fullest[row]))):
            stages = tuple(
                Stage(
                    layers=size,
                    recompute="none",
                    selective=(0, 0),
                    full=(min(first, size), 0),
                    sharding=SHARDINGS[code],
                    clock=1.0,
                )
                for size in sizes
            )
            found.append(replace(shared, sharding=SHARDINGS[code], clock=1.0, stages=stages))
    return found


@pytest.mark.parametrize("layers", [5, 6])
def test_the_bound_of_first_layers_is_below_all_plans(layers: int) -> None:
    """Of pipelines with one chunk a stage and with two, where memory is short and where it is not;
    it has no plan only where none fits."""
    job = cost_model(dense_model(layers, 512, 4, 4, 2048), "dgx-h100-ndr", global_batch=16)
    fixed = {"pp": {2}, "tp": {1}, "cp": {1}, "interleave": {1, 2}, "micro_batch": {1, 2}}
    rows = launchable(job, **{name: frozenset(values) for name, values in fixed.items()})
    rows = rows.take(np.flatnonzero((rows.first > 0) & (rows.shardings.sum(axis=1) == 1))[::7])
    assert {1, 2} == {*rows.plans.interleave.tolist()}
    forms = clocked_forms(job, rows, np.array([1.0]))
    costs = [
        evaluate_totals(job, PlanTable.from_plans(block_plans(job, rows, row)))
        for row in range(len(rows))
    ]
    bytes_of_all = np.concatenate([cost.memory_bytes for cost in costs])
    none_fits = 0
    for share in (0.02, 0.3, 1.0):
        limits = Limits(memory_bytes=float(np.quantile(bytes_of_all, share)))
        bound = launchable_bound(job, limits, rows, forms, np.inf)
        for row, cost in enumerate(costs):
            fits = cost.memory_bytes <= limits.chip_bytes(job)
            if not fits.any():
                none_fits += np.isinf(bound[row])
                continue
            least = float(cost.step_time_s[fits].min())
            assert bound[row] <= least * (1 + 2e-12)
            one, within = rows.take(np.array([row])), least * (1 + 1e-9)
            kept = launchable_bound(job, limits, one, forms.take(np.array([row])), within)
            assert np.isfinite(kept[0])
    assert none_fits > 0
