"""Layers that a device holds in all, dealt to its chunks: how totals become a plan.

Of N layers each of v chunks gets q = N // v, the last N mod v chunks one more, or those before the
very last of the pipeline: it and the first chunk may be left empty. Early chunks are in flight most
often, so that layers with recomputation go there first.
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
    for d, row in enumerate(held[:, kinds[0]]):
        counts[d, :, kinds[0]] = _dealt(row, _sizes(int(row.sum()), v, last=d == pp - 1))
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


def _sizes(layers: int, v: int, *, last: bool) -> IntArray:
    """(v,) layers of each chunk of a device."""
    q, more = divmod(layers, v)
    chunk = np.arange(v) + int(last and more > 0)
    return np.asarray(q + ((chunk >= v - more) & (chunk < v)))


def _dealt(held: IntArray, sizes: IntArray) -> IntArray:
    """(v, r) layers of each chunk by recomputation, of (r,) layers of a device."""
    ends = np.cumsum(sizes)
    starts = ends - np.diff(ends, prepend=0)
    order = np.arange(len(held))[::-1]
    last = np.cumsum(held[order])
    first = last - held[order]
    within = np.minimum(ends[:, None], last) - np.maximum(starts[:, None], first)
    dealt = np.empty((len(sizes), len(held)), dtype=np.int64)
    dealt[:, order] = np.maximum(within, 0)
    return dealt


def _ends_only(sizes: IntArray) -> bool:
    """Whether every one of (p, v) chunks but the very first and last holds a layer."""
    between = np.ones(sizes.shape, dtype=np.bool_)
    between[0, 0] = between[-1, -1] = False
    return bool((sizes[between] > 0).all())
