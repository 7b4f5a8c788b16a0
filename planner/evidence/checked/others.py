"""Which other plan would look like a log: one choice away, and inside of both intervals.

A launch that does not do what its plan says (recomputation left on, sequence parallelism off,
shards of another kind) shows in time and memory together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planner.base.vocabulary import RECOMPUTES, SHARDINGS
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.evidence.checked.answer import LookAlike
from planner.frameworks.launching import default_target
from planner.frameworks.rules import refused_by, violations
from planner.plan import Plan, PlanTable
from planner.results.plan import PlanResult, plan_results


def look_alikes(
    model: CostModel, plan: Plan, step_time_s: float, memory_bytes: float | None
) -> tuple[LookAlike, ...]:
    """Plans one choice away that agree with what was measured, the nearest in time first.

    Args:
        model: Job, cluster and assumptions.
        plan: The plan that was asked about.
        step_time_s: Measured.
        memory_bytes: Measured; None: it was not, and then nothing tells such plans apart.
    """
    if memory_bytes is None:
        return ()
    changes = [
        (words, other)
        for words, other in _changes(plan)
        if not violations(model, PlanTable.from_plans([other])) and not _refused(model, other)
    ]
    if not changes:
        return ()
    table = PlanTable.from_plans([other for _, other in changes])
    results = plan_results(model, table, evaluate_table(model, table))
    agreeing = [
        (words, found)
        for (words, _), found in zip(changes, results, strict=True)
        if _agrees(found, step_time_s, memory_bytes)
    ]
    agreeing.sort(key=lambda pair: abs(pair[1].step_time_s / step_time_s - 1))
    return tuple(
        LookAlike(
            change=words,
            step_time_s=found.step_time_s,
            memory_per_chip_bytes=found.memory_per_chip_bytes,
        )
        for words, found in agreeing
    )


def _refused(model: CostModel, plan: Plan) -> bool:
    """Whether what launches the framework of the job could not have run a plan."""
    target = default_target(model.framework.name, model.job.learns)
    return target is not None and bool(refused_by(model, plan, [target]))


def _agrees(found: PlanResult, step_time_s: float, memory_bytes: float) -> bool:
    ends = (found.step_time_low_s, found.step_time_high_s)
    held = (found.memory_low_bytes, found.memory_high_bytes)
    return _between(step_time_s, *ends) and _between(memory_bytes, *held)


def _between(value: float, low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and low <= value <= high


def _changes(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """Plans that differ in one choice that a launch may get wrong."""
    if plan.stages is None:
        for name in RECOMPUTES:
            if name != plan.recompute:
                yield f"recompute {name}", replace(plan, recompute=name)
        for name in SHARDINGS:
            if name != plan.sharding:
                yield f"sharding {name}", _sharded(plan, name)
    if plan.tp > 1:
        turned = not plan.sequence_parallel
        yield f"sequence_parallel {str(turned).lower()}", replace(plan, sequence_parallel=turned)
    if plan.offload:
        yield "offload none", replace(plan, offload=())


def _sharded(plan: Plan, name: str) -> Plan:
    """The plan with another sharding over the same data ranks."""
    ranks = plan.dp * plan.fsdp
    whole = name == "zero3"
    layout = None
    return replace(
        plan,
        sharding=name,
        fsdp=ranks if whole else 1,
        dp=1 if whole else ranks,
        layout=layout,
    )
