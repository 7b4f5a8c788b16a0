"""Whether the stages of a plan choose alike: predicates for what cannot tell stages apart."""

from __future__ import annotations

import numpy as np

from planner.cost.context import CostModel
from planner.plan import FULL, RECOMPUTES, SELECTIVE, BoolArray, Plan, PlanTable


def layers_alike(model: CostModel, plans: PlanTable) -> BoolArray:
    """Explicit stages have the same number of layers."""
    if plans.stages is None:
        return np.ones(len(plans), dtype=np.bool_)
    layers = plans.stages.layers
    return np.asarray(((layers == layers[:, :1]) | (layers < 0)).all(axis=1))


def choices_alike(model: CostModel, plans: PlanTable) -> BoolArray:
    """All layers recompute alike, and all stages share one sharding and one clock."""
    if plans.stages is None:
        return np.ones(len(plans), dtype=np.bool_)
    table = plans.stages
    listed = table.layers >= 0
    counted = table.recomputed.sum(axis=2)
    others = np.where(listed, table.layers - counted.sum(axis=2), 0)
    ways = np.zeros((len(plans), len(RECOMPUTES)), dtype=np.int64)
    for code in range(len(RECOMPUTES)):
        ways[:, code] = np.where(table.recompute == code, others, 0).sum(axis=1)
    ways[:, SELECTIVE] += counted[..., 0].sum(axis=1)
    ways[:, FULL] += counted[..., 1].sum(axis=1)
    alike = (ways > 0).sum(axis=1) <= 1
    for column in (table.sharding, table.clock):
        alike &= ((column == column[:, :1]) | ~listed).all(axis=1)
    return np.asarray(alike)


def unlike_layers(framework: str, plan: Plan) -> str:
    """Which layers the stages of a plan have, in one sentence."""
    layers = [stage.layers for stage in plan.stages or ()]
    return (
        f"{framework} has as many layers on every stage, not {', '.join(map(str, layers))}; "
        f"nearest: {max(round(sum(layers) / len(layers)), 1)} on each"
    )


def unlike_choices(framework: str, plan: Plan) -> str:
    """What stages of a plan choose for themselves, in one sentence."""
    own = [
        name
        for name in ("recompute", "selective", "full", "sharding", "clock")
        if any(getattr(stage, name) not in (None, (0, 0)) for stage in plan.stages or ())
    ]
    return (
        f"{framework} has one recomputation, one sharding and one clock for all layers; the stages "
        f"differ in {', '.join(own)}: give them those of the plan"
    )
