"""The matrix multiplications of one layer and micro-batch on one chip, as shapes.

`planner.cost.kernels.layer` asks for their seconds, `planner.cost.kernels.executed` for the
bytes that they move.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from frozen_records import dataclass
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray, IntArray
from planner.cost.chip.tiling import least_traffic_elements
from planner.cost.kernels.compute import MatmulSeconds, Number, linear_s
from planner.cost.kernels.shapes import Shapes

if TYPE_CHECKING:
    from planner.cost.kernels.recurrence import Scan

_AT_A_TIME = 16384  # seconds of linears in one array: what is made on the way stays in the cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """`copies` layers (tokens x inputs) @ (inputs x outputs); sizes broadcast.

    Attributes:
        tokens, inputs, outputs: Sizes on the chip.
        copies: Independent multiplications run as one.
        routed: Whether they are those of experts, which run less efficiently.
        share: Of the layers that have it; seconds, FLOP and bytes are those of an average layer.
    """

    tokens: Number
    inputs: Number
    outputs: Number
    copies: Number = 1.0
    routed: bool = False
    share: float = 1.0


def seconds(a: Assumptions, linears: list[Linear], clock: FloatArray) -> MatmulSeconds:
    """Seconds of all linears, one after the other, (n, k).

    Those of several experts on a chip are grouped, and slower by `expert_efficiency`; a single
    expert's are plain products.
    """
    sizes = _sizes(linears)
    grouped = np.array([one.routed for one in linears])[:, None, None] & (sizes[3] > 1)
    slower = np.where(grouped, 1 / a.expert_efficiency, 1.0)
    slower = slower * np.array([one.share for one in linears])[:, None, None]
    step = max(_AT_A_TIME // (len(linears) * clock.shape[-1]), 1)
    parts = []
    for start in range(0, max(sizes.shape[-2], len(clock), 1), step):
        rows = slice(start, start + step)
        t, i, o, copies = sizes[..., rows, :] if sizes.shape[-2] > 1 else sizes
        own = clock[rows] if len(clock) > 1 else clock
        less = slower[:, rows] if slower.shape[1] > 1 else slower
        parts.append(linear_s(a, t, i, o, clock=own, copies=copies).summed(less))
    return parts[0] if len(parts) == 1 else MatmulSeconds.joined(parts)


def _sizes(linears: list[Linear]) -> FloatArray:
    """(4, p, n, 1) tokens, inputs, outputs and copies of p linears."""
    sizes = [(one.tokens, one.inputs, one.outputs, one.copies) for one in linears]
    shape = np.broadcast_shapes(*{np.shape(size) for four in sizes for size in four})
    table = np.empty((4, len(linears), *shape))
    for row, four in enumerate(sizes):
        for kind, size in enumerate(four):
            table[kind, row] = size
    return table


def product_flop(linears: list[Linear], passes: FloatArray | float) -> FloatArray | float:
    """FLOP of all linears: 2 x tokens x inputs x outputs in each pass.

    Args:
        linears: The shapes.
        passes: Multiplications of that size: 3 of a training step (forward, gradients of inputs,
            gradients of weights), more with recomputation.
    """
    total: FloatArray | float = 0.0
    for one in linears:
        total = (
            total + 2.0 * one.share * one.copies * one.tokens * one.inputs * one.outputs * passes
        )
    return total


def memory_bytes(a: Assumptions, linears: list[Linear], *, trains_all: bool) -> FloatArray:
    """Bytes between chip and memory of all linears in both passes, nothing run twice."""
    forward, gradients = pass_bytes(a, linears, trains_all=trains_all)
    return np.asarray(reduce(np.add, forward + gradients))


def pass_bytes(
    a: Assumptions, linears: list[Linear], *, trains_all: bool
) -> tuple[FloatArray, FloatArray]:
    """Bytes between chip and memory of each linear, forward and for its gradients, (p, n, 1).

    Each of the three multiplications moves the least that a block of `on_chip_bytes` allows
    (`planner.cost.chip.tiling`), or every operand once where that is 0.

    Args:
        a: Bytes per element, and on the chip.
        linears: The p shapes.
        trains_all: Whether weights get gradients (not those that LoRA freezes).
    """
    room = (
        a.on_chip_bytes / a.operand_bytes if a.on_chip_bytes and a.operand_bytes else float("inf")
    )
    t, i, o, copies = _sizes(linears)
    products = [(t, o, i), (t, i, o), (i, o, t)][: 3 if trains_all else 2]
    m, n, k = (np.stack(sizes) for sizes in zip(*products, strict=True))
    shares = np.array([one.share for one in linears])
    copies = copies * shares.reshape(-1, *(1 for _ in range(copies.ndim - 1)))
    moved = copies * a.operand_bytes * least_traffic_elements(m, n, k, room)
    return moved[0], moved[1:].sum(axis=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """What the shapes depend on; broadcast to (n, s).

    Attributes:
        tokens: On the chip.
        tp, ep, etp: Degrees.
        load: Of the experts of the chip, over the mean.
    """

    tokens: FloatArray
    tp: IntArray
    ep: IntArray
    etp: IntArray | int = 1
    load: FloatArray | float = 1.0


def layer_operators(shapes: Shapes, x: Shares, *, moe: bool) -> dict[str, list[Linear]]:
    """The linears of a dense or mixture-of-experts layer by operator, attention's scores not among.

    `mlp`, or `experts`, `router` and `shared experts`; the projections of `attention` if there are.
    """
    if moe:
        operators = _expert_linears(shapes, x)
    else:
        operators = {"mlp": _mlp(shapes, x, shapes.dense_width / x.tp)}
    operators |= {"attention": _attention_linears(shapes, x)} if shapes.heads else {}
    return _of_average(shapes, x, operators, moe=moe) if shapes.parts else operators


def _of_average(
    shapes: Shapes, x: Shares, operators: dict[str, list[Linear]], *, moe: bool
) -> dict[str, list[Linear]]:
    """The operators of an average layer of a kind, those of its recurrence among them."""
    parts = shapes.parts_of(moe=moe)
    if shapes.scan:
        operators = operators | {"recurrence": _recurrence_linears(shapes.scan, x)}
    shares = {"attention": parts.attention, "recurrence": parts.recurrence}
    found = {
        name: [replace(one, share=shares.get(name, parts.feed_forward)) for one in linears]
        for name, linears in operators.items()
    }
    return {name: linears for name, linears in found.items() if linears[0].share}


def _recurrence_linears(scan: Scan, x: Shares) -> list[Linear]:
    """Its projections: inputs whole and outputs divided by tp, the last one the other way."""
    *into, (inner, hidden) = scan.projections
    linears = [Linear(tokens=x.tokens, inputs=i, outputs=o / x.tp) for i, o in into]
    return [*linears, Linear(tokens=x.tokens, inputs=inner / x.tp, outputs=hidden)]


def _mlp(shapes: Shapes, x: Shares, width: Number) -> list[Linear]:
    """Up projection (with its gate, one GEMM) and down projection of an MLP of local `width`."""
    up = (1 + shapes.gated) * width
    return [
        Linear(tokens=x.tokens, inputs=shapes.hidden, outputs=up),
        Linear(tokens=x.tokens, inputs=width, outputs=shapes.hidden),
    ]


def _expert_linears(shapes: Shapes, x: Shares) -> dict[str, list[Linear]]:
    """Grouped GEMMs of the local experts, router, and the shared experts.

    Each of the experts / ep local experts gets tokens * k * ep / (experts * tp) tokens, times
    `load`; of those that etp ranks share, each has a share of the width and the tokens of all.
    """
    local = shapes.experts / x.ep
    routed = x.tokens / x.tp * shapes.experts_per_token / local * x.load * x.etp
    width, hidden, read = shapes.expert_width / x.etp, shapes.hidden, shapes.expert_io
    up = (1 + shapes.gated) * width
    operators = {
        "experts": [
            Linear(tokens=routed, inputs=read, outputs=up, copies=local, routed=True),
            Linear(tokens=routed, inputs=width, outputs=read, copies=local, routed=True),
        ],
        "router": [Linear(tokens=x.tokens / x.tp, inputs=hidden, outputs=shapes.experts)],
    }
    if read != hidden:  # tokens go to a latent width before they are sent, and come back from it
        ends = [(hidden, read), (read, hidden)]
        operators["latent"] = [Linear(tokens=x.tokens / x.tp, inputs=i, outputs=o) for i, o in ends]
    if shapes.shared_width:
        operators["shared experts"] = _mlp(shapes, x, shapes.shared_width / x.tp)
    return operators


def _attention_linears(shapes: Shapes, x: Shares) -> list[Linear]:
    """Output and query, key, value (one GEMM) projections; latent attention has its five."""
    heads = shapes.heads / x.tp
    output = Linear(tokens=x.tokens, inputs=heads * shapes.value_dim, outputs=shapes.hidden)
    if shapes.latent:
        return [output, *_latent_linears(shapes, x)]
    keys_values = -(-shapes.kv_heads // x.tp) * (shapes.head_dim + shapes.value_dim)
    width = shapes.query_copies * heads * shapes.head_dim + keys_values
    return [output, Linear(tokens=x.tokens, inputs=shapes.hidden, outputs=width)]


def _latent_linears(shapes: Shapes, x: Shares) -> list[Linear]:
    """Down and up projections of multi-head latent attention.

    Source: DeepSeek-V2, arXiv:2405.04434, equations 9 to 15. Down projections are replicated over
    tp; up projections are divided by it.
    """
    heads = shapes.heads / x.tp
    keys_values = heads * (shapes.head_dim - shapes.rope_dim + shapes.value_dim)
    queries = heads * shapes.head_dim
    pairs: list[tuple[Number, Number]] = [
        (shapes.hidden, shapes.kv_rank + shapes.rope_dim),
        (shapes.kv_rank, keys_values),
    ]
    if shapes.query_rank:
        pairs += [(shapes.hidden, shapes.query_rank), (shapes.query_rank, queries)]
    else:
        pairs.append((shapes.hidden, queries))
    return [Linear(tokens=x.tokens, inputs=i, outputs=o) for i, o in pairs]
