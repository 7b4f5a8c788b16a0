"""The tensors inside one layer that its backward pass needs."""

from __future__ import annotations

from functools import reduce

import numpy as np

from frozen_records import dataclass
from planner.assumptions.software import FrameworkProfile
from planner.base.arrays import FloatArray, IntArray
from planner.cost.kernels.selection import runs_again
from planner.cost.kernels.shapes import Parts, Shapes
from planner.plan.recomputations import FULL, has_modules, names_module


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
        saved: Bytes per element of the width that backward needs.
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
    saved: float


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
        mlp=(saved - less) * width
        + framework.combined_saved * routed
        + (2.0 - less) * (routed + gathered),
        scan=parts.recurrence * shapes.scan.kept if shapes.scan else 0.0,
        heads_width=share * heads_width,
        out=share * 2.0 * shapes.heads * shapes.value_dim,
        queries=share * shapes.heads * shapes.head_dim,
        keys_values=share * head_width * kv_heads,
        heads=share * shapes.heads,
        width=width,
        routed=routed + gathered,
        parts=parts,
        saved=saved - less,
    )


def module_bytes(
    shapes: Shapes,
    x: LayerTensors,
    ranks: FloatArray,
    rows: FloatArray,
    scores: FloatArray | float,
    *,
    moe: bool,
    operand: float,
) -> dict[str, FloatArray]:
    """Bytes per token that modules drop of what backward needs of a layer of a kind, by module.

        core_attn       scores + 4 heads / tp
        layernorm       q h / (tp if SP) for each norm that is a module of its own
        mla_up_proj     (2 q + 2 k + 2 v) / tp + q (q_rank + kv_rank)
        mlp             c_f f / tp + q h / (tp if SP)
        moe             all of the experts / tp; its input is kept in 16 bits
        moe_act         q k f_e / tp
        shared_experts  c_f f_shared / tp

    (q bytes of an input of a product: `operand`.) What each is: `planner.cost.kernels.selection`.

    Args:
        shapes, x: The layer.
        ranks, rows: tp; tp where sequence parallelism divides, else 1.
        scores: Bytes of unfused attention, divided by tp.
        moe: Whether it has experts.
        operand: As of `layer_tensors`.
    """
    norm = operand * shapes.hidden / rows
    routed = float(shapes.experts_per_token * shapes.expert_width)
    latents = operand * (shapes.query_rank + shapes.kv_rank)
    found = {
        "core_attn": scores + 4.0 * x.heads / ranks,
        "layernorm": (int(shapes.latent) + int(moe)) * norm,
    }
    if shapes.latent:
        found["mla_up_proj"] = (x.heads_width - x.out) / ranks + latents
    if not moe:
        return {**found, "mlp": x.mlp / ranks + norm}
    return {
        **found,
        "moe": x.mlp / ranks - (2.0 - operand) * shapes.hidden / rows,
        "moe_act": operand * routed / ranks,
        "shared_experts": x.saved * shapes.shared_width / ranks,
    }


def dropped_bytes(kinds: dict[str, FloatArray], recompute: IntArray, *, moe: bool) -> FloatArray:
    """What modules that codes name drop of `activation_bytes`; 0 of other codes."""
    every = runs_again(recompute, moe=moe).items()
    dropped = [run * kinds[name] for name, run in every if name in kinds]
    return reduce(np.add, dropped, np.zeros(recompute.shape))


def live_bytes(
    kinds: dict[str, FloatArray], recompute: IntArray, *, moe: bool
) -> FloatArray | float:
    """What is there of a layer while it, or modules of it, run again.

    Of modules all that they drop, and where the whole feed-forward runs again its gradients as of a
    whole layer: what is more than one of them holds at a time.
    """
    live = np.where(recompute == FULL, kinds["working"], 0.0)
    if not has_modules(recompute).any():
        return live
    whole = names_module(recompute, "moe" if moe else "mlp")
    gradients = np.where(whole, kinds["gradients"], 0.0)
    return live + dropped_bytes(kinds, recompute, moe=moe) + gradients
