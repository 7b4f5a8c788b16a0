"""Plans of every kind in a space, on which it is seen whether a number counts at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.base.arrays import IntArray
from planner.cost.context import CostModel
from planner.plan import PlanTable
from planner.question.options import SpaceOptions
from planner.search.limits import Limits
from planner.search.uniform.engine import UniformSpace

_PARTIAL_PLANS, _PLANS = 96, 384
_ANY_BYTES = 1e18


def sample_of(model: CostModel, options: SpaceOptions, chips: int) -> PlanTable | None:
    """Plans spread evenly over a space, whether they fit in memory or not; None: it has none.

    Args:
        model: Job and machine.
        options: What the space holds.
        chips: Chips of the plans.
    """
    roomy = Limits(memory_bytes=_ANY_BYTES, host_bytes=_ANY_BYTES)
    space = UniformSpace(model=model, options=options, limits=roomy, chips=(chips,))
    nodes = space.nodes()
    if len(nodes.partial_plans) == 0:
        return None
    batch = space.batch(nodes.partial_plans.take(_spread(len(nodes.partial_plans), _PARTIAL_PLANS)))
    if batch is None:
        return None
    rows = _spread(len(batch.space), _PLANS)
    at, turn = batch.placements, np.arange(len(rows))
    mesh = batch.space.mesh_id[rows]
    placement = at.start[mesh] + turn % at.count[mesh]
    return replace(
        batch.space.plans.take(rows),
        order=at.order[placement],
        layouts=at.layouts,
        clock=batch.clocks[turn % len(batch.clocks)],
    )


def _spread(count: int, most: int) -> IntArray:
    """Rows at equal distances, so many at most."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))
