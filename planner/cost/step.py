"""Seconds and joules of one training step from the seconds of its layers.

    T = m (t_max + c_mb + v p2p) + bubble + exposed reduction + optimizer + step overhead
    bubble = (sum_i t_i - t_max) / v + (pp - 1) (p2p + c_mb / v)

t_i is stage i's time for one micro-batch, t_max the slowest; v the interleave. GPipe runs all
forward passes before all backward passes, so its steady state goes at the pace of the slowest of
each. Zero-bubble schedules fill w_i seconds of the bubble behind stage i with weight gradients:

    GPipe:        bubble += (m - 1) (f_max + b_max - t_max)
    zero-bubble:  m t_max + bubble = max_j ((m - 1) t_j + w_j) + sum_i (t_i - w_i) + (pp - 1) (...)

For equal stages T equals an event-driven simulation of the schedule; for unequal stages too with
GPipe; with 1F1B and interleaved schedules it is an upper estimate, with zero-bubble an estimate.
A plan does not get faster when a message gets slower. Sources: Narayanan et al., arXiv:2104.04473,
section 2.2 (bubble of 1F1B and interleaved schedules); Qi et al., arXiv:2401.10241, table 2
(ZB-H1).

    E = chips * [ sum_stages busy_i (P_busy(clock_i) - P_wait) / pp + T (P_wait + P_host + P_net) ]

Arrays have shape (n, k): n plans, k = 1 or the clocks that are tried together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.assumptions import Assumptions
from planner.cost.data_parallel import exposed_s, sharded_layer_s
from planner.plan import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCost:
    """Seconds of one layer and micro-batch, as `planner.cost.layer` and ZeRO overlap give them.

    Attributes:
        total: Both passes, everything exposed.
        alone: Both passes without the collectives of data parallelism.
        collective: Those collectives, before overlap.
        backward: The backward pass, without them.
        hides: The part of it behind which the reduction of the last micro-batch hides.
        weight_grad: The part of it that waits for nobody.
        kernels: Seconds in which kernels run.
    """

    total: FloatArray
    alone: FloatArray
    collective: FloatArray
    backward: FloatArray
    hides: FloatArray
    weight_grad: FloatArray
    kernels: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class EndCost:
    """Seconds of embedding and head for one micro-batch; `head_backward` is within `head`."""

    embedding: FloatArray
    head: FloatArray
    head_backward: FloatArray
    head_weight_grad: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCost:
    """One class of equal stages; one with count 0 has no layers, no ends and no parameters.

    Attributes:
        count, first, last: (n, 1) stages in the class; 1.0 with the embedding, the head.
        dense_layers, moe_layers: (n, 1) layers per stage.
        dense, moe: Cost of one layer of each kind.
        collective: Seconds of the step's reductions on the stage, before overlap.
        optimizer: Seconds of the optimizer step, of which `optimizer_kernels` run kernels.
        extra_w: Power above waiting while kernels run, per chip.
    """

    count: FloatArray
    first: FloatArray
    last: FloatArray
    dense_layers: FloatArray
    moe_layers: FloatArray
    dense: LayerCost | None
    moe: LayerCost | None
    collective: FloatArray
    optimizer: FloatArray
    optimizer_kernels: FloatArray
    extra_w: FloatArray

    def sum_layers(self, field: str, rows: IntArray | slice = slice(None)) -> FloatArray:
        """Layers times `field` of `LayerCost`, over both kinds; of some of the n plans."""
        parts = [
            layers[rows] * getattr(cost, field)[rows]
            for layers, cost in ((self.dense_layers, self.dense), (self.moe_layers, self.moe))
            if cost is not None
        ]
        total: FloatArray = parts[0] if len(parts) == 1 else parts[0] + parts[1]
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class StepInputs:
    """Everything the step needs beside its stages, (n, 1) or (n, k).

    Attributes:
        m, pp, v: Micro-batches, stages, interleave.
        zero_bubble: Whether the schedule fills bubbles with weight gradients.
        gpipe: Whether all forward passes come before all backward passes.
        chips: Chips used.
        ends: Embedding and head.
        p2p: Seconds of the two sends of a micro-batch between chunks.
        standing_w: (n, 1) waiting chip, host and network, per chip.
    """

    m: FloatArray
    pp: FloatArray | IntArray
    v: FloatArray | IntArray
    zero_bubble: BoolArray
    gpipe: BoolArray
    chips: FloatArray
    ends: EndCost
    p2p: FloatArray
    standing_w: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """Seconds and joules of the step, (n, k), and what they are made of.

    Attributes:
        time: Step time.
        energy: Joules of all chips with host and network.
        slowest: Seconds of the slowest stage for one micro-batch.
        bubble: Seconds in which the slowest stage waits to start or to finish.
        exposed: Seconds of reductions that nothing hides.
        optimizer: Seconds of the optimizer step.
        busy: Mean seconds per chip in which kernels run.
        factor: Site factor and jitter that multiply everything.
    """

    time: FloatArray
    energy: FloatArray
    slowest: FloatArray
    bubble: FloatArray
    exposed: FloatArray
    optimizer: FloatArray
    busy: FloatArray
    factor: FloatArray


def step_cost(a: Assumptions, stages: Sequence[StageCost], x: StepInputs) -> StepCost:
    """The step of n plans whose stages fall into the classes of `stages`."""
    slowest = total = exposed = optimizer = busy = extra_j = np.zeros_like(x.p2p)
    for stage in stages:
        if not stage.count.any():
            continue
        ends = _ends_s(stage, x)
        time = stage.sum_layers("total") + ends
        slowest = np.maximum(slowest, time)
        total = total + stage.count * time
        hides = stage.sum_layers("hides")
        if stage.last.any():
            hides = hides + stage.last * x.ends.head_backward
        visible = exposed_s(a, stage.collective, hides)
        exposed = np.maximum(exposed, np.where(stage.count > 0, visible, 0.0))
        optimizer = np.maximum(optimizer, stage.optimizer)
        kernels = x.m * (stage.sum_layers("kernels") + ends) + stage.optimizer_kernels
        run = stage.count * kernels
        busy = busy + run
        extra_j = extra_j + run * stage.extra_w
    bubble = _bubble_s(a, stages, x, slowest, total - slowest)
    steady = x.m * (slowest + a.micro_batch_s + x.v * x.p2p)
    factor = step_factor(a, x.chips)
    time = (steady + bubble + exposed + optimizer + a.step_s) * factor
    energy = x.chips * (extra_j / x.pp * factor + time * x.standing_w)
    return StepCost(
        time=time,
        energy=energy,
        slowest=slowest,
        bubble=bubble,
        exposed=exposed,
        optimizer=optimizer,
        busy=busy / x.pp * factor,
        factor=factor,
    )


def _ends_s(stage: StageCost, x: StepInputs) -> FloatArray | float:
    """Embedding and head of a micro-batch on a stage; 0 where no plan has either there."""
    first, last = stage.first.any(), stage.last.any()
    if first and last:
        return stage.first * x.ends.embedding + stage.last * x.ends.head
    if first:
        return stage.first * x.ends.embedding
    return stage.last * x.ends.head if last else 0.0


def slowest_class(stages: Sequence[StageCost], x: StepInputs) -> IntArray:
    """(n, k) index of the class of the slowest stage, the first of equals."""
    slowest = np.zeros_like(x.p2p)
    found: IntArray = np.zeros(slowest.shape, dtype=np.int64)
    for index, stage in enumerate(stages):
        ends = stage.first * x.ends.embedding + stage.last * x.ends.head
        time = stage.sum_layers("total") + ends
        found = np.where(time > slowest, index, found)
        slowest = np.maximum(slowest, time)
    return found


def _filled_s(a: Assumptions, stage: StageCost, x: StepInputs, time: FloatArray) -> FloatArray:
    """Seconds of the bubble behind a stage that a zero-bubble schedule fills.

    The weight gradients W, and more as far as both other passes are longer: W + r min(F, B, W)
    with r = (min(pp, m) - 1) / (pp - 1). For equal stages (ZB-H1, Qi et al., arXiv:2401.10241)
    the bubble is then (pp - 1)(F + B) - (min(pp, m) - 1) min(F, B, W); the paper's
    (pp - 1)(F + B - W) is the case W <= min(F, B), m >= pp.
    """
    back = stage.sum_layers("backward") + stage.last * x.ends.head_backward
    grad = stage.sum_layers("weight_grad") + stage.last * x.ends.head_weight_grad
    send = (x.p2p + a.micro_batch_s) / 2
    shortest = np.minimum(np.minimum(time - back + send, back - grad + send), grad)
    ramped = (np.minimum(x.pp, x.m) - 1) / np.maximum(x.pp - 1, 1)
    return grad + ramped * shortest


def _gpipe_wait_s(
    a: Assumptions, stages: Sequence[StageCost], x: StepInputs, slowest: FloatArray
) -> FloatArray:
    """(n, k) (m - 1) (f_max + b_max - t_max) under GPipe: the slowest passes are of two stages."""
    wait = np.zeros_like(slowest)
    rows = np.flatnonzero(x.gpipe & (x.m > 1) & (x.pp > 1))
    if not len(rows):
        return wait
    forward = backward = np.zeros_like(slowest[rows])
    passes: dict[int, FloatArray] = {}  # by identity: stages of one plan table share their layers
    for stage in stages:
        if not stage.count.any():
            continue
        first, last = stage.first[rows], stage.last[rows]
        ends = first * x.ends.embedding[rows] + last * x.ends.head[rows]
        ahead = ends - last * x.ends.head_backward[rows]
        for layers, cost in ((stage.dense_layers, stage.dense), (stage.moe_layers, stage.moe)):
            if cost is not None:
                if id(cost) not in passes:
                    passes[id(cost)] = forward_pass_s(a, cost, rows)
                ahead = ahead + layers[rows] * passes[id(cost)]
        behind = stage.sum_layers("total", rows) + ends - ahead
        forward, backward = np.maximum(forward, ahead), np.maximum(backward, behind)
    wait[rows] = (x.m[rows] - 1) * np.maximum(forward + backward - slowest[rows], 0.0)
    return wait


def forward_pass_s(
    a: Assumptions, cost: LayerCost, rows: IntArray | slice = slice(None)
) -> FloatArray:
    """Seconds of the forward pass of a layer with half of its collectives; of some of the plans.

    Both passes then take longer when anything gets slower: a backward pass that hides collectives
    does not shorten the forward pass.
    """
    alone = cost.alone[rows] - cost.backward[rows]
    return sharded_layer_s(a, alone, 0.5 * cost.collective[rows])


def _bubble_s(
    a: Assumptions,
    stages: Sequence[StageCost],
    x: StepInputs,
    slowest: FloatArray,
    others: FloatArray,
) -> FloatArray:
    """(n, k) idle seconds of the slowest stage; `others` sums the times of all other stages."""
    wait = others / x.v
    if np.any(x.zero_bubble):
        wait = np.where(x.zero_bubble, _zero_bubble_wait_s(a, stages, x, slowest), wait)
    ramp = (x.pp - 1) * (x.p2p + a.micro_batch_s / x.v)
    return wait + ramp + _gpipe_wait_s(a, stages, x, slowest)


def _zero_bubble_wait_s(
    a: Assumptions, stages: Sequence[StageCost], x: StepInputs, slowest: FloatArray
) -> FloatArray:
    """(n, k) max_j ((m - 1) t_j + w_j) + sum_i (t_i - w_i) - m t_max."""
    paced = left = np.zeros_like(slowest)
    for stage in stages:
        if not stage.count.any():
            continue
        time = stage.sum_layers("total") + _ends_s(stage, x)
        fill = _filled_s(a, stage, x, time)
        left = left + stage.count * (time - fill)
        paced = np.maximum(paced, np.where(stage.count > 0, (x.m - 1) * time + fill, 0.0))
    return np.maximum(paced + left - x.m * slowest, 0.0)


def step_factor(a: Assumptions, chips: FloatArray) -> FloatArray:
    """Site factor times (1 + jitter log2(chips / 8)), the latter at least 1."""
    doublings = np.log2(np.maximum(chips, 8.0) / 8.0)
    factor: FloatArray = a.site_factor * (1 + a.jitter_per_doubling * doublings)
    return factor
