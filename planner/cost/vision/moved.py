"""Bytes that a vision tower moves between chip and memory, as `planner.cost.kernels.executed`."""

from __future__ import annotations

from functools import reduce

import numpy as np

from models_db import Vision
from planner.base.arrays import FloatArray, IntArray
from planner.base.vocabulary import RECOMPUTES
from planner.cost.context import CostModel
from planner.cost.kernels.executed import layer_bytes, repeats_of
from planner.cost.kernels.linears import Linear, Shares, layer_operators, pass_bytes
from planner.cost.vision.tower import images_on_chip, projections, tower_of, tower_shapes
from planner.plan import PlanTable


def tower_moved_bytes(model: CostModel, plans: PlanTable) -> FloatArray:
    """(n,) bytes of a micro-batch on a chip of the first stage; 0 where no tower runs.

    Products and element-wise work of its layers, and the products of patches and projector.

    Args:
        model: Job and assumptions.
        plans: n plans.
    """
    job, tower, tp = model.job, tower_of(model.job), plans.tp[:, None]
    if tower is None:
        return np.zeros(len(plans))
    a, shapes, ahead = model.assumptions, tower_shapes(tower), 1 + job.reference_passes
    images = images_on_chip(job, plans.micro_batch * job.seq_len / plans.cp)[:, None]
    again = repeats_of(model, shapes, np.array(RECOMPUTES.index(job.tower_recompute)))
    patches = images * tower.patches
    operators = layer_operators(shapes, Shares(tokens=patches, tp=tp, ep=tp), moe=False)
    products = [one for linears in operators.values() for one in linears]
    forward, gradients = pass_bytes(a, products, trains_all=True)
    layer = reduce(np.add, gradients + (ahead + again.linear) * forward)
    passes = ahead + a.elementwise_backward + again.elementwise
    layer = layer + passes * patches * layer_bytes(a, shapes, tp, moe=False) / tp
    outside = _outside(tower, job.model.hidden, images, tp)
    forward, gradients = pass_bytes(a, outside, trains_all=True)
    _, of_pixels = pass_bytes(a, outside[:1], trains_all=False)
    rest = reduce(np.add, ahead * forward + gradients) - of_pixels[0]
    return np.asarray((tower.layers * layer + rest)[:, 0])


def _outside(tower: Vision, out: int, images: FloatArray, tp: IntArray) -> list[Linear]:
    """The products of patches, whose inputs get no gradient, and of the projector."""
    return [
        Linear(
            tokens=images * one.rows,
            inputs=one.inputs / (tp if one.divided == "inputs" else 1.0),
            outputs=one.outputs / (tp if one.divided == "outputs" else 1.0),
        )
        for one in projections(tower, out)
    ]
