"""Layers of the chunks of interleaved pipelines that an uneven search allows: nearly equal ones.

Let n = ceil(L / pp) be the layers of the fullest device, and v a divisor of n: chunks hold q = n/v
layers. The pp n - L < pp layers that are lacking are spread as follows, n - N of them on a device
with N layers:

    first device   its first chunk, which has the embedding, gives up to q layers
    last device    its last chunk, which has the head, gives up to q layers
    any device     beyond that its chunks give one layer each, the first ones before the others,
                   which then still hold a layer

so that every round of chunks is longest, with q layers, on the same device, and the sum over rounds
of the longest chunk is the time of the slowest device: what the step time of
`planner.cost.step` counts. Where the rounds differ in length, the devices, which are at different
rounds at a time, wait for one another, which that step time does not see.

Of the layers of a kind on a device the first chunks, of which most micro-batches are in flight at
any moment, recompute first: any other way holds no less.
"""

from __future__ import annotations

import numpy as np

from planner.plan import BoolArray, FloatArray, IntArray


def aligned(layers: int, pp: IntArray, interleave: IntArray) -> BoolArray:
    """(n,) whether pipelines are interleaved with chunks that the module allows, or not at all."""
    fullest = -(-layers // pp)
    whole = (fullest % interleave == 0) & (pp * interleave <= layers + 2)
    return np.asarray((interleave == 1) | whole)


def is_aligned(sizes: tuple[int, ...], pp: int) -> bool:
    """Whether the chunks of an interleaved pipeline, in its order, are those of the module."""
    v, layers = len(sizes) // pp, sum(sizes)
    if not aligned(layers, np.array([pp]), np.array([v]))[0]:
        return False
    return all(
        list(sizes[device::pp]) in device_sizes(layers, pp, v, device).tolist()
        for device in range(pp)
    )


def device_sizes(
    layers: int, pp: int, v: int, device: int, given: tuple[int, ...] | None = None
) -> IntArray:
    """(o, v) layers that the chunks of a device may have, most in all first.

    Args:
        layers, pp, v: L, devices, chunks of each.
        device: From 0.
        given: Of every chunk in the order of the pipeline; None: those of the module.
    """
    if given is not None:
        own: IntArray = np.array(given, dtype=np.int64).reshape(v, pp).T[device][None]
        return own
    fullest = -(-layers // pp)
    each = fullest // v
    end = {0: 0, pp - 1: v - 1}.get(device)
    others = np.array([chunk for chunk in range(v) if chunk != end])
    options = []
    for lacking in range(pp * fullest - layers + 1):
        given_up = min(lacking, each) if end is not None else 0
        rest = lacking - given_up
        if rest > (len(others) if each > 1 else 0):
            break
        sizes = np.full(v, each)
        sizes[others[:rest]] -= 1
        if end is not None:
            sizes[end] -= given_up
        options.append(sizes)
    return np.array(options)


def longest_chunks(layers: int, pp: int, v: int, given: tuple[int, ...] | None) -> tuple[int, int]:
    """Layers of the fullest device, and of the longest chunks of all devices together, at least.

    Args:
        layers, pp, v: L, devices, chunks of each.
        given: As of `device_sizes`.
    """
    fullest = -(-layers // pp)
    if given is not None:
        sizes = np.array(given).reshape(v, pp)
        return int(sizes.sum(axis=0).max()), int(sizes.max(axis=0).sum())
    lacking = pp * fullest - layers
    return fullest, pp * (fullest // v) - lacking // v


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


def longest_s(chunks: IntArray, seconds: FloatArray) -> FloatArray:
    """(c,) seconds of the longest chunk.

    Args:
        chunks: (c, v, 2, r) of `dealt`.
        seconds: (c, 2, r) of one layer.
    """
    times: FloatArray = np.einsum("cvkr,ckr->cv", chunks, seconds)
    return np.asarray(times.max(axis=1))
