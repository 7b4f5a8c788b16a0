"""Interleaved devices by the layers that they hold in all, from below: bytes and longest chunk.

How a device divides its layers among its chunks is left open. At a moment with h_c
micro-batches of chunk c in flight, layers hold least where every chunk but an empty end has one
layer, those that keep fewest bytes on the chunks in flight most often, and all others are on the
chunk in flight least often. What the device holds is at least the most over moments of that.

The longest of v chunks takes at least a v-th of all layers. It has q = ceil(N / v) layers or more;
where N = q v and no chunk has more, some chunk has ceil(N_r / v) layers in recomputation r.
"""

from __future__ import annotations

import numpy as np

from planner.cost.held import held_chunks
from planner.plan import FloatArray, IntArray


def moments(pp: int, v: int, m: float, device: int) -> FloatArray:
    """(h, v) micro-batches of each chunk of a device in flight, at the moments that matter."""
    rounds = min(max(int(np.ceil(m / pp)), 1), 3)
    held = np.minimum(held_chunks(pp, v, pp * rounds)[device], m)
    return np.unique(held, axis=0).astype(np.float64)


def least_kept(
    held: FloatArray, counts: IntArray, kept: FloatArray, full_chunks: int
) -> FloatArray:
    """(c,) bytes that layers in flight hold at least.

    Args:
        held: (h, v) of `moments`.
        counts: (c, r) layers of the device by kind and recomputation.
        kept: (r,) bytes of one per micro-batch in flight.
        full_chunks: Chunks that have a layer at least.
    """
    order = np.argsort(kept, kind="stable")
    layers, bytes_of = counts[:, order], kept[order]
    reached = np.minimum(np.cumsum(layers, axis=1), full_chunks)
    first = np.diff(reached, axis=1, prepend=0)
    most = np.zeros(len(counts))
    for moment in held:
        falling = np.concatenate([[0.0], np.cumsum(np.sort(moment)[::-1])])
        spread = np.diff(falling[reached], axis=1, prepend=0.0)
        beside = (layers - first) * moment.min()
        most = np.maximum(most, (spread + beside) @ bytes_of)
    return most


def least_longest(counts: FloatArray, seconds: FloatArray, v: int) -> FloatArray:
    """(c,) seconds of the longest of v chunks at least.

    Args:
        counts: (c, r) layers of the device by kind and recomputation.
        seconds: (c, r) of one.
        v: Chunks.
    """
    layers = counts.sum(axis=1)
    mean = (counts * seconds).sum(axis=1) / v
    fast = seconds.min(axis=1)
    most = -(-layers // v)
    slower = -(-counts // v) * (seconds - fast[:, None])
    equal = most * fast + slower.max(axis=1)
    whole = np.minimum(equal, (most + 1) * fast)
    longest = np.where(layers == most * v, whole, most * fast)
    return np.asarray(np.maximum(mean, longest))
