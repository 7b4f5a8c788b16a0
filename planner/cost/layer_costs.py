"""Seconds of single layers, and of the embedding and the head: what a step is made of."""

from __future__ import annotations

from dataclasses import field, fields

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.cost.communication.data_parallel import idle_backward_s, sharded_layer_s
from planner.cost.context import CostModel
from planner.cost.kernels.compute import smooth_max


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCost:
    """Seconds of one layer and micro-batch, after what hides behind it.

    Attributes:
        total: Both passes, everything exposed.
        host: The part of it in which the host runs hooks of modules and the device waits.
        alone: Both passes without the collectives of data parallelism.
        collective: Those collectives, before overlap.
        backward: The backward pass, without them.
        hides: The part of it behind which the reduction of the last micro-batch hides.
        weight_grad: The part of it that waits for nobody.
        kernels: Seconds at busy power (`planner.cost.kernels.layer`).
        paired: What both passes save where a forward pass runs beside a backward pass.
    """

    total: FloatArray
    host: FloatArray
    alone: FloatArray
    collective: FloatArray
    backward: FloatArray
    hides: FloatArray
    weight_grad: FloatArray
    kernels: FloatArray
    paired: FloatArray = field(default_factory=lambda: np.zeros((1, 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class EndCost:
    """Seconds of embedding and head for one micro-batch.

    Attributes:
        embedding: With a vision tower, where one runs: `tower` of it.
        head: Both passes, with the loss; `head_backward` of it.
        head_memory: The part of `head` in which logits cross memory for the loss.
        head_weight_grad: The part of that which waits for nobody.
        tower: Both passes of the tower; `tower_backward` of it.
        tower_memory, tower_tp, tower_host: By cause, as `planner.cost.kernels.layer.LayerTimes`
            has it; the rest computes.
        tower_sent: Seconds of the communication of both passes over tp, hidden or not.
    """

    embedding: FloatArray
    head: FloatArray
    head_backward: FloatArray
    head_weight_grad: FloatArray
    head_memory: FloatArray = field(default_factory=lambda: np.zeros((1, 1)))
    tower: FloatArray = field(default_factory=lambda: np.zeros((1, 1)))
    tower_backward: FloatArray = field(default_factory=lambda: np.zeros((1, 1)))
    tower_memory: FloatArray = field(default_factory=lambda: np.zeros((1, 1)))
    tower_tp: FloatArray = field(default_factory=lambda: np.zeros((1, 1)))
    tower_host: FloatArray = field(default_factory=lambda: np.zeros((1, 1)))
    tower_sent: FloatArray = field(default_factory=lambda: np.zeros((1, 1)))


OF_FIRST = ("embedding", *(one.name for one in fields(EndCost) if one.name.startswith("tower")))
"""Those of `EndCost` that the first stage has."""


def layer_cost(
    model: CostModel,
    *,
    total: FloatArray,
    backward: FloatArray,
    weight_grad: FloatArray,
    kernels: FloatArray,
    paired: FloatArray,
    collective: FloatArray,
    ahead: FloatArray,
    accumulate: FloatArray,
    hooks: FloatArray,
) -> LayerCost:
    """A layer with its gradient accumulation and its overlapped collectives.

    Where modules have hooks, a layer takes no less than its host (`smooth_max` of power 4, as
    between the host and the device of a pass).

    Under `perfect_overlap` each pass lasts as long as the longer of itself and its collectives,
    and all of the backward pass hides the reduction of the step.

    Args:
        model: Overlaps.
        total, backward, weight_grad, kernels, paired: Of `LayerTimes`.
        collective, ahead, accumulate, hooks: Of `ShardTerms`, for the layer's kind; without
            `perfect_overlap`, `ahead` is not read.
    """
    layer = total + accumulate
    if model.assumptions.perfect_overlap:
        hides = np.maximum(backward + accumulate, collective - ahead)
        sharded = np.maximum(total - backward, ahead) + hides
    else:
        sharded = sharded_layer_s(model.assumptions, layer, collective)
        hides = idle_backward_s(layer, collective, sharded, backward)
    hooked = sharded
    if model.framework.module_hook_s and not model.assumptions.perfect_overlap:
        hooked = np.where(hooks > 0, smooth_max(sharded, hooks, 4), sharded)
        hides = hides + (hooked - sharded)  # the network waits for the host too
    return LayerCost(
        total=hooked,
        host=hooked - sharded,
        alone=layer,
        collective=collective,
        backward=backward,
        hides=hides,
        weight_grad=weight_grad,
        kernels=kernels + accumulate,
        paired=paired,
    )
