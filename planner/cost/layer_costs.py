"""Seconds of single layers, and of the embedding and the head: what a step is made of."""

from __future__ import annotations

from dataclasses import field, fields

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCost:
    """Seconds of one layer and micro-batch, after what hides behind it.

    Attributes:
        total: Both passes, everything exposed.
        alone: Both passes without the collectives of data parallelism.
        collective: Those collectives, before overlap.
        backward: The backward pass, without them.
        hides: The part of it behind which the reduction of the last micro-batch hides.
        weight_grad: The part of it that waits for nobody.
        kernels: Seconds at busy power (`planner.cost.kernels.layer`).
        paired: What both passes save where a forward pass runs beside a backward pass.
    """

    total: FloatArray
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
