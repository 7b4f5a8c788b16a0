"""Pools of different chips: their costs, bounds below every plan, and the best by brute force."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from support.jobs import cost_model, dense_model, moe_model
from support.uneven import counted, sizes_of

from models_db import load_model
from planner.base.arrays import IntArray
from planner.base.errors import InputError
from planner.cost.breakdown import Evaluated
from planner.cost.pools.evaluate import evaluate_pooled, evaluate_stages
from planner.cost.pools.pools import Pool, owners, without_pools
from planner.plan import SHARDINGS, Plan, PlanTable, Stage
from planner.question.options import SpaceOptions
from planner.search import rows as rows_searched
from planner.search.limits import Limits
from planner.search.pools.bounds import pooled_forms, pooled_second
from planner.search.pools.pools import best_on_pools
from planner.search.pools.rows import PooledRows, pooled_rows
from solvers.solution import Status
from solvers.stages.backend import UnansweredError

FAR = 1e3


def pools_of(
    parts: tuple[tuple[str, int], ...], *, framework: str = "megatron-zb", moe: bool = False
) -> tuple[Pool, ...]:
    """Pools of some clusters with a small job."""
    model = moe_model(5, 4) if moe else dense_model(5, 2048, 16, 16, 8192)
    return tuple(
        Pool(
            name=hardware,
            chips=chips,
            model=cost_model(model, hardware, global_batch=8, framework=framework),
        )
        for hardware, chips in parts
    )


def orders_of(stages: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All ways to deal stages to pools."""
    every = range(len(stages))
    for order in product(every, repeat=sum(stages)):
        if all(order.count(at) == count for at, count in enumerate(stages)):
            yield order


def plans_of(rows: PooledRows, row: int) -> Iterator[Plan]:
    """All plans of a row: pools, layers, recomputation of dense layers, sharding."""
    shared = rows.plans.plan(row)
    model = rows.pools[0].model.job.model
    shardings = [SHARDINGS[z] for z in np.flatnonzero(rows.own[0].shardings[row])]
    recomputes = rows.own[0].recomputes
    for sizes in sizes_of(model.layers, shared.pp):
        if any(size == 0 for size in sizes[1:-1]):
            continue
        ends = np.cumsum((0, *sizes))
        kinds = [model.layer_kinds[a:b] for a, b in pairwise(ends)]
        counts = [counted((own.count("dense"), own.count("moe")), recomputes) for own in kinds]
        for order in orders_of(tuple(rows.stages[row].tolist())):
            for chosen in product(*counts, repeat=1):
                for sharding in product(shardings, repeat=shared.pp):
                    stages = tuple(
                        Stage(
                            layers=sizes[at],
                            recompute="none",
                            sharding=sharding[at],
                            clock=1.0,
                            pool=rows.pools[order[at]].name,
                            **chosen[at],  # type: ignore[arg-type]
                        )
                        for at in range(shared.pp)
                    )
                    yield replace(shared, stages=stages)


def values(pools: tuple[Pool, ...], plans: list[Plan], limits: Limits) -> np.ndarray:
    """Seconds of plans whose stages are on the same pools; inf where one does not fit."""
    owner = owners(pools, plans[0])
    table = PlanTable.from_plans([without_pools(plan) for plan in plans])
    return within(pools, owner, evaluate_stages(pools, owner, table)[1], limits)


def within(
    pools: tuple[Pool, ...], owner: IntArray, whole: Evaluated, limits: Limits
) -> np.ndarray:
    """Seconds of plans that were evaluated; inf where one does not fit."""
    room = [limits.chip_bytes(pools[at].model) for at in owner]
    fits = (whole.memory.total <= room).all(axis=1)
    return np.where(fits, whole.step.time[:, 0], np.inf)


def best_of_row(rows: PooledRows, row: int, limits: Limits) -> float:
    """Seconds of the fastest plan of a row, by evaluating all."""
    plans = list(plans_of(rows, row))
    by_order: dict[tuple[str | None, ...], list[Plan]] = {}
    for plan in plans:
        by_order.setdefault(tuple(stage.pool for stage in plan.stages or ()), []).append(plan)
    return min(float(values(rows.pools, same, limits).min()) for same in by_order.values())


