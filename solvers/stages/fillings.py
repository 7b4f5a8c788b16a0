"""What one device may hold in its v chunks: layers by kind and recomputation, least longest chunk.

A *filling* says how many layers of each kind k run with each recomputation r in each chunk. Of its
fillings with the same totals n_kr over the chunks only those count that no other beats in the
longest chunk, C = max_c sum_kr n_ckr t_kr, and in memory. They are built chunk by chunk: both are
monotone in what the chunks before contribute, so what another part beats is dropped at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solvers.stages.problem import Ints, TooManyColumnsError
from solvers.stages.sequence import StateSegments

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int32]
Index = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]
_COMPARED = 50
_MOST_IDS = 2**62
MOST_FILLINGS = 20_000_000
"""Combinations of parts looked at for one chunk, beyond which memory and time do not suffice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What one chunk may hold: its row of `StateSegments`, and layers by kind and recomputation.

    Attributes:
        segment: (n,) row of the segments.
        counts: (n, k, r).
    """

    segment: Ints
    counts: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Fillings:
    """Fillings of one device, one per row.

    Attributes:
        tags: (f,) what tells the segments of all chunks apart beyond sums.
        use: (f, u) sums over the chunks.
        counts: (f, k, r) layers of each kind with each recomputation on the device.
        time: (f,) time of all layers.
        longest: (f,) time of the longest chunk.
        memory: (f, h) bytes of the layers, by limit.
        parts: (f, v) row of `Parts` of each chunk.
    """

    tags: Ints
    use: Ints
    counts: Counts
    time: Floats
    longest: Floats
    memory: Floats
    parts: Counts

    def __len__(self) -> int:
        return len(self.longest)

    def take(self, index: Index | Bools) -> Fillings:
        """The fillings of `index`."""
        return Fillings(**{name: getattr(self, name)[index] for name in self.__slots__})


def chunk_parts(segments: StateSegments, recomputes: int) -> Parts:
    """Each segment with every split of its layers of each kind over the recomputations."""
    index, counts = [], []
    splits = {n: _splits(int(n), recomputes) for n in np.unique(segments.counts)}
    for row, kinds in enumerate(segments.counts.tolist()):
        parts = np.zeros((1, 0, recomputes), dtype=np.int64)
        for layers in kinds:
            split = splits[layers][:, None, :]
            parts = np.concatenate(
                [np.repeat(parts, len(split), axis=0), np.tile(split, (len(parts), 1, 1))], axis=1
            )
        counts.append(parts)
        index.append(np.full(len(parts), row, dtype=np.int64))
    return Parts(segment=np.concatenate(index), counts=np.concatenate(counts))


def _splits(layers: int, parts: int) -> Ints:
    """(s, parts) all ways to write a number of layers as an ordered sum, each at least 0."""
    if parts == 1:
        return np.array([[layers]], dtype=np.int64)
    rows = [
        np.insert(_splits(layers - first, parts - 1), 0, first, axis=1)
        for first in range(layers + 1)
    ]
    return np.concatenate(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One chunk of a device: what it may hold, and what that weighs.

    Attributes:
        parts: What it may hold.
        tags: (n,) of each part.
        use: (n, u) of each part.
        memory: (k, r, h) bytes per layer.
    """

    parts: Parts
    tags: Ints
    use: Ints
    memory: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What every filling obeys.

    Attributes:
        room: (h,) bytes that the layers may take, by the memory of chunks.
        least_memory: (k, r) bytes of a layer, whatever the chunk and device.
        most_room: Bytes that layers may take by `least_memory`.
        most_time: All layers together may take no longer.
        every: Keep fillings with a longer chunk than needed.
    """

    room: Floats
    least_memory: Floats
    most_room: float
    most_time: float
    every: bool = False


def fillings(chunks: Sequence[Chunk], times: Floats, bounds: Bounds) -> Fillings:
    """The fillings of a device that fit and that no other with the same key beats.

    The key of a filling is its tags, its sums and its counts; see the module.

    Args:
        chunks: Of the device, in order.
        times: (k, r) of one layer.
        bounds: Of all layers.

    Raises:
        TooManyColumnsError: There are too many.
    """
    alone = [_of_chunk(chunk, times) for chunk in chunks]
    least = [float(part.time.min(initial=np.inf)) for part in alone]
    so_far = _fitting(alone[0], bounds, bounds.most_time - sum(least[1:]))
    for at, part in enumerate(alone[1:], 2):
        left = bounds.most_time - sum(least[at:])
        so_far = _best(_fitting(_merged(so_far, part, left), bounds, left), every=bounds.every)
    return so_far


def _of_chunk(chunk: Chunk, times: Floats) -> Fillings:
    counts = chunk.parts.counts.astype(np.int32)
    time = np.tensordot(counts, times, axes=2)
    return Fillings(
        tags=chunk.tags,
        use=chunk.use,
        counts=counts,
        time=time,
        longest=time,
        memory=np.tensordot(counts, chunk.memory, axes=2),
        parts=np.arange(len(counts), dtype=np.int32)[:, None],
    )


def _fitting(found: Fillings, bounds: Bounds, most_time: float) -> Fillings:
    """Fillings within limits."""
    fits = (found.time <= most_time) & np.all(found.memory <= bounds.room, axis=1)
    least = np.tensordot(found.counts, bounds.least_memory, axes=2)
    return found.take(fits & (least <= bounds.most_room))


def _merged(a: Fillings, b: Fillings, most_time: float) -> Fillings:
    """Every filling of the chunks so far with every one of the next chunk, within a time."""
    if len(a) * len(b) > MOST_FILLINGS:
        raise TooManyColumnsError(
            f"{len(a)} x {len(b)} fillings of one device are too many; allowed: {MOST_FILLINGS} "
            "(give a tighter time limit or fewer layers per chunk)"
        )
    i, j = np.nonzero(a.time[:, None] + b.time <= most_time)
    return Fillings(
        tags=row_ids(a.tags[:, None])[i] * (1 + int(b.tags.max(initial=0))) + b.tags[j],
        use=a.use[i] + b.use[j],
        counts=a.counts[i] + b.counts[j],
        time=a.time[i] + b.time[j],
        longest=np.maximum(a.longest[i], b.longest[j]),
        memory=a.memory[i] + b.memory[j],
        parts=np.concatenate([a.parts[i], b.parts[j]], axis=1),
    )


def _best(found: Fillings, *, every: bool) -> Fillings:
    """Without fillings that another of the same key beats in longest chunk and memory.

    With more than one memory limit some that are beaten may stay; with `every` only equal ones go.
    """
    if not len(found):
        return found
    flat = found.counts.reshape(len(found), -1).astype(np.int64)
    same: list[Ints] = [found.tags[:, None], found.use, flat]
    if every:
        same.append(np.unique(found.longest, return_inverse=True)[1][:, None])
    key = row_ids(np.concatenate(same, axis=1))
    order = np.lexsort((*found.memory.T[::-1], found.longest, key))
    key = key[order]
    keep = np.ones(len(order), dtype=np.bool_)
    if found.memory.shape[1] == 1:
        rank = np.unique(found.memory[:, 0], return_inverse=True)[1].astype(np.int64)[order]
        running = np.minimum.accumulate(rank - key * len(order))
        keep[1:] = running[1:] < running[:-1]
    elif found.memory.shape[1] == 0:
        keep[1:] = key[1:] != key[:-1]
    else:
        memory = found.memory[order]
        for back in range(1, _COMPARED):
            rows = back + np.flatnonzero(keep[back:] & (key[back:] == key[:-back]))
            if not len(rows):
                break
            keep[rows[np.all(memory[rows] >= memory[rows - back], axis=1)]] = False
    return found.take(order[keep])


def row_ids(rows: Ints) -> Ints:
    """(n,) the same number for equal rows of (n, m) non-negative integers, ascending with them."""
    ids = np.zeros(len(rows), dtype=np.int64)
    distinct = 1
    for column in rows.T:
        size = int(column.max(initial=0)) + 1
        if distinct * size >= _MOST_IDS:
            values, ids = np.unique(ids, return_inverse=True)
            distinct = len(values)
        ids = ids * size + column
        distinct *= size
    return np.unique(ids, return_inverse=True)[1].astype(np.int64)
