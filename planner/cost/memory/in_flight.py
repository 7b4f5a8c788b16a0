"""Activations of micro-batches that a stage holds at once, as its schedule says."""

from __future__ import annotations

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.cost.stages.layout import StageClasses
from planner.plan import PlanTable
from planner.schedules import ScheduleColumn


def in_flight(
    schedule: IntArray, pp: IntArray, interleave: IntArray, m: FloatArray, position: FloatArray
) -> FloatArray:
    """(n, s) micro-batches whose activations a stage holds at once, in units of a whole stage."""
    found: FloatArray = ScheduleColumn(schedule).of_each("in_flight", pp, interleave, m, position)
    return found


def saved_at_once(
    plans: PlanTable,
    stages: StageClasses,
    m: FloatArray,
    saved: list[tuple[FloatArray, FloatArray | None, FloatArray]],
) -> FloatArray:
    """(n, s) bytes per token of the micro-batches in flight.

    `saved`: layers on a stage (n, s) and on its listed chunks (n, s, v), bytes of one (n, 1).
    """
    held = in_flight(
        plans.schedule[:, None], plans.pp[:, None], plans.interleave[:, None], m, stages.position
    )
    whole = np.zeros(stages.count.shape)
    for layers, _, one in saved:
        whole = whole + layers * one
    whole = whole * held
    if stages.chunks is None:
        return whole
    chunked = stages.chunks.any(axis=(1, 2, 3)) & (plans.interleave > 1)
    chunked = chunked | plans.schedules.values("lists_chunks")
    if not chunked.any():
        return whole
    of_chunks = np.zeros(stages.chunks.shape[:3])
    for _, chunks, one in saved:
        of_chunks = of_chunks + (0.0 if chunks is None else chunks * one[:, :, None])
    for schedule in plans.schedules.present:
        rows = np.flatnonzero(chunked & plans.schedules.rows(schedule))
        if len(rows):
            whole[rows] = schedule.most_in_flight(
                plans.pp[rows],
                plans.interleave[rows],
                _of(m, rows),
                _of(stages.position, rows),
                of_chunks[rows],
            )
    return whole


def _of(table: FloatArray, rows: IntArray) -> FloatArray:
    """Some rows of a table; of one that holds for all, that row for each."""
    return table[rows] if len(table) > 1 else np.repeat(table, len(rows), axis=0)
