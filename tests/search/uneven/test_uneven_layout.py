"""A layout that is given leaves the plans with those chunks, and the best of them is found."""

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from support.jobs import random_cost_model
from support.uneven import counted, device_of, first_recomputed

from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.cost.stages.explicit import chunk_kinds
from planner.plan import SHARDINGS, Plan, PlanTable, Stage
from planner.question.options import SpaceOptions
from planner.search.limits import Limits
from planner.search.uneven.columns.columns import row_columns
from planner.search.uneven.rows import Rows, cross_rows, uneven_partial_plans
from solvers.solution import Status
from solvers.stages.backend import Question
from solvers.stages.solving import solve_stages

FAR = 1e6
PLANS = 300


def random_layout(rng: random.Random, layers: int, chunks: int) -> tuple[int, ...]:
    """Some layers of every chunk, at least one in the middle ones."""
    cuts = sorted(rng.randint(0, layers - max(chunks - 2, 0)) for _ in range(chunks - 1))
    ends = [0, *(cut + max(at, 0) for at, cut in enumerate(cuts)), layers]
    return tuple(after - before for before, after in pairwise(ends))


def random_plans(
    rng: random.Random, model: CostModel, rows: Rows, row: int, sizes: tuple[int, ...]
) -> list[Plan]:
    """Plans with some layers per chunk, their recomputation and shardings at random."""
    shared = rows.plans.plan(row)
    shardings = [SHARDINGS[z] for z in np.flatnonzero(rows.shardings[row])]
    kinds = chunk_kinds(model.job.model.layer_kinds, sizes)
    options = [counted(tuple(pair), rows.recomputes) for pair in kinds.tolist()]
    clock = float(model.clocks(wanted=False)[0])
    plans = []
    for _ in range(PLANS):
        own = [rng.choice(shardings) for _ in range(shared.pp)]
        chosen = tuple(rng.choice(counts) for counts in options)
        if shared.interleave > 1 and not first_recomputed(kinds, chosen, shared.pp):
            continue
        stages = tuple(
            Stage(
                layers=size,
                recompute="none",
                sharding=own[device_of(shared, c)],
                clock=clock,
                **chosen[c],  # type: ignore[arg-type]
            )
            for c, size in enumerate(sizes)
        )
        plans.append(replace(shared, stages=stages, clock=clock))
    return plans


@pytest.mark.parametrize("seed", range(20))
def test_the_best_plan_of_a_layout_is_that_of_all_its_plans(seed: int) -> None:
    rng = random.Random(seed)
    model = random_cost_model(seed)
    layers = model.job.model.layers
    chips = rng.choice([count for count in model.cluster.chip_counts(16) if count > 1])
    sizes = random_layout(rng, layers, rng.choice([1, 2, 3, 4]))
    assert sum(sizes) == layers
    options = SpaceOptions(layers=sizes)
    rows = cross_rows(model, uneven_partial_plans(model, (chips,), options), options)
    if not len(rows):
        pytest.skip("no row has so many chunks")
    assert (rows.plans.pp * rows.plans.interleave == len(sizes)).all()
    row = rng.randrange(len(rows))
    limits = Limits()
    columns = row_columns(model, limits, rows, row, model.clocks(wanted=False), FAR)
    plans = random_plans(rng, model, rows, row, sizes)
    if not plans:
        pytest.skip("no plan is drawn")
    cost = evaluate_totals(model, PlanTable.from_plans(plans))
    fits = cost.memory_bytes <= limits.chip_bytes(model)
    if columns is None:
        assert not fits.any()
        return
    found = solve_stages(Question(problem=columns.problem))
    assert found.status is Status.OPTIMAL
    assert found.decision is not None
    plan = columns.plan(found.decision)
    assert tuple(stage.layers for stage in plan.stages or ()) == sizes
    best = float(evaluate_totals(model, PlanTable.from_plans([plan])).step_time_s[0])
    assert best <= float(np.min(cost.step_time_s, where=fits, initial=np.inf)) * (1 + 1e-9)
