"""Layers that a device holds in all, dealt to its chunks: how totals become a plan.

Every chunk gets one layer, but the first and the last of the pipeline; all others go to the chunks
in flight least often, up to the longest chunk that the device has in any case. Layers that keep
fewest bytes go where most micro-batches are in flight. Whether memory holds it is to be seen.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.plan import FloatArray, IntArray, Plan
from planner.search.uneven.columns import RowColumns
from planner.search.uneven.fills import Fills
from planner.search.uneven.packing import place_of
from planner.search.uneven.totals import moments
from solvers.stages.problem import Choice


def dealt_plan(columns: RowColumns, choice: Choice, limit_bytes: float) -> Plan | None:
    """The plan of a choice of `total_columns`; None where a chunk between the ends stays empty.

    Layers of one kind only: with several, what chunks hold depends on where they are.
    """
    held = columns.counts[choice.columns].sum(axis=1)
    pp, v = len(held), int(columns.one.rows.plans.interleave[0])
    kinds = np.flatnonzero(held.sum(axis=(0, 2)))
    if len(kinds) != 1:
        return None
    counts = np.zeros((pp, v, *held.shape[1:]), dtype=np.int64)
    one = columns.one
    for d, column in enumerate(choice.columns.tolist()):
        fill = Fills(
            counts=held[d][None], sharding=columns.sharding[[column]], clock=columns.clock[[column]]
        )
        most = int(one.least_chunk(place_of(one, d), fill, limit_bytes)[0])
        flying = moments(pp, v, one.m, d).mean(axis=0)
        sizes = _sizes(int(held[d].sum()), most, flying, d == 0, d == pp - 1)
        if sizes is None:
            return None
        counts[d, :, kinds[0]] = _dealt(held[d, kinds[0]], sizes, flying)
    dealt = replace(
        columns,
        problem=replace(columns.problem, chunks=np.arange(pp * v).reshape(v, pp).T),
        counts=counts,
        sharding=columns.sharding[choice.columns],
        clock=columns.clock[choice.columns],
    )
    return dealt.plan(replace(choice, columns=np.arange(pp)))


def _sizes(layers: int, most: int, flying: FloatArray, first: bool, last: bool) -> IntArray | None:
    """(v,) layers of each chunk of a device; None where they are not enough."""
    sizes = np.ones(len(flying), dtype=np.int64)
    sizes[0] -= first
    sizes[-1] -= last
    left = layers - int(sizes.sum())
    if left < 0:
        return None
    for chunk in np.argsort(flying, kind="stable").tolist():
        more = min(most - int(sizes[chunk]), left)
        sizes[chunk] += more
        left -= more
    return sizes if left == 0 else None


def _dealt(held: IntArray, sizes: IntArray, flying: FloatArray) -> IntArray:
    """(v, r) layers of each chunk by recomputation, of (r,) layers, full recomputation last."""
    order, modes = np.argsort(-flying, kind="stable"), np.arange(len(held))[::-1]
    ends, last = np.cumsum(sizes[order]), np.cumsum(held[modes])
    starts, first = ends - sizes[order], last - held[modes]
    within = np.minimum(ends[:, None], last) - np.maximum(starts[:, None], first)
    dealt = np.zeros((len(sizes), len(held)), dtype=np.int64)
    dealt[np.ix_(order, modes)] = np.maximum(within, 0)
    return dealt
