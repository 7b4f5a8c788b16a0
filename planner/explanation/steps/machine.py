"""What-ifs: the same plan on a changed machine, on more chips, or with a larger batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.base.arrays import IntArray
from planner.base.errors import InputError
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.explanation.judging import (
    Refusal,
    binding_stages,
    broken_rule,
    refusal_of,
)
from planner.explanation.reliefs import FASTER, SLOWER, machines
from planner.explanation.sensitivity.rebuilding import Rebuilding
from planner.explanation.steps.neighbors import Judged
from planner.plan import Plan, PlanTable
from planner.question.options import SpaceOptions
from planner.results.plan import PlanResult, plan_results
from planner.search.limits import Limits


def machine_steps(
    made: Rebuilding, plan: Plan, limits: Limits, near: Sequence[Judged]
) -> list[Judged]:
    """The plan on machines that differ in one thing.

    Powers, prices and the latency of software stay as they are: a what-if, not a product.

    Args:
        made: The model, and how to make it again.
        plan: The plan.
        limits: What it has to obey.
        near: Plans one step away, for what more memory would let in.
    """
    return [*_on_each(made, plan, limits, FASTER), _more_memory(made, plan, limits, near)]


def slower_steps(made: Rebuilding, plan: Plan, limits: Limits) -> list[Judged]:
    """The plan on machines one resource of which is slower; arguments as above."""
    return [step for factor in SLOWER for step in _on_each(made, plan, limits, factor)]


def _on_each(made: Rebuilding, plan: Plan, limits: Limits, factor: float) -> list[Judged]:
    """The plan on machines one resource of which is so many times as good."""
    return [_judged(one.change, one.model, plan, limits) for one in machines(made, plan, factor)]


def _judged(
    change: str, model: CostModel, plan: Plan, limits: Limits, batches: IntArray | None = None
) -> Judged:
    """The plan under a model, and why not; `batches`: (1,) sequences per step, if others."""
    result, refusal = _on(model, plan, limits, batches)
    return Judged(change=change, result=result, refusal=refusal)


def _on(
    model: CostModel, plan: Plan, limits: Limits, batches: IntArray | None = None
) -> tuple[PlanResult, Refusal | None]:
    table = PlanTable.from_plans([plan])
    costs = evaluate_table(model, table, batches)
    result, stage = plan_results(model, table, costs)[0], binding_stages(model, table, costs)[0]
    return result, refusal_of(model, result, limits, stage)


def _more_memory(made: Rebuilding, plan: Plan, limits: Limits, near: Sequence[Judged]) -> Judged:
    """Twice the memory: the fastest plan one step away that it lets in, or the plan itself."""
    chip = made.model.chip
    roomy = made.on_chip(replace(chip, memory_bytes=chip.memory_bytes * FASTER))
    doubled = None if limits.memory_bytes is None else limits.memory_bytes * FASTER
    more = replace(limits, memory_bytes=doubled)
    kept_out = [
        (one.change, one.result)
        for one in near
        if one.result is not None and one.refusal is not None and one.refusal.reason == "memory"
    ]
    judged = ((change, own, *_on(roomy, own.plan, more)) for change, own in kept_out)
    let_in = [
        (own.step_time_s, change, result) for change, own, result, refusal in judged if not refusal
    ]
    here = _judged("twice the memory", roomy, plan, more)
    best = min(let_in, key=lambda one: one[0], default=None)
    assert here.result is not None
    if best is None or best[0] >= here.result.step_time_s:
        return here
    return Judged(change=f"twice the memory, with {best[1]}", result=best[2], refusal=None)


def scale_steps(
    model: CostModel, plan: Plan, limits: Limits, options: SpaceOptions
) -> list[Judged]:
    """The same plan on twice the chips (more data ranks), and with twice the batch.

    Args:
        model: Job, cluster, assumptions.
        plan: The plan.
        limits, options: What it has to obey.
    """
    found = []
    data = "fsdp" if plan.fsdp > 1 else "dp"
    wider = replace(plan, **{data: getattr(plan, data) * 2})
    if plan.layout is None:
        found.append(_wider(model, wider, limits, f"twice the chips ({data} doubled)", options))
    if not model.assumptions.token_granularity:
        larger = replace(model, job=replace(model.job, global_batch=model.job.global_batch * 2))
        batches = np.array([larger.job.global_batch])
        found.append(_judged("twice the batch", larger, plan, limits, batches))
    return found


def _wider(
    model: CostModel, plan: Plan, limits: Limits, change: str, options: SpaceOptions
) -> Judged:
    model = model.on(plan.chips)
    try:
        model.allocation(plan.chips)
    except InputError as error:
        refusal = Refusal(reason="chips", words=str(error).split("\n")[0])
        return Judged(change=change, result=None, refusal=refusal)
    rule = broken_rule(model, plan, all_orders=options.all_orders, targets=options.runnable_in)
    if rule is not None:
        return Judged(change=change, result=None, refusal=rule)
    return _judged(change, model, plan, limits)
