"""Thresholds under the fitted model against a loop over batches, meshes and micro-batches."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.cases import each
from support.jobs import cost_model, dense_model, moe_model, obeying

import planner
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.frameworks.rules import demands_of, refused_by, violations
from planner.frameworks.targets import TARGETS, Target
from planner.plan import ORDERS, PlanTable
from planner.question.options import SpaceOptions
from planner.search.limits import Limits
from planner.search.uniform.meshes import enumerate_meshes
from planner.search.uniform.space import cross_choices, cross_partial_plans
from planner.studies.feasibility.fitted import default_rows, largest_chips, most_tokens
from planner.studies.feasibility.largest_tp import largest_tp
from planner.studies.feasibility.pairs import plans_of, rows_of
from planner.studies.feasibility.strategies import NAMES, STRATEGIES, Strategy, with_batch
from planner.studies.feasibility.sweep import EXPOSED, runs, sweep

BY_NAME = dict(zip(NAMES, STRATEGIES, strict=True))
SEQ = 2048


def small(framework: str = "megatron", hardware: str = "dgx-h100-ndr") -> CostModel:
    """A model of 0.3 G parameters."""
    model = dense_model(layers=8, hidden=1024, heads=8, kv_heads=4, width=4096)
    return cost_model(model, hardware, global_batch=8, seq_len=SEQ, framework=framework)


def loop(
    model: CostModel,
    strategy: Strategy,
    chips: int,
    batch: int,
    targets: tuple[Target, ...] = (),
    limits: Limits | None = None,
) -> list[tuple[float, float, int]]:
    """Time, exposed share and tp of every plan of the ordinary space that fits at a batch.

    Only of those that targets run.
    """
    sized = with_batch(model, batch)
    options = SpaceOptions(
        axes=frozenset(strategy.axes), fixed={"sharding": frozenset({strategy.code})}
    )
    meshes = enumerate_meshes(sized, (chips,), options)
    space = cross_choices(sized, cross_partial_plans(sized, meshes, options), options)
    needed = [getattr(space.plans, axis) > 1 for axis in strategy.needs]
    rows = np.flatnonzero(np.all(needed, axis=0))
    orders = [ORDERS.index(order) for order in sized.framework.orders or ORDERS]
    every = space.plans.take(np.repeat(rows, len(orders)))
    every = replace(every, order=np.tile(orders, len(rows)))
    masks = np.arange(8 if strategy.offload else 1)
    moved = np.tile(masks, len(every))
    every = replace(every.take(np.repeat(np.arange(len(every)), len(masks))), offload=moved)
    plans = every.take(np.flatnonzero(obeying(sized, every)))
    for demand in demands_of(sized, targets):
        plans = plans.take(np.flatnonzero(demand.holds(plans)))
    if not len(plans):
        return []
    costs = evaluate_table(sized, plans)
    fits = np.flatnonzero((limits or Limits()).memory(sized, plans, costs.memory)[0])
    share = np.sum([costs.time_parts[name] for name in EXPOSED], axis=0) / costs.step_time_s
    columns = (costs.step_time_s[fits], share[fits], plans.tp[fits])
    return list(zip(*(column.tolist() for column in columns), strict=True))


@each(
    ("name", "framework", "target"),
    [("dp", "megatron", ""), ("zero1", "megatron", ""), ("zero3", "torchtitan", ""),
     ("tp", "megatron", ""), ("hsdp", "fsdp", ""), ("fsdp+tp", "deepspeed", ""),
     ("fsdp+tp+pp", "torchtitan", ""), ("zero2", "megatron", "megatron"),
     ("fsdp+tp", "megatron", "deepspeed"), ("fsdp+tp+pp", "megatron", "torchtitan"),
     ("fsdp+tp", "fsdp", "accelerate"), ("fsdp+tp", "jax", "megatron"),
     ("fsdp+tp", "jax in fp8", "maxtext"), ("fsdp+tp+cp", "megatron", "megatron,torchtitan")],
)  # fmt: skip
def test_thresholds_against_a_loop(name: str, framework: str, target: str) -> None:
    framework, _, precision = framework.partition(" in ")
    model, strategy, most = small(framework), BY_NAME[name], 24
    model = replace(model, job=replace(model.job, precision=precision or "bf16"))
    targets = tuple(TARGETS[word] for word in target.split(",") if word)
    swept = sweep(model, strategy, 8, Limits(), most, targets)
    every = {batch: loop(model, strategy, 8, batch, targets) for batch in range(1, most + 1)}
    best = {batch: min(plans) for batch, plans in every.items() if plans}
    found = swept.fastest(1, most)
    assert found.sequences.tolist() == list(best)
    assert swept.smallest() == min(best)
    assert found.time_s == pytest.approx([time for time, _, _ in best.values()])
    assert found.share == pytest.approx([share for _, share, _ in best.values()], abs=1e-9)
    good = [b for b in best if all(best[c][1] <= 0.01 for c in best if c >= b)]
    limit = swept.threshold()
    assert (limit.least and limit.least.sequences) == min(good, default=None)
    assert (limit.below and limit.below.sequences) == max(set(best) - set(good), default=None)
    useful = [tp for plans in every.values() for _, share, tp in plans if share <= 0.01]
    assert largest_tp(swept) == max(useful, default=None)
    for batch in range(1, most + 1):
        at = swept.at(batch)
        assert (at is None) == (batch not in best)
        if at is not None:
            one = PlanTable.from_plans([at.plan])
            sized = with_batch(model, batch)
            assert not violations(sized, one)
            assert not refused_by(sized, at.plan, targets)
            assert evaluate_table(sized, one).step_time_s[0] == pytest.approx(best[batch][0])


@each(("name", "framework"), [("zero1", "megatron"), ("zero3", "deepspeed")])
def test_offloading_makes_room_as_the_loop_says(name: str, framework: str) -> None:
    """With room for the plans alone that move something, and with room for others beside them."""
    model, plain = small(framework), BY_NAME[name]
    moving = replace(plain, offload=True)
    leanest = sweep(model, plain, 8, Limits(), 16).least_bytes[0]
    for share in (0.97, 1.2):
        limits = Limits(memory_bytes=share * leanest)
        swept = sweep(model, moving, 8, limits, 16)
        every = {b: loop(model, moving, 8, b, limits=limits) for b in range(1, 17)}
        best = {batch: min(plans) for batch, plans in every.items() if plans}
        found = swept.fastest(1, 16)
        assert found.sequences.tolist() == list(best) != []
        assert found.time_s == pytest.approx([time for time, _, _ in best.values()])
        assert (sweep(model, plain, 8, limits, 16).smallest() is None) == (share < 1)


@each("framework", ["megatron", "torchtitan", "megatron-zb"])
@each("name", ["fsdp+tp", "fsdp+tp+pp"])
def test_the_largest_tp_against_all_rows(name: str, framework: str) -> None:
    swept = sweep(small(framework), BY_NAME[name], 16, Limits(), 96)
    least: dict[int, float] = {}
    for pair, times in rows_of(swept.pairs, 1, 96):
        some = np.flatnonzero(swept.possible(swept.pairs, (pair, times)))
        costs = swept.costed(swept.pairs, (pair[some], times[some]))
        for tp, share in zip(swept.plans.tp[costs.plan].tolist(), costs.share, strict=True):
            least[tp] = min(least.get(tp, np.inf), share)
    assert len(least) > 1
    for near in (1 - 1e-6, 1 + 1e-6):
        for share in least.values():
            useful = [tp for tp, low in least.items() if low <= near * share]
            assert largest_tp(swept, near * share) == max(useful, default=None)


@each("framework", ["megatron", "torchtitan", "jax", "deepspeed"])
def test_rules_about_micro_batches_are_those_of_the_search(framework: str) -> None:
    model = small(framework)
    plans = plans_of(model, BY_NAME["fsdp+tp+pp"], 16)
    for batch in (16, 24, 40):
        sized = with_batch(model, batch)
        whole = np.flatnonzero(batch % plans.data_ranks == 0)
        some = plans.take(whole[:: max(len(whole) // 40, 1)])
        allowed = runs(model, some, batch // some.data_ranks)
        for row in range(len(some)):
            one = some.take(np.array([row]))
            assert bool(allowed[row]) == (not violations(sized, one)), some.plan(row)


@each(
    ("name", "target"),
    [("zero1", ""), ("zero3", ""), ("fsdp+tp", ""), ("fsdp+tp", "deepspeed"),
     ("fsdp+tp+pp", ""), ("fsdp+tp+pp", "torchtitan"), ("fsdp+tp+pp", "megatron")],
)  # fmt: skip
def test_the_largest_count_against_a_loop(name: str, target: str) -> None:
    model, strategy, batch = small("megatron"), BY_NAME[name], 512
    targets = (TARGETS[target],) if target else ()
    counts = (1, 2, 4, 8, 16, 24, 32, 64)
    good = []
    for chips in counts:
        at = sweep(model, strategy, chips, Limits(), batch, targets).at(batch)
        if at is not None and at.share <= 0.01:
            good.append(chips)
    row = largest_chips(model, strategy, counts, Limits(), float(batch * SEQ), targets=targets)
    assert row.max_chips == max(good, default=None)
    if target == "megatron":
        assert (row.binds, "Megatron-LM can launch none of its plans" in row.words) == (
            "rules",
            True,
        )


@each("runnable_in", ["any", "megatron"])
def test_a_deadline_against_a_solve_of_each_count(runnable_in: str) -> None:
    asked: dict[str, Any] = {
        "model": "llama2-7b", "hardware": "dgx-h100-ndr", "batch_tokens": 2**20,
        "runnable_in": runnable_in,
    }  # fmt: skip
    best = {n: planner.solve(**asked, chips=n, clocks=False).require() for n in (8, 16, 32)}
    steps = 1000
    deadline = best[16].step_time_s * steps * 1.001
    (row,) = planner.feasible(
        **asked, chips="8,16,32", deadline=deadline, train_tokens=2**20 * steps
    ).deadlines
    assert (row.chips, row.step_time_s) == (16, pytest.approx(best[16].step_time_s))


def test_a_verdict_reads_the_sweep() -> None:
    model, strategy = small(), BY_NAME["zero1"]
    (plain,) = default_rows(model, strategy, 8, Limits())
    least = plain.min_batch_tokens_compute_bound
    assert least is not None
    assert plain.max_batch_tokens_fit is None
    below, at, odd = default_rows(
        model, strategy, 8, Limits(), [least - 8 * SEQ, least, least + SEQ]
    )
    assert (below.feasible, at.feasible, odd.feasible) == (False, True, False)
    assert (below.fits, at.fits, odd.fits) == (True, True, False)
    assert (at.margin, at.binds, odd.binds) == (1.0, "nothing", "batch granularity")
    assert below.binds == "dp communication"


def test_a_gather_at_the_end_of_the_step_is_exposed() -> None:
    """Software that does not hide it needs larger batches to be compute-bound, not smaller ones."""
    model, least = small(), []
    for hides in (True, False):
        own = replace(model, assumptions=replace(model.assumptions, hides_gather=hides))
        (row,) = default_rows(own, BY_NAME["zero1"], 8, Limits())
        assert row.min_batch_tokens_compute_bound is not None
        least.append(row.min_batch_tokens_compute_bound)
    assert least[0] < least[1]


def test_what_binds_without_room() -> None:
    model = small()
    (row,) = default_rows(model, BY_NAME["dp"], 8, Limits(memory_bytes=1e9))
    assert (row.binds, row.min_batch_tokens_fit) == ("memory: state", None)
    (row,) = default_rows(model, BY_NAME["across-pods"], 8, Limits())
    assert row.binds == "cluster"


def test_experts_have_thresholds_too() -> None:
    model = cost_model(moe_model(5, 8), "dgx-h100-ndr", global_batch=8, seq_len=SEQ)
    (row,) = default_rows(model, BY_NAME["zero1"], 8, Limits())
    assert row.min_batch_tokens_fit is not None


@each(("chips", "most"), [(8, 4), (256, 4), (512, 8), (4096, 64), (9000, 64)])
def test_the_largest_batch_that_is_looked_at(chips: int, most: int) -> None:
    assert most_tokens(chips) == most * 2**20
