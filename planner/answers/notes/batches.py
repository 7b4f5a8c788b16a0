"""What another batch gives where data parallelism cannot share the assumed one over the chips."""

from __future__ import annotations

from dataclasses import replace
from math import gcd, log2
from typing import Any

import numpy as np

from planner.base.units import plural
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.explanation.judging import not_asked, obeying, refusal_of
from planner.objectives import TIME
from planner.plan import Plan, PlanTable
from planner.question.kinds.kind import Kind, kind_of
from planner.question.options import SpaceOptions
from planner.question.resolved import Resolved
from planner.results.plan import PlanResult, plan_results
from planner.results.words import mesh_words
from planner.search.limits import Limits

_WORTH_SAYING = 1.05
"""Times the tokens per second that another batch has to give to be named."""


def other_batch(
    resolved: Resolved, best: PlanResult, limits: Limits, options: SpaceOptions
) -> list[str]:
    """That data parallelism could take more chips of another batch, in a sentence.

    An odd factor of the chips (9 of 72) that the sequences lack is left to other axes. The nearest
    batch that has it is tried with the best plan, the factor moved to data parallelism.

    Args:
        resolved: The job on its machine.
        best: The best plan.
        limits, options: What a plan has to obey.
    """
    request, model, plan = resolved.request, resolved.cost, best.plan
    own = kind_of(request) is Kind.UNIFORM and request.minimized is TIME
    if not own or request.batch_tokens is not None or model.assumptions.token_granularity:
        return []
    sequences = model.job.global_batch
    odd = best.chips // (best.chips & -best.chips)
    left = odd // gcd(odd, plan.dp * plan.fsdp)
    near = left > 1 and odd < sequences and sequences % odd
    if not near or plan.stages or plan.layout is not None:
        return []
    batch = odd << round(log2(sequences / odd))
    changed = replace(model, job=replace(model.job, global_batch=batch))
    moved = [one for axis in ("pp", "cp", "tp") for one in _moved(plan, axis, left)]
    kept = _allowed(changed, moved, limits, options)
    most = max(kept, key=lambda one: one.tokens_per_s, default=best)
    times = most.tokens_per_s / best.tokens_per_s
    if times < _WORTH_SAYING:
        return []
    return [
        f"{plural(sequences, 'sequence')} do not divide by {odd}, a factor of {best.chips:,} "
        f"chips: of {batch:,} (--batch-tokens {batch * model.job.seq_len:.0f}) "
        f"{mesh_words(most.plan)} takes {times:.3g}x the tokens a second (a plan near this one)."
    ]


def _moved(plan: Plan, axis: str, part: int) -> list[Plan]:
    """The plan with a part of an axis in data parallelism, if the axis has it."""
    size = plan.mesh[axis]
    if size % part:
        return []
    data = "dp" if plan.fsdp == 1 else "fsdp"
    sizes: dict[str, Any] = {axis: size // part, data: plan.mesh[data] * part}
    if axis == "pp" and size == part:
        return [replace(plan, **sizes, schedule="1f1b", interleave=1, split="even")]
    return [replace(plan, **sizes)]


def _allowed(
    model: CostModel, plans: list[Plan], limits: Limits, options: SpaceOptions
) -> list[PlanResult]:
    """What those of some plans cost that may be had."""
    table = PlanTable.from_plans(plans)
    if not plans:
        return []
    kept = obeying(model, table, all_orders=options.all_orders, targets=options.runnable_in)
    table = table.take(np.flatnonzero(kept))
    known = plan_results(model, table, evaluate_table(model, table)) if len(table) else []
    return [
        one
        for one in known
        if not (refusal_of(model, one, limits) or not_asked(model, one.plan, options))
    ]
