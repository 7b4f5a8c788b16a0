"""Which operation a stage runs after which: the order of every pipeline schedule.

    gpipe        all forward passes, then all backward passes (Huang et al., arXiv:1811.06965,
                 figure 2c; micro-batches in the same order both ways)
    1f1b         stage i runs pp - i - 1 forward passes, then one forward and one backward pass in
                 turn, then the backward passes that are left (Narayanan et al., arXiv:2104.04473,
                 section 2.2.1, figure 4 top)
    interleaved  the same with v chunks per stage, which micro-batches visit in groups of pp;
                 2 (pp - i - 1) + (v - 1) pp forward passes first (section 2.2.2, figure 4 bottom)
    zero-bubble  ZB-H1 (Qi et al., arXiv:2401.10241, section 2.1, figure 3 top): pp - i forward
                 passes first; the weight gradients of a micro-batch follow the input gradients of
                 the i-th micro-batch after it, and the last i end the step
    dualpipe     two pipelines in opposite directions (`planner.schedules.dualpipe_order`)

Interleaved schedules need micro-batches that are a multiple of pp, as Megatron-LM's
(schedules.py) do and as the rules of plans ask. PyTorch's ScheduleInterleaved1F1B also takes r
groups of more than pp, r = max(1, m // pp), where r divides m; Megatron-Core takes larger groups
by a flag. Those are not simulated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.base.arrays import BoolArray, IntArray
from planner.plan import DUALPIPE, GPIPE, INTERLEAVED, ZERO_BUBBLE
from planner.schedules.dualpipe_order import rank_order

KINDS = ("forward", "backward", "weight-gradient", "reduction", "optimizer", "overhead")
"""What a stage may be doing; the last three once per step."""
FORWARD, BACKWARD, WEIGHT_GRAD, REDUCTION, OPTIMIZER, OVERHEAD = range(6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """The operations of every stage in the order in which it runs them; arrays are (pp, k).

    Attributes:
        kind: FORWARD, BACKWARD or WEIGHT_GRAD. Where weight gradients are apart, BACKWARD is the
            gradients of the inputs alone.
        micro_batch: From 0.
        chunk: Of the stage, from 0; chunk c of stage i is the chunk c pp + i of the model, with
            DualPipe i and pp - 1 - i.
        chunks: Per stage: v.
        micro_batches: m.
        joined: (pp, k) operations that run together with the one before: they start when all have
            what they need, and what they give leaves with the end of the last. None: there are
            none.
        both_ways: Whether chunk 1 runs in the opposite direction, as with DualPipe.
    """

    kind: IntArray
    micro_batch: IntArray
    chunk: IntArray
    chunks: int
    micro_batches: int
    joined: BoolArray | None = None
    both_ways: bool = False

    @property
    def place(self) -> IntArray:
        """(pp, k) the chunk of the model, from the embedding on, that an operation is of."""
        stage = np.arange(self.stages)[:, None]
        if self.both_ways:
            return np.where(self.chunk == 0, stage, self.stages - 1 - stage)
        return np.asarray(self.chunk * self.stages + stage)

    @property
    def beside(self) -> BoolArray:
        """(pp, k) forward and backward passes that run beside one another."""
        if self.joined is None:
            return np.zeros(self.kind.shape, dtype=np.bool_)
        followed = np.roll(self.joined, -1, axis=1) & (self.kind == FORWARD)
        return np.asarray(followed | (self.joined & (self.kind == BACKWARD)))

    @property
    def stages(self) -> int:
        """How many there are: pp."""
        return len(self.kind)

    @property
    def splits_backward(self) -> bool:
        """Whether weight gradients are operations of their own."""
        return bool(np.any(self.kind == WEIGHT_GRAD))

    def held(self) -> IntArray:
        """(pp, k) chunks of micro-batches whose activations a stage holds during an operation.

        They come with the forward pass and are given back after the last gradient.
        """
        return np.asarray(self.held_by_chunk().sum(axis=2))

    def held_by_chunk(self) -> IntArray:
        """(pp, k, v) the same for each chunk of the stage."""
        here = self.chunk[:, :, None] == np.arange(self.chunks)
        gives = WEIGHT_GRAD if self.splits_backward else BACKWARD
        gone = (self.kind == gives)[:, :, None] & here
        came = (self.kind == FORWARD)[:, :, None] & here
        return np.asarray(np.cumsum(came, axis=1) - np.cumsum(gone, axis=1) + gone)


def orders_of(schedule: int, pp: int, m: int, v: int = 1) -> Orders:
    """The orders of a schedule.

    Args:
        schedule: Code of `planner.plan.SCHEDULES`.
        pp: Stages.
        m: Micro-batches.
        v: Chunks per stage; more than 1 only with an interleaved schedule.

    Raises:
        ValueError: The schedule does not exist for these numbers.
    """
    if schedule == DUALPIPE and v == 1 and pp > 1 and pp % 2 == m % 2 == 0 and m >= 2 * pp:
        return _both_ways(pp, m)
    if min(pp, m, v) < 1 or (v > 1) != (schedule == INTERLEAVED) or schedule == DUALPIPE:
        raise ValueError(f"no schedule {schedule} of {pp} stages, {m} micro-batches, {v} chunks")
    if v > 1 and m % pp:
        raise ValueError(f"interleaved: {m} micro-batches are not a multiple of {pp} stages")
    rows = [_zero_bubble(pp, m, i) if schedule == ZERO_BUBBLE
            else _alternating(pp, m, v, _warm_up(schedule, pp, m, v, i))
            for i in range(pp)]  # fmt: skip
    table = np.array(rows, dtype=np.int64)
    return Orders(
        kind=table[:, 0], micro_batch=table[:, 1], chunk=table[:, 2], chunks=v, micro_batches=m
    )


def _both_ways(pp: int, m: int) -> Orders:
    """The orders of DualPipe."""
    table = np.array([rank_order(pp, m, rank) for rank in range(pp)], dtype=np.int64)
    return Orders(
        kind=table[:, :, 0],
        micro_batch=table[:, :, 1],
        chunk=table[:, :, 2],
        chunks=2,
        micro_batches=m,
        joined=table[:, :, 3] > 0,
        both_ways=True,
    )


def _warm_up(schedule: int, pp: int, m: int, v: int, stage: int) -> int:
    """Forward passes of a stage before its first backward pass, less the one right before it."""
    if schedule == GPIPE:
        return m
    if v == 1:
        return min(pp - stage - 1, m)
    return min(2 * (pp - stage - 1) + (v - 1) * pp, m * v)


def _alternating(pp: int, m: int, v: int, warm_up: int) -> IntArray:
    """(3, 2 m v) kinds, micro-batches and chunks of a stage that takes turns after its warm-up."""
    group = pp if v > 1 else 1
    first = np.arange(0, m, group)[:, None, None]
    micro_batch = (first + np.arange(group)[None, None, :] + np.zeros((v, 1))).ravel()
    chunk = np.broadcast_to(np.arange(v)[None, :, None], (len(first), v, group)).ravel()
    visits = np.arange(m * v)
    # Place of the n-th forward and backward pass: in turn once the stage is warm.
    forward = visits + np.maximum(visits - warm_up, 0)
    backward = visits + np.minimum(visits + warm_up + 1, m * v)
    table = np.zeros((3, 2 * m * v), dtype=np.int64)
    table[:, forward] = np.stack([np.full(m * v, FORWARD), micro_batch, chunk])
    table[:, backward] = np.stack([np.full(m * v, BACKWARD), micro_batch, v - 1 - chunk])
    return table


def _zero_bubble(pp: int, m: int, stage: int) -> IntArray:
    """(3, 3 m) kinds, micro-batches and chunks of a stage under ZB-H1."""
    each = np.arange(m)
    warm_up, delay = min(pp - stage, m), min(stage, m)
    # Rounds of (backward, weight gradient, forward) after the warm-up; the rest as it comes.
    keys = np.concatenate([
        np.where(each < warm_up, -1.0, each - warm_up + 0.75), each + 0.25, each + delay + 0.5
    ])  # fmt: skip
    kinds = np.repeat([FORWARD, BACKWARD, WEIGHT_GRAD], m)
    rank = np.lexsort((np.tile(each, 3), keys))
    return np.stack([kinds, np.tile(each, 3), np.zeros(3 * m, dtype=np.int64)])[:, rank]
