"""Interleaved devices by the layers that they hold in all, from below: bytes and longest chunk.

How a device divides N layers among its v chunks is left open, but that none has more than some
number of them. At a moment with h_c micro-batches of chunk c in flight, layers hold least where
every chunk but an empty end has one layer, all others are on the chunks in flight least often, and
those that keep fewest bytes are in flight most often. What the device holds is at least the most
over moments of that. The longest chunk is the shortest with which this fits.

The longest of v chunks takes at least a v-th of all layers. It has q = ceil(N / v) layers or more;
where N = q v and no chunk has more, some chunk has ceil(N_r / v) layers in recomputation r.
"""

from __future__ import annotations

import numpy as np

from planner.cost.held import held_chunks
from planner.distinct import distinct
from planner.plan import FloatArray, IntArray


def moments(pp: int, v: int, m: float, device: int) -> FloatArray:
    """(h, v) micro-batches of each chunk of a device in flight, at the moments that matter."""
    rounds = min(max(int(np.ceil(m / pp)), 1), 3)
    held = np.minimum(held_chunks(pp, v, pp * rounds)[device], m)
    return np.unique(held, axis=0).astype(np.float64)


def least_kept(
    held: FloatArray, counts: IntArray, kept: FloatArray, fewest: IntArray, most: IntArray
) -> FloatArray:
    """(c,) bytes that layers in flight hold at least; inf where chunks cannot hold them so.

    Args:
        held: (h, v) of `moments`.
        counts: (c, r) layers of the device by kind and recomputation.
        kept: (r,) bytes of one per micro-batch in flight.
        fewest: (v,) layers that each chunk holds at least, 0 or 1.
        most: (c,) layers that a chunk holds at most, 1 or more.
    """
    order = np.argsort(kept, kind="stable")
    reached = np.cumsum(counts[:, order], axis=1)
    first, which = distinct([reached[:, -1], most])
    least = np.full(len(counts), np.inf)
    for group, row in enumerate(first.tolist()):
        layers = int(reached[row, -1])
        if int(fewest.sum()) <= layers <= len(fewest) * int(most[row]):
            here = np.flatnonzero(which == group)
            passed = _passed(held, layers, fewest, int(most[row]))
            flying = np.diff(passed[:, reached[here]], axis=2, prepend=0.0)
            least[here] = (flying @ kept[order]).max(axis=0)
    return least


def _passed(held: FloatArray, layers: int, fewest: IntArray, most: int) -> FloatArray:
    """(h, layers + 1) micro-batches that the first layers have in flight, the most first."""
    must = held[:, fewest > 0]
    free = np.sort(
        np.concatenate([np.repeat(held, most - 1, axis=1), held[:, fewest == 0]], axis=1)
    )
    slots = np.concatenate([must, free[:, : layers - must.shape[1]]], axis=1)
    falling = -np.sort(-slots, axis=1)
    return np.cumsum(np.pad(falling, ((0, 0), (1, 0))), axis=1)


def least_longest(
    counts: FloatArray, seconds: FloatArray, v: int, chunk: IntArray | float = 0.0
) -> FloatArray:
    """(c,) seconds of the longest of v chunks at least.

    Args:
        counts: (c, r) layers of the device by kind and recomputation.
        seconds: (c, r) of one.
        v: Chunks.
        chunk: (c,) layers that some chunk has at least.
    """
    layers = counts.sum(axis=1)
    mean = (counts * seconds).sum(axis=1) / v
    fast = seconds.min(axis=1)
    most = -(-layers // v)
    slower = -(-counts // v) * (seconds - fast[:, None])
    equal = most * fast + slower.max(axis=1)
    whole = np.minimum(equal, (most + 1) * fast)
    longest = np.where(layers == most * v, whole, most * fast)
    return np.asarray(np.maximum(np.maximum(mean, longest), chunk * fast))
