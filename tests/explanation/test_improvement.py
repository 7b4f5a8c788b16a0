"""The best plans within three changes, against every plan there is."""

from itertools import product
from unittest.mock import patch

import numpy as np
from support.cases import each

from planner.answers.evaluation import limits_of, options_of
from planner.base.messages import Origin
from planner.cost.evaluate import evaluate_totals
from planner.explanation.improvement.improving import changes_between, improvements
from planner.explanation.improvement.space import DECISIONS, near
from planner.explanation.judging import obeying
from planner.frameworks.rules import Rule, checking
from planner.frameworks.targets import TARGETS
from planner.plan import RECOMPUTES, Plan, PlanTable
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.schedules import schedule_of
from planner.search.uniform.space import chunkings

START = {
    "dense": Plan(dp=4, tp=2, pp=2, sharding="zero1", sequence_parallel=True, recompute="full"),
    "plain": Plan(dp=16),
    "sharded": Plan(dp=2, fsdp=8, sharding="zero3", recompute="full"),
}


def question(plan: Plan):
    request = request_from(
        {
            "model": "gpt3-1.3b",
            "hardware": "dgx-a100-40-hdr",
            "chips": plan.chips,
            "batch_tokens": 32 * 2048,
            "framework": "megatron",
        }
    )
    resolved = resolve(request, Origin(), plan.chips)
    return resolved.cost, limits_of(request), options_of(request, (TARGETS["megatron"],))


def every(model, plan: Plan, options) -> list[Plan]:
    """All plans of the decisions, by loops."""
    chips, batch = plan.chips, model.job.global_batch
    sizes = [size for size in range(1, chips + 1) if chips % size == 0]
    micro = [size for size in range(1, batch + 1) if batch % size == 0]
    levels = [name for name in RECOMPUTES if name != "selective"]
    found = []
    for tp, cp, pp, size, sharding, recompute, sequence in product(
        sizes, sizes, sizes, micro, model.framework.shardings, levels, (False, True)
    ):
        if chips % (tp * cp * pp) or (sequence and tp == 1):
            continue
        data = chips // (tp * cp * pp)
        if batch % (data * size):
            continue
        for chunks, _ in dict.fromkeys((v, 0) for v, _ in chunkings(model, pp, options)):
            replicas = (
                plan.dp if plan.sharding == sharding == "zero3" and data % plan.dp == 0 else 1
            )
            shards = sharding == "zero3"
            names = [
                name
                for name in model.framework.schedules
                if schedule_of(name).fits_interleave(np.array(chunks))
            ]
            found.append(
                Plan(
                    tp=tp, cp=cp, pp=pp, micro_batch=size, interleave=chunks, sharding=sharding,
                    recompute=recompute, sequence_parallel=sequence,
                    dp=replicas if shards else data, fsdp=data // replicas if shards else 1,
                    schedule="1f1b" if pp == 1 or chunks == 1 else names[0],
                )
            )  # fmt: skip
    return found


@each("name", list(START))
def test_the_best_of_each_number_of_changes(name: str) -> None:
    plan = START[name]
    model, limits, options = question(plan)
    plans = [one for one in every(model, plan, options) if 0 < len(changes_between(plan, one)) <= 3]
    close = near(model, plan, options)
    assert len(close.plans) == len(set(plans)) == len(plans)
    table = PlanTable.from_plans(plans)
    kept = np.flatnonzero(obeying(model, table, all_orders=False, targets=options.runnable_in))
    totals = evaluate_totals(model, table.take(kept))
    fits = totals.memory_bytes <= limits.bytes_of(model, table.take(kept))
    own = evaluate_totals(model, PlanTable.from_plans([plan])).step_time_s[0]
    found = improvements(model, plan, limits, options, best=1)
    beaten = own if found.fits else np.inf
    for count in (1, 2, 3):
        times = [
            time
            for at, time, fitting in zip(kept.tolist(), totals.step_time_s, fits, strict=True)
            if fitting and len(changes_between(plan, plans[at])) == count
        ]
        best = min(times, default=np.inf)
        if best < beaten * (1 - 1e-4):
            [one] = found.found[count]
            assert one.step_time_s == best
            assert len(one.changes) == count
            beaten = best
        else:
            assert found.found[count] == ()


def test_counts_are_of_decisions_that_differ() -> None:
    plan = START["dense"]
    model, _, options = question(plan)
    close = near(model, plan, options)
    rows = np.arange(0, len(close.plans), 7)
    for row in rows.tolist():
        assert len(changes_between(plan, close.plans.plan(row))) == close.changes[row]
    assert set(np.unique(close.changes)) == {1, 2, 3}
    assert len(DECISIONS) == 9


def test_a_rule_that_the_launch_breaks_is_the_only_one_that_binds_no_other() -> None:
    plan = START["dense"]
    model, limits, options = question(plan)
    own = PlanTable.from_plans([plan])
    applicable = checking.applicable
    fork = Rule(
        name="no-fork",
        field="model",
        framework="megatron",
        source="a test",
        holds=lambda _, plans: np.zeros(len(plans), dtype=np.bool_),
        explain=lambda *_: "nothing runs a fork",
    )

    def with_fork(framework, target=None, version=""):
        return (*applicable(framework, target, version), *([fork] if target else []))

    assert checking.unbroken(model, own, target=TARGETS["megatron"]).all()
    before = improvements(model, plan, limits, options, best=1)
    with patch.object(checking, "applicable", with_fork):
        assert not checking.unbroken(model, own, target=TARGETS["megatron"]).any()
        assert improvements(model, plan, limits, options, best=1) == before
