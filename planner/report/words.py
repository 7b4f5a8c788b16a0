"""Plans in words, the same in every kind of report."""

from __future__ import annotations

from planner.plan import Plan
from planner.results import PlanResult


def mesh_words(plan: Plan) -> str:
    """`dp 8 x fsdp 128 x tp 2`, axes of size 1 left out."""
    sizes = plan.mesh.items()
    return " x ".join(f"{axis} {size}" for axis, size in sizes if size > 1) or "one chip"


def schedule_words(plan: Plan) -> str:
    """`1f1b`, `interleaved 4`, or `no pipeline`."""
    if plan.pp == 1:
        return "no pipeline"
    return f"interleaved {plan.interleave}" if plan.interleave > 1 else plan.schedule


def placement_words(result: PlanResult) -> str:
    """`tp on nvlink; dp on nvlink, leaf`: axes innermost first with the levels they cross."""
    order = [axis for axis in result.plan.order if axis in result.levels]
    rest = [axis for axis in result.levels if axis not in order]
    return "; ".join(f"{axis} on {', '.join(result.levels[axis])}" for axis in order + rest)


def plan_rows(result: PlanResult) -> list[tuple[str, str]]:
    """What a plan decides, as (name, words)."""
    plan = result.plan
    rows = [
        ("mesh", mesh_words(plan)),
        ("placement", placement_words(result) or "one chip"),
        ("sharding", plan.sharding),
        ("micro-batch", f"{plan.micro_batch} sequences, {result.micro_batches} per step"),
        ("schedule", schedule_words(plan)),
        ("recompute", plan.recompute),
    ]
    if plan.tp > 1:
        rows.append(("sequence parallel", "yes" if plan.sequence_parallel else "no"))
    if plan.cp > 1:
        rows.append(("context parallel", plan.cp_mode))
    if plan.pp > 1:
        rows.append(("layer split", plan.split if plan.stages is None else "explicit stages"))
    if plan.offload:
        rows.append(("offload", ", ".join(plan.offload)))
    if plan.clock != 1.0:
        rows.append(("clock", f"{plan.clock:g} of nominal"))
    return rows
