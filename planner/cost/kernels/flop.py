"""FLOP per token of what is no matrix of parameters: scores of attention, scans of recurrences."""

from __future__ import annotations

from models_db import Model
from planner.cost.kernels.shapes import Shapes


def attention_flop_per_token(model: Model, shapes: Shapes) -> float:
    """Forward FLOP of scores and values per token, causality not halved."""
    layers: float = model.layers
    if shapes.parts:
        layers = sum(mixer in ("attention", "both") for mixer in model.mixers)
    return 2.0 * layers * shapes.heads * shapes.context * (shapes.head_dim + shapes.value_dim)


def scan_flop_per_token(model: Model, shapes: Shapes) -> tuple[float, float]:
    """Forward FLOP of the scans of all recurrences per token, and those that backward runs again.

    0 and 0 where no layer has one; see `planner.cost.kernels.recurrence`.
    """
    if shapes.scan is None:
        return 0.0, 0.0
    layers = sum(mixer in ("recurrence", "both") for mixer in model.mixers)
    return layers * shapes.scan.flop, layers * shapes.scan.again
