"""Predicates that rules of several frameworks share."""

from __future__ import annotations

import numpy as np

from planner.assumptions.optimizers import ADAM
from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.plan import RING, SELECTIVE, PlanTable


def no_adapters(model: CostModel, plans: PlanTable) -> BoolArray:
    """The job trains all weights."""
    return np.full(len(plans), model.job.trains_all)


def no_pairs(model: CostModel, plans: PlanTable) -> BoolArray:
    """The job has no preference pairs."""
    return np.full(len(plans), not model.job.reference)


def tunes(model: CostModel, plans: PlanTable) -> BoolArray:
    """The job trains a model that is there."""
    return np.full(len(plans), model.job.kind != "pretrain")


def undivided_layers(model: CostModel, plans: PlanTable) -> BoolArray:
    """Neither tensors nor sequences are divided."""
    return np.asarray((plans.tp == 1) & (plans.cp == 1))


def steps_by_adam(model: CostModel, plans: PlanTable) -> BoolArray:
    """The optimizer is Adam, with the moments that the framework keeps of itself."""
    return np.full(len(plans), model.job.optimizer == ADAM)


def names_optimizer(model: CostModel, plans: PlanTable) -> BoolArray:
    """The launches of the framework can name the optimizer."""
    return np.full(len(plans), model.job.optimizer in model.framework.optimizers)


def by_ring(model: CostModel, plans: PlanTable) -> BoolArray:
    """Keys and values travel; heads are not exchanged."""
    return np.asarray((plans.cp == 1) | (plans.cp_mode == RING))


def whole_layers(model: CostModel, plans: PlanTable) -> BoolArray:
    """Whole layers are recomputed, or none."""
    return np.asarray(plans.recompute != SELECTIVE)


def whole_sequences(model: CostModel, plans: PlanTable) -> BoolArray:
    """Tensor parallelism without sequence parallelism."""
    return ~plans.sequence_parallel


def tp_divides_kv_heads(model: CostModel, plans: PlanTable) -> BoolArray:
    """Key-value heads divide over tp."""
    return np.asarray(model.shapes.kv_heads % plans.tp == 0)