CASES = [
    ((("dgx-h100-ndr", 4), ("dgx-a100-80-hdr", 4)), "megatron-zb", False, {"pp": {2}, "tp": {2}}),
    ((("dgx-h100-ndr", 2), ("dgx-a100-80-hdr", 4)), "deepspeed", False, {"pp": {3}, "tp": {1}}),
    (
        (("dgx-h100-ndr", 4), ("dgx-a100-80-hdr", 4)),
        "megatron",
        True,
        {"pp": {2}, "tp": {1}, "ep": {2}, "cp": {1}},
    ),
    (
        (("dgx-h100-ndr", 2), ("dgx-a100-80-hdr", 2), ("dgx-h200-ndr", 2)),
        "megatron-zb",
        False,
        {"pp": {3}, "tp": {2}},
    ),
]


_TIGHT = dict(zip((case[0] for case in CASES), (2.5e9, 3.8e9, 7.3e9, 2.9e9), strict=True))


@pytest.mark.parametrize(("parts", "framework", "moe", "fixed"), CASES)
@pytest.mark.parametrize("tight", [False, True])
def test_the_best_plan_is_that_of_brute_force(
    parts: tuple[tuple[str, int], ...],
    framework: str,
    moe: bool,
    fixed: dict[str, set[int]],
    tight: bool,
) -> None:
    pools = pools_of(parts, framework=framework, moe=moe)
    wanted = {name: frozenset(own) for name, own in {**fixed, "micro_batch": {2}}.items()}
    if not tight:
        wanted["recompute"] = frozenset({0})
    else:
        wanted["sharding"] = frozenset({0, 1, 3})
        wanted["sequence_parallel"] = frozenset({1})
    options = SpaceOptions(fixed=wanted)
    limits = Limits(memory_bytes=_TIGHT[parts] if tight else None)
    rows = pooled_rows(pools, options)
    forms = pooled_forms(rows, [pool.model.clocks(wanted=False) for pool in pools])
    first, second = forms.step_s(forms.slowest), pooled_second(limits, rows, forms, FAR)
    best = np.inf
    for row in range(len(rows)):
        seconds = best_of_row(rows, row, limits)
        assert first[row] <= seconds
        assert second[row] <= seconds
        assert first[row] <= second[row] * (1 + 1e-12)
        best = min(best, seconds)
    found = best_on_pools(pools, options, limits)
    if np.isinf(best):
        assert found.status is Status.INFEASIBLE
        return
    assert found.status is Status.OPTIMAL
    assert found.time_s == pytest.approx(best, rel=1e-9)
    assert found.bound_s <= best
    assert found.plan is not None
    assert values(pools, [found.plan], limits)[0] == pytest.approx(found.time_s, rel=1e-12)
    for above in (1.0001, 1.03):  # columns that no plan within the limit has are left out
        close = best_on_pools(pools, options, replace(limits, step_time_s=above * best))
        assert close.time_s == pytest.approx(best, rel=1e-9)
        assert close.status is Status.OPTIMAL


def test_a_limit_just_above_the_best_leaves_it() -> None:
    """The head takes 2.7 times as long on one of the pools, so stages beside it hold other layers.

    What they may hold must not be judged by the ends of the chips that a column is for.
    """
    model = load_model("llama3-8b")
    pools = tuple(
        Pool(name=name, chips=16, model=cost_model(model, name, global_batch=128, seq_len=8192))
        for name in ("dgx-h100-ndr", "dgx-a100-80-hdr")
    )
    fixed = {"cp": {2}, "pp": {2}, "tp": {1}, "dp": {8}, "fsdp": {1}, "micro_batch": {1}}
    options = SpaceOptions(fixed={name: frozenset(own) for name, own in fixed.items()})
    free = best_on_pools(pools, options, Limits())
    for above in (1.0002, 1.02, 1.05):
        found = best_on_pools(pools, options, Limits(step_time_s=above * free.time_s))
        assert found.time_s == pytest.approx(free.time_s, rel=1e-9)


def test_slower_chips_get_fewer_layers() -> None:
    pools = pools_of((("dgx-h100-ndr", 8), ("dgx-a100-80-hdr", 8)), framework="megatron")
    found = best_on_pools(pools, SpaceOptions(), Limits())
    assert found.plan is not None
    assert found.plan.stages is not None
    held = {pool.name: 0 for pool in pools}
    for stage in found.plan.stages:
        held[stage.pool or ""] += stage.layers
    assert held["dgx-h100-ndr"] > held["dgx-a100-80-hdr"]


def test_time_that_ends_leaves_an_honest_bound() -> None:
    pools = pools_of((("dgx-h100-ndr", 8), ("dgx-a100-80-hdr", 8)))
    ended = best_on_pools(pools, SpaceOptions(), Limits(), deadline=0.0)
    assert ended.status is Status.TIME_LIMIT
    assert ended.bound_s == 0.0


