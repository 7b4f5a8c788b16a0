"""From a question about a ridgeline to its answer: the machine, the work, what was assumed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.question.defaults import precision_of
from planner.question.request import DEFAULT_HARDWARE
from planner.studies.rack.model.workload_file import workload_from
from planner.studies.ridgeline.answer import Defaults, RidgelineResult, result_of
from planner.studies.ridgeline.machine import ALL, Machine, ridges_of
from planner.studies.ridgeline.of_layer import of_layer
from planner.studies.ridgeline.of_plan import of_plan
from planner.studies.ridgeline.plane import Counts
from planner.studies.ridgeline.points import read_points
from planner.studies.ridgeline.products import (
    Case,
    case_counts,
    case_named,
    case_of_gemms,
    case_of_workload,
)
from planner.studies.ridgeline.question import FIELDS, Question, question_of
from planner.studies.whatif import cluster_with, with_each_counted

_PAPER_HARDWARE = "xeon-clx-socket"
_IN_TURN = (
    "The bytes over the network are looked at on each level in turn, as if it carried them all."
)
_PAPER_BYTES = (
    "Inputs, weights and outputs count once per training step, which gives the paper's figures; "
    "--counting gemm counts the operands of each of the three multiplications."
)
_MOST_NAMED = 4


def ridgeline(question: Question) -> RidgelineResult:
    """The ridgelines of a machine, and where the work that is asked for lies.

    Args:
        question: From `planner.studies.ridgeline.question.question_of`.

    Raises:
        InputError: The question cannot be asked as it is; one line per mistake.
    """
    return with_each_counted(
        question.set, lambda texts: _answered(replace(question, set=texts)), RidgelineResult.to_dict
    )


def _answered(question: Question) -> RidgelineResult:
    """The answer, whatever of it the changes move."""
    defaults: Defaults = []
    if question.plan is not None:
        return of_plan(question, question.plan)
    machine = _machine(question, defaults)
    if question.model is not None:
        return of_layer(question, machine, question.model, defaults)
    if question.csv is not None:
        return _of_csv(machine, question.csv, defaults)
    case = _case(question)
    if case is None:
        none = Counts(
            names=(), flop=np.zeros(0), memory_bytes=np.zeros(0),
            network_bytes=np.zeros((0, len(machine.ridges))),
        )  # fmt: skip
        return result_of("machine", machine.cluster.title, machine, none, defaults, ())
    return _of_case(question, machine, case, defaults)


def ridgelines(**asked: Any) -> RidgelineResult:
    """The ridgelines of a machine, and where work lies on them.

    `planner.ridgelines(hardware="xeon-clx-socket", case="mlp-4096", batches=[256, 512])` answers as
    `planner ridgeline` does with the same flags.

    Args:
        **asked: Flags of the command with `_` for `-`: `hardware`, `level`, `precision`; one of
            `case`, `workload`, `gemm`, `model`, `plan` (path of a plan file), `csv` (path); and how
            they are counted.

    Returns:
        Rates and knees per level, and per point region, bound in seconds and distances.

    Raises:
        InputError: The question cannot be asked as it is; one line per mistake.
    """
    if unknown := [name for name in asked if name not in FIELDS]:
        raise InputError("\n".join(f"ridgelines: {not_one_of(name, FIELDS)}" for name in unknown))
    paths = {name: Path(asked[name]) for name in ("plan", "csv") if asked.get(name) is not None}
    return ridgeline(question_of({**asked, **paths}))


def _machine(question: Question, defaults: Defaults) -> Machine:
    """The cluster that is asked for, or the default one."""
    name = question.hardware
    if name is None:
        of_paper = question.case is not None
        name = _PAPER_HARDWARE if of_paper else DEFAULT_HARDWARE
        defaults.append(("hardware", name, "that of the paper" if of_paper else "the default"))
    cluster = cluster_with(name, question.set)
    defaults += [("set", text, "of yours") for text in question.set]
    precision = precision_of(question.precision, cluster.chip, defaults)
    level = ALL if question.level is None else question.level
    ridges = ridges_of(cluster, precision, level)
    return Machine(cluster=cluster, precision=precision, ridges=ridges)


def _case(question: Question) -> Case | None:
    """The products that are asked for."""
    if question.case is not None:
        return case_named(question.case)
    if question.workload is not None:
        return case_of_workload(workload_from(question.workload))
    return case_of_gemms(question.gemms) if question.gemms else None


def _of_case(
    question: Question, machine: Machine, case: Case, defaults: Defaults
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
            result_of(kind, case.title, machine, counts, defaults, notes),
            series=counts.names, counting=counting, chips=question.chips,
        )  # fmt: skip
    return replace(
        result_of(kind, case.title, machine, counts, defaults, notes),
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


def _of_csv(machine: Machine, path: Path, defaults: Defaults) -> RidgelineResult:
    points = read_points(path, len(machine.ridges))
    notes = [_IN_TURN] if len(machine.ridges) > 1 and points.counts.network_bytes.any() else []
    result = replace(
        result_of("csv", path.name, machine, points.counts, defaults, notes),
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
