"""DualPipe among the rows: pairs of ranks against all of their plans, and against random ones."""

import random
from dataclasses import replace

import numpy as np
import pytest
from support.jobs import cost_model, dense_model, moe_model
from support.uneven import every_plan, rows_of, searched_sizes
from test_uneven_bounds import random_plan
from test_uneven_brute_force import check_row

from planner.base.arrays import FloatArray
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.plan import Plan, PlanTable
from planner.schedules import code_of_schedule
from planner.search.limits import Limits
from planner.search.uneven.bounds.energy import full_work, mean_bounds, memory_bounds
from planner.search.uneven.bounds.time import row_forms
from planner.search.uneven.columns.columns import row_columns
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import row_terms
from solvers.solution import Status
from solvers.stages.backend import COST, Question
from solvers.stages.energy_bounds import bottleneck_bound
from solvers.stages.solving import solve_stages

DUALPIPE = code_of_schedule("dualpipe")

ROUNDED = 1 + 2e-12


def job(rng: random.Random, layers: tuple[int, ...], experts: tuple[int, ...]) -> CostModel:
    """A model of one or two kinds of layers on DeepSeek's framework."""
    dense = dense_model(rng.choice(layers), 512, 8, 8, 2048)
    model = moe_model(rng.choice(experts), 4) if rng.random() < 0.5 else dense
    hardware = rng.choice(["dgx-h100-ndr", "dgx-a100-80-hdr"])
    seq_len = rng.choice([1024, 8192])
    batch = rng.choice([8, 16, 32])
    return cost_model(model, hardware, global_batch=batch, seq_len=seq_len, framework="hai-llm")


def pair_rows(rng: random.Random, model: CostModel, least: int, most: int) -> Rows | None:
    """Some rows of DualPipe with as many stages."""
    rows = rows_of(model, rng.choice([4, 8, 16]))
    pp = rows.plans.pp
    at = np.flatnonzero((rows.plans.schedule == DUALPIPE) & (pp >= least) & (pp <= most))
    return rows.take(np.array([rng.choice(at.tolist())])) if len(at) else None


def mirrored(rng: random.Random, plan: Plan, clocks: FloatArray) -> Plan:
    """The plan with a random clock for each pair of ranks."""
    assert plan.stages is not None
    chosen = [float(rng.choice(clocks.tolist())) for _ in plan.stages]
    last = len(chosen) - 1
    own = [chosen[min(c, last - c)] for c in range(len(chosen))]
    stages = tuple(replace(s, clock=clock) for s, clock in zip(plan.stages, own, strict=True))
    return replace(plan, stages=stages, clock=max(own))


@pytest.mark.parametrize("seed", range(12))
def test_bounds_and_columns_against_all_plans(seed: int) -> None:
    rng = random.Random(seed)
    model = job(rng, (3, 4, 5), (3, 4))
    rows = pair_rows(rng, model, 2, 4)
    if rows is None:
        pytest.skip("no row")
    plans = every_plan(model, rows, 0)
    if len(plans) > 20_000:
        pytest.skip("too many plans")
    cost = evaluate_totals(model, PlanTable.from_plans(plans))
    limit = float(np.quantile(cost.memory_bytes, rng.choice([0.02, 0.3, 0.9, 1.0])))
    best = float(cost.step_time_s[cost.memory_bytes <= limit].min())
    check_row(model, Limits(memory_bytes=limit), rows, 0, best)


@pytest.mark.parametrize("seed", range(8))
def test_integers_and_bounds_of_energy_against_random_plans(seed: int) -> None:
    rng = random.Random(seed)
    model = job(rng, (6, 8, 10), (5, 8))
    rows = pair_rows(rng, model, 2, 8)
    if rows is None:
        pytest.skip("no row")
    clocks = model.clocks(wanted=True)
    plans = [mirrored(rng, random_plan(rng, model, rows, 0), clocks) for _ in range(60)]
    cost = evaluate_totals(model, PlanTable.from_plans(plans))
    seconds, joules = cost.step_time_s, cost.energy_j
    limits = Limits(memory_bytes=float(np.median(cost.memory_bytes)))
    fits = cost.memory_bytes <= limits.chip_bytes(model)
    forms = row_forms(model, rows, row_terms(model, rows, model.clocks(wanted=False)))
    mean = mean_bounds(model, rows, forms, clocks)
    work = full_work(model, limits, rows, forms, clocks)
    upper = np.array([float(seconds.max()) * (1 + 1e-6)])
    price = float(mean.price(float(np.median(seconds)))[0])
    prices = np.array([[0.0, price / 2, price]])
    most = min(float(forms.slowest_within(upper)[0]), float(upper[0]))
    edges = np.linspace(forms.slowest[0], max(most, forms.slowest[0]), 9)[None]
    held = memory_bounds(model, limits, rows, forms, mean, clocks, float(np.median(seconds)))
    ranged = bottleneck_bound(work, edges, prices, upper)
    for time, value in zip(seconds[fits], joules[fits], strict=True):
        for bound in (mean, held, ranged):
            assert float(bound.at(time)[0]) <= value * (1 + 1e-9)
        assert float(held.still[0]) <= (value - work.per_time[0] * time) * (1 + 1e-9)
    known = [fit and searched_sizes(p, _sizes(p)) for p, fit in zip(plans, fits, strict=True)]
    within = float(np.median(seconds[fits]))
    check_cheapest(model, limits, rows, within, points=(seconds[known], joules[known]))


