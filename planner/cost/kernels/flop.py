"""FLOP per token beside the decoder's matrices: scores of attention, scans, a vision tower."""

from __future__ import annotations

from models_db import Model
from planner.cost.job import Job
from planner.cost.kernels.shapes import Shapes
from planner.cost.memory.adapters import dropped_elements
from planner.cost.vision.tower import tower_flop_per_token


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


def dropped_flop_per_token(job: Job) -> tuple[float, float]:
    """Forward FLOP per token of a dense layer, and of one with experts, that dropout adds to DoRA.

    See `planner.cost.memory.adapters.dropped_elements`.
    """
    return 2.0 * dropped_elements(job, "dense"), 2.0 * dropped_elements(job, "moe")


def other_flop(job: Job, shapes: Shapes) -> tuple[float, float, float]:
    """Forward FLOP per token of scans and of a vision tower, and what of them runs again.

    Of scans with every backward pass; of a tower where all of it is recomputed.
    """
    scan, again = scan_flop_per_token(job.model, shapes)
    tower = tower_flop_per_token(job)
    return scan + tower, again, tower * float(job.tower_recompute == "full")
