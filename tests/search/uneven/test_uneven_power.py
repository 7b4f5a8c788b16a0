"""Limits on the mean power that some plan just obeys, or just does not."""

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.jobs import cost_model, dense_model, moe_model
from support.uneven import every_plan, rows_of

from planner.cost.context import CostModel
from planner.cost.energy.energy import standing_w
from planner.cost.evaluate import evaluate_totals
from planner.plan import PlanTable
from planner.question.options import SpaceOptions
from planner.results.certificate import UnevenFound
from planner.search.deadline import NEVER, OutOfTime
from planner.search.limits import Limits
from planner.search.rows import Range, RowSpace
from planner.search.uneven import certificate
from planner.search.uneven.bounds import power
from planner.search.uneven.bounds.power import powered_bound, ranged_bound
from planner.search.uneven.bounds.time import row_forms
from planner.search.uneven.certificate import best_time
from planner.search.uneven.rows import Rows
from planner.search.uneven.terms import row_terms
from solvers.solution import Status

CHIPS = 4


def small(layers: int) -> CostModel:
    return cost_model(dense_model(layers, 512, 8, 8, 2048), "dgx-h100-ndr", global_batch=8)


def options_of(pp: int, v: int) -> SpaceOptions:
    fixed = {"pp": {pp}, "tp": {1}, "cp": {1}, "interleave": {v}, "micro_batch": {1}}
    return SpaceOptions(fixed={name: frozenset(value) for name, value in fixed.items()})


def seconds_and_watts(model: CostModel, found: UnevenFound) -> tuple[float, float]:
    totals = evaluate_totals(model, found.plans)
    return float(totals.step_time_s[0]), float(totals.energy_j[0] / totals.step_time_s[0])


@pytest.mark.parametrize(("layers", "pp", "v"), [(5, 2, 1), (7, 4, 1), (3, 1, 1), (8, 2, 2)])
def test_a_limit_that_the_best_plan_just_obeys(layers: int, pp: int, v: int) -> None:
    model, options = small(layers), options_of(pp, v)
    time_s, watts = seconds_and_watts(model, best_time(model, options, Limits(), CHIPS))
    for above in (1e-12, 1e-8, 1e-5):
        found = best_time(model, options, Limits(power_w=watts * (1 + above)), CHIPS)
        assert found.status is Status.OPTIMAL
        assert found.points[0, 0] == pytest.approx(time_s, rel=1e-9)


@pytest.mark.parametrize(("layers", "pp", "v"), [(5, 2, 1), (7, 4, 1), (8, 2, 2)])
def test_a_limit_that_the_best_plan_just_breaks(layers: int, pp: int, v: int) -> None:
    """No plan above the limit is taken; where whole numbers cannot tell, its time is the bound."""
    model, options = small(layers), options_of(pp, v)
    time_s, watts = seconds_and_watts(model, best_time(model, options, Limits(), CHIPS))
    for below in (1e-13, 1e-6):
        limits = Limits(power_w=watts * (1 - below))
        found = best_time(model, options, limits, CHIPS)
        slower_s, less_w = seconds_and_watts(model, found)
        assert less_w <= limits.power_w
        assert slower_s >= time_s * (1 - 1e-9)
        launchable_rows = found.status is Status.OPTIMAL
        assert launchable_rows == (found.certificate.gap < 1e-6)
        assert launchable_rows or below == 1e-13
        assert launchable_rows or found.certificate.bound == pytest.approx(time_s, rel=1e-6)


def test_power_below_what_waiting_chips_draw() -> None:
    model = small(3)
    standing = CHIPS * standing_w(model, CHIPS)
    for share in (0.5, 1.0, 1 + 1e-9):
        limits = Limits(power_w=share * standing)
        found = best_time(model, options_of(1, 1), limits, CHIPS)
        assert found.status is Status.INFEASIBLE
        assert np.array_equal(found.bound, [0.0, 0.0])


