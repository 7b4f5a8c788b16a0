"""ZB-H1: weight gradients fill the bubbles of 1F1B.

    m t_max + bubble = max_j ((m - 1) t_j + w_j) + sum_i (t_i - w_i)
    w = W + r min(F, B, W),  r = (min(pp, m) - 1) / (pp - 1)

F, B (the gradients of inputs alone) and W are passes of one micro-batch on a stage, t their sum.
For equal stages the bubble is then (pp - 1)(F + B) - (min(pp, m) - 1) min(F, B, W); the paper's
(pp - 1)(F + B - W) is the case W <= min(F, B), m >= pp. For unequal stages w is an estimate.

Source: Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241, table 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.base.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitPasses:
    """Seconds of one micro-batch on a class of equal stages, (n, k), without messages.

    Attributes:
        count: (n, 1) stages of the class.
        total: All passes.
        backward: The whole backward pass.
        weight_grad: The part of it that waits for nobody.
    """

    count: FloatArray
    total: FloatArray
    backward: FloatArray
    weight_grad: FloatArray


def filled_s(one: SplitPasses, send: FloatArray, ramped: FloatArray) -> FloatArray:
    """(n, k) seconds of the bubble behind a stage that weight gradients fill: w of the module.

    Args:
        one: The stage.
        send: (n, k) seconds of the message of a pass, and of the host.
        ramped: (n, 1) r.
    """
    forward, backward = one.total - one.backward + send, one.backward - one.weight_grad + send
    return one.weight_grad + ramped * np.minimum(np.minimum(forward, backward), one.weight_grad)


def wait_s(
    stages: Sequence[SplitPasses],
    send: FloatArray,
    pp: FloatArray | IntArray,
    m: FloatArray,
    slowest: FloatArray,
) -> FloatArray:
    """(n, k) seconds in which the slowest stage waits for others, without messages.

    Args:
        stages: The classes of stages.
        send: (n, k) seconds of the message of a pass, and of the host.
        pp, m: (n, 1) stages, micro-batches.
        slowest: (n, k) t_max.
    """
    ramped = (np.minimum(pp, m) - 1) / np.maximum(pp - 1, 1)
    paced = left = np.zeros_like(slowest)
    for one in stages:
        fill = filled_s(one, send, ramped)
        left = left + one.count * (one.total - fill)
        paced = np.maximum(paced, np.where(one.count > 0, (m - 1) * one.total + fill, 0.0))
    return np.maximum(paced + left - m * slowest, 0.0)
