"""Explicit stages: what plans list for each chunk of the pipeline, by the stage that holds it.

Which chunks of the pipeline a stage has, its schedule says (`Schedule.place`).
What a stage has once (sharding, clock) is what its first chunk says; `planner.frameworks.rules`
asks its other chunks to agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from models_db import Model
from planner.base.arrays import BoolArray, IntArray
from planner.base.errors import InputError
from planner.plan import Plan, PlanTable
from planner.schedules import ScheduleColumn

KINDS = ("dense", "mixture-of-experts")


def explicit_plans(plans: PlanTable) -> BoolArray:
    """(n,) whether each plan has explicit stages."""
    if plans.stages is None:
        return np.zeros(len(plans), dtype=np.bool_)
    return plans.stages.layers[:, 0] >= 0


def chunk_columns(plans: PlanTable, width: int) -> IntArray:
    """(n, width, v) columns of the stage table with the chunks of each stage, -1 where none is."""
    listed = explicit_plans(plans)
    pp = np.where(listed, plans.pp, 0)[:, None, None]
    schedules = ScheduleColumn(plans.schedule[:, None, None])
    interleave = plans.interleave[:, None, None]
    chunks = schedules.of_each("chunks", interleave) * listed[:, None, None]
    stage = np.arange(width)[None, :, None]
    chunk = np.arange(chunks.max(initial=0))[None, None, :]
    place = schedules.of_each("place", stage, chunk, pp, interleave)
    return np.where((stage < pp) & (chunk < chunks), place, -1)


def of_chunks(table: npt.NDArray[Any], columns: IntArray) -> npt.NDArray[Any]:
    """(n, s, v, ...) entries of a table of chunks, (n, c, ...), in some columns; 0 where none is.

    Args:
        table: By chunk in the order of the pipeline.
        columns: (n, s, v) of `chunk_columns`.
    """
    rows = np.arange(len(table))[:, None, None]
    found = table[rows, np.maximum(columns, 0)]
    exists = (columns >= 0).reshape(columns.shape + (1,) * (table.ndim - 2))
    return np.where(exists, found, 0)


def chunk_kinds(kinds: tuple[str, ...], sizes: npt.ArrayLike) -> IntArray:
    """(..., chunks, 2) dense and expert layers of every chunk, in order.

    Args:
        kinds: Of every layer: dense or moe.
        sizes: (..., chunks) layers per chunk; they add up to the layers.
    """
    moe_before = np.concatenate([[0], np.cumsum([kind == "moe" for kind in kinds])])
    layers = np.asarray(sizes, dtype=np.int64)
    ends = np.cumsum(layers, axis=-1)
    moe = moe_before[ends] - moe_before[ends - layers]
    return np.stack([layers - moe, moe], axis=-1).astype(np.int64)


def chunk_layers_of(plans: PlanTable, model: Model) -> IntArray:
    """(n, c, 2) dense and expert layers of every listed chunk, 0 where none is."""
    assert plans.stages is not None
    return chunk_kinds(model.layer_kinds, np.maximum(plans.stages.layers, 0))


def adds_up(plans: PlanTable, model: Model) -> BoolArray:
    """(n,) whether explicit stages are as many as there are chunks, and have all layers."""
    assert plans.stages is not None
    listed = plans.stages.layers
    chunks = (listed >= 0).sum(axis=1)
    layers = np.maximum(listed, 0).sum(axis=1)
    right = (chunks == plans.pp * plans.interleave) & (layers == model.layers)
    return np.asarray(right | ~explicit_plans(plans))


def overcounted(plans: PlanTable, model: Model) -> BoolArray:
    """(n, c) chunks that recompute more layers of a kind than they have, of stages that add up."""
    assert plans.stages is not None
    right = adds_up(plans, model) & explicit_plans(plans)
    sizes = np.where(right[:, None], np.maximum(plans.stages.layers, 0), 0)
    counted = plans.stages.recomputed
    more = counted.sum(axis=3) > chunk_kinds(model.layer_kinds, sizes)
    return np.asarray((more | (counted < 0).any(axis=3)).any(axis=2) & right[:, None])


def check_stages(plans: PlanTable, model: Model) -> None:
    """Refuses explicit stages that are not a pipeline of the model.

    Raises:
        InputError: They are too many or too few, do not have all layers, or recompute more
            layers than they have.
    """
    for wrong, explain in (
        (~adds_up(plans, model), wrong_sum),
        (overcounted(plans, model).any(axis=1), wrong_counts),
    ):
        if wrong.any():
            raise InputError(explain(plans.plan(int(np.argmax(wrong))), model))


def wrong_sum(plan: Plan, model: Model) -> str:
    """Why the listed stages are no pipeline of the model, in one line with what would be."""
    sizes = [stage.layers for stage in plan.stages or ()]
    chunks, v = plan.pp * plan.interleave, plan.interleave
    what, of_what = "stage", "stages (pp)"
    if v > 1:
        what, of_what = "chunk", f"chunks (pp {plan.pp} x interleave {v})"
    line = (
        f"stages: {len(sizes)} {what}s with {sum(sizes)} layers; needed: {chunks} {of_what} with "
        f"{model.layers} layers in all ({model.name})"
    )
    at = int(np.argmax(sizes))
    right = sizes[at] + model.layers - sum(sizes)
    if len(sizes) != chunks or right < 0:
        return line
    return f"{line}; nearest: {right} layers instead of {sizes[at]} on {what} {at}"


def wrong_counts(plan: Plan, model: Model) -> str:
    """Which listed stage recomputes more layers than it has, in one line."""
    stages = plan.stages or ()
    kinds = chunk_kinds(model.layer_kinds, [stage.layers for stage in stages])
    place = "chunk" if plan.interleave > 1 else "stage"
    return next(
        f"stages: {place} {at} recomputes {some} (selective) + {all_} (full) of its {layers} "
        f"{kind} layers; allowed: 0 to {layers} in all"
        for at, (stage, had) in enumerate(zip(stages, kinds.tolist(), strict=True))
        for kind, layers, some, all_ in zip(KINDS, had, stage.selective, stage.full, strict=True)
        if some + all_ > layers or min(some, all_) < 0
    )