def once(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is asked about the same rows once, whatever the limits on power."""
    found: dict[tuple[int, ...], Any] = {}

    def answer(*given: Any) -> Any:
        key = tuple(id(one) for one in given if not isinstance(one, Limits))
        if key not in found:
            found[key] = function(*given)
        return found[key]

    return answer


@pytest.mark.parametrize("seed", range(10))
def test_bounds_under_power_are_below_all_plans(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every row, under its least power and under larger ones.

    Each row gives limits on power and times, for all rows at once. What limits on power do not
    change is made once; the last bounds are those that are made anew as well.
    """
    rng = random.Random(seed)
    two_kinds = seed % 3 == 2
    model = cost_model(
        moe_model(3, 4) if two_kinds else dense_model(rng.choice([3, 4]), 512, 8, 8, 2048),
        rng.choice(["dgx-h100-ndr", "gb200-nvl72"]),
        global_batch=8,
        framework=rng.choice(["megatron", "torchtitan", "megatron-zb", "deepspeed"]),
    )
    fixed = {"pp": {2}, "tp": {1}, "cp": {1}, "ep": {1}, "recompute": {0, 2} if seed % 2 else {2}}
    rows = rows_of(model, CHIPS, **{name: frozenset(value) for name, value in fixed.items()})
    clocks = np.array([1.0, 0.6])
    forms = row_forms(model, rows, row_terms(model, rows, clocks[:1]))
    assert len(rows)
    plans = [every_plan(model, rows, row, clocks.tolist()) for row in range(len(rows))]
    first = np.cumsum([0, *map(len, plans)])[:-1]
    totals = evaluate_totals(model, PlanTable.from_plans([one for own in plans for one in own]))
    watts = np.split(totals.energy_j / totals.step_time_s, first[1:])
    larger = itertools.cycle((0.2, 0.01, 0.6))
    for name in ("mean_bounds", "full_work"):
        monkeypatch.setattr(power, name, once(getattr(power, name)))
    for row, share in ((row, share) for row in range(len(rows)) for share in (0.0, next(larger))):
        power_w = float(np.quantile(watts[row], share))
        allowed = totals.energy_j <= power_w * totals.step_time_s * (1 + 1e-15)
        within_s = np.where(allowed, totals.step_time_s, np.inf)
        least_s = np.minimum.reduceat(within_s, first)
        at = (model, Limits(power_w=power_w), rows, forms, clocks, NEVER)
        assert np.all(powered_bound(*at) <= least_s * (1 + 1e-9))
        for upper_s in least_s[row] * np.array([0.9, 1 + 1e-6, 2]):
            assert np.all(ranged_bound(*at, upper_s) <= least_s * (1 + 1e-9))
    kept = powered_bound(*at), ranged_bound(*at, upper_s)
    monkeypatch.undo()
    assert np.array_equal(kept, (powered_bound(*at), ranged_bound(*at, upper_s)))


@pytest.mark.parametrize("share", [0.02, 0.3, 0.8])
def test_interleaved_rows_have_lower_clocks_under_power(share: float) -> None:
    """Against all plans of interleaved rows, of which only lower clocks keep some within it."""
    model = small(4)
    fixed = {"pp": {2}, "tp": {1}, "cp": {1}, "interleave": {2}, "micro_batch": {1, 2}}
    fixed |= {"recompute": {0, 2}, "sharding": {1}, "sequence_parallel": {0}}
    coded = {name: frozenset(value) for name, value in fixed.items()}
    rows, clocks = rows_of(model, CHIPS, **coded), [1.0, 0.8, 0.6]
    model = replace(
        model,
        cluster=replace(
            model.cluster, chip=replace(model.cluster.chip, clock_levels=tuple(clocks))
        ),
    )
    plans = [plan for row in range(len(rows)) for plan in every_plan(model, rows, row, clocks)]
    totals = evaluate_totals(model, PlanTable.from_plans(plans))
    watts = totals.energy_j / totals.step_time_s
    limits = Limits(power_w=float(np.quantile(watts, share)) * (1 + 1e-6))
    within = watts <= limits.power_w
    found = best_time(model, SpaceOptions(fixed=coded), limits, CHIPS)
    assert found.status is Status.OPTIMAL
    assert found.points[0, 0] == pytest.approx(totals.step_time_s[within].min(), rel=1e-9)
    assert found.bound[0] <= totals.step_time_s[within].min()
    highest = best_time(model, SpaceOptions(fixed=coded, clocks=False), limits, CHIPS)
    plan = found.plans.plan(0)
    least = min(stage.clock or plan.clock for stage in plan.stages or ())
    assert (least < 1.0) == (len(highest.plans) == 0)


def test_power_that_leaves_kernels_nothing_needs_no_solver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unasked(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(certificate, "row_columns", unasked)
    model = small(3)
    limits = Limits(power_w=0.9 * CHIPS * standing_w(model, CHIPS))
    found = best_time(model, options_of(2, 1), limits, CHIPS)
    assert found.status is Status.INFEASIBLE


class Tightened(RowSpace[Rows]):
    """Rows with given bounds, none of which holds a plan below 4 s."""

    tightens = True

    def __init__(self, parts: list[tuple[Rows, np.ndarray]], better: Any) -> None:
        super().__init__(np.inf, 0.0, None)
        self.given, self.better, self.order = parts, better, list[int]()

    def start(self) -> float:
        return 0.0

    def ranges(self, _: float) -> Iterator[Range]:
        yield Range(0.0, 4.0)

    def narrowed(self, _: float) -> list[tuple[Rows, np.ndarray]]:
        return self.given

    def tightened(self, rows: Rows, _: float) -> np.ndarray:
        return np.asarray(self.better(rows))

    def stage_problem(self, _: Rows, row: int, wanted_s: float) -> None:
        assert wanted_s == 4.0
        self.order.append(row)

    def costs(self, _: object) -> None:
        raise AssertionError


def test_rows_are_tightened_where_it_counts() -> None:
    """The first of 200 rows in order of their bounds; what is not reached keeps its own."""
    model = small(8)
    rows = rows_of(model, CHIPS)
    rows = rows.take(np.arange(200) % len(rows))
    bounds, better = np.arange(200) / 10, np.linspace(9.0, 3.0, 40)
    asked: list[int] = []

    def tightened(some: Rows) -> np.ndarray:
        asked.append(len(some))
        return better

    space = Tightened([(rows, bounds)], tightened)
    assert space.fastest(None).status is Status.INFEASIBLE
    assert asked == [40]
    known = np.maximum(bounds[:40], better)
    assert space.order == [row for row in np.argsort(known).tolist() if known[row] < 4.0]
    assert np.array_equal(space.bounds, np.concatenate([known, bounds[40:]]))
    assert space.last is not None
    assert (space.last.rows, space.last.dropped) == (200, 200 - len(space.order))
    assert space.last.lowest == min([*known[known >= 4.0], *bounds[40:]])


def test_rows_are_kept_when_time_ends() -> None:
    model = small(8)
    rows = rows_of(model, CHIPS)
    bounds = np.arange(len(rows)) / 10

    def late(_: Rows) -> np.ndarray:
        raise OutOfTime

    space = Tightened([(rows, bounds), (rows, bounds)], late)
    assert space.fastest(None).status is Status.TIME_LIMIT
    assert sorted(space.unproved) == sorted([*bounds, *bounds])
