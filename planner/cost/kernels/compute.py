"""Seconds of the kernels of one chip: matrix multiplications, attention, element-wise work.

All functions are pure and broadcast over their array arguments. `clock` is relative to the clock
at which the peak rates hold; it divides only work that is bound by arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from frozen_records import dataclass
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray

Number = FloatArray | float

_NARROW = 256
_NARROW_TILE = 128
_WORST_WAVE = 4.0


def wave_factor(a: Assumptions, m: Number, n: Number, copies: Number = 1.0) -> FloatArray:
    """Time lost because the last wave of tiles leaves PEs idle, at most 4.

    tiles = copies * max(m / tile_m, 1) * max(n / tile_n, 1), and the factor is
    ceil(tiles / PEs) * PEs / tiles to the power `wave_exponent`: a grouped kernel has one last wave
    for all copies. A remainder counts as a part of a tile, since `matmul_s` counts the elements
    that are asked for and not those of whole tiles; else one element more could halve the time.

    Source: NVIDIA, Matrix Multiplication Background User's Guide, section
    Wave Quantization, https://docs.nvidia.com/deeplearning/performance/.
    """
    if a.tile_m == 0 or a.wave_exponent == 0:
        return np.ones(np.broadcast(m, n, copies).shape)
    width = np.where(n < _NARROW, min(_NARROW_TILE, a.tile_n), a.tile_n)
    tiles = copies * np.maximum(m / a.tile_m, 1.0) * np.maximum(n / width, 1.0)
    waste = np.ceil(tiles / a.pe_count) * a.pe_count / tiles
    return np.asarray(np.minimum(waste, _WORST_WAVE) ** a.wave_exponent)


def matmul_s(
    a: Assumptions,
    m: Number,
    n: Number,
    k: Number,
    *,
    clock: FloatArray,
    flop_per_s: float,
    copies: Number = 1.0,
) -> FloatArray:
    """Seconds of `copies` multiplications (m x k) @ (k x n) run as one grouped kernel.

        t = 2 m n k / rate * (1 + k0/k) (1 + m0/m) (1 + m0/n) * wave
        t = max(t, bytes moved / memory rate) + overhead

    Args:
        a: Rates, half-rate sizes k0 = `half_k` and m0 = `half_mn`, overhead.
        m, n, k: Dimensions, at least 1 (fractions are allowed: average tokens per expert).
        clock: Relative clock; divides the arithmetic term only.
        flop_per_s: Achieved rate of large multiplications.
        copies: Independent multiplications in the group.
    """
    shape = (1 + a.half_k / k) * (1 + a.half_mn / m) * (1 + a.half_mn / n)
    arithmetic = copies * 2 * m * n * k / flop_per_s * shape * wave_factor(a, m, n, copies)
    moved = copies * a.operand_bytes * (m * k + k * n + m * n)
    return np.maximum(arithmetic / clock, moved / a.memory_bytes_per_s) + a.matmul_overhead_s


@dataclass(frozen=True, slots=True)
class MatmulSeconds:
    """Seconds of one multiplication in each direction, shapes broadcast.

    Attributes:
        forward: x @ W.
        input_grad: dy @ W^T.
        weight_grad: x^T @ dy.
    """

    forward: FloatArray
    input_grad: FloatArray
    weight_grad: FloatArray

    def summed(self, slower: FloatArray) -> MatmulSeconds:
        """The sum over the first axis, each row of it `slower` times as long, (p, 1, 1)."""
        forward, input_grad, weight_grad = (
            reduce(np.add, slower * each)  # one after the other, whatever the length
            for each in (self.forward, self.input_grad, self.weight_grad)
        )
        return MatmulSeconds(forward, input_grad, weight_grad)

    @staticmethod
    def joined(parts: Sequence[MatmulSeconds]) -> MatmulSeconds:
        """The rows of the first, then of the next, ..."""
        return MatmulSeconds(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("forward", "input_grad", "weight_grad")
            )
        )


def linear_s(
    a: Assumptions,
    tokens: Number,
    inputs: Number,
    outputs: Number,
    *,
    clock: FloatArray,
    flop_per_s: float | None = None,
    copies: Number = 1.0,
) -> MatmulSeconds:
    """A linear layer (tokens x inputs) @ (inputs x outputs) and its two gradients.

    The backward pass is the input gradient (tokens, inputs; inner outputs) and the weight
    gradient (inputs, outputs; inner tokens). `flop_per_s` defaults to the job's precision.
    """
    rate = a.matmul_flop_per_s if flop_per_s is None else flop_per_s
    t, i, o = np.broadcast_arrays(tokens, inputs, outputs)
    m, n, k = np.stack([t, t, i]), np.stack([o, i, o]), np.stack([i, o, t])
    each = matmul_s(a, m, n, k, clock=clock, flop_per_s=rate, copies=copies)
    return MatmulSeconds(forward=each[0], input_grad=each[1], weight_grad=each[2])


@dataclass(frozen=True, slots=True)
class AttentionSeconds:
    """Arithmetic and memory seconds of attention, forward and backward."""

    forward: FloatArray
    backward: FloatArray
    forward_memory: FloatArray
    backward_memory: FloatArray

    def slowed(self, factor: float) -> AttentionSeconds:
        """The arithmetic `factor` times as long."""
        return replace(self, forward=factor * self.forward, backward=factor * self.backward)

    def of_average(self, share: float) -> AttentionSeconds:
        """That of an average layer, where the `share` of layers has attention."""
        return AttentionSeconds(
            share * self.forward,
            share * self.backward,
            share * self.forward_memory,
            share * self.backward_memory,
        )


def attention_s(
    a: Assumptions,
    tokens: FloatArray,
    context: float,
    width: FloatArray,
    head_dim: float,
    *,
    clock: FloatArray,
) -> AttentionSeconds:
    """Scores and weighted values of one layer on one chip.

    Fused (FlashAttention, arXiv:2307.08691): causal_share * 4 * tokens * context * width FLOP
    forward and 2.5 times that backward, times (1 + 16 / head_dim) for small heads. Unfused: all
    FLOP (2 times backward), and the score matrix crosses memory (1.5 times backward).

    Args:
        a: Rates and byte counts.
        tokens: Query tokens on the chip.
        context: Keys that a query may see, before causality halves them.
        width: Heads on the chip times head dimension (mean of query-key and value dimension).
        head_dim: Dimension of one head.
        clock: Relative clock.
    """
    flop = 4.0 * tokens * context * width
    none = np.zeros(np.broadcast(flop, clock).shape)
    if a.fused_attention:
        small = 1 + a.attention_half_head_dim / head_dim
        forward = a.causal_share * flop / a.attention_flop_per_s * small / clock
        return AttentionSeconds(forward, 2.5 * forward, none, none)
    forward = flop / a.bmm_flop_per_s / clock
    scores = a.score_bytes * tokens * context * (width / head_dim) / a.memory_bytes_per_s + none
    return AttentionSeconds(forward, 2.0 * forward, scores, 1.5 * scores)


def smooth_max(x: Number, y: Number, sharpness: int) -> FloatArray:
    """(x^p + y^p)^(1/p) for p = 4 or 6: the larger, plus a little where both are close.

    Written with the ratio of the smaller to the larger, so that a zero changes nothing.
    """
    high = np.maximum(x, y)
    ratio = np.minimum(x, y) / np.where(high > 0, high, 1.0)
    square = ratio * ratio
    if sharpness == 4:
        root: FloatArray = np.sqrt(np.sqrt(1.0 + square * square))
    else:
        root = np.cbrt(np.sqrt(1.0 + square * square * square))
    return high * root
