"""Seconds of a vision tower for one micro-batch on one chip, by the formulas of layers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from models_db import Vision
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray, IntArray
from planner.base.vocabulary import RECOMPUTES
from planner.cost.communication.exchanges import ACTIVATION_BYTES, LayerInputs
from planner.cost.context import CostModel
from planner.cost.kernels.compute import linear_s
from planner.cost.kernels.layer import layer_times
from planner.cost.kernels.shapes import left_out
from planner.cost.layer_costs import EndCost
from planner.cost.terms import end_terms
from planner.cost.vision.tower import (
    images_on_chip,
    projections,
    tower_of,
    tower_shapes,
)
from planner.network.collectives import GroupCosts
from planner.plan import FULL, RING


def end_costs(
    model: CostModel,
    tp: IntArray,
    tokens: FloatArray,
    clock: FloatArray,
    net: GroupCosts | None,
) -> EndCost:
    """Embedding and head of one micro-batch (`end_terms`), with the tower where it runs.

    Args:
        model: Job and assumptions.
        tp: (n, 1).
        tokens: (n, 1) tokens of a micro-batch on the chip.
        clock: Relative clocks.
        net: Costs of the group of tp; None: no tower runs.
    """
    ends, tower = end_terms(model, tp, tokens, clock), tower_of(model.job)
    if tower is None or net is None:
        return ends
    parts = tower_s(model, tower, tp, tokens, clock, net)
    return replace(ends, embedding=ends.embedding + parts["tower"], **parts)


def tower_s(
    model: CostModel,
    tower: Vision,
    tp: IntArray,
    tokens: FloatArray,
    clock: FloatArray,
    net: GroupCosts,
) -> dict[str, FloatArray]:
    """(n, k) seconds of both passes and of backward, by cause, as `EndCost` names them.

    Layers as in `planner.cost.kernels.layer`, with attention that is not causal; then patches and
    projector. What zero3 gathers of a tower for each micro-batch is not counted, as of the ends.
    Arguments as of `end_costs`.
    """
    images = images_on_chip(model.job, tokens)
    a = replace(model.assumptions, causal_share=1.0)
    x = _inputs(model, tp, images * tower.patches, clock, net)
    shapes = tower_shapes(tower)
    times = layer_times(a, shapes, x, moe=False)
    ahead, back, sent = _outside_s(a, model, tower, tp, images, clock, net)
    backward = tower.layers * times.backward + back
    parts = {name: tower.layers * times.parts[name] for name in ("memory", "tp", "host")}
    left = left_out(shapes, stops_early=x.stops_early and x.trains_all) > 0
    again = float(model.job.tower_recompute == RECOMPUTES[FULL])
    again *= 1.0 - 2.0 * left / shapes.tp_exchanges  # of the last product
    ways = 1 + model.job.reference_passes + a.tp_backward + again
    return {
        "tower": tower.layers * times.forward + ahead + backward,
        "tower_backward": backward,
        "tower_memory": parts["memory"],
        "tower_tp": parts["tp"] + sent,
        "tower_host": parts["host"],
        "tower_sent": tower.layers * ways * times.sent["tp"] + sent,
    }


def _inputs(
    model: CostModel, tp: IntArray, patches: FloatArray, clock: FloatArray, net: GroupCosts
) -> LayerInputs:
    """The inputs of a layer over some patches, whole images on every rank of tp."""
    one = np.ones_like(tp)
    return LayerInputs(
        tp=tp,
        cp=one,
        ep=one,
        etp=one,
        tokens=patches,
        sequence_parallel=one < 1,
        cp_mode=RING * one,
        recompute=RECOMPUTES.index(model.job.tower_recompute) * one,
        clock=clock,
        job=model.job,
        selective=model.framework.selective,
        repeats_fused=model.framework.repeats_fused,
        stops_early=model.framework.stops_early,
        gathers_context=model.framework.gathers_context,
        tp_net=net,
        cp_net=net,
        ep_net=net,
        etp_net=net,
    )


def _outside_s(
    a: Assumptions,
    model: CostModel,
    tower: Vision,
    tp: IntArray,
    images: FloatArray,
    clock: FloatArray,
    net: GroupCosts,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Seconds of each pass of patches and projector, and what of both is sent over tp.

    Pixels get no gradient. A projector that tp divides exchanges its output forward, and its
    input's gradient backward.
    """
    out = model.job.model.hidden
    ahead = back = sent = np.zeros(np.broadcast_shapes(images.shape, clock.shape))
    runs = 1 + model.job.reference_passes
    for at, one in enumerate(projections(tower, out)):
        inputs = one.inputs / (tp if one.divided == "inputs" else 1.0)
        outputs = one.outputs / (tp if one.divided == "outputs" else 1.0)
        found = linear_s(a, images * one.rows, inputs, outputs, clock=clock)
        ahead = ahead + found.forward
        back = back + found.weight_grad + (found.input_grad if at else 0.0)
    if tower.projector_hidden:
        rows = ACTIVATION_BYTES * images * tower.tokens
        forward, backward = (
            net.reduce_s(rows * out),
            net.reduce_s(rows * tower.merge**2 * tower.hidden),
        )
        ahead, back, sent = ahead + forward, back + backward, sent + runs * forward + backward
    return runs * ahead, back, sent
