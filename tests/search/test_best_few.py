"""The best few plans of different mesh or micro-batch are those of looking at every candidate."""

from dataclasses import replace

import numpy as np
import pytest
from support.jobs import random_chips, random_cost_model

from planner.cost.evaluate import evaluate_totals
from planner.objectives import ENERGY, MEMORY, OBJECTIVES, TIME, Objective
from planner.plan import PlanTable
from planner.question.options import SpaceOptions
from planner.search import best_few as module
from planner.search.best_few import best_few, best_few_later
from planner.search.driver import Driver
from planner.search.limits import Limits
from planner.search.objective import optimum, values
from planner.search.uniform.batch import Tally, build_batch
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.space import PARTIAL_PLAN


def keys_of(plans: PlanTable) -> list[tuple[int, ...]]:
    """Data ranks and the other axes, and the micro-batch."""
    names = ("tp", "cp", "ep", "pp", "micro_batch")
    columns = [plans.dp * plans.fsdp, *(getattr(plans, name) for name in names)]
    return [tuple(int(column[row]) for column in columns) for row in range(len(plans))]


def every_best(search: UniformSpace, objective: Objective) -> dict[tuple[int, ...], float]:
    """The least value of each mesh and micro-batch, from every candidate within the limits."""
    assert search.last is not None
    tally = Tally(plans={}, candidates={})
    partial_plans = search.last.partial_plans
    batch = build_batch(
        search.model, partial_plans, search.options, search.limits, search.clocks, tally
    )
    if batch is None:
        return {}
    opened = batch.open(np.arange(len(batch.space)), 0)
    allowed = np.ones(len(opened.points), dtype=bool) if opened.allowed is None else opened.allowed
    found = values(opened.points, objective)
    keys = keys_of(batch.space.plans)
    best: dict[tuple[int, ...], float] = {}
    for plan, value, ok in zip(opened.labels[:, 1], found, allowed, strict=True):
        if ok:
            best[keys[plan]] = min(best.get(keys[plan], np.inf), float(value))
    return best


def few_of(search: UniformSpace, objective: Objective) -> tuple[PlanTable, bool]:
    found = Driver().run(search)
    if len(found.points) == 0:
        pytest.skip("nothing fits in this random job")
    best = optimum(found.points, found.bound, found.status, objective)
    assert search.last is not None
    first = found.plans.take(np.array([best.row]))
    few = best_few(search, search.last, objective, first, best.value)
    return few.plans, few.proved


def value_of(search: UniformSpace, plans: PlanTable, objective: Objective) -> list[float]:
    costs = evaluate_totals(search.model, plans)
    points = np.stack([costs.step_time_s, costs.energy_j], axis=1)
    return [float(value) for value in values(points, objective)]


@pytest.mark.parametrize("name", ["time", "energy", "edp"])
@pytest.mark.parametrize("seed", range(14))
def test_the_best_few_are_those_of_every_candidate(seed: int, name: str) -> None:
    model = random_cost_model(seed)
    options = SpaceOptions(all_orders=seed % 4 == 0, offload=seed % 5 == 1)
    search = UniformSpace(
        model=model,
        options=options,
        limits=Limits(),
        columns=(TIME, ENERGY, MEMORY) if seed % 6 == 2 else (TIME, ENERGY),
        chips=(random_chips(model, seed, most=8),),
    )
    objective = OBJECTIVES[name]
    plans, proved = few_of(search, objective)
    best = sorted(every_best(search, objective).values())[:3]
    assert proved
    assert len(plans) == len(best)
    assert len(set(keys_of(plans))) == len(plans)
    assert value_of(search, plans, objective) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_limits_hold_for_all_of_them(seed: int) -> None:
    model = random_cost_model(seed)
    chips = random_chips(model, seed, most=8)
    free = UniformSpace(model=model, options=SpaceOptions(), limits=Limits(), chips=(chips,))
    plans, _ = few_of(free, ENERGY)
    slowest = float(evaluate_totals(model, plans).step_time_s.max()) * 0.999
    bound = replace(free, limits=Limits(step_time_s=slowest))
    plans, proved = few_of(bound, ENERGY)
    best = sorted(every_best(bound, ENERGY).values())[:3]
    assert proved
    assert value_of(bound, plans, ENERGY) == pytest.approx(best, rel=1e-9)
    assert (evaluate_totals(model, plans).step_time_s <= slowest * (1 + 1e-9)).all()


def test_the_first_stays_the_first() -> None:
    model = random_cost_model(3)
    search = UniformSpace(model=model, options=SpaceOptions(), limits=Limits(), chips=(8,))
    found = Driver().run(search)
    assert search.last is not None
    first = found.plans.take(np.array([0]))
    assert best_few(search, search.last, TIME, first, found.points[0, 0]).plans.plan(
        0
    ) == first.plan(0)


def test_without_time_nothing_is_proved() -> None:
    model = random_cost_model(3)
    search = UniformSpace(model=model, options=SpaceOptions(), limits=Limits(), chips=(8,))
    found = Driver().run(search)
    assert search.last is not None
    search.deadline = 0.0
    few = best_few(search, search.last, TIME, found.plans.take(np.array([0])), found.points[0, 0])
    assert not few.proved
    assert len(few.plans) == 1


@pytest.mark.parametrize("seed", range(6))
def test_corners_of_opened_partial_plans_stay_lower_bounds(seed: int) -> None:
    model = random_cost_model(seed)
    chips = (random_chips(model, seed, most=8),)
    search = UniformSpace(model=model, options=SpaceOptions(), limits=Limits(), chips=chips)
    if len(Driver().run(search).points) == 0:
        pytest.skip("nothing fits in this random job")
    assert search.last is not None
    rows, tally = search.last.partial_plans, Tally(plans={}, candidates={})
    batch = build_batch(model, rows, search.options, search.limits, search.clocks, tally)
    assert batch is not None
    opened, plans = batch.open(np.arange(len(batch.space)), 0), batch.logical.plans
    of_rows = np.stack([rows.mesh_id, *(rows.columns[name] for name in PARTIAL_PLAN)], 1)
    of_plans = [batch.logical.mesh_id, *(getattr(plans, name) for name in PARTIAL_PLAN)]
    number = {tuple(key): row for row, key in enumerate(of_rows.tolist())}
    row = np.array([number[tuple(key)] for key in np.stack(of_plans, 1).tolist()])
    low = search.last.corners.min(axis=1)[row[opened.labels[:, 1]]]
    assert (low <= opened.points).all()


@pytest.mark.parametrize("held", [1, 6, 1024])
def test_the_best_few_that_are_looked_for_later_are_those_of_the_search(
    held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_NODES_HELD", held)
    for seed in range(6):
        model = random_cost_model(seed)
        chips = (random_chips(model, seed, most=8),)
        search = UniformSpace(model=model, options=SpaceOptions(), limits=Limits(), chips=chips)
        found = Driver().run(search)
        if len(found.points) == 0 or search.last is None:
            continue
        best = optimum(found.points, found.bound, found.status, TIME)
        first = found.plans.take(np.array([best.row]))
        few = best_few(search, search.last, TIME, first, best.value)
        later = best_few_later(search, search.last, TIME, first, best.value)()
        assert np.array_equal(later.values[: len(later.plans)], few.values[: len(few.plans)])
        assert [later.plans.plan(at) for at in range(len(later.plans))] == [
            few.plans.plan(at) for at in range(len(few.plans))
        ]
        assert [later.near.plan(at) for at in range(len(later.near))] == [
            few.near.plan(at) for at in range(len(few.near))
        ]
