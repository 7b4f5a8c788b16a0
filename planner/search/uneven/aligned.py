"""Layers of the chunks of interleaved pipelines that an uneven search allows: nearly equal ones.

Let n be the layers of the fullest device, ceil(L / pp) or up to two more. Its v chunks hold
u_k = floor(n / v) layers, the first n mod v of them one more, and no chunk of any device is longer:

    last device    its last chunk, which has the head, gives up some layers, the others none; where
                   chunks hold two layers or more, and at most half of the other devices have
                   longer first chunks, the last device has equal ones
    first device   the same, or its first chunk, which has the embedding, gives up some
    other devices  have fewer layers, dealt out as evenly, the first chunks longer

Beside the e layers that the last device lacks fewer than pp are lacking, pp n - L - e; where n is
more than ceil(L / pp), so few that a device before the last has n. Where longer chunks come first,
rounds of chunks go at the pace of the slowest device, which the step time of `planner.cost.step`
counts, but for what `planner.cost.stages.rounds` adds. Where shorter ones come first, or a device
makes up for one long chunk by short ones, devices wait for one another, which that step time does
not see.

Layers that recompute are dealt out over the chunks of a device in two ways:

    first   of each kind those of the first chunks, of which most micro-batches are in flight at any
            moment: any other way holds no less
    spread  one layer to every chunk in turn, the first chunks before the others: their times
            differ less

Where the first N layers of every chunk recompute they are spread.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray, FloatArray, IntArray

MORE = 2
"""Layers of the fullest device beyond its share, at most."""


def fullest_devices(layers: int, pp: int, v: int) -> list[int]:
    """The n of the module, the least first; empty where there are too few layers."""
    if pp * v > layers + 2:
        return []
    share = max(-(-layers // pp), v)
    more = range(share + 1, share + MORE + 1)
    return [n for n in (share, *more) if len(device_sizes(layers, pp, v, n, pp - 1))]


def usual(layers: int, pp: IntArray, interleave: IntArray) -> BoolArray:
    """(n,) whether the interleave divides ceil(L / pp), or that and one more, into equal chunks."""
    share = -(-layers // pp)
    return np.asarray((share % interleave == 0) | ((share + 1) % interleave == 0), dtype=np.bool_)


def is_aligned(sizes: tuple[int, ...], pp: int) -> bool:
    """Whether the chunks of an interleaved pipeline, in its order, are those of the module."""
    v, layers = len(sizes) // pp, sum(sizes)
    return any(
        all(
            list(sizes[device::pp]) in device_sizes(layers, pp, v, n, device).tolist()
            for device in range(pp)
        )
        for n in fullest_devices(layers, pp, v)
    )


def device_sizes(layers: int, pp: int, v: int, fullest: int, device: int) -> IntArray:
    """(o, v) layers that the chunks of a device may have, most in all first.

    Args:
        layers, pp, v: L, devices, chunks of each.
        fullest: n.
        device: From 0.
    """
    lacking = pp * fullest - layers
    relieved = lacking - pp + 2 if fullest > max(-(-layers // pp), v) else 0
    full = _evenly(fullest, v)
    if device == pp - 1:
        equal = _evenly(fullest - fullest % v, v)
        ways = [(full, lacking), (equal, lacking - (pp - 1) // 2)][: 1 + (fullest >= 2 * v)]
        last = [_less(own, -1, e) for own, _ in ways for e in range(int(own[-1]) + 1)]
        most = [often for own, often in ways for _ in range(int(own[-1]) + 1)]
        return _sorted(last, fullest - np.array(most), fullest - relieved)
    left = lacking - relieved
    options = [_evenly(fullest - e, v) for e in range(min(left, v, fullest - v) + 1)]
    if device == 0:
        options += [_less(full, 0, e) for e in range(1, min(int(full[0]), left) + 1)]
    return _sorted(options, fullest - left, fullest)


def given_sizes(given: tuple[int, ...], pp: int, device: int) -> IntArray:
    """(1, v) layers of the chunks of a device, of a pipeline whose chunks are given in order."""
    own: IntArray = np.array(given, dtype=np.int64).reshape(-1, pp).T[device][None]
    return own


def _evenly(layers: int, v: int) -> IntArray:
    """(v,) layers dealt out from the front."""
    dealt_out: IntArray = layers // v + (np.arange(v) < layers % v)
    return dealt_out


def _sorted(options: list[IntArray], fewest: int | IntArray, most: int) -> IntArray:
    """(o, v) the distinct options with so many layers, most in all first."""
    sizes = np.array(options)
    layers = sizes.sum(axis=1)
    found = np.unique(sizes[(layers >= fewest) & (layers <= most)], axis=0)
    order = np.argsort(-found.sum(axis=1), kind="stable")
    return np.asarray(found[order], dtype=np.int64)


def _less(sizes: IntArray, chunk: int, layers: int) -> IntArray:
    """Chunks of which one has so many layers less."""
    fewer = sizes.copy()
    fewer[chunk] -= layers
    return fewer


def longest_chunks(
    layers: int, pp: int, v: int, fullest: int, given: tuple[int, ...] | None
) -> tuple[int, int, int]:
    """What a pipeline has at least.

    Layers of the fullest device, layers of the longest chunks of all devices together, and devices
    between the first and the last whose chunks differ, the first longest: the recomputation of a
    shorter first chunk may make up for its layers.

    Args:
        layers, pp, v: L, devices, chunks of each.
        fullest: n; nothing where chunks are given.
        given: Layers of every chunk in the order of the pipeline; None: those of the module.
    """
    if given is not None:
        sizes = np.array(given).reshape(v, pp)
        inner = sizes[:, 1:-1]
        falling = (np.diff(inner, axis=0) <= 0).all(axis=0)
        differ = int((falling & (inner[0] > inner[-1])).sum())
        return int(sizes.sum(axis=0).max()), int(sizes.max(axis=0).sum()), differ
    share, longer = -(-layers // pp), fullest % v
    equal = (pp * fullest - layers) // longer if longer else pp
    most = fullest if fullest > max(share, v) else share
    return most, -(-layers // v), max(pp - 2 - equal, 0)


def dealt(held: IntArray, kinds: IntArray) -> IntArray:
    """(c, v, 2, r) layers in each chunk by kind and recomputation, the first recomputed most.

    Args:
        held: (c, 2, r) layers of a device by kind and recomputation, of which the last saves most.
        kinds: (c, v, 2) layers of its chunks by kind.
    """
    ends, last = kinds.cumsum(axis=1)[..., None], held[..., ::-1].cumsum(axis=2)[:, None]
    starts, first = ends - kinds[..., None], last - held[:, None, :, ::-1]
    within = np.minimum(ends, last) - np.maximum(starts, first)
    counts: IntArray = np.maximum(within, 0)[..., ::-1]
    return counts


def spread(held: IntArray, kinds: IntArray) -> IntArray:
    """(c, v, 2, r) layers in each chunk by kind and recomputation, all chunks recomputed alike.

    In turn, those that save most first: a chunk with as many recomputed layers as turns have
    passed takes one more, while it has a layer of the kind.

    Args:
        held, kinds: As of `dealt`.
    """
    counts = np.zeros((*kinds.shape, held.shape[2]), dtype=np.int64)
    taken = np.zeros(kinds.shape[:2], dtype=np.int64)
    room = kinds.copy()
    for mode in range(held.shape[2] - 1, 0, -1):
        for kind in range(kinds.shape[2]):
            own = _in_turn(held[:, kind, mode], taken, room[..., kind])
            counts[..., kind, mode] = own
            taken += own
            room[..., kind] -= own
    counts[..., 0] = room
    return counts


def _in_turn(layers: IntArray, taken: IntArray, room: IntArray) -> IntArray:
    """(c, v) of so many layers those that chunks with room for some get, the emptiest first.

    Args:
        layers: (c,) at most the sum of `room`.
        taken: (c, v) layers that chunks have already.
        room: (c, v) layers that chunks may get.
    """
    own, left = np.zeros_like(room), layers.copy()
    for turn in range(int((taken + room).max(initial=0))):
        gets = (taken + own <= turn) & (own < room)
        gets &= gets.cumsum(axis=1) <= left[:, None]
        own += gets
        left -= gets.sum(axis=1)
        if not left.any():
            break
    return own


def chunk_times(chunks: IntArray, seconds: FloatArray) -> FloatArray:
    """(c, v) seconds of every chunk.

    Args:
        chunks: (c, v, 2, r) of `dealt`.
        seconds: (c, 2, r) of one layer.
    """
    return np.asarray(np.einsum("cvkr,ckr->cv", chunks, seconds))
