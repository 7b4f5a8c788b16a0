"""Plans in words, the same in every kind of report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.base.units import (
    plural,
    show_bytes,
    show_count,
    show_joules,
    show_percent,
    show_seconds,
)
from planner.plan import Plan
from planner.plan.layout_text import short_layout_text
from planner.plan.layout_words import (
    clocks_by_stage,
    layers_by_chunk,
    pools_by_stage,
    recomputed_by_chunk,
    shardings_by_stage,
)
from planner.plan.words import clock_words, recompute_words, sharding_words
from planner.results.plan import PlanResult
from planner.results.result import EvaluateResult, SolveResult

RESUMED = "the layout of the run"
"""How the sentence begins that says what a plan gains against the run that it goes on from."""
_BOUNDARY = "Energy and power: node and fabric, IT side (PUE 1), where no other boundary is named"
_INTERVALS = (
    "intervals hold 80 % (10 % to 90 % quantile): of power its own uncertainty, of energy also "
    "that of the step time"
)


def boundary_words(result: PlanResult) -> str:
    """What energy and power of a plan hold, and what their intervals do, where there are some."""
    if result.step_time_low_s is None:  # a bound, not a prediction
        return f"{_BOUNDARY}."
    return f"{_BOUNDARY}; {_INTERVALS}."


def mesh_words(plan: Plan) -> str:
    """`dp 8 x fsdp 128 x tp 2`, axes of size 1 left out."""
    sizes = plan.mesh.items()
    return " x ".join(f"{axis} {size}" for axis, size in sizes if size > 1) or "one chip"


def schedule_words(plan: Plan) -> str:
    """`1f1b`, `interleaved 4`, `zb-v 2`, or `no pipeline`."""
    if plan.pp == 1:
        return "no pipeline"
    return f"{plan.schedule} {plan.interleave}" if plan.interleave > 1 else plan.schedule


def choice_words(plan: Plan) -> str:
    """`zero1, micro-batch 2, 1f1b, recompute full, clock 0.9`: what there is beside the mesh."""
    words = [sharding_words(plan), f"micro-batch {plan.micro_batch}"]
    if plan.pp > 1:
        words.append(schedule_words(plan))
    if plan.stages is not None and len(plan.stages) > 1:
        words.append(f"layers {short_layout_text([stage.layers for stage in plan.stages])}")
    one = plan.stages is not None and len(plan.stages) == 1
    if (recompute := (recomputed_by_chunk if one else recompute_words)(plan)) != "none":
        words.append(f"recompute {recompute}")
    if plan.offload:
        words.append(f"offload {' and '.join(plan.offload)}")
    if (clock := clock_words(plan)) != "1":
        words.append(f"clock {clock}")
    return ", ".join(words)


def placement_words(result: PlanResult) -> str:
    """`tp on nvlink; dp on nvlink, leaf`: axes innermost first with the levels they cross."""
    order = [axis for axis in dict(result.plan.ranks) if axis in result.levels]
    rest = [axis for axis in result.levels if axis not in order]
    return "; ".join(f"{axis} on {', '.join(result.levels[axis])}" for axis in order + rest)


def plan_rows(result: PlanResult) -> list[tuple[str, str]]:
    """What a plan decides, as (name, words)."""
    plan = result.plan
    rows = [
        *([("machine", result.machine.words)] if result.machine else []),
        ("mesh", mesh_words(plan)),
        ("placement", placement_words(result) or "one chip"),
        *([("torus", result.torus)] if result.torus else []),
        ("sharding", shardings_by_stage(plan)),
        ("micro-batch", _micro_batch_words(result)),
        ("micro-batches", f"{result.micro_batches:,} per step"),
        ("schedule", schedule_words(plan)),
        ("recompute", recomputed_by_chunk(plan)),
    ]
    if plan.tp > 1:
        rows.append(("sequence parallel", "yes" if plan.sequence_parallel else "no"))
    if plan.cp > 1:
        rows.append(("context parallel", plan.cp_mode))
    if plan.pp > 1:
        rows.append(("layer split", layers_by_chunk(plan)))
    if pools := pools_by_stage(plan):
        rows.append(("pools", pools))
    if plan.offload:
        rows.append(("offload", ", ".join(plan.offload)))
    if (clock := clocks_by_stage(plan)) != "1":
        rows.append(("clock", f"{clock} of nominal"))
    return rows


def _micro_batch_words(result: PlanResult) -> str:
    """Sequences of a micro-batch, or its tokens where chips share those evenly."""
    if result.share_tokens:
        return f"{result.plan.micro_batch * result.share_tokens:,.6g} tokens per data rank"
    return plural(result.plan.micro_batch, "sequence")


def point_words(plan: Plan, time_s: float, energy_j: float) -> str:
    """`front: 5.21 s, 10.6 MJ a step; tp 8 x pp 16; zero1, ...` of a proved point."""
    figures = f"{show_seconds(time_s)}, {show_joules(energy_j)} a step"
    return f"front: {figures}; {mesh_words(plan)}; {choice_words(plan)}"


def join_words(names: Sequence[str]) -> str:
    """`time, energy and memory`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def job_words(result: SolveResult | EvaluateResult) -> str:
    """`llama2-13b on 4,096 x tpu-v5p (tpu-v5p)`."""
    job = result.question.job
    chips = result.result.chips if isinstance(result, EvaluateResult) else job["chips"]
    return _on(job, f"{chips:,}")


