"""Which operation a stage runs after which: what the order of a pipeline schedule is made of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, IntArray

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
        chunk: Of the stage, from 0.
        chunks: Per stage: v.
        micro_batches: m.
        joined: (pp, k) operations that run together with the one before: they start when all have
            what they need, and what they give leaves with the end of the last. None: there are
            none.
        places: (pp, v) which chunk of the model each chunk of each stage is, from the embedding on;
            None: chunk c of stage i is the chunk c pp + i.
    """

    kind: IntArray
    micro_batch: IntArray
    chunk: IntArray
    chunks: int
    micro_batches: int
    joined: BoolArray | None = None
    places: IntArray | None = None

    @property
    def place(self) -> IntArray:
        """(pp, k) the chunk of the model, from the embedding on, that an operation is of."""
        stage = np.arange(self.stages)[:, None]
        if self.places is not None:
            return np.asarray(self.places[stage, self.chunk])
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


def orders_from(rows: Sequence[IntArray], chunks: int, m: int) -> Orders:
    """The orders of stages whose chunks lie one after the other.

    Args:
        rows: Per stage (3, k) kinds, micro-batches and chunks.
        chunks, m: Per stage; micro-batches.
    """
    table = np.array(rows, dtype=np.int64)
    return Orders(
        kind=table[:, 0], micro_batch=table[:, 1], chunk=table[:, 2], chunks=chunks, micro_batches=m
    )


def alternating(pp: int, m: int, v: int, warm_up: int) -> IntArray:
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


@lru_cache(maxsize=1024)
def chunks_in_flight(pp: int, v: int, m: int) -> IntArray:
    """(pp, k, v) micro-batches of each chunk that each stage holds at the moments that matter.

    At another moment a stage holds no more of any chunk than at one of these; a stage with fewer
    of them than others repeats its first. Chunks are visited in groups of pp micro-batches:
    `planner.schedules.interleaved` has why.

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
    kept = [_undominated(of_stage) for of_stage in held]
    most = max(map(len, kept))
    return np.stack(
        [np.concatenate([one, one[:1].repeat(most - len(one), axis=0)]) for one in kept]
    )


def _undominated(rows: IntArray) -> IntArray:
    """The distinct rows that no other row reaches in every column."""
    rows = np.unique(rows, axis=0)
    reached = (rows[:, None, :] <= rows[None, :, :]).all(axis=2)
    return np.asarray(rows[reached.sum(axis=1) == 1])


def _visits(passes: IntArray, chunk: IntArray, pp: int, v: int) -> IntArray:
    """How many of the first passes are to a chunk, which micro-batches visit in groups of pp."""
    whole, rest = np.divmod(passes, pp * v)
    return np.asarray(whole * pp + np.clip(rest - chunk * pp, 0, pp))