def _sizes(plan: Plan) -> tuple[int, ...]:
    assert plan.stages is not None
    return tuple(stage.layers for stage in plan.stages)


def check_cheapest(
    model: CostModel,
    limits: Limits,
    rows: Rows,
    within: float,
    points: tuple[FloatArray, FloatArray],
) -> None:
    """The cheapest choice within a time costs what the cost model says, and no more than points."""
    columns = row_columns(
        model, limits, rows, 0, model.clocks(wanted=True), 1.5 * within, energy=True
    )
    seconds, joules = points
    least = float(np.min(joules, where=seconds <= within, initial=np.inf))
    if columns is None:
        assert least == np.inf
        return
    unit = columns.units
    longest = int(within / unit.time_s)
    found = solve_stages(Question(problem=columns.problem, minimize=COST, longest=longest))
    assert found.status is Status.OPTIMAL or least == np.inf
    if found.decision is None:
        return
    cost = evaluate_totals(model, PlanTable.from_plans([columns.plan(found.decision)]))
    assert float(cost.memory_bytes[0]) <= limits.chip_bytes(model)
    time, value = float(cost.step_time_s[0]) / unit.time_s, float(cost.energy_j[0])
    assert found.decision.time <= time * ROUNDED
    assert time <= (found.decision.time + columns.rounding) * (1 + 1e-11)
    assert found.objective <= value / unit.joules * (1 + 1e-11)
    assert value / unit.joules <= (found.objective + 2 * columns.rounding) * (1 + 1e-10)
    assert found.objective * unit.joules <= least * ROUNDED


def test_chunks_that_are_given_may_differ_by_any_number() -> None:
    model = cost_model(dense_model(10, 512, 8, 8, 2048), "dgx-h100-ndr", global_batch=16,
                       framework="hai-llm")  # fmt: skip
    rows = pair_rows(random.Random(0), model, 4, 4)
    assert rows is not None
    given = replace(rows, layers=(1, 2, 2, 5))
    columns = row_columns(model, Limits(), given, 0, model.clocks(wanted=False), 1e6)
    assert columns is not None
    found = solve_stages(Question(problem=columns.problem))
    assert found.decision is not None
    assert _sizes(columns.plan(found.decision)) == (1, 2, 2, 5)
    free = row_columns(model, Limits(), rows, 0, model.clocks(wanted=False), 1e6)
    assert free is not None
    best = solve_stages(Question(problem=free.problem)).decision
    assert best is not None
    assert searched_sizes(rows.plans.plan(0), _sizes(free.plan(best)))


@pytest.mark.parametrize("layers", [9, 17])
def test_the_chunks_of_a_pair_are_as_equal_as_memory_allows(layers: int) -> None:
    """Chunks that take the same time together may be dealt in several ways."""
    small = replace(moe_model(layers, 4), vocab_size=64)
    model = cost_model(small, "dgx-h100-ndr", global_batch=16, framework="hai-llm")
    rows = rows_of(model, 4, pp=frozenset({4}), recompute=frozenset({0}))
    rows = rows.take(np.flatnonzero(rows.plans.schedule == DUALPIPE)[:1])
    columns = row_columns(model, Limits(), rows, 0, model.clocks(wanted=False), 1e6)
    assert columns is not None
    best = solve_stages(Question(problem=columns.problem)).decision
    assert best is not None
    sizes = _sizes(columns.plan(best))
    assert sum(sizes) == layers
    assert all(abs(near - far) <= 1 for near, far in zip(sizes, sizes[::-1], strict=True))


@pytest.mark.parametrize("bubbles", [True, False])
@pytest.mark.parametrize("energy", [True, False])
def test_no_pair_is_left_that_another_beats_in_all_that_counts(
    *, bubbles: bool, energy: bool
) -> None:
    """Of pairs that begin, end and hold the same, by what forms of time, and joules, look at."""
    dense = dense_model(6, 512, 8, 8, 2048)
    model = cost_model(dense, "dgx-h100-ndr", global_batch=16, framework="hai-llm", few_clocks=True)
    model = replace(model, assumptions=replace(model.assumptions, bubbles=bubbles))
    rows = rows_of(model, 4, pp=frozenset({4}), micro_batch=frozenset({1}))
    rows = rows.take(np.flatnonzero(rows.plans.schedule == DUALPIPE)[:1])
    found = row_columns(model, Limits(), rows, 0, model.clocks(wanted=True), 1e6, energy=energy)
    assert found is not None
    columns, forms = found.problem.columns, found.problem.time
    summed = np.any([form.sums or (0, 0) for form in forms], axis=0)
    joules = columns.sums[:, 2:3] * energy
    peaks = columns.peaks[:, np.any([form.peaks for form in forms], axis=0)]
    values = np.hstack([columns.sums[:, :2][:, summed], joules, peaks])
    alike = [columns.device[:, None], columns.starts, columns.ends, columns.sums[:, 3:]]
    _, which = np.unique(np.hstack(alike), axis=0, return_inverse=True)
    no_more = (values[:, None] <= values[None]).all(axis=2) & (which[:, None] == which[None])
    assert len(values) > 10
    assert no_more.sum() == len(values)  # each pair is no more than itself alone
