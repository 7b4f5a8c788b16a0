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


def shortest_chunk(
    held: FloatArray, counts: IntArray, kept: FloatArray, fewest: IntArray, room: FloatArray
) -> IntArray:
    """(c,) layers of the longest chunk with which layers in flight fit at least; 0: with none.

    Args:
        held: (h, v) of `moments`.
        counts: (c, r) layers of the device by kind and recomputation.
        kept: (r,) bytes of one per micro-batch in flight.
        fewest: (v,) layers that each chunk holds at least, 0 or 1.
        room: (c,) bytes.
    """
    order = np.argsort(kept, kind="stable")
    first, which = distinct(list(counts.T))
    reached = np.cumsum(counts[first][:, order], axis=1)
    shortest = np.zeros(len(counts), dtype=np.int64)
    for layers in np.unique(reached[:, -1]).tolist():
        at = np.flatnonzero(reached[:, -1] == layers)
        here = np.flatnonzero(reached[which, -1] == layers)
        place = np.searchsorted(at, which[here])
        most = max(-(-layers // len(fewest)), 1)
        loosest = _least_kept(held, reached[at], kept[order], fewest, layers)
        left = np.flatnonzero(loosest[place] <= room[here])
        while len(left):
            least = _least_kept(held, reached[at], kept[order], fewest, most)
            fits = least[place[left]] <= room[here[left]]
            shortest[here[left[fits]]] = most
            left, most = left[~fits], most + 1
    return shortest


def _least_kept(
    held: FloatArray, reached: IntArray, kept: FloatArray, fewest: IntArray, most: int
) -> FloatArray:
    """(c,) bytes that equally many layers in flight hold at least; inf where chunks are too few.

    Args:
        held: (h, v) of `moments`.
        reached: (c, r) how many of them keep as few bytes as those of `kept`, or fewer.
        kept: (r,) bytes of one per micro-batch in flight, ascending.
        fewest: (v,) layers that each chunk holds at least, 0 or 1.
        most: Layers that a chunk holds at most.
    """
    layers, must = int(reached[0, -1]), int(fewest.sum())
    most = max(min(most, layers), 1)
    if not must <= layers <= len(fewest) * most:
        return np.full(len(reached), np.inf)
    free = np.concatenate([np.repeat(held, most - 1, axis=1), held[:, fewest == 0]], axis=1)
    taken = np.sort(free, axis=1)[:, : layers - must]
    slots = np.sort(np.concatenate([held[:, fewest > 0], taken], axis=1), axis=1)[:, ::-1]
    passed = np.zeros((len(held), layers + 1))
    np.cumsum(slots, axis=1, out=passed[:, 1:])
    rises = np.diff(np.append(kept, 0.0))
    bytes_held: FloatArray = (-(passed[:, reached] @ rises)).max(axis=0)
    return bytes_held


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
