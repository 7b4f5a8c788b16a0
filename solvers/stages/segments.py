"""Columns of linear tables: every segment, setting and undominated mix that a device may hold.

Of the layers of a segment (a, b] only the counts per kind matter, so mixes are found once per
vector of counts (`solvers.stages.knapsack`) and laid over all segments that have it. A column is
kept where some chain of columns through it covers all layers and, with `below`, where its time
t alone does not rule it out:

    T >= (m - 1) t + t + (least time of all other layers and devices).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solvers.stages.dominance import undominated_pairs
from solvers.stages.knapsack import Mixes, mixes
from solvers.stages.linear import LinearTables
from solvers.stages.problem import Columns, Form, Ints, StageProblem
from solvers.stages.shortfall import Shortfall, shortfall

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearColumns:
    """A stage problem with what its columns stand for.

    Attributes:
        problem: Sums are time and cost, the only peak is time.
        setting: (c,) of each column.
        counts: (c, k, r) layers by kind and mode.
    """

    problem: StageProblem
    setting: Ints
    counts: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """Segments of layers by their counts per kind.

    Attributes:
        vectors: (n, k) distinct counts.
        of: (L + 1, most + 1) the vector of the segment of `length` layers from `start`; -1 where
            that passes the last layer.
    """

    vectors: Ints
    of: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contents:
    """What devices may hold wherever it begins: rows of `mixes` by device, with extras added."""

    device: Ints
    mix: Ints
    time: Ints
    cost: Ints


def linear_columns(
    tables: LinearTables, below: int | None = None, *, pure: bool = False
) -> LinearColumns | Shortfall | None:
    """The columns of one chunk per device.

    Args:
        tables: With v = 1 and chunk d on device d.
        below: Only choices that take less time are wanted; None: all.
        pure: Only columns in which all layers of a kind run in one mode: few, for a first choice.

    Returns:
        The problem, or what memory is missing, or None where no choice of such columns
        takes less than `below`.

    Raises:
        ValueError: Devices hold several chunks.
    """
    if tables.chunks[:, 0].tolist() != list(range(tables.chunks.size)):
        raise ValueError("linear_columns takes one chunk per device, in order")
    missing = shortfall(tables)
    if missing is not None:
        return missing
    segments = segments_of(tables)
    found, contents = _contents(tables, segments, below, pure)
    at, starts = _laid(tables, segments, found, contents)
    if len(at) == 0:
        return None
    return _problem(tables, segments, found, contents, at, starts)


def segments_of(tables: LinearTables) -> Segments:
    """All segments of at most `most_layers` layers."""
    layers, kinds = tables.layers, tables.time.shape[1]
    most = min(tables.most_layers, layers)
    passed = np.zeros((layers + 1, kinds), dtype=np.int64)
    passed[np.arange(1, layers + 1), tables.kinds] = 1
    passed = np.cumsum(passed, axis=0)
    start = np.arange(layers + 1)[:, None]
    length = np.arange(most + 1)[None, :]
    inside = start + length <= layers
    counts = passed[np.minimum(start + length, layers)] - passed[start]
    vectors, number = np.unique(counts[inside], axis=0, return_inverse=True)
    of = np.full(inside.shape, -1, dtype=np.int64)
    of[inside] = number.reshape(-1)
    return Segments(vectors=vectors, of=of)


def _contents(
    tables: LinearTables, segments: Segments, below: int | None, pure: bool
) -> tuple[Mixes, _Contents]:
    """Mixes that fit each device, undominated in time and cost among settings of one group."""
    per_layer = np.stack([tables.time, tables.costs, tables.kept], axis=-1)
    slowest = None if below is None else below // tables.micro_batches
    found = mixes(per_layer, segments.vectors, slowest, pure=pure)
    lengths = segments.vectors.sum(axis=1)
    least_layer = tables.time.min(axis=(0, 2))
    least = segments.vectors @ least_layer
    all_least = int(least_layer[tables.kinds].sum() + tables.extra_time.min(axis=1).sum())
    rows: list[tuple[Ints, Ints, Ints, Ints]] = []
    for d in range(tables.devices):
        s = found.setting
        held = np.einsum("xk,xk->x", segments.vectors[found.vector], tables.held[s])
        needed = held + tables.in_flight[d, 0] * found.values[:, 2] + tables.extra_memory[d, s]
        time = found.values[:, 0] + tables.extra_time[d, s]
        fits = (needed <= tables.memory[d]) & (lengths[found.vector] >= tables.least(d))
        if below is not None:
            others = all_least - least[found.vector] - int(tables.extra_time[d].min())
            fits &= tables.micro_batches * time + others < below
        row = np.flatnonzero(fits)
        cost = found.values[row, 1] + tables.extra_costs[d, s[row]]
        key = found.vector[row] * (int(tables.group.max()) + 1) + _groups(tables)[s[row]]
        kept = undominated_pairs(key, time[row], cost)
        rows.append((np.full(len(kept), d), row[kept], time[row[kept]], cost[kept]))
    joined = [np.concatenate(part) for part in zip(*rows, strict=True)]
    device, mix, time, cost = joined
    return found, _Contents(device=device, mix=mix, time=time, cost=cost)


def _groups(tables: LinearTables) -> Ints:
    """(s,) the group of each setting; all are one where crossings cost nothing."""
    return tables.group if tables.crossings is not None else np.zeros_like(tables.group)


def _laid(
    tables: LinearTables, segments: Segments, found: Mixes, contents: _Contents
) -> tuple[Ints, Ints]:
    """Rows of `contents` with the layer at which each begins, where a chain passes through."""
    layers, devices = tables.layers, tables.devices
    exists = np.zeros((devices, len(segments.vectors) + 1), dtype=np.bool_)
    exists[contents.device, found.vector[contents.mix]] = True
    allowed = exists[:, segments.of]  # (p, L + 1, most + 1); -1 is the last column, never there
    forth, back = chains(allowed)
    lengths = np.arange(allowed.shape[2])
    ends = np.minimum(np.arange(layers + 1)[:, None] + lengths, layers)
    used = allowed & forth[:-1, :, None] & back[1:][:, ends]
    at, starts = [], []
    order = np.lexsort((found.vector[contents.mix], contents.device))
    key = contents.device * exists.shape[1] + found.vector[contents.mix]
    for d in range(devices):
        start, length = np.nonzero(used[d])
        wanted = d * exists.shape[1] + segments.of[start, length]
        low = np.searchsorted(key[order], wanted, side="left")
        count = np.searchsorted(key[order], wanted, side="right") - low
        first = np.repeat(low - np.cumsum(count) + count, count)
        at.append(order[first + np.arange(len(first))])
        starts.append(np.repeat(start, count))
    return np.concatenate(at), np.concatenate(starts)


def chains(allowed: Bools) -> tuple[Bools, Bools]:
    """Which positions chains of segments pass.

    Args:
        allowed: (p, L + 1, n + 1) whether device d may hold so many layers from a position.

    Returns:
        forth, back: (p + 1, L + 1) whether devices before d can end at a position, whether
        devices from d on can go from it to the last layer.
    """
    devices, positions, lengths = allowed.shape
    forth = np.zeros((devices + 1, positions), dtype=np.bool_)
    back = np.zeros_like(forth)
    forth[0, 0] = back[devices, -1] = True
    for d in range(devices):
        for n in range(lengths):
            forth[d + 1, n:] |= forth[d, : positions - n] & allowed[d, : positions - n, n]
    for d in reversed(range(devices)):
        for n in range(lengths):
            back[d, : positions - n] |= back[d + 1, n:] & allowed[d, : positions - n, n]
    return forth, back


def _problem(
    tables: LinearTables,
    segments: Segments,
    found: Mixes,
    contents: _Contents,
    at: Ints,
    starts: Ints,
) -> LinearColumns:
    mix = contents.mix[at]
    setting, counts = found.setting[mix], found.counts[mix]
    time, cost = contents.time[at], contents.cost[at]
    lengths = segments.vectors.sum(axis=1)[found.vector[mix]]
    m = tables.micro_batches
    columns = Columns(
        device=contents.device[at],
        starts=starts[:, None],
        ends=(starts + lengths)[:, None],
        group=_groups(tables)[setting],
        sums=np.stack([time, cost], axis=1),
        peaks=time[:, None],
    )
    crossed = 0 if tables.crossings is None else 1
    problem = StageProblem(
        layers=tables.layers,
        chunks=tables.chunks,
        columns=columns,
        time=(Form(sums=(1, 0), peaks=(m - 1,), crossings=crossed),),
        cost=None if tables.cost is None else Form(sums=(0, m), peaks=(0,)),
        cost_per_time=tables.cost_per_time,
        crossings=tables.crossings,
    )
    return LinearColumns(problem=problem, setting=setting, counts=counts)
