"""How long the operations of one plan take, from the same cost model that gives its step time.

    F_c = dense_c f_dense + moe_c f_moe + embedding or head forward + (c_mb / v + s p2p) / 2
    B_c = the rest of both passes, likewise                          (c a chunk, v chunks per stage)

f is `planner.cost.step.forward_pass_s`; where weight gradients are apart, F is both passes less
the whole backward pass and W the weight gradients, as the fill of `planner.cost.step` has it. c_mb
is the host's time per micro-batch. As in the cost model, a stage is busy with a message while it
sends, first and last chunk alike. An interleaved schedule hides the share 1 - s of a message
behind other chunks (s = `interleaved_p2p`): there the stage goes on, and the receiver waits.
With DualPipe a pass beside another is shorter by what it hides of all-to-alls and messages, the
two passes of a chunk in proportion to what they take alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.assumptions import Assumptions
from planner.cost.breakdown import Evaluated
from planner.cost.context import CostModel
from planner.cost.layout import chunk_kinds, chunk_places, plan_chunks
from planner.cost.step import (
    EndCost,
    LayerCost,
    StageCost,
    exposed_reduction_s,
    forward_pass_s,
    paced_sends,
)
from planner.plan import FloatArray, IntArray, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Seconds of every operation of a plan.

    Attributes:
        forward_s, backward_s, weight_grad_s: (pp, v) of one micro-batch on a chunk; backward is
            the gradients of the inputs alone where weight_grad_s is not 0.
        send_s: Of these, in forward and backward pass each, while a message is sent.
        lag_s: From the end of an operation until its result is at the next stage, which hides it.
        reduction_s, optimizer_s: (pp,) once per step: exposed reduction, optimizer.
        overhead_s: Once per step, on all stages.
        hidden_s: (2, pp, v) what forward and backward passes hide beside one another, or None.
    """

    forward_s: FloatArray
    backward_s: FloatArray
    weight_grad_s: FloatArray
    send_s: float
    lag_s: float
    reduction_s: FloatArray
    optimizer_s: FloatArray
    overhead_s: float
    hidden_s: FloatArray | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passes:
    """Seconds of a chunk's layers or ends: forward, backward without and the weight gradients."""

    forward: float
    backward: float
    weight_grad: float

    def times(self, count: float) -> _Passes:
        """Of several of them."""
        return _Passes(
            forward=count * self.forward,
            backward=count * self.backward,
            weight_grad=count * self.weight_grad,
        )


def durations_of(model: CostModel, plan: Plan, x: Evaluated) -> Durations:
    """The durations of a plan.

    Args:
        model: Its cost model.
        plan: The plan.
        x: The same plan evaluated alone, by `planner.cost.layout.every_stage`.
    """
    a, v, stages = model.assumptions, plan.interleave, x.stages
    both_ways = plan.schedule == "dualpipe"
    split = both_ways or plan.schedule == "zero-bubble"
    passes = np.array([
        [_chunk(a, stage, layers, split=split) for layers in row]
        for stage, row in zip(stages, _layers(model, plan), strict=True)
    ])  # fmt: skip
    places = chunk_places(plan)
    passes[places == 0] += _both(_embedding(x.inputs.ends), split=split)
    passes[places == places.max()] += _both(_head(x.inputs.ends), split=split)
    sent = float(x.inputs.p2p[0, 0]) / 2
    paced = sent * float(paced_sends(a, np.array(v))) / v
    factor = float(x.step.factor[0, 0])
    busy = paced + a.micro_batch_s / v / 2
    return Durations(
        forward_s=factor * (passes[:, :, 0] + busy),
        backward_s=factor * (passes[:, :, 1] + busy),
        weight_grad_s=factor * passes[:, :, 2],
        send_s=factor * paced,
        lag_s=factor * (sent - paced),
        reduction_s=factor
        * np.array([_first(exposed_reduction_s(a, s, x.inputs)) for s in stages]),
        optimizer_s=factor * np.array([_first(stage.optimizer) for stage in stages]),
        overhead_s=factor * a.step_s,
        hidden_s=factor * _hidden(model, plan, x, passes, busy) if both_ways else None,
    )


def _hidden(
    model: CostModel, plan: Plan, x: Evaluated, passes: FloatArray, busy: float
) -> FloatArray:
    """(2, pp, v) seconds that forward and backward passes hide of their communication."""
    layers = _layers(model, plan)
    hidden = np.full(layers.shape[:2], model.assumptions.dualpipe_overlap * _first(x.inputs.p2p))
    for stage, row in enumerate(layers):
        for kind, cost in enumerate((x.stages[stage].dense, x.stages[stage].moe)):
            if cost is not None:
                hidden[stage] += row[:, kind] * _first(cost.paired)
    alone = passes[:, :, 0] + busy, passes[:, :, 1] + passes[:, :, 2] + busy
    return np.stack([hidden * one / (alone[0] + alone[1]) for one in alone])


def _layers(model: CostModel, plan: Plan) -> IntArray:
    """(pp, v, 2) dense and expert layers of every chunk of every stage."""
    kinds = chunk_kinds(model.job.model.layer_kinds, plan_chunks(plan, model.job.model))
    return kinds[chunk_places(plan)]


def _chunk(a: Assumptions, stage: StageCost, layers: IntArray, *, split: bool) -> FloatArray:
    """(3,) seconds of a chunk's layers in its passes."""
    total = np.zeros(3)
    for count, cost in zip(layers, (stage.dense, stage.moe), strict=True):
        if count and cost is not None:
            total += _both(_layer(a, cost, split=split).times(float(count)), split=split)
    return total


def _layer(a: Assumptions, cost: LayerCost, *, split: bool) -> _Passes:
    total, backward = _first(cost.total), _first(cost.backward)
    grad = _first(cost.weight_grad)
    forward = total - backward if split else min(_first(forward_pass_s(a, cost)), total)
    return _Passes(forward=forward, backward=max(total - forward - grad, 0.0), weight_grad=grad)


def _embedding(ends: EndCost) -> _Passes:
    return _Passes(forward=_first(ends.embedding), backward=0.0, weight_grad=0.0)


def _head(ends: EndCost) -> _Passes:
    total, back = _first(ends.head), _first(ends.head_backward)
    grad = _first(ends.head_weight_grad)
    return _Passes(forward=total - back, backward=back - grad, weight_grad=grad)


def _both(one: _Passes, *, split: bool) -> FloatArray:
    """(3,) passes; weight gradients within the backward pass unless they are apart."""
    if split:
        return np.array([one.forward, one.backward, one.weight_grad])
    return np.array([one.forward, one.backward + one.weight_grad, 0.0])


def _first(table: FloatArray) -> float:
    return float(np.ravel(table)[0])
