"""Which plans make no use of a freedom: those that the space has without it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from enumerated.allowed import Bools
from planner.cost.context import CostModel
from planner.cost.stages.layout import stage_layers
from planner.plan import ORDERS, RECOMPUTES, SPLITS, PlanTable

COUNTED = ("even-counted", "front-counted")
"""Rules that count embedding and head as a layer each."""
Plain = Callable[[CostModel, PlanTable], "Bools | None"]


def no_freedom(model: CostModel, plans: PlanTable) -> None:
    """None is looked at."""


def stages_alike(model: CostModel, plans: PlanTable) -> Bools:
    """Layers as a rule of the framework deals them out; one recomputation, sharding and clock."""
    table = plans.stages
    if table is None:
        return np.ones(len(plans), dtype=np.bool_)
    counted = table.recomputed.sum(axis=(1, 2))
    whole = ((counted == 0) | (counted == model.job.model.layers)).all(axis=1)
    return np.asarray(
        whole & _dealt_by_rule(model, plans) & one_sharding(model, plans) & _one_clock(plans)
    )


def one_sharding(model: CostModel, plans: PlanTable) -> Bools:
    """All stages have one sharding."""
    table = plans.stages
    assert table is not None
    same = table.sharding == table.sharding[:, :1]
    return np.asarray((same | (table.layers < 0)).all(axis=1))


def layers_alike(model: CostModel, plans: PlanTable) -> Bools:
    """No stage has two layers more than another."""
    table = plans.stages
    assert table is not None
    fewest = np.where(table.layers < 0, table.layers.max(), table.layers).min(axis=1)
    return np.asarray(table.layers.max(axis=1) - fewest <= 1)


def layers_recomputed_alike(model: CostModel, plans: PlanTable) -> Bools:
    """None of the sets of modules."""
    return np.asarray(plans.recompute < len(RECOMPUTES))


def nothing_offloaded(model: CostModel, plans: PlanTable) -> Bools:
    """All is kept on the chip."""
    return np.asarray(plans.offload == 0)


def whole_experts(model: CostModel, plans: PlanTable) -> Bools:
    """Each expert is on one chip."""
    return np.asarray(plans.etp == 1)


def offered_order(model: CostModel, plans: PlanTable) -> Bools:
    """Axes above 1 are nested as in an order of the framework."""
    axes = ("tp", "cp", "fsdp", "dp", "pp")
    large = np.stack([getattr(plans, name) > 1 for name in axes], axis=1)
    every = model.framework.orders or ORDERS
    good = np.zeros(len(plans), dtype=np.bool_)
    for row in np.unique(large, axis=0):
        used = {name for name, above in zip(axes, row, strict=True) if above}
        offered = {tuple(name for name in order if name in used) for order in every}
        same = [
            at
            for at, order in enumerate(ORDERS)
            if tuple(name for name in order if name in used) in offered
        ]
        good |= (large == row).all(axis=1) & np.isin(plans.order, same)
    return good


def no_layout(model: CostModel, plans: PlanTable) -> Bools:
    """Axes are whole, in some order."""
    return np.asarray(plans.order < len(ORDERS))


def _dealt_by_rule(model: CostModel, plans: PlanTable) -> Bools:
    """(n,) whether the layers of all chunks are those of a rule that the framework has."""
    table = plans.stages
    assert table is not None
    layers = model.job.model.layers
    good = np.asarray(plans.pp == 1)
    shapes = np.unique(np.stack([plans.pp, plans.interleave], axis=1), axis=0).tolist()
    for (pp, v), name in product(shapes, model.framework.splits):
        sizes = stage_layers(model.job.model, pp, v, SPLITS.index(name))
        equal = name != "by-cost" and (layers + 2 * (name in COUNTED)) % (pp * v) == 0
        if sizes is not None and (v == 1 or equal):
            here = (plans.pp == pp) & (plans.interleave == v)
            good |= here & (table.layers[:, : pp * v] == sizes).all(axis=1)
    return good


def _one_clock(plans: PlanTable) -> Bools:
    table = plans.stages
    assert table is not None
    return np.asarray(((table.clock == table.clock[:, :1]) | (table.layers < 0)).all(axis=1))
