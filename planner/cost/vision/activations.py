"""Bytes that a vision tower keeps on the first stage for its backward pass."""

from __future__ import annotations

import numpy as np

from models_db import Vision
from planner.base.arrays import FloatArray, IntArray
from planner.base.vocabulary import RECOMPUTES
from planner.cost.context import CostModel
from planner.cost.job import Job
from planner.cost.memory.in_flight import in_flight
from planner.cost.memory.memory import activation_bytes, kept_bytes, saved_bytes
from planner.cost.stages.layout import StageClasses
from planner.cost.vision.tower import (
    images_on_chip,
    projections,
    tower_of,
    tower_shapes,
)
from planner.plan import FULL, PlanTable


def tower_bytes(
    model: CostModel, plans: PlanTable, stages: StageClasses, m: FloatArray
) -> FloatArray | float:
    """(n, s) bytes of the micro-batches in flight, and of a layer that is computed again; or 0.

    A micro-batch is in flight in the first chunk of the pipeline from its forward pass on: more of
    them than of whole stages where chunks are interleaved. The working memory of a layer adds to
    that of the decoder's, though their passes follow one another: at most one layer too much.
    They stay on the chip where those of the decoder are offloaded.

    Args:
        model: Job and assumptions.
        plans: n plans.
        stages: Their stage classes.
        m: (n, 1) micro-batches per step.
    """
    job, fused = model.job, model.assumptions.fused_attention
    tower = tower_of(job)
    if tower is None:
        return 0.0
    tokens = (plans.micro_batch * job.seq_len / plans.cp)[:, None]
    saved, working = bytes_per_image(job, tower, plans.tp[:, None], fused=fused)
    held = first_chunk_in_flight(plans, m)
    each = images_on_chip(job, tokens) * (held * saved + np.where(held > 0, working, 0.0))
    return np.asarray(stages.first * each)


def bytes_per_image(
    job: Job, tower: Vision, tp: IntArray, *, fused: bool
) -> tuple[FloatArray, FloatArray]:
    """Bytes of an image that its backward pass needs, and those that recomputing a layer takes.

    Of layers as of the decoder's (`activation_bytes`); of each product outside of them its input.
    """
    shapes, operand = tower_shapes(tower), kept_bytes(job)
    kinds = activation_bytes(
        shapes,
        job.framework,
        tp,
        np.zeros(tp.shape, dtype=np.bool_),
        moe=False,
        fused=fused,
        seq_len=float(tower.patches),
        operand=operand,
    )
    code = RECOMPUTES.index(job.tower_recompute)
    layer = saved_bytes(kinds, np.full(tp.shape, code), moe=False)
    outside = sum(
        operand * one.rows * one.inputs / (tp if one.divided == "inputs" else 1.0)
        for one in projections(tower, job.model.hidden)
    )
    norm = 2.0 * tower.tokens * tower.merge**2 * tower.hidden if tower.projector_norm else 0.0
    working = kinds["working"] if code == FULL else 0.0 * layer
    saved = tower.patches * tower.layers * layer + outside + norm
    return np.asarray(saved), np.asarray(tower.patches * working)


def first_chunk_in_flight(plans: PlanTable, m: FloatArray) -> FloatArray:
    """(n, 1) micro-batches that the first chunk of a pipeline holds at most.

    Under a bidirectional schedule pp, on either end; of others that list or interleave chunks what
    their order says.
    """
    pp, v = plans.pp[:, None], plans.interleave[:, None]
    m = np.broadcast_to(m, pp.shape)
    place = np.zeros(pp.shape)
    held = in_flight(plans.schedule[:, None], pp, v, m, place)
    listed = (plans.interleave > 1) | plans.schedules.values("lists_chunks")
    both = plans.schedules.values("bidirectional")
    held = np.where(both[:, None], np.minimum(m, pp), held)
    for schedule in plans.schedules.present:
        own = plans.schedules.rows(schedule) & schedule.fits_interleave(plans.interleave)
        rows = np.flatnonzero(listed & ~both & own)
        if len(rows):
            chunks = int(schedule.chunks(plans.interleave[rows]).max(initial=1))
            first = np.zeros((len(rows), 1, chunks))
            first[..., 0] = 1.0
            held[rows] = schedule.most_in_flight(
                plans.pp[rows], plans.interleave[rows], m[rows], place[rows], first
            )
    return held
