"""Layers of the stages by what the backward pass computes again of them.

Plans without explicit stages recompute all layers alike. Explicit stages may count layers with
selective and with full recomputation; then there is one group per kind of recomputation, so that
each kind of layer is computed once per group, whatever the stages count.
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.cost.stages.explicit import chunk_columns, explicit_plans, of_chunks
from planner.cost.stages.layout import StageClasses
from planner.plan import FULL, RECOMPUTES, SELECTIVE, PlanTable


@dataclass(frozen=True, slots=True, kw_only=True)
class RecomputeGroup:
    """Layers of n plans that recompute alike.

    Attributes:
        recompute: (n, 1) codes.
        dense, moe: (n, s) layers of each kind on one stage of a class.
        chunks: (n, s, v, 2) the same by chunk; 0 for plans without `StageClasses.chunks`. None: no
            plan has them.
    """

    recompute: IntArray
    dense: FloatArray
    moe: FloatArray
    chunks: FloatArray | None = None

    def layers(self, *, moe: bool) -> FloatArray:
        """(n, s) of one kind."""
        return self.moe if moe else self.dense

    def take(self, index: IntArray) -> RecomputeGroup:
        """The rows of `index`."""
        return RecomputeGroup(
            recompute=self.recompute[index],
            dense=self.dense[index],
            moe=self.moe[index],
            chunks=None if self.chunks is None else self.chunks[index],
        )


def recompute_groups(plans: PlanTable, stages: StageClasses) -> tuple[RecomputeGroup, ...]:
    """The layers of every plan: one group, or one per recomputation where stages are explicit."""
    if stages.chunks is None or plans.stages is None:
        whole = RecomputeGroup(
            recompute=plans.recompute[:, None],
            dense=stages.dense,
            moe=stages.moe,
            chunks=stages.chunks,
        )
        return (whole,)
    columns = _wide(chunk_columns(plans, stages.count.shape[1]), stages.chunks.shape[2])
    counted = of_chunks(plans.stages.recomputed, columns)
    explicit = explicit_plans(plans)
    code = of_chunks(plans.stages.recompute, columns)
    code = np.where(explicit[:, None, None], code, plans.recompute[:, None, None])
    others = stages.chunks - counted.sum(axis=4)
    chunked = explicit | plans.schedules.values("lists_chunks")
    groups = []
    named = np.unique(np.concatenate([code[code > FULL], plans.recompute[plans.recompute > FULL]]))
    for recompute in (*range(len(RECOMPUTES)), *named.tolist()):
        chunks = others * (code == recompute)[..., None]
        if recompute in (SELECTIVE, FULL):
            chunks = chunks + counted[..., recompute - SELECTIVE]
        alike = ((plans.recompute == recompute) & ~chunked)[:, None]
        dense, moe = np.moveaxis(chunks.sum(axis=2), 2, 0)
        groups.append(
            RecomputeGroup(
                recompute=np.full((len(plans), 1), recompute),
                dense=dense + np.where(alike, stages.dense, 0.0),
                moe=moe + np.where(alike, stages.moe, 0.0),
                chunks=chunks,
            )
        )
    return tuple(one for one in groups if one.dense.any() or one.moe.any()) or tuple(groups[:1])


def _wide(columns: IntArray, chunks: int) -> IntArray:
    """The columns of so many chunks per stage, -1 where a stage has fewer."""
    more = chunks - columns.shape[2]
    return np.pad(columns, ((0, 0), (0, 0), (0, more)), constant_values=-1)
