"""The tensors inside one layer that its backward pass needs."""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.assumptions.software import FrameworkProfile
from planner.base.arrays import FloatArray, IntArray
from planner.cost.kernels.shapes import Parts, Shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTensors:
    """Bytes, or elements, per token of the tensors inside an average layer, before tp divides them.

    Attributes:
        attention, latent, mlp, scan: Bytes that backward needs of each part.
        heads_width: Bytes of queries, keys, values and outputs; `out` of outputs.
        queries, keys_values: Their elements.
        heads: Attention heads.
        width: Of the MLP; `routed` what routed experts read, of all ranks that share them.
        parts: What the layer is made of.
    """

    attention: FloatArray
    latent: float
    mlp: FloatArray | float
    scan: float
    heads_width: FloatArray
    out: float
    queries: float
    keys_values: FloatArray
    heads: float
    width: float
    routed: FloatArray | float
    parts: Parts


def layer_tensors(
    shapes: Shapes,
    framework: FrameworkProfile,
    ranks: FloatArray,
    *,
    moe: bool,
    operand: float,
    etp: IntArray | int = 1,
) -> LayerTensors:
    """The tensors of a dense or mixture-of-experts layer; see `activation_bytes` in `memory`."""
    parts = shapes.parts_of(moe=moe)
    kv_heads = np.maximum(ranks, shapes.heads if shapes.latent else shapes.kv_heads)
    head_width = shapes.head_dim + shapes.value_dim
    less, share = 2.0 - operand, parts.attention
    width = (shapes.active_width if moe else shapes.dense_width) * parts.feed_forward
    saved = framework.gated_saved if shapes.keeps_gate else framework.plain_saved
    routed = float(shapes.experts_per_token * shapes.expert_io) if moe else 0.0
    gathered = np.asarray((etp - 1) * routed, dtype=np.float64)  # of the others that share them
    heads_width = 2.0 * head_width * (shapes.heads + kv_heads)
    attention = heads_width + 4.0 * shapes.heads
    attention = attention + (operand * shapes.heads * shapes.value_dim if less else 0.0)
    gate = 4.0 * (shapes.query_copies - 1) * shapes.heads * shapes.head_dim  # and its product
    return LayerTensors(
        attention=share * (attention + gate),
        latent=share * (4.0 - less) * (shapes.query_rank + shapes.kv_rank),
        mlp=(saved - less) * width + (4.0 - less) * routed + (2.0 - less) * gathered,
        scan=parts.recurrence * shapes.scan.kept if shapes.scan else 0.0,
        heads_width=share * heads_width,
        out=share * 2.0 * shapes.heads * shapes.value_dim,
        queries=share * shapes.heads * shapes.head_dim,
        keys_values=share * head_width * kv_heads,
        heads=share * shapes.heads,
        width=width,
        routed=routed + gathered,
        parts=parts,
    )
