"""Lower bounds of the step time lie close to plans whose stages are all alike."""

from dataclasses import replace

import numpy as np
import pytest
from support.cases import each
from support.jobs import cost_model, dense_model
from support.uneven import rows_of

from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.cost.pools.pools import Pool
from planner.plan import PlanTable, Stage
from planner.schedules import code_of_schedule
from planner.schedules.bidirectional import RankTimes, pipeline_s
from planner.search.pools.bounds import pooled_forms
from planner.search.pools.rows import PooledRows
from planner.search.uneven.bounds.bidirectional import Round
from planner.search.uneven.bounds.time import first_bound, row_forms
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import row_terms

LAYERS, STAGES = 8, 4


def job(framework: str, batch: int) -> CostModel:
    """A job whose ends take hardly any time."""
    small = replace(dense_model(LAYERS, 1024, 8, 8, 4096), vocab_size=64)
    return cost_model(small, "dgx-h100-ndr", global_batch=batch, framework=framework)


def rows_at(model: CostModel, chips: int) -> Rows:
    """All rows of four stages, of one replica without interleave and of single sequences."""
    one = dict.fromkeys(("dp", "fsdp", "micro_batch", "interleave"), frozenset({1}))
    return rows_of(model, chips, pp=frozenset({STAGES}), **one)


@each(("framework", "schedule", "batch"), [
    ("megatron", "1f1b", 2), ("megatron", "1f1b", 8), ("megatron-zb", "zero-bubble", 2),
    ("megatron-zb", "zero-bubble", 8), ("hai-llm", "dualpipe", 8),
])  # fmt: skip
def test_stages_that_are_alike_take_hardly_more_than_the_bound(
    framework: str, schedule: str, batch: int
) -> None:
    model = job(framework, batch)
    rows = rows_at(model, STAGES)
    rows = rows.take(np.flatnonzero(rows.plans.schedule == code_of_schedule(schedule)))
    even = Stage(layers=LAYERS // STAGES, recompute="none", sharding="ddp", clock=1.0)
    plans = [replace(rows.plans.plan(at), stages=(even,) * STAGES, clock=1.0)
             for at in range(len(rows))]  # fmt: skip
    seconds = evaluate_totals(model, PlanTable.from_plans(plans)).step_time_s
    bound = first_bound(row_forms(model, rows, row_terms(model, rows, model.clocks(wanted=False))))
    assert (bound <= seconds * (1 + 1e-12)).all()
    assert (bound >= 0.96 * seconds).all()


@pytest.mark.parametrize("framework", ["megatron", "megatron-zb"])
@pytest.mark.parametrize("batch", [1, 2, 8])
def test_pools_of_the_same_chips_are_bounded_as_one_cluster(framework: str, batch: int) -> None:
    """As many micro-batches as stages or fewer, down to one, which leaves no stage the slowest."""
    model = job(framework, batch)
    clocks = model.clocks(wanted=False)
    rows = rows_at(model, 8 * STAGES)  # a stage fills a node, as in pools
    two = tuple(Pool(name=name, chips=4 * STAGES, model=model) for name in "ab")
    pooled = pooled_forms(PooledRows(pools=two, own=(rows, rows)), [clocks, clocks])
    whole = row_forms(model, rows, row_terms(model, rows, clocks))
    for slower in (1.0, 1.3):
        slowest = slower * whole.slowest
        np.testing.assert_allclose(pooled.step_s(slowest), whole.step_s(slowest), rtol=1e-12)


def test_parts_of_a_round_are_what_equal_pairs_of_ranks_add() -> None:
    """But for what `over` of one pair may add to it; none is above it."""
    rng = np.random.default_rng(3)
    f, b, w, h = rng.uniform(0.0, 4.0, (4, 400, 1)) * [[[1.0]], [[1.0]], [[1.0]], [[0.2]]]
    for pairs in (1, 2, 5):
        count = np.full_like(f, 2.0 * pairs)
        ranks = RankTimes(count=count, forward=f, backward=b, weight_grad=w, hidden=h)
        turns = np.full_like(f, 10.0)
        adds = pipeline_s([ranks], turns) - np.maximum(ranks.paced(turns), 0.0)
        parts = Round(forward=f, backward=b, weight_grad=w, hidden=h).parts(np.array(1.0 * pairs))
        short = adds - pairs * np.max(parts, axis=0)
        assert (short >= -1e-12).all()
        assert (short <= ranks.over + 1e-12).all()
        assert (np.argmax(parts, axis=0) == 2).any()
