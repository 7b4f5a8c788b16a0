"""The formulas of a textbook on what stays compute-bound: How to Scale Your Model, part 5.

Each function is one formula of the chapter (Austin et al., 2025,
https://jax-ml.github.io/scaling-book/training), named in its docstring by section. Letters of the
chapter: B tokens per step, C FLOP/s of a chip (peak times MFU), W bytes/s of one torus axis in
both directions, D hidden size, F width of the MLP, L layers, P parameters, N = X Y chips (X of
FSDP, Y of tensor parallelism), M_X and M_Y the torus axes that serve each, alpha = C / W.

What is compute-bound has T_comms <= T_math. They are pure arithmetic on floats; for whole meshes
with the rates of their real placement see `planner.studies.feasibility.textbook.meshes`.
"""

from __future__ import annotations

import math
from typing import TypeVar

from planner.base.arrays import FloatArray
from planner.base.units import DAY_S

Number = TypeVar("Number", float, FloatArray)
"""Where it is taken, it may be an array."""
STATE_BYTES = 10.0


def operational_intensity(flop_per_s: float, bytes_per_s: float) -> float:
    """FLOP per byte of a chip's link: alpha = C / W, in tokens ("When do we become bottlenecked").

    4.59e14 / 1.8e11 = 2,550 on one axis of TPU v5p.
    """
    return flop_per_s / bytes_per_s


def least_batch_data(chips: float, intensity: float, axes: float) -> float:
    """Tokens per step above which DP, ZeRO and FSDP are compute-bound: N alpha / M_X.

    Sections "Data Parallelism" and "Fully-Sharded Data Parallelism": B / X > C / W_ici, with M_X
    axes B / X > alpha / M_X (850 tokens per chip on the three axes of TPU v5p).

    Args:
        chips: N, all of them data ranks.
        intensity: alpha.
        axes: M_X.
    """
    return chips * intensity / axes


def most_chips_data(batch_tokens: float, intensity: float, axes: float) -> float:
    """Chips up to which DP and FSDP are compute-bound at a batch; inverse of `least_batch_data`."""
    return batch_tokens * axes / intensity


def largest_model_data(memory_bytes: float, state_bytes: float = STATE_BYTES) -> float:
    """Parameters of the largest model that pure data parallelism holds: HBM / 10.

    Section "Data Parallelism", takeaway: bf16 weights and two fp32 moments are 10 bytes each.
    """
    return memory_bytes / state_bytes


def largest_tp(width: float, intensity: float, axes: float) -> float:
    """Ranks up to which tensor parallelism is compute-bound, whatever the batch: M_Y F / alpha.

    Section "Tensor Parallelism": F > Y C / W_ici.

    Args:
        width: F.
        intensity: alpha.
        axes: M_Y.
    """
    return axes * width / intensity


def optimal_fsdp(
    batch_tokens: Number, width: float, chips: float, axes_x: float, axes_y: float
) -> Number:
    """FSDP ranks with the least communication: X_opt = sqrt(B / F * M_X / M_Y * N).

    Section "Combining FSDP and Tensor Parallelism": where the times of FSDP and TP are equal.
    """
    root: Number = (batch_tokens / width * axes_x / axes_y * chips) ** 0.5
    return root


def least_batch_mixed(
    width: float, chips: float, intensity: float, axes_x: float, axes_y: float
) -> float:
    """Tokens per step above which FSDP + TP is compute-bound at X_opt: N alpha^2 / (M_X M_Y F).

    Section "Combining FSDP and Tensor Parallelism": B / N > alpha^2 / (M_X M_Y F). Never less
    than a token per chip, and infinite where even two ranks of TP would be too many.
    """
    most = largest_tp(width, intensity, axes_y)
    if most <= 1.0:
        return math.inf
    return max(chips * intensity**2 / (axes_x * axes_y * width), chips)


def math_over_communication(
    batch_tokens: float,
    width: float,
    chips: float,
    intensity: float,
    axes_x: float,
    axes_y: float,
) -> float:
    """T_math / T_comms of FSDP + TP at X_opt: sqrt(B F M_X M_Y / N) / alpha (same section)."""
    return math.sqrt(batch_tokens * width * axes_x * axes_y / chips) / intensity


def least_batch_across_pods(pods: float, flop_per_s: float, dcn_bytes_per_s: float) -> float:
    """Tokens per step above which pure DP across pods hides: pods * C / W_dcn.

    Section "Scaling Across Pods": B per slice > C / W_dcn. The chapter prints 71,360 tokens per
    slice with C = 4.46e14; with its own 4.59e14 they are 73,440.

    Args:
        pods: Slices that are joined by the data-center network.
        flop_per_s: C.
        dcn_bytes_per_s: W_dcn, per chip.
    """
    return pods * flop_per_s / dcn_bytes_per_s


def state_bytes(parameters: float) -> float:
    """Weights and optimizer of all chips together: 10 P (question 2)."""
    return STATE_BYTES * parameters


def checkpoint_bytes(layers: float, hidden: float, width: float, tokens: float) -> float:
    """Saved activations of all chips together: 2 L B (D + 2 F), a gated MLP (question 2)."""
    return 2.0 * layers * tokens * (hidden + 2.0 * width)


def step_s(parameters: float, batch_tokens: float, chips: float, flop_per_s: float) -> float:
    """Seconds of a compute-bound step: 6 P B / (N C) (question 3)."""
    return 6.0 * parameters * batch_tokens / (chips * flop_per_s)


def training_days(parameters: float, tokens: float, chips: float, flop_per_s: float) -> float:
    """Days of a compute-bound training run: 6 P tokens / (N C) (section on FSDP, LLaMA-3 70B)."""
    return step_s(parameters, tokens, chips, flop_per_s) / DAY_S


def math_s(
    batch_tokens: Number, hidden: float, width: float, chips: float, flop_per_s: float
) -> Number:
    """T_math of a layer's forward pass: 4 B D F / (N C)."""
    return 4.0 * batch_tokens * hidden * width / (chips * flop_per_s)


def fsdp_s(
    hidden: float, width: float, tp: Number, axes: float, bytes_per_s: Number | float
) -> Number:
    """T_FSDP comms of a layer's forward pass: 4 D F / (Y W M_X); Y = 1 for pure DP and FSDP."""
    return 4.0 * hidden * width / (tp * axes * bytes_per_s)


def tp_s(
    batch_tokens: Number | float,
    hidden: float,
    fsdp: Number,
    axes: float,
    bytes_per_s: Number | float,
) -> Number:
    """T_TP comms of a layer's forward pass: 4 B D / (X W M_Y); X = 1 for pure TP."""
    return 4.0 * batch_tokens * hidden / (fsdp * axes * bytes_per_s)
