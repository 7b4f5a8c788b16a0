"""From a question about a ridgeline to its answer: the machine, the work, what was assumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hardware_db import Cluster
from planner.cost.context import CostModel
from planner.defaults import precision_of
from planner.errors import InputError
from planner.job import Job
from planner.plan import Plan, PlanTable
from planner.planfile import read_plan_file
from planner.rack.workload_file import workload_from
from planner.records import cluster_named
from planner.request import DEFAULT_HARDWARE, request_from
from planner.resolved import resolve
from planner.ridgeline.answer import NEAR_RULE, RidgelineResult
from planner.ridgeline.energy import energy_roof
from planner.ridgeline.layer import OPERATORS, layer_counts
from planner.ridgeline.machine import ALL, ridges_of
from planner.ridgeline.plane import Counts, Ridge, place
from planner.ridgeline.plans import mean_clock, path_costs, path_of, plan_counts
from planner.ridgeline.points import read_points
from planner.ridgeline.products import (
    Case,
    case_counts,
    case_named,
    case_of_gemms,
    case_of_workload,
)
from planner.ridgeline.question import Question
from planner.rules import violations
from planner.units import plain, plural, show_count

_PAPER_HARDWARE = "xeon-clx-socket"
_DEGENERATE = (
    "No byte crosses a network, so the plane has no left and right: this is a roofline, memory "
    "below its knee and compute above."
)
_IN_TURN = (
    "The bytes over the network are looked at on each level in turn, as if it carried them all."
)
_OFF_PLANE = (
    "Points with no FLOP, no memory bytes or no network bytes lie off a plane with logarithmic "
    "axes; they are in the table only."
)
_PAPER_BYTES = (
    "Inputs, weights and outputs count once per training step, which gives the paper's figures; "
    "--counting gemm counts the operands of each of the three multiplications."
)
_PLAN = (
    "Counts are the mean of the chips over one step, by the cost model. The bound takes peak rates "
    "and overlaps everything; pipeline bubbles, latencies and achieved rates are in the step of "
    "the cost model only."
)
_CLOCK = (
    "The plan's chips run at {} of the clock of the peak rates, so the FLOP/s and the height of the "
    "knee are as much lower; joules per FLOP are those of the full clock."
)
_MOST_NAMED = 4
Defaults = list[tuple[str, str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Machine:
    """A cluster with what its ridgelines need."""

    cluster: Cluster
    precision: str
    ridges: tuple[Ridge, ...]


def ridgeline(question: Question) -> RidgelineResult:
    """The ridgelines of a machine, and where the work that is asked for lies.

    Args:
        question: From `planner.ridgeline.question.question_of`.

    Raises:
        InputError: The question cannot be asked as it is; one line per mistake.
    """
    defaults: Defaults = []
    if question.plan is not None:
        return _of_plan(question, question.plan)
    machine = _machine(question, defaults)
    if question.model is not None:
        return _of_layer(question, machine, question.model, defaults)
    if question.csv is not None:
        return _of_csv(machine, question.csv, defaults)
    case = _case(question)
    if case is None:
        none = Counts(
            names=(), flop=np.zeros(0), memory_bytes=np.zeros(0),
            network_bytes=np.zeros((0, len(machine.ridges))),
        )  # fmt: skip
        return _result("machine", machine.cluster.title, machine, none, defaults, ())
    return _of_case(question, machine, case, defaults)


def _machine(question: Question, defaults: Defaults) -> _Machine:
    """The cluster that is asked for, or the default one."""
    name = question.hardware
    if name is None:
        of_paper = question.case is not None
        name = _PAPER_HARDWARE if of_paper else DEFAULT_HARDWARE
        defaults.append(("hardware", name, "that of the paper" if of_paper else "the default"))
    cluster = cluster_named(name)
    precision = precision_of(question.precision, cluster.chip, defaults)
    level = ALL if question.level is None else question.level
    ridges = ridges_of(cluster, precision, level)
    return _Machine(cluster=cluster, precision=precision, ridges=ridges)


def _case(question: Question) -> Case | None:
    """The products that are asked for."""
    if question.case is not None:
        return case_named(question.case)
    if question.workload is not None:
        return case_of_workload(workload_from(question.workload))
    return case_of_gemms(question.gemms) if question.gemms else None


def _of_case(
    question: Question, machine: _Machine, case: Case, defaults: Defaults
) -> RidgelineResult:
    """Products over batches; with several, their sum as well."""
    batches = question.batches or case.batches
    counting = question.counting or case.counting
    counts = case_counts(
        case,
        machine.cluster.chip,
        machine.precision,
        levels=len(machine.ridges),
        batches=batches,
        counting=counting,
        chips=question.chips,
        training=not question.forward,
    )
    names = [product.name for product in case.products]
    counts = _by_product(counts, len(batches), len(names))
    names += ["all"] if len(names) > 1 else []
    notes = [_PAPER_BYTES] if question.case and counting == "step" else []
    if len(machine.ridges) > 1 and not question.forward and question.chips != 1:
        notes.append(_IN_TURN)
    kind = "case" if question.case else "workload" if question.workload else "gemm"
    if kind == "gemm":
        return replace(
            _result(kind, case.title, machine, counts, defaults, notes),
            series=counts.names, counting=counting, chips=question.chips,
        )  # fmt: skip
    return replace(
        _result(kind, case.title, machine, counts, defaults, notes),
        series=tuple(name for name in names for _ in batches),
        steps=tuple(float(batch) for _ in names for batch in batches),
        step_name="batch",
        counting=counting,
        chips=question.chips,
    )


def _by_product(counts: Counts, batches: int, products: int) -> Counts:
    """Counts product by product instead of batch by batch, and the sum of several products."""
    order = np.arange(batches * products).reshape(batches, products).T

    def column(values: Any) -> Any:
        rows = values[order]
        every = [rows, rows.sum(axis=0, keepdims=True)] if products > 1 else [rows]
        return np.concatenate(every).reshape(-1, *values.shape[1:])

    names = [counts.names[index] for index in order.ravel()]
    return Counts(
        names=(*names, *(["all"] * batches if products > 1 else [])),
        flop=column(counts.flop),
        memory_bytes=column(counts.memory_bytes),
        network_bytes=column(counts.network_bytes),
    )


def _of_csv(machine: _Machine, path: Path, defaults: Defaults) -> RidgelineResult:
    points = read_points(path, len(machine.ridges))
    notes = [_IN_TURN] if len(machine.ridges) > 1 and points.counts.network_bytes.any() else []
    result = replace(
        _result("csv", path.name, machine, points.counts, defaults, notes),
        times_s=points.measured_s,
        times_are="measured" if points.measured_s else "",
    )
    too_fast = [
        name
        for name, bound, time in zip(
            points.counts.names, result.placed.bound_s, points.measured_s, strict=False
        )
        if time is not None and bound > time
    ]
    if not too_fast:
        return result
    named = ", ".join(too_fast[:_MOST_NAMED]) + (", ..." if too_fast[_MOST_NAMED:] else "")
    words = f"{named}: measured faster than the machine's peaks allow; check counts and level."
    return replace(result, notes=(*result.notes, words))


def _of_layer(
    question: Question, machine: _Machine, name: str, defaults: Defaults
) -> RidgelineResult:
    """A transformer layer over micro-batches, operator by operator."""
    chips = question.chips or machine.cluster.node_chips
    tp = question.tp or 1
    if chips % tp:
        raise InputError(f"tp: {tp} does not divide {chips} chips")
    fields: dict[str, Any] = {"model": name, "hardware": machine.cluster.name, "chips": chips}
    if question.hardware is not None:
        fields["hardware"] = question.hardware
    fields |= {"precision": machine.precision}
    if question.seq_len is not None:
        fields["seq_len"] = question.seq_len
    model = resolve(request_from(fields)).cost
    if model.shapes.experts:
        raise InputError(
            f"model: {name} has experts, whose tokens travel; layers are shown of models without "
            "them: give a plan with --plan"
        )
    batches = question.batches or tuple(2**k for k in range(7))
    plans = [Plan(dp=chips // tp, tp=tp, micro_batch=b, sharding="ddp") for b in batches]
    model.allocation(chips)
    table = PlanTable.from_plans(plans)
    largest = replace(model, job=_at_batch(model.job, chips // tp * batches[-1]))
    if broken := violations(
        largest, table.take(np.array([len(batches) - 1])), arithmetic_only=True
    ):
        raise InputError("\n".join(f"tp: {line}" for line in broken))
    counts = layer_counts(model, table, machine.ridges)
    words = f"one layer of {model.job.model.title}, {plural(chips, 'chip')}"
    words += f", tp {tp}, {show_count(model.job.seq_len)} tokens per sequence"
    defaults += [] if question.chips else [("chips", str(chips), "those of one node")]
    return replace(
        _result("layer", words, machine, counts, defaults, ()),
        series=tuple(name for name in OPERATORS for _ in batches),
        steps=tuple(float(batch) for _ in OPERATORS for batch in batches),
        step_name="batch",
        counting="blocked",
        chips=chips,
    )


def _at_batch(job: Job, sequences: int) -> Job:
    """The job with so many sequences per step.

    Raises:
        InputError: They are too many.
    """
    try:
        return replace(job, global_batch=sequences)
    except InputError as error:
        raise InputError(str(error).replace("batch-tokens", "batches", 1)) from error


def _of_plan(question: Question, path: Path) -> RidgelineResult:
    """A plan of a file, and the plans next to it on a path."""
    changes = {"hardware": question.hardware, "precision": question.precision}
    asked = {name: value for name, value in changes.items() if value is not None}
    request, plan, origin, assumed = read_plan_file(path, asked, flags=True, row=question.row)
    resolved = resolve(request, origin, plan.chips)
    result = plan_ridgeline(resolved.cost, plan, level=question.level, sweep=question.sweep)
    return replace(result, defaults=(*resolved.defaults, *assumed))


def plan_ridgeline(
    model: CostModel, plan: Plan, *, level: str | None = None, sweep: str | None = None
) -> RidgelineResult:
    """Where a whole step of a plan lies on the ridgelines of its cluster.

    Args:
        model: Job and cluster.
        plan: The plan.
        level: One level of the cluster; default all.
        sweep: One of `planner.ridgeline.plans.SWEEPS`: the plans next to it as well.

    Raises:
        InputError: The plan cannot run; the level or the sweep is unknown.
    """
    table = PlanTable.from_plans([plan])
    if broken := violations(model, table, arithmetic_only=True):
        raise InputError("\n".join(f"plan: {line}" for line in broken))
    clock, asked = mean_clock(model, plan), ALL if level is None else level
    machine = _Machine(
        cluster=model.cluster,
        precision=model.job.precision,
        ridges=ridges_of(model.cluster, model.job.precision, asked, clock),
    )
    path = path_of(model, plan, sweep)
    costs, chips = path_costs(model, path)
    counts = plan_counts(model, costs, chips, machine.ridges)
    mesh = " ".join(f"{axis} {size}" for axis, size in plan.mesh.items() if size > 1)
    notes = (_PLAN,) if clock == 1 else (_PLAN, _CLOCK.format(plain(clock)))
    title = f"one step of {model.job.model.title} on {plural(plan.chips, 'chip')}"
    result = _result("plan", f"{title} ({mesh or 'no split'})", machine, counts, [], notes)
    times = tuple(float(time) for time in costs.step_time_s)
    result = replace(result, times_s=times, times_are="cost model", chips=plan.chips, clock=clock)
    if sweep is None:
        return result
    return replace(
        result,
        series=("step",) * len(counts),
        steps=path.steps,
        step_name="batch-tokens" if sweep == "batch" else sweep,
        given=path.at,
    )


def _result(
    kind: str,
    title: str,
    machine: _Machine,
    counts: Counts,
    defaults: Defaults,
    notes: Sequence[str],
) -> RidgelineResult:
    """The answer with what all kinds of it have."""
    result = RidgelineResult(
        kind=kind,
        title=title,
        hardware=machine.cluster.name,
        chip=machine.cluster.chip.name,
        precision=machine.precision,
        ridges=machine.ridges,
        energy=energy_roof(machine.cluster, machine.precision, machine.ridges),
        counts=counts,
        placed=place(machine.ridges, counts),
        defaults=tuple(defaults),
    )
    every = [*notes]
    if result.is_degenerate:
        every.append(_DEGENERATE)
    elif not result.drawable.all():
        every.append(_OFF_PLANE)
    return replace(result, notes=(*every, *([NEAR_RULE] if len(counts) else [])))