def test_limits_on_power_are_exact_and_rows_without_an_answer_stay_open() -> None:
    pools = pools_of((("dgx-h100-ndr", 4), ("dgx-a100-80-hdr", 4)))
    fixed = {"pp": {2}, "tp": {4}, "cp": {1}, "micro_batch": {2}, "recompute": {0}}
    options = SpaceOptions(fixed={name: frozenset(codes) for name, codes in fixed.items()})
    best = best_on_pools(pools, options, Limits())
    assert best.status is Status.OPTIMAL
    watts = best.energy_j / best.time_s
    above = best_on_pools(pools, options, Limits(power_w=watts * (1 + 1e-12)))
    assert above.status is Status.OPTIMAL
    assert above.time_s == pytest.approx(best.time_s, rel=1e-9)
    for below in (1e-13, 1e-6):
        limit = Limits(power_w=watts * (1 - below))
        found = best_on_pools(pools, options, limit)
        assert found.plan is None or found.energy_j <= limit.power_w * found.time_s
        assert found.plan is None or found.time_s >= best.time_s * (1 - 1e-9)
        assert below == 1e-6 or found.bound_s <= best.time_s
    with patch.object(rows_searched, "solve_stages", side_effect=UnansweredError):
        unanswered = best_on_pools(pools, options, Limits())
    assert unanswered.status is Status.TIME_LIMIT
    assert 0.3 * best.time_s < unanswered.bound_s <= best.time_s


@pytest.mark.parametrize(("parts", "framework", "moe", "fixed"), CASES)
def test_the_best_plan_under_limits_on_power_is_that_of_brute_force(
    parts: tuple[tuple[str, int], ...],
    framework: str,
    moe: bool,
    fixed: dict[str, set[int]],
) -> None:
    pools = pools_of(parts, framework=framework, moe=moe)
    wanted = {name: frozenset(own) for name, own in {**fixed, "micro_batch": {2}}.items()}
    wanted["recompute"] = frozenset({0})
    options = SpaceOptions(fixed=wanted)
    rows = pooled_rows(pools, options)
    plans = [plan for row in range(len(rows)) for plan in plans_of(rows, row)]
    seconds, watts = seconds_and_watts(pools, plans)
    for share in (0.0, 0.1, 0.5):
        power_w = float(np.quantile(watts[np.isfinite(seconds)], share)) * (1 + 1e-6)
        best = seconds[watts <= power_w].min()
        found = best_on_pools(pools, options, Limits(power_w=power_w))
        assert found.status is Status.OPTIMAL, share
        assert found.time_s == pytest.approx(best, rel=1e-9), share
        assert found.energy_j <= power_w * found.time_s, share
        assert found.bound_s <= best, share


def seconds_and_watts(
    pools: tuple[Pool, ...], plans: list[Plan]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Of plans; infinite seconds where one does not fit."""
    seconds, watts = np.empty(len(plans)), np.empty(len(plans))
    by_order: dict[tuple[str | None, ...], list[int]] = {}
    for at, plan in enumerate(plans):
        by_order.setdefault(tuple(stage.pool for stage in plan.stages or ()), []).append(at)
    for same in by_order.values():
        some = [plans[at] for at in same]
        table = PlanTable.from_plans([without_pools(plan) for plan in some])
        owner = owners(pools, some[0])
        whole = evaluate_stages(pools, owner, table)[1]
        seconds[same] = within(pools, owner, whole, Limits())
        watts[same] = whole.step.energy[:, 0] / whole.step.time[:, 0]
    return seconds, watts


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("dgx-h100-ndr", "dgx-h100-ndr"), "2 stages of 4 chips are on dgx-h100-ndr"),
        (("dgx-h100-ndr", "other"), "stage 1 is on pool 'other'"),
        (("dgx-h100-ndr", None), "stage 1 names no pool"),
    ],
)
def test_stages_on_other_pools_are_refused(names: tuple[str | None, ...], words: str) -> None:
    pools = pools_of((("dgx-h100-ndr", 4), ("dgx-a100-80-hdr", 4)))
    stages = (Stage(layers=2, pool=names[0]), Stage(layers=3, pool=names[1]))
    with pytest.raises(InputError, match=words):
        evaluate_pooled(pools, Plan(dp=4, pp=2, stages=stages))


def test_what_knows_one_kind_of_chips_refuses_pools() -> None:
    with pytest.raises(InputError, match="pools of chips"):
        PlanTable.from_plans([Plan(stages=(Stage(layers=5, pool="dgx-h100-ndr"),))])