def asked_words(result: SolveResult) -> str:
    """`llama2-13b (13.02 G parameters) on 4,096 x tpu-v5p (tpu-v5p), 4,194,304 tokens per step`."""
    job, machines = result.question.job, result.candidates.machines
    up_to = "up to " if _leaves_chips_open(result) else ""
    machine = f"{up_to}{job['chips']:,} x {job['chip']} ({job['hardware']})"
    if result.best is None and len(machines) > 1:  # the job is that of the first
        machine = f"one of {len(machines):,} machines"
    return (
        f"{job['model']} ({show_count(job['parameters'])} parameters) on {machine}, "
        f"{job['batch_tokens']:,} tokens per step"
    )


def _leaves_chips_open(result: SolveResult) -> bool:
    """Whether the number of chips was part of the choice, on one machine."""
    asked = result.question.asked
    ranged = "chips_at_most" in asked or not isinstance(asked.get("chips", 0), int)
    return ranged and not result.candidates.machines


def front_job_words(result: SolveResult) -> str:
    """`llama3-70b on up to 1,024 x h100-sxm5-80 (dgx-h100-ndr)` where plans use fewer chips."""
    job, machines = result.question.job, result.candidates.machines
    if machines:
        hardware = result.question.plan_job.get("hardware", job["hardware"])
        return f"{job['model']} on {plural(len(machines), 'machine')} of {hardware}"
    most = job["chips"]
    fewer = any(point.chips < most for point in result.front)
    return _on(job, f"up to {most:,}" if fewer else f"{most:,}")


def _on(job: Mapping[str, Any], chips: str) -> str:
    return f"{job['model']} on {chips} x {job['chip']} ({job['hardware']})"


def best_words(result: SolveResult, best: PlanResult) -> list[str]:
    """Two lines about the best plan: what it is, and its status and costs."""
    job = result.question.job
    return [
        f"{job['model']} on {best.chips:,} x {job['chip']}: {mesh_words(best.plan)}",
        f"{result.status}: {show_seconds(best.step_time_s)} per step, "
        f"MFU {show_percent(best.mfu)}, {show_bytes(best.memory_per_chip_bytes)} per chip, "
        f"{show_joules(best.energy_per_step_j)} per step",
    ]


def front_title(result: SolveResult) -> str:
    """`Exact Pareto front of time and energy`, or that it is not complete."""
    if result.stages.pools:
        return "The fastest plan"
    front = f"Pareto front of {join_words(result.front.objectives)}"
    if marks_proved(result):
        limits = result.front.limits
        stopped = limits is not None and limits.proved < limits.asked
        return f"{front}, proved where marked{' (search stopped)' * stopped}"
    return f"Exact {front}" if result.front.complete else f"{front}, incomplete (search stopped)"


def marks_proved(result: SolveResult) -> bool:
    """Whether some plans of the front are proved and others are not."""
    return any(result.front.proved) and not result.front.complete


def proved_mark(result: SolveResult, at: int) -> str:
    """Whether the plan of the front at a place, from 0, is proved, in a word."""
    return "yes" if result.front.is_proved(at) else "no"


def best_apart(result: SolveResult) -> list[PlanResult]:
    """The best plan where it minimizes something else and is not on the front."""
    if result.best is None or any(is_best(point, result) for point in result.front):
        return []
    return [result.best]


def is_best(point: PlanResult, result: SolveResult) -> bool:
    """Whether a point of the front is the best plan."""
    best = result.best
    return best is not None and point.plan == best.plan and point.machine == best.machine


def plan_line(plan: PlanResult) -> str:
    """The choices of a plan in a line, its machine first where that is one of them."""
    machine = "" if plan.machine is None else f"{plan.machine.words}; "
    pools = pools_by_stage(plan.plan)
    held = f"; stages on {pools}" if pools else ""
    return f"{machine}{mesh_words(plan.plan)}; {choice_words(plan.plan)}{held}"
