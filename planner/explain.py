"""Why a plan wins: what binds it, and what plans one step away would cost.

Everything here comes from real evaluations of the cost model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.plan import RECOMPUTES, SHARDINGS, Plan, PlanTable
from planner.results import Neighbor, PlanResult, plan_results
from planner.rules import violations
from planner.search.limits import Limits
from planner.units import show_bytes, show_percent, show_seconds

_CAUSES = {
    "compute": "arithmetic (matrix multiplications and attention)",
    "memory_bound": "memory-bound element-wise work",
    "tensor_parallel": "tensor-parallel communication",
    "context_parallel": "context-parallel communication",
    "expert_parallel": "expert-parallel communication",
    "pipeline_transfer": "pipeline transfers",
    "bubble": "the pipeline bubble",
    "data_parallel": "exposed data-parallel communication",
    "optimizer": "the optimizer step",
    "offload": "traffic to host memory",
    "host": "host and launch overhead",
}


def sentences(model: CostModel, best: PlanResult, limits: Limits) -> tuple[str, ...]:
    """What binds a plan, in a few sentences with figures."""
    parts = sorted(best.time_s.items(), key=lambda item: -item[1])
    total = best.step_time_s
    first, second, third = parts[:3]
    lines = [
        f"{_CAUSES[first[0]].capitalize()} takes {show_percent(first[1] / total)} of the step; "
        f"next are {_CAUSES[second[0]]} ({show_percent(second[1] / total)}) and "
        f"{_CAUSES[third[0]]} ({show_percent(third[1] / total)})."
    ]
    limit = limits.chip_bytes(model)
    share = best.memory_per_chip_bytes / limit
    lines.append(
        f"The fullest chip holds {show_bytes(best.memory_per_chip_bytes)} of the "
        f"{show_bytes(limit)} that may be filled ({show_percent(share)}"
        + ("; memory is close to binding)." if share > 0.9 else ").")
    )
    return tuple(lines)


def neighbors(
    model: CostModel, best: PlanResult, limits: Limits, *, most: int = 8
) -> tuple[Neighbor, ...]:
    """Plans one step from `best`, cheapest change in time first; the infeasible ones last."""
    changes = list(dict(_steps(model, best.plan)).items())
    runnable, broken = [], []
    for what, plan in changes:
        lines = violations(model, PlanTable.from_plans([plan]))
        if lines:
            broken.append(Neighbor(change=what, result=None, verdict=lines[0]))
        else:
            runnable.append((what, plan))
    results: list[PlanResult] = []
    if runnable:
        table = PlanTable.from_plans([plan for _, plan in runnable])
        results = plan_results(model, table, evaluate_table(model, table))
    limit = limits.chip_bytes(model)
    judged = [
        Neighbor(change=what, result=result, verdict=_verdict(best, result, limit))
        for (what, _), result in zip(runnable, results, strict=True)
    ]
    judged.sort(key=_by_merit)
    kept = judged[: max(most - min(len(broken), 2), 1)]
    return (*kept, *broken[: most - len(kept)])


def _by_merit(neighbor: Neighbor) -> tuple[bool, float]:
    """What fits first, then by step time."""
    time = neighbor.result.step_time_s if neighbor.result else float("inf")
    return neighbor.verdict.startswith("memory"), time


def _verdict(best: PlanResult, other: PlanResult, limit: float) -> str:
    if other.memory_per_chip_bytes > limit:
        used = show_bytes(other.memory_per_chip_bytes)
        return f"memory: {used} of {show_bytes(limit)}"
    change = other.step_time_s / best.step_time_s - 1
    if abs(change) < 5e-5:
        return f"same time ({show_seconds(other.step_time_s)})"
    word = "slower" if change > 0 else "faster"
    return f"{word} by {show_percent(abs(change))} ({show_seconds(other.step_time_s)})"


def _steps(model: CostModel, plan: Plan) -> Iterator[tuple[str, Plan]]:
    """Descriptions and plans that differ in one decision."""
    yield from _mesh_steps(plan)
    local = model.job.global_batch // (plan.dp * plan.fsdp)
    for size in (plan.micro_batch * 2, plan.micro_batch // 2):
        if size >= 1 and local % size == 0:
            yield f"micro-batch {size}", replace(plan, micro_batch=size)
    for name in RECOMPUTES:
        useless = name == "selective" and model.framework.selective == "core-attention"
        if name != plan.recompute and not (useless and model.assumptions.fused_attention):
            yield f"recompute {name}", replace(plan, recompute=name)
    for name in SHARDINGS:
        yield from _sharding_steps(plan, name)
    if plan.tp > 1 and not model.shapes.experts:
        other = not plan.sequence_parallel
        what = "with" if other else "without"
        yield f"{what} sequence parallelism", replace(plan, sequence_parallel=other)
    if model.chip.clock_settable:
        levels = sorted(model.chip.clock_levels, reverse=True)
        slower = [level for level in levels if level < plan.clock]
        if slower:
            yield f"clock {slower[0]:g}", replace(plan, clock=slower[0])


def _mesh_steps(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """A factor of two moved from one axis to another."""
    data = "fsdp" if plan.fsdp > 1 else "dp"
    for grow, shrink in (
        ("tp", data),
        (data, "tp"),
        ("cp", data),
        (data, "cp"),
        ("pp", data),
        (data, "pp"),
    ):
        if getattr(plan, shrink) % 2:
            continue
        sizes = {grow: getattr(plan, grow) * 2, shrink: getattr(plan, shrink) // 2}
        changed = replace(plan, **sizes)
        if changed.pp == 1 or (plan.pp == 1 and changed.pp > 1):
            changed = replace(changed, schedule="1f1b", interleave=1)
        changed = replace(changed, sequence_parallel=plan.sequence_parallel and changed.tp > 1)
        if plan.tp == 1 and changed.tp > 1:
            changed = replace(changed, sequence_parallel=True)
        yield ", ".join(f"{axis} {size}" for axis, size in sizes.items()), changed
    if plan.sharding == "zero3":
        for dp, fsdp in ((plan.dp * 2, plan.fsdp / 2), (plan.dp / 2, plan.fsdp * 2)):
            if dp == int(dp) and fsdp == int(fsdp) and fsdp > 1:
                yield f"dp {dp:g}, fsdp {fsdp:g}", replace(plan, dp=int(dp), fsdp=int(fsdp))


def _sharding_steps(plan: Plan, name: str) -> Iterator[tuple[str, Plan]]:
    if name == plan.sharding:
        return
    ranks = plan.dp * plan.fsdp
    if name == "zero3":
        yield f"zero3 over {ranks}", replace(plan, sharding=name, fsdp=ranks, dp=1)
    else:
        yield name, replace(plan, sharding=name, fsdp=1, dp=ranks)
