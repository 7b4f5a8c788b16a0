"""Layers that a device holds in all, dealt to its chunks: how totals become a plan.

Of N layers each of v chunks gets q = N // v, the last N mod v chunks one more; the first and the
last chunk of the pipeline may be left empty. Early chunks are in flight most often, so that layers
with recomputation go there first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.plan import IntArray, Plan
from planner.search.uneven.columns import RowColumns
from solvers.stages.problem import Choice


def dealt_plan(columns: RowColumns, choice: Choice) -> Plan | None:
    """The plan of a choice of `total_columns`; None where a chunk between the ends stays empty.

    Layers of one kind only: with several, what chunks hold depends on where they are.
    """
    held = columns.counts[choice.columns].sum(axis=1)
    pp, v = len(held), int(columns.one.rows.plans.interleave[0])
    kinds = np.flatnonzero(held.sum(axis=(0, 2)))
    if len(kinds) != 1:
        return None
    counts = np.zeros((pp, v, *held.shape[1:]), dtype=np.int64)
    counts[:, :, kinds[0]] = np.stack([_dealt(row, v) for row in held[:, kinds[0]]])
    sizes = counts.sum(axis=(2, 3))
    if not _ends_only(sizes):
        return None
    dealt = replace(
        columns,
        problem=replace(columns.problem, chunks=np.arange(pp * v).reshape(v, pp).T),
        counts=counts,
        sharding=columns.sharding[choice.columns],
        clock=columns.clock[choice.columns],
    )
    return dealt.plan(replace(choice, columns=np.arange(pp)))


def _dealt(held: IntArray, v: int) -> IntArray:
    """(v, r) layers of each chunk by recomputation, of (r,) layers of a device."""
    q, more = divmod(int(held.sum()), v)
    ends = np.cumsum(q + (np.arange(v) >= v - more))
    starts = ends - np.diff(ends, prepend=0)
    order = np.arange(len(held))[::-1]
    last = np.cumsum(held[order])
    first = last - held[order]
    within = np.minimum(ends[:, None], last) - np.maximum(starts[:, None], first)
    dealt = np.empty((v, len(held)), dtype=np.int64)
    dealt[:, order] = np.maximum(within, 0)
    return dealt


def _ends_only(sizes: IntArray) -> bool:
    """Whether all chunks of (p, v) sizes but the first and the last of the pipeline hold a layer."""
    between = np.ones(sizes.shape, dtype=np.bool_)
    between[0, 0] = between[-1, -1] = False
    return bool((sizes[between] > 0).all())
