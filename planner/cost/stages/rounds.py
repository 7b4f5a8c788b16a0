"""Rounds of unequal length in interleaved pipelines: what chunks of a stage make the others wait.

Stages run pp micro-batches of a chunk, then of the next. While a pipeline fills, the longest chunk
C of each stage counts. In the steady state a round of shorter chunks follows one of longer chunks
on all stages at once, and waits for its messages: of the difference g between the longest and the
shortest chunk about the backward pass is lost per micro-batch, less what the two ends of the
pipeline leave, on average over the stages,

    wait = sum_i C_i + 2/3 (m - pp) (1 - 2 / pp) sum_i g_i / pp

The chunks beside embedding and head, which are shorter for their sake, do not count in g. The
second term is fitted to event-driven simulations of the schedule (docs/model/pipeline.md); it is 0
for equal chunks.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import FloatArray, IntArray


def wait_s(
    chunks: FloatArray,
    first: FloatArray | bool,
    last: FloatArray | bool,
    m: FloatArray | float,
    pp: FloatArray | IntArray | int,
    v: FloatArray | IntArray | int,
) -> FloatArray:
    """(n, 1) seconds that one of n stages adds to the wait of the module.

    Args:
        chunks: (n, most v) seconds of the layers of its chunks, the first v of them.
        first, last: (n, 1) whether its first chunk has the embedding, its last the head.
        m: (n, 1) micro-batches of a step.
        pp, v: (n, 1) stages, chunks of each.
    """
    place = np.arange(chunks.shape[1])
    with_end = (np.asarray(first) > 0) & (place == 0) | (np.asarray(last) > 0) & (place == v - 1)
    aside = with_end | (place >= v)
    longest = np.where(aside, -np.inf, chunks).max(axis=1, keepdims=True)
    shortest = np.where(aside, np.inf, chunks).min(axis=1, keepdims=True)
    gap = np.maximum(longest - shortest, 0.0)
    return np.asarray(chunks.max(axis=1, keepdims=True) + lost_share(m, pp) * gap)


def lost_share(m: FloatArray | float, pp: FloatArray | IntArray | int) -> FloatArray:
    """How many times g a stage adds to the wait: 2/3 (m - pp) (1 - 2 / pp) / pp."""
    return np.asarray(2 / 3 * np.maximum(m - pp, 0.0) * (1 - 2 / pp) / pp)
