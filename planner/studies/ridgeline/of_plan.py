"""The ridgeline of a plan, and of the plans next to it on a path."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from planner.base.errors import InputError
from planner.base.units import plain, plural, show_bytes, show_percent, show_seconds
from planner.cost.breakdown import COMMUNICATION, Breakdown
from planner.cost.context import CostModel
from planner.cost.memory.memory import Memory
from planner.frameworks.rules import violations
from planner.plan import Plan, PlanTable
from planner.question.files.plan_file import read_plan_file
from planner.question.resolved import resolve
from planner.search.limits import Limits
from planner.studies.ridgeline.answer import RidgelineResult, result_of, step_words
from planner.studies.ridgeline.machine import ALL, Machine, ridges_of
from planner.studies.ridgeline.plane import REGIONS
from planner.studies.ridgeline.plans import mean_clock, path_costs, path_of, plan_counts
from planner.studies.ridgeline.question import Question

_COUNTS = (
    "Counts are the mean of the chips over one step, by the cost model. The bound takes peak rates "
    "and overlaps everything; pipeline bubbles, latencies and achieved rates are in the step of "
    "the cost model only."
)
_NO_BYTES = (
    "The assumptions of the plan ({name}) count no bytes of memory, so memory never binds here and "
    "no point has a place on a plane or a roofline."
)
_CLOCK = (
    "The plan's chips run at {} of the clock of the peak rates, so FLOP/s and the height of the "
    "knee are as much lower; joules per FLOP are those of the full clock."
)
_MOST_NAMED = 4
_REGION_OF = {
    "compute": "compute",
    "memory_bound": "memory",
    "optimizer": "memory",
} | dict.fromkeys(COMMUNICATION, "network")


def of_plan(question: Question, path: Path) -> RidgelineResult:
    """A plan of a file.

    Raises:
        InputError: The file or the plan cannot be used.
    """
    changes: dict[str, Any] = {"hardware": question.hardware, "precision": question.precision}
    changes["set"] = question.set or None
    asked = {name: value for name, value in changes.items() if value is not None}
    request, plan, origin, assumed = read_plan_file(path, asked, flags=True, row=question.row)
    resolved = resolve(request, origin, plan.chips)
    result = plan_ridgeline(
        replace(resolved.cost, cluster=resolved.changes.named(resolved.cost.cluster)),
        plan,
        level=question.level,
        sweep=question.sweep,
        limits=Limits(
            memory_bytes=resolved.request.max_memory,
            memory_margin=resolved.request.memory_margin,
        ),
    )
    return replace(result, defaults=(*resolved.defaults, *assumed))


def plan_ridgeline(
    model: CostModel,
    plan: Plan,
    *,
    level: str | None = None,
    sweep: str | None = None,
    limits: Limits | None = None,
) -> RidgelineResult:
    """Where a whole step of a plan lies on the ridgelines of its cluster.

    Args:
        model: Job and cluster.
        plan: The plan.
        level: One level of the cluster; default all.
        sweep: One of `planner.studies.ridgeline.plans.SWEEPS`: the plans next to it as well.
        limits: What of a chip's memory a plan may fill; default what its framework may use.

    Raises:
        InputError: The plan cannot run; the level or the sweep is unknown.
    """
    table = PlanTable.from_plans([plan])
    if broken := violations(model, table, arithmetic_only=True):
        raise InputError("\n".join(f"plan: {line}" for line in broken))
    clock, asked = mean_clock(model, plan), ALL if level is None else level
    machine = Machine(
        cluster=model.cluster,
        precision=model.job.precision,
        ridges=ridges_of(model.cluster, model.job.precision, asked, clock),
    )
    path = path_of(model, plan, sweep)
    costs, chips = path_costs(model, path)
    counts = plan_counts(model, costs, chips, machine.ridges)
    notes = _notes(model, clock)
    mesh = " x ".join(f"{axis} {size}" for axis, size in plan.mesh.items() if size > 1)
    title = f"one step of {model.job.model.title} on {plural(plan.chips, 'chip')}"
    result = result_of("plan", f"{title} ({mesh or 'no split'})", machine, counts, [], notes)
    limits = limits or Limits()
    result = replace(
        result,
        times_s=tuple(float(time) for time in costs.step_time_s),
        times_are="cost model",
        fits=tuple(
            limits.memory(model, PlanTable.from_plans(path.plans), costs.memory)[0].tolist()
        ),
        given=path.at,
        chips=plan.chips,
        clock=clock,
    )
    if sweep is not None:
        name = "batch-tokens" if sweep == "batch" else sweep
        names = ("step",) * len(counts)
        result = replace(result, series=names, steps=path.steps, step_name=name)
    too_large = _too_large(result, costs.memory, limits.chip_bytes(model))
    return replace(
        result, summary=_summary(model, result, costs), notes=(*too_large, *result.notes)
    )


def _too_large(result: RidgelineResult, held: Memory, limit_bytes: float) -> list[str]:
    """Which points do not fit, and by how much."""
    words = []
    for row in (row for row, fits in enumerate(result.fits) if not fits):
        name = f"{result.step_name} {step_words(result.steps[row])}" if result.steps else "the plan"
        needed = float(held.peak[row])
        over = f"{show_bytes(needed)}" if needed > limit_bytes else "host memory"
        words.append(f"{name} ({over})")
    if not words:
        return []
    shown = ", ".join(words[:_MOST_NAMED]) + (", ..." if words[_MOST_NAMED:] else "")
    return [
        f"Does not fit in the {show_bytes(limit_bytes)} that a plan may fill of a chip: {shown}."
    ]


def _summary(model: CostModel, result: RidgelineResult, costs: Breakdown) -> str:
    """How the bound of the plan relates to its step in the cost model."""
    row, placed, a, ridge = result.given, result.placed, model.assumptions, result.ridges[0]
    bound, step = float(placed.bound_s[row]), float(costs.step_time_s[row])
    part = max(costs.time_parts, key=lambda name: float(costs.time_parts[name][row]))
    near = ", near the ridge" if placed.near_ridge[row] else ""
    share = show_percent(float(costs.time_parts[part][row]) / step)
    arithmetic = show_percent(result.clock * a.matmul_flop_per_s / ridge.flop_per_s)
    memory = show_percent(a.memory_bytes_per_s / ridge.memory_bytes_per_s)
    region = REGIONS[placed.region[row]]
    same = _REGION_OF.get(part) == region
    other = "" if same else ", so the two need not name the same part"
    return (
        f"The plan: bound {show_seconds(bound)} at peak rates ({region}{near}); the cost model's "
        f"step is {show_seconds(step)} at achieved rates, {share} of it {part.replace('_', ' ')}. "
        f"At best arithmetic achieves {arithmetic} of its peak and memory {memory}{other}."
    )


def _notes(model: CostModel, clock: float) -> list[str]:
    """What holds for all plans of a job at a clock."""
    counted = model.assumptions.operand_bytes or model.assumptions.elementwise
    unseen = [] if counted else [_NO_BYTES.format(name=model.assumptions.name)]
    return [_COUNTS, *unseen, *([] if clock == 1 else [_CLOCK.format(plain(clock))])]
