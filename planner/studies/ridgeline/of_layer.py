"""The ridgeline of one transformer layer over micro-batches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from planner.base.errors import InputError
from planner.base.units import plural, show_count
from planner.cost.context import CostModel
from planner.cost.job import Job
from planner.frameworks.rules import violations
from planner.plan import Plan, PlanTable
from planner.question.request import DEFAULT_HARDWARE, request_from
from planner.question.resolved import resolve
from planner.studies.ridgeline.answer import Defaults, RidgelineResult, result_of
from planner.studies.ridgeline.layer import layer_counts
from planner.studies.ridgeline.machine import Machine
from planner.studies.ridgeline.question import Question

_EXPERTS = (
    "Tokens spread evenly over the experts; their exchange between chips counts with the experts."
)


def of_layer(
    question: Question, machine: Machine, name: str, defaults: Defaults
) -> RidgelineResult:
    """One layer of each kind that a model has, operator by operator.

    Args:
        question: Chips, tp, ep, tokens per sequence, sequences per chip.
        machine: The cluster.
        name: Of the model.
        defaults: What was assumed so far.

    Raises:
        InputError: The degrees do not divide the chips or the model.
    """
    chips = question.chips or machine.cluster.node_chips
    tp, ep = question.tp or 1, question.ep or 1
    if chips % tp:
        raise InputError(f"tp: {tp} does not divide {chips} chips")
    model = _model(question, machine, name, chips)
    batches = question.batches or tuple(2**k for k in range(7))
    plans = [Plan(dp=chips // tp, tp=tp, ep=ep, micro_batch=b, sharding="ddp") for b in batches]
    model.allocation(chips)
    table = PlanTable.from_plans(plans)
    _check(model, table, chips // tp * batches[-1])
    counts = layer_counts(model, table, machine.ridges)
    words = f"one layer of {model.job.model.title}, {plural(chips, 'chip')}"
    words += f", tp {tp}" + (f", ep {ep}" if model.shapes.experts else "")
    words += f", {show_count(model.job.seq_len)} tokens per sequence"
    defaults += [] if question.chips else [("chips", str(chips), "those of one node")]
    notes = (_EXPERTS,) if model.shapes.experts else ()
    return replace(
        result_of("layer", words, machine, counts, defaults, notes),
        series=counts.names,
        steps=tuple(float(batch) for _ in dict.fromkeys(counts.names) for batch in batches),
        step_name="batch",
        counting="blocked",
        chips=chips,
    )


def _model(question: Question, machine: Machine, name: str, chips: int) -> CostModel:
    """The model on the cluster, as `planner solve` takes it."""
    hardware = DEFAULT_HARDWARE if question.hardware is None else question.hardware
    fields: dict[str, Any] = {"model": name, "hardware": hardware, "chips": chips}
    if question.set:
        fields["set"] = question.set
    fields |= {"precision": machine.precision}
    if question.seq_len is not None:
        fields["seq_len"] = question.seq_len
    return resolve(request_from(fields)).cost


def _check(model: CostModel, table: PlanTable, sequences: int) -> None:
    """Refuses what the rules of arithmetic do, at the largest batch."""
    if model.shapes.parts:
        raise InputError(
            f"model: layers of {model.job.model.name} are made of different parts; a ridgeline is "
            "of one layer with attention and a feed-forward"
        )
    largest = replace(model, job=_at_batch(model.job, sequences))
    last = table.take(np.array([len(table) - 1]))
    if broken := violations(largest, last, arithmetic_only=True):
        names = ("ep" if line.startswith("ep ") else "tp" for line in broken)
        raise InputError(
            "\n".join(f"{name}: {line}" for name, line in zip(names, broken, strict=True))
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
