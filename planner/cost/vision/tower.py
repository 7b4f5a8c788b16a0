"""A vision tower as kernels and chips see it: shapes, images of a micro-batch, parameters, FLOP.

A tower is a transformer over the patches of one image: every patch attends to all of them, no
causal mask (Dosovitskiy et al., arXiv:2010.11929, section 3.1), and squares of `merge` x `merge`
patches become one token of the decoder in a projector (Wang et al., Qwen2-VL, arXiv:2409.12191,
section 2.1). Under tensor parallelism its layers are divided as those of the decoder, without
sequence parallelism (Megatron-LM, core/models/vision/clip_vit_model.py, on `TransformerBlock`).
Chips of a context-parallel group take whole images.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from frozen_records import dataclass
from models_db import Vision
from planner.base.arrays import FloatArray, IntArray
from planner.cost.job import Job
from planner.cost.kernels.shapes import Shapes

_DUST = 1e-9  # of an image: what rounding of the tokens of a micro-batch leaves


@dataclass(frozen=True, slots=True)
class Projection:
    """A product outside the layers of a tower, per image.

    Attributes:
        rows: Vectors of an image that it multiplies.
        inputs, outputs: Of its matrix.
        divided: Which of the two tp divides: "inputs", "outputs", or neither.
    """

    rows: float
    inputs: int
    outputs: int
    divided: str = ""


def tower_of(job: Job) -> Vision | None:
    """The tower that a job runs; None where its sequences have no images."""
    return job.model.vision if job.images else None


def images_on_chip(job: Job, tokens: FloatArray) -> FloatArray:
    """Images that the busiest chip of a context-parallel group encodes of a micro-batch.

    Args:
        job: Has `images` per sequence.
        tokens: Tokens of a micro-batch on the chip: micro_batch * seq_len / cp.
    """
    return np.asarray(np.ceil(tokens * (job.images / job.seq_len) - _DUST))


@lru_cache(maxsize=64)
def tower_shapes(tower: Vision) -> Shapes:
    """The dimensions of a layer of the tower, whose sequence is the patches of one image."""
    head_dim = tower.hidden // tower.heads
    return Shapes(
        hidden=tower.hidden,
        heads=tower.heads,
        kv_heads=tower.heads,
        head_dim=head_dim,
        value_dim=head_dim,
        query_rank=0,
        kv_rank=0,
        rope_dim=0,
        dense_width=tower.mlp_hidden,
        expert_width=0,
        experts=0,
        experts_per_token=0,
        shared_width=0,
        expert_groups=1,
        groups_per_token=1,
        biased_router=False,
        gated=int(tower.gated),
        keeps_gate=int(tower.gated),
        tp_exchanges=4,
        kept_inputs=4,
        sinks=False,
        context=float(tower.patches),
        vocab=0,
        matmul_parameters=float(tower.layers * _layer_matrices(tower)),
        dense_parameters=float(tower.layer_parameters),
        moe_parameters=0.0,
    )


def projections(tower: Vision, out: int) -> Iterator[Projection]:
    """The embedding of patches, and the matrices of the projector, in order.

    A projector of two matrices is divided over tp as a feed-forward; one matrix is on every rank.

    Args:
        tower: The tower.
        out: Hidden width of the decoder.
    """
    yield Projection(tower.patches, _pixels(tower), tower.hidden)
    width, rows = tower.merge**2 * tower.hidden, float(tower.tokens)
    if not tower.projector_hidden:
        yield Projection(rows, width, out)
        return
    yield Projection(rows, width, tower.projector_hidden, "outputs")
    yield Projection(rows, tower.projector_hidden, out, "inputs")


def flop_per_image(tower: Vision, out: int) -> float:
    """Forward FLOP of one image: 2 per multiplied parameter, 4 P^2 h of attention per layer.

    Args:
        tower: The tower, with P patches of width h.
        out: Hidden width of the decoder.
    """
    linear = 2.0 * tower.patches * tower.layers * _layer_matrices(tower)
    scores = 4.0 * tower.layers * tower.patches**2 * tower.hidden
    return (
        linear + scores + sum(2.0 * p.rows * p.inputs * p.outputs for p in projections(tower, out))
    )


def tower_flop_per_token(job: Job) -> float:
    """Forward FLOP of the tower per token of the decoder; 0 where it does not run."""
    tower = tower_of(job)
    if tower is None:
        return 0.0
    return job.images / job.seq_len * flop_per_image(tower, job.model.hidden)


def tower_parameters(tower: Vision, out: int, tp: IntArray) -> tuple[FloatArray, FloatArray]:
    """Parameters of the tower on one chip, and of them those that zero3 has gathered at once.

    Matrices of layers, and a projector of two, are divided by tp; norms, biases, positions and the
    embedding of patches are on every rank. Gathered are one layer and what is outside of layers.

    Args:
        tower: The tower.
        out: Hidden width of the decoder.
        tp: Tensor-parallel degrees, of any shape.
    """
    matrices = _layer_matrices(tower)
    layer = matrices / tp + (tower.layer_parameters - matrices)
    divided = sum(p.inputs * p.outputs for p in projections(tower, out) if p.divided)
    outside = tower.parameters(out) - tower.layers * tower.layer_parameters
    rest = divided / tp + (outside - divided)
    return np.asarray(tower.layers * layer + rest), np.asarray(layer + rest)


def _layer_matrices(tower: Vision) -> int:
    up = 3 if tower.gated else 2
    return 4 * tower.hidden**2 + up * tower.hidden * tower.mlp_hidden


def _pixels(tower: Vision) -> int:
    return tower.channels * tower.frames * tower.patch**2
