"""ZB-H1: weight gradients fill the bubbles of 1F1B.

Stage i runs pp - i forward passes first; the weight gradients of a micro-batch follow the input
gradients of the i-th micro-batch after it, and the last i end the step. Every stage holds
min(m, pp) micro-batches.

    m t_max + bubble = max_j ((m - 1) t_j + w_j) + sum_i (t_i - w_i)
    w = W + r min(F, B, W),  r = (min(pp, m) - 1) / (pp - 1)

F, B (the gradients of inputs alone) and W are passes of one micro-batch on a stage, t their sum.
For equal stages the bubble is then (pp - 1)(F + B) - (min(pp, m) - 1) min(F, B, W); the paper's
(pp - 1)(F + B - W) is the case W <= min(F, B), m >= pp. For unequal stages w is an estimate.

Source: Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241, section 2.1, figure 3 top,
table 2.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.schedules.orders import BACKWARD, FORWARD, WEIGHT_GRAD, Orders, orders_from
from planner.schedules.passes import SplitPasses, StepTimes
from planner.schedules.schedule import Schedule, StepForms


class ZeroBubble(Schedule):
    """See the module."""

    name = "zero-bubble"
    source = "Qi et al., arXiv:2401.10241, table 2 (ZB-H1)"
    rule_source = "arXiv:2401.10241: fills bubbles with weight gradients"
    splits_backward = True
    fills_bubbles = True
    uneven = True
    compared = ("time", "paced", "left")

    def runs_on(self, pp: IntArray) -> BoolArray:
        """With stages."""
        return np.asarray(pp > 1)

    def why_not(self, pp: int, m: float, *, trains_all: bool) -> str:
        """That it has nothing to fill, or nothing to fill it with."""
        return f"schedule {self.name} needs pp > 1 and a job that trains all weights"

    def in_flight(
        self, pp: IntArray, v: IntArray, m: FloatArray, position: FloatArray
    ) -> FloatArray:
        """As many on every stage."""
        return np.minimum(m, pp + 0.0 * position)

    def filled_s(self, passes: SplitPasses, send: FloatArray, ramped: FloatArray) -> FloatArray:
        """W + r min(F, B, W): w of the module."""
        forward = passes.total - passes.backward + send
        backward = passes.backward - passes.weight_grad + send
        shorter = np.minimum(np.minimum(forward, backward), passes.weight_grad)
        return passes.weight_grad + ramped * shorter

    def bubble_s(self, step: StepTimes, own: BoolArray) -> FloatArray:
        """See the module."""
        send = (step.p2p + step.assumptions.micro_batch_s) / 2
        ramped = (np.minimum(step.pp, step.m) - 1) / np.maximum(step.pp - 1, 1)
        paced = left = np.zeros_like(step.slowest)
        for one in step.split_passes():
            fill = self.filled_s(one, send, ramped)
            left = left + one.count * (one.total - fill)
            whole = (step.m - 1) * one.total + fill
            paced = np.maximum(paced, np.where(one.count > 0, whole, 0.0))
        return np.maximum(paced + left - step.m * step.slowest, 0.0) + step.ramp

    def step_forms(self, m: int, v: int, *, bubbles: bool) -> StepForms:
        """The larger of P_((m - 1) t + w) + S_(t - w) and m P_t."""
        if not bubbles:
            return super().step_forms(m, v, bubbles=False)
        return StepForms(
            sums=("left",), peaks=("paced", "time"), forms=(((1,), (1, 0)), ((0,), (0, m)))
        )

    def orders(self, pp: int, m: int, v: int = 1) -> Orders:
        """See the module."""
        self.check(pp, m, v)
        return orders_from([_order(pp, m, stage) for stage in range(pp)], 1, m)


def _order(pp: int, m: int, stage: int) -> IntArray:
    """(3, 3 m) kinds, micro-batches and chunks of a stage."""
    each = np.arange(m)
    warm_up, delay = min(pp - stage, m), min(stage, m)
    # Rounds of (backward, weight gradient, forward) after the warm-up; the rest as it comes.
    keys = np.concatenate([
        np.where(each < warm_up, -1.0, each - warm_up + 0.75), each + 0.25, each + delay + 0.5
    ])  # fmt: skip
    kinds = np.repeat([FORWARD, BACKWARD, WEIGHT_GRAD], m)
    rank = np.lexsort((np.tile(each, 3), keys))
    return np.stack([kinds, np.tile(each, 3), np.zeros(3 * m, dtype=np.int64)])[:, rank]


SCHEDULE = ZeroBubble()
