"""Activations of micro-batches that a stage holds at once.

GPipe holds all m, 1F1B min(m, pp - i), interleaved ((pp - i - 1) 2 + (v - 1) pp + 1) / v (Narayanan
et al., arXiv:2104.04473, section 2.2; Korthikanti et al., arXiv:2205.05198, equation for L/p),
ZB-H1 min(m, pp) (Qi et al., arXiv:2401.10241, table 2). With DualPipe chunk c of the model holds pp
- c, wherever it is (`planner.schedules.dualpipe`): (pp + 1) / 2 of a rank with equal chunks.

An interleaved stage holds its chunks unequally often, and where they differ in size it matters
which. After n forward and n - w backward passes (w = (pp - i - 1) 2 + (v - 1) pp forward passes
come first) it holds f_c(n + 1) - f_(v-1-c)(n - w) micro-batches of chunk c, where f_c(n) counts
those of the first n visits, in groups of pp per chunk, that are to chunk c. Between the ends of
such groups one count grows by one and another shrinks by one with every pass, so what is held,
linear in the counts, is largest at such an end.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.base.distinct import distinct
from planner.cost.stages.layout import StageClasses
from planner.plan import DUALPIPE, GPIPE, ZERO_BUBBLE, PlanTable


def in_flight(
    schedule: IntArray, pp: IntArray, interleave: IntArray, m: FloatArray, position: FloatArray
) -> FloatArray:
    """(n, s) micro-batches whose activations a stage holds at once, in units of a whole stage."""
    warm = ((pp - position - 1) * 2 + (interleave - 1) * pp + 1) / interleave
    held = np.where(interleave > 1, warm, pp - position)
    held = np.where(schedule == ZERO_BUBBLE, pp, held)
    held = np.where(schedule == DUALPIPE, (pp + 1) / 2, held)
    held = np.where(schedule == GPIPE, m, held)
    return np.minimum(m, held)


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
    both_ways = plans.schedule == DUALPIPE
    if stages.chunks is None:
        return whole
    uneven = stages.chunks.any(axis=(1, 2, 3)) & (plans.interleave > 1)
    if not (uneven | both_ways).any():
        return whole
    of_chunks = np.zeros(stages.chunks.shape[:3])
    for _, chunks, one in saved:
        of_chunks = of_chunks + (0.0 if chunks is None else chunks * one[:, :, None])
    if uneven.any():
        held_most = most_held(plans, m, stages.position, of_chunks)
        whole = np.where(uneven[:, None], held_most, whole)
    if both_ways.any():
        pp, rank = plans.pp[:, None], stages.position
        ranks = of_chunks[..., 0] * (pp - rank) + of_chunks[..., 1] * (rank + 1)
        whole = np.where(both_ways[:, None], np.where(m > 0, ranks, 0.0), whole)
    return whole


def most_held(
    plans: PlanTable, m: FloatArray, position: FloatArray, chunks: FloatArray
) -> FloatArray:
    """(n, s) most that a stage holds at once of what each micro-batch leaves on each chunk.

    Args:
        plans: n plans; 0 for those without chunks.
        m: (n, 1) micro-batches per step.
        position: (n, s) of each stage.
        chunks: (n, s, v) per micro-batch.
    """
    most = np.zeros(chunks.shape[:2])
    rows = np.flatnonzero(chunks.any(axis=(1, 2)) & (plans.interleave > 1))
    rounds = np.minimum(np.maximum(np.ceil(m[:, 0] / plans.pp), 1), 3).astype(np.int64)
    keys = [plans.pp[rows], plans.interleave[rows], rounds[rows]]
    first, which = distinct(keys)
    for group, (pp, v, whole) in enumerate(np.stack(keys, axis=1)[first].tolist()):
        here = rows[which == group]
        held = held_chunks(pp, v, pp * whole)
        place = np.clip(position[here], 0, pp - 1).astype(np.int64)
        for moment in range(held.shape[1]):
            now = np.zeros(place.shape)
            for chunk in range(v):
                count = np.minimum(m[here], held[place, moment, chunk])
                now = now + count * chunks[here, :, chunk]
            most[here] = np.maximum(most[here], now)
    return most


@lru_cache(maxsize=1024)
def held_chunks(pp: int, v: int, m: int) -> IntArray:
    """(pp, k, v) micro-batches of each chunk that each stage holds at the moments that matter.

    Args:
        pp, v: Stages, chunks per stage.
        m: Micro-batches, a multiple of pp; from 3 pp on nothing changes.
    """
    ahead = np.minimum(2 * (pp - 1 - np.arange(pp)) + (v - 1) * pp, m * v - 1)[:, None]
    ends = pp * np.arange(1, 2 * v + 2)[None, :]
    # The first round of the steady state: its start, and whenever a group of passes ends.
    done = np.concatenate([ahead + 1, ends + 0 * ahead, ahead + 1 + ends], axis=1)
    done = np.clip(done, ahead + 1, m * v)[:, :, None]
    chunk = np.arange(v)
    held = _visits(done, chunk, pp, v) - _visits(done - 1 - ahead[:, :, None], v - 1 - chunk, pp, v)
    return np.asarray(held)


def _visits(passes: IntArray, chunk: IntArray, pp: int, v: int) -> IntArray:
    """How many of the first passes are to a chunk, which micro-batches visit in groups of pp."""
    whole, rest = np.divmod(passes, pp * v)
    return np.asarray(whole * pp + np.clip(rest - chunk * pp, 0, pp))
