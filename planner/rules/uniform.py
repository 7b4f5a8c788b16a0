"""What frameworks need that are told one choice for all stages and layers."""

from __future__ import annotations

import numpy as np

from planner.cost.context import CostModel
from planner.plan import FULL, RECOMPUTES, SELECTIVE, BoolArray, PlanTable


def one_recompute(model: CostModel, plans: PlanTable) -> BoolArray:
    """All layers of a plan recompute alike."""
    table = plans.stages
    if table is None:
        return np.ones(len(plans), dtype=np.bool_)
    counted = table.recomputed.sum(axis=2)
    others = (counted.sum(axis=2) < table.layers)[..., None]
    used = others & (table.recompute[..., None] == np.arange(len(RECOMPUTES)))
    used[..., SELECTIVE] |= counted[..., 0] > 0
    used[..., FULL] |= counted[..., 1] > 0
    return np.asarray(used.any(axis=1).sum(axis=1) <= 1)


def one_sharding(model: CostModel, plans: PlanTable) -> BoolArray:
    """All stages of a plan have the same sharding."""
    if plans.stages is None:
        return np.ones(len(plans), dtype=np.bool_)
    sharding = plans.stages.sharding
    same = sharding == sharding[:, :1]
    return np.asarray((same | (plans.stages.layers < 0)).all(axis=1))


def middle_chunks_filled(model: CostModel, plans: PlanTable) -> BoolArray:
    """No chunk between the first and the last is without layers."""
    if plans.stages is None:
        return np.ones(len(plans), dtype=np.bool_)
    layers = plans.stages.layers
    followed = np.concatenate([layers[:, 1:] >= 0, np.zeros((len(plans), 1), dtype=np.bool_)], 1)
    return np.asarray(~((layers == 0) & followed)[:, 1:].any(axis=1))


GPU_VENDORS = ("NVIDIA", "AMD", "Intel")


def on_gpus(model: CostModel, plans: PlanTable) -> BoolArray:
    """The chips are GPUs."""
    return np.full(len(plans), model.chip.vendor in GPU_VENDORS)
